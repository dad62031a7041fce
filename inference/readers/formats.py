"""Formats that can be imported: program, reader and options of each, without imports that take long.

A new importer is a module with a reader and a row here; the command line follows from the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..entry_registry import Registry
from ..errors import InputError

CHOICES, RATINGS, JOINED = "choices", "ratings", "demographics"


@dataclass(frozen=True)
class Format:
    """One kind of export: what ``--format`` calls it, what the program is, and what it contains."""

    # `reader` is `module:function` of `humans/`: `reader(path, **options)` for choices, `reader(path,
    # layout=, rules=, **fixed)` for ratings, `reader(imported, path, column)` for demographics.

    name: str
    help: str
    content: str
    reader: str
    options: frozenset[str]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        """The reader, imported on demand."""
        return READERS.find(self.reader)


CELLS = frozenset(("missing", "levels", "relabel", "scale", "strict"))  # options about cells of any export
TABLE = CELLS | {"where", "exclude", "encoding", "delimiter", "decimal", "sheet", "header_row"}
ANY = CELLS | {"dimensions", "items", "judge", "anchors", "check_item", "again", "anonymise"}
PEOPLE = ANY | {"item", "min_seconds", "prolific", "covariates"}
WIDE = (PEOPLE | TABLE) | {
    *("ratings", "sample", "all_shown", "duration", "timezone", "check", "ignore", "panel", "prolific_id"),
}
LONG = WIDE | {"value", "dimension"}
CONJOINT = frozenset(
    (
        *("outcomes", "repeated", "flipped", "first", "second", "labels", "prefix", "draft_study"),
        *("id", "covariates", "check", "min_seconds", "ignore", "duration", "anonymise"),
        *(TABLE - {"levels", "relabel", "scale"}),
    )
)
FORMATS = (
    Format("qualtrics", "surveys", CHOICES, "conjoint_export:read_qualtrics", CONJOINT),
    Format("qualtrics", "surveys", RATINGS, "qualtrics:read_qualtrics_ratings", WIDE | {"value", "id"}),
    Format("mturk", "crowd work", RATINGS, "crowd:read_crowd", LONG, {"platform": "mturk"}),
    Format("lancers", "crowd work", RATINGS, "crowd:read_crowd", LONG, {"platform": "lancers"}),
    Format(
        *("csv", "any table", RATINGS, "crowd:read_crowd"),
        LONG | {"judge_kind", "models", "people"},
        {"platform": "csv"},
    ),
    Format(
        *("label-studio", "annotations", RATINGS, "label_studio:read_label_studio"), PEOPLE | {"encoding"}
    ),
    Format(
        *("argilla", "annotations", RATINGS, "annotation_records:read_argilla"), (ANY | {"item", "ignore"})
    ),
    Format(
        *("jspsych", "experiments in the browser", RATINGS, "jspsych:read_jspsych"),
        LONG - {"timezone", "prolific"},
    ),
    Format("inspect", "evaluation logs", RATINGS, "inspect_logs:read_inspect", ANY),
    Format(
        *("prolific", "demographics of people", JOINED, "crowd:join_prolific"),
        frozenset(("judgments", "prolific_id", "anonymise")),
    ),
)
READERS: Registry[Callable[..., Any]] = Registry(
    "conjury.readers", places={row.reader: f"conjury.inference.humans.{row.reader}" for row in FORMATS}
)
PROGRAMS = {row.name: row.help for row in FORMATS}


def find_format(name: str, with_ratings: bool) -> Format:
    """The row of a format; where a program exports both, that of ratings or of choices."""
    rows = [row for row in FORMATS if row.name == name]
    if not rows:
        raise InputError(f"--format {name!r} is unknown; use {', '.join(PROGRAMS)}.")
    return next((row for row in rows if (row.content == RATINGS) == with_ratings), rows[0])


def readers_of(option: str) -> list[str]:
    """The formats that read an option, as ``ratings from csv``."""
    return [f"{row.content} from {row.name}" for row in FORMATS if option in row.options]
