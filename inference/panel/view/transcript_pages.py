"""Pages as HTML, with everything that was judged, sent or answered escaped; no web server is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment

from ...study.asking import Choice
from ...study.models import NOUNS
from ...tables.files import ROOT
from ...tables.schema import POSITIONS, STATUSES
from ..displayed_fields import SubjectDisplay
from ..web.languages import Catalogue, load_catalogues
from ..web.page_templates import PANEL, environment_of, pair_layout, static_address
from ..web.page_templates import STATIC as PANEL_STATIC
from .answer_marks import MARKS
from .filters import KINDS, ORDERS, Collection, Query
from .transcripts import AnswerRow, Transcripts

VIEW = ROOT / "data" / "view"
STATIC = VIEW / "static"
PAGE = 50  # answers of a page of the list
BADGES = {
    "judges": "disagree",
    "people": "not as people",
    "flips": "flips",
    "prompts": "by prompt",
    "samples": "by sample",
}
ORDER_LABELS = {
    "asked": "As asked",
    "judge": "Judge",
    "task": "Task",
    "value": "Value",
    "length": "Length of the answer",
    "seconds": "Time of the answer",
}
assert set(ORDER_LABELS) == set(ORDERS)


@dataclass(frozen=True)
class FilterChoices:
    """What one filter can be set to: values with their labels, in groups."""

    name: str
    label: str
    options: Sequence[tuple[str, Sequence[tuple[str, str]]]]  # groups of value and label


def view_environment(static: Callable[[str], str], medium: Callable[[str], str]) -> Environment:
    """Templates of the pages; ``static`` and ``medium`` return addresses of stylesheets and of media."""
    environment = environment_of(VIEW / "templates", PANEL / "templates")
    environment.globals |= {"static": static, "medium": medium, "badges": BADGES, "mark_labels": MARKS}
    environment.filters["query"] = address_of_query
    return environment


@cache
def english() -> Catalogue:
    """Strings of the parts that are those of a panel's pages."""
    return load_catalogues(["en"])["en"]


def static_file(name: str) -> bytes:
    """Content of a stylesheet or script, of these pages or of a panel's."""
    return (_folder_of(name) / name).read_bytes()


def served_address(name: str) -> str:
    """Address of a stylesheet or script, of these pages or of a panel's."""
    folder = _folder_of(name)
    return static_address(name, "view" if folder == STATIC else "static", folder)


def _folder_of(name: str) -> Path:
    return STATIC if (STATIC / name).is_file() else PANEL_STATIC


def address_of_query(query: Query, page: int = 1) -> str:
    """A query as the part of an address after the question mark."""
    fields = list(query.filters)
    if query.order != ORDERS[0]:
        fields.append(("order", query.order))
    if query.descending:
        fields.append(("descending", "yes"))
    if page > 1:
        fields.append(("page", str(page)))
    return urlencode(fields)


def filter_choices(collection: Collection) -> list[FilterChoices]:
    """Filters of the list with the values that its answers have."""
    frame, statuses, study = collection.answers.frame, collection.answers.statuses, collection.study
    judges, prompts, features = (
        ({}, {}, {}) if study is None else (study.judge_labels, study.prompt_labels, study.feature_labels)
    )
    models = frame["judge_id"][(frame["judge_kind"] != "human").to_numpy()].unique()
    kinds = [(kind, f"All {kind}") for kind, name in KINDS.items() if (frame["judge_kind"] == name).any()]
    fired = {result.code: result.title for result in collection.fired if result.code in collection.checks}
    options_by_filter: dict[str, tuple[str, list[tuple[str, str]]]] = {
        "judge": ("Judge", [*kinds, *((judge, judges.get(judge, judge)) for judge in models)]),
        "prompt": (
            "Prompt",
            [(prompt, prompts.get(prompt, prompt)) for prompt in frame["prompt_id"].unique() if prompt],
        ),
        "status": (
            "Status",
            [(status, status) for bit, status in enumerate(STATUSES) if (statuses >> bit & 1).any()],
        ),
        "mark": ("Mark", [(name, MARKS[name]) for name, mask in collection.marks.items() if mask.any()]),
        "check": ("Check", [(code, f"{code} {title}") for code, title in fired.items()]),
    }
    choices = [
        FilterChoices(name, label, [("", options)])
        for name, (label, options) in options_by_filter.items()
        if options
    ]
    levels = [
        (features.get(name, name), [(f"{name}={value}", label) for value, label in values.items()])
        for name, values in collection.columns.items()
    ]
    return [*choices, FilterChoices("level", "Attribute or field", levels)] if levels else choices


@dataclass(frozen=True)
class TranscriptRenderer:
    """Renders lists and transcripts of one collection."""

    transcripts: Transcripts
    environment: Environment

    @property
    def collection(self) -> Collection:
        """What is viewed."""
        return self.transcripts.collection

    def page(self, template: str, **values: Any) -> str:
        """Fill a template."""
        return "".join(self.parts_of_page(template, **values))

    def parts_of_page(self, template: str, **values: Any) -> Iterator[str]:
        """Fill a template part by part, so that a long page takes no memory."""
        sources = self.collection.sources
        common = {"t": english(), "title": sources.title, "notes": sources.notes}
        return self.environment.get_template(template).generate(**common | values)

    def rows(self, numbers: Sequence[int]) -> list[AnswerRow]:
        """Answers as rows of a list."""
        return [self.transcripts.listed(int(number)) for number in numbers]

    def transcript(self, number: int) -> dict[str, Any]:
        """What the template of one transcript shows."""
        transcript, study = self.transcripts.of(number), self.collection.study
        displays = transcript.content.shown
        noun = "Profile" if study is None else study.collect.noun or NOUNS[study.kind]
        return {
            "one": transcript,
            "layout": layout_of(displays),
            "noun": noun,
            "positions": POSITIONS,
            "question": "" if study is None else study.question,
            "is_choice": study is not None and isinstance(study.response, Choice),
        }


def layout_of(displays: Sequence[SubjectDisplay]) -> str:
    """How what is shown is laid out: a pair as rows of a table, as texts or pictures side by side."""
    return pair_layout(displays) if len(displays) == len(POSITIONS) else "single"
