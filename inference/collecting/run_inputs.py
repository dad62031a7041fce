"""What a run depends on, as in the study files when the run began; later changes are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..design.drawn import DrawnDesign
from ..errors import InputError, listed
from ..ledger import Count
from ..requests.templates import Templates
from ..study.asking import Sampling
from ..study.base import Part
from ..study.models import ItemStudy, Study
from ..study.parts import Prompt

ROUTE = {"base_url", "key_variable", "samples"}  # where and how often a model is asked changes no answer
OPEN = ("prompts", "judges")  # to these a later run may add


def run_facts(
    study: Study | ItemStudy,
    judge_id: str,
    ask: Sampling,
    prompts: Sequence[Prompt],
    subjects: Mapping[str, Any],
    drawn: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """State all that requests of a run depend on."""
    templates = Templates(study.folder)
    hashes = {
        prompt.id: {
            field: templates.sha256(name)
            for field, name in (("template", prompt.template), ("user", prompt.user))
            if name is not None
        }
        | ({} if prompt.response is None else {"response": prompt.response.model_dump(exclude_none=True)})
        | ({"pictures": drawn[prompt.cues]} if drawn else {})
        for prompt in prompts
    }
    return {
        **study_facts(study, subjects),
        "prompts": hashes,
        "judges": {judge_id: ask.model_dump(exclude=ROUTE | _usual(ask, "takes"))},
    }


def study_facts(study: Study | ItemStudy, subjects: Mapping[str, Any]) -> dict[str, Any]:
    """State what answers are read by: question, response form, how subjects are shown, and the subjects."""
    return {
        "study": study.name,
        "question": study.question,
        "response": study.response.model_dump(exclude_none=True),
        "collect": study.collect.model_dump(
            exclude={"swapped_share", "media_hosts"} | _usual(study.collect, "video")
        ),
        "subjects": dict(subjects),
    }


def _usual(part: Part, *fields: str) -> set[str]:
    """Name those of the fields that say nothing unusual: runs may have begun before there were any."""
    return {
        name
        for name in fields
        if getattr(part, name) == type(part).model_fields[name].get_default(call_default_factory=True)
    }


def begun_facts(before: dict[str, Any] | None, counts: Sequence[Count]) -> dict[str, Any] | None:
    """Leave out prompts and judges without any request yet; None where nothing has begun."""
    if before is None or not counts:
        return None
    prompts, judges = {count.prompt_id for count in counts}, {count.judge_id for count in counts}
    return {
        **before,
        "prompts": {name: value for name, value in before["prompts"].items() if name in prompts},
        "judges": {name: value for name, value in before["judges"].items() if name in judges},
    }


def check_study(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> None:
    """Refuse to read answers by a study that has changed since they were asked for."""
    merged_facts({name: value for name, value in (before or {}).items() if name in now} or None, now, run)


def check_answers(before: dict[str, Any] | None, study: Study | ItemStudy, run: Path) -> None:
    """Refuse to read answers to prompts that ask for another form of answer now; raises as above."""
    asked = (before or {}).get("prompts", {})
    now = {
        prompt.id: None if prompt.response is None else prompt.response.model_dump(exclude_none=True)
        for prompt in study.prompts
        if prompt.id in asked
    }
    then = {name: asked[name].get("response") for name in now}
    merged_facts({"prompts": then}, {"prompts": now}, run)


def design_facts(design: DrawnDesign, images: bool) -> dict[str, Any]:
    """Identify a drawn design."""
    return {**design.drawn, "sha256": design.sha256(), "stimuli": "images" if images else "text"}


def merged_facts(before: dict[str, Any] | None, now: dict[str, Any], run: Path) -> dict[str, Any]:
    """Add new prompts and judges to the facts of a run."""
    if before is None:
        return now
    changed = list(_differences(before, now, ""))
    if changed:
        raise InputError(
            f"{run}: this run was begun with other inputs, so its answers would not belong together; since "
            f"then there changed {listed(changed, 5)}. Restore them, or collect into another folder "
            "with --out."
        )
    return {**before, **{part: {**before[part], **now[part]} for part in OPEN if part in now}}


def _differences(before: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            inside = f"{place}.{name}" if place else str(name)
            if name in before and name in now:
                yield from _differences(before[name], now[name], inside)
            elif place not in OPEN:
                yield inside
    elif before != now:
        short = all(len(repr(value)) <= 40 for value in (before, now))
        hashed = place.endswith(("sha256", "template", "user", "pictures"))
        yield f"{place} (from {before!r} to {now!r})" if short and not hashed else place
