"""A study for Prolific: its settings as the API takes them, and a list of slots with an address for each."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from ...errors import InputError
from ...study.panel_section import PanelSection
from ..displayed_fields import title_of
from ..plan import PanelPlan
from .task_html import ProgramFiles

PLACEHOLDERS = {
    "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
    "STUDY_ID": "{{%STUDY_ID%}}",
    "SESSION_ID": "{{%SESSION_ID%}}",
}
DEVICES = ("desktop", "tablet", "mobile")
MOST_CHARACTERS = 120  # of a title


@dataclass(frozen=True)
class Offer:
    """What people are offered.

    Parameters
    ----------
    url : str
        Address at which the study is served.
    minutes : int
        Estimated minutes of a visit.
    reward : float
        Reward of a person, without Prolific's fee, in pounds or dollars.

    Examples
    --------
    >>> offer = Offer("https://example.org", minutes=10, reward=2.0)
    >>> 60 / offer.minutes * offer.reward  # per hour
    12.0
    """

    url: str
    minutes: int
    reward: float


def prolific_study(plan: PanelPlan, offer: Offer) -> ProgramFiles:
    """Write the settings of a study on Prolific, and its slots.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what.
    offer : Offer
        What people are offered.

    Returns
    -------
    ProgramFiles
        ``study.json`` (everybody has the same address), ``study_by_slot.json`` (Taskflow: one address and one
        place per slot), and ``slots.csv``.

    Raises
    ------
    InputError
        For an address that is none, and for a study without a completion code.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.panel.plan import make_plan
    >>> plan = make_plan("moderation", people=2, out=tempfile.mkdtemp())
    >>> files = prolific_study(plan, Offer("https://example.org", minutes=10, reward=2.0))
    >>> sorted(files.texts)
    ['slots.csv', 'study.json', 'study_by_slot.json']
    """
    section = plan.section
    completion_code(section, plan.study.name)
    names = {section.recruiting.person: PLACEHOLDERS["PROLIFIC_PID"]}
    names |= {name: PLACEHOLDERS[name] for name in ("STUDY_ID", "SESSION_ID")}
    slots = [(slot, address_with(offer.url, names | {"slot": slot.name})) for slot in plan.slots]
    settings = _settings(plan, offer)
    shared_settings = settings | {"external_study_url": address_with(offer.url, names)}
    allocations = [{"external_url": address, "total_allocation": 1} for _, address in slots]
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("slot", "tasks", "places", "address"))
    rows.writerows((slot.name, len(slot.tasks), 1, address) for slot, address in slots)
    texts = {
        "study.json": _json(shared_settings),
        "study_by_slot.json": _json(settings | {"access_details": allocations}),
        "slots.csv": table.getvalue(),
    }
    notes = (
        "study.json is for `conjury panel` and JATOS, which give out slots themselves; study_by_slot.json "
        "(Taskflow) is for a static host.",
    )
    return ProgramFiles(texts, {}, notes)


def completion_code(section: PanelSection, study: str) -> str:
    """Return the code of those who finish; refuse a study that has none."""
    if section.completion.code is None:
        raise InputError(
            f"Study {study} has no completion code, which Prolific needs; write panel: completion: "
            "{code: ...} into the study file."
        )
    return section.completion.code


def address_with(url: str, parameters: dict[str, str]) -> str:
    """Add parameters to an address; placeholders of Prolific stay as they are."""
    parts = urlsplit(url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or any(character.isspace() for character in url)
    ):
        raise InputError(f"--url {url}: this is no address; write one such as https://example.org/study.")
    added = urlencode(parameters, safe="{}%")
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def _settings(plan: PanelPlan, offer: Offer) -> dict[str, Any]:
    title = title_of(plan.study)
    return {
        "name": title if len(title) <= MOST_CHARACTERS else title[: MOST_CHARACTERS - 1] + "…",
        "internal_name": plan.study.name,
        "description": plan.study.question,
        "prolific_id_option": "url_parameters",
        "completion_codes": _codes(plan.section),
        "total_available_places": len(plan.slots),
        "estimated_completion_time": offer.minutes,
        "reward": round(100 * offer.reward),
        "device_compatibility": list(DEVICES),
        "peripheral_requirements": [],
        "filters": [],
    }


def _codes(section: PanelSection) -> list[dict[str, Any]]:
    """Completion codes with what Prolific does about them; each code once."""
    kinds = {str(section.completion.code): "COMPLETED"}
    for ending in (section.screened_out, section.full):
        if ending.code is not None:
            kinds.setdefault(ending.code, "OTHER")
    return [
        {"code": code, "code_type": kind, "actions": [{"action": "MANUALLY_REVIEW"}]}
        for code, kind in kinds.items()
    ]


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


__all__ = ["Offer", "prolific_study"]
