"""The line above a figure that says what it rests on: choices of each judge, or items and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import counted

from ...figures.benchmark.score_figures import rows_of_policy
from ...figures.labels import display_order, level_of
from ...frames.vocabulary import HUMAN
from ...results import Result
from ..report_data import ReportData
from ..sentences.sample_sentences import groups_of_table
from ..table_format import whole
from .conjoint.conjoint_basis import names_of_judges
from .exhibit_registry import Drawn

if TYPE_CHECKING:
    from ...pipeline.manifest import RecordedResult

# Columns with the numbers behind each estimate, of which the first that a table has is named.
UNIT_COUNTS = {
    "items": ["n_items"],
    "topics": ["n_topics"],
    "items of each group": ["n_left", "n_right"],
    "labelled units": ["n_labelled"],
}
ANSWER_COUNTS = {
    "answers": ["n_answers"],
    "ratings": ["n_ratings"],
    "pairs of answers": ["n_pairs"],
    "units": ["n_units"],
    "rows": ["n"],
}
CLUSTER_COUNTS = {"clusters": ["n_clusters"]}
CELLS = {  # kinds whose rows are parts of a whole: what is counted, its column, the first column of the parts
    "distributions": ("Ratings", "n_ratings", "value"),
    "readings": ("Answers", "n", "status"),
    "confusion": ("Answers", "n", "gold"),
    "by_label": ("Answers", "n_answers", "label"),
}
OF_COUNTS = ("people_flow",)  # kinds whose figures show the numbers themselves
PLACES = ("task", "dimension")  # in which judges answer


def basis_of(figure: Drawn, record: RecordedResult, report: ReportData) -> str:
    """How many choices, or items, answers and clusters, a figure rests on; empty where none is known."""
    if record.groups:
        return " ".join(basis_in_words(report, record, figure.result.frame))
    return _counts_in_words(figure.result, figure.part) or _counts_in_words(report.read(record), figure.part)


def lines_in_words(result: Result) -> str:
    """The level of the intervals of a result; empty without any."""
    has_lines = "lower" in result.frame and result.frame["lower"].notna().any()
    return f"Lines: {level_of(result.settings)} intervals." if has_lines else ""


def basis_in_words(report: ReportData, record: RecordedResult, frame: pd.DataFrame) -> list[str]:
    """The prompt of the models where there are several, and how many choices each judge made."""
    prompts = [name for name in display_order(frame["prompt"]) if name] if "prompt" in frame else []
    has_several = len({group.get("prompt") for group in record.groups if group.get("prompt")}) > 1
    texts = [f"Prompt: {report.label('prompts', prompts[0])}."] if has_several and len(prompts) == 1 else []
    sizes = dict(_sizes(report, record, frame))
    if not sizes:
        return texts
    choices = [n for n, _ in sizes.values()]
    each = f"{_span(choices)} of each judge"
    if len(sizes) <= 2:
        each = ", ".join(
            f"{name} {whole(n)}" + (f" by {counted(people, 'respondent')}" if people else "")
            for name, (n, people) in sizes.items()
        )
    return [*texts, f"Choices: {each}."]


def _sizes(
    report: ReportData, record: RecordedResult, frame: pd.DataFrame
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Choices and respondents of each judge of a table, people of a comparison first."""
    names = names_of_judges(report, record)
    judges = set(frame["judge"].astype(str)) if "judge" in frame else set()
    for name, group in groups_of_table(record.groups, names, {names.get(judge, judge) for judge in judges}):
        sides = [(report.label("judges", HUMAN), group.get("people")), (name, group.get("model") or group)]
        for side, sizes in sides:
            if sizes and sizes.get("n_choices"):
                yield side, (int(sizes["n_choices"]), int(sizes.get("n_respondents") or 0))


def _counts_in_words(result: Result, part: str | None) -> str:
    """The smallest and largest numbers behind estimates, as columns of their table have them."""
    frame, kind = result.frame, result.kind
    frame = rows_of_policy(frame) if part is None else frame
    if kind in CELLS:
        noun, column, first = CELLS[kind]
        wholes = list(frame.columns[: frame.columns.get_loc(first)])
        places = "".join(
            f" in each {name}" for name in wholes if name in PLACES and frame[name].nunique() > 1
        )
        return f"{noun}: {_span(frame.groupby(wholes, observed=True)[column].sum())} of each judge{places}."
    parts: dict[str, str] = {}
    if kind in OF_COUNTS:
        return ""
    for columns_by_noun in (UNIT_COUNTS, ANSWER_COUNTS, CLUSTER_COUNTS):
        for noun, columns in columns_by_noun.items():
            span = _span(n for column in columns if column in frame for n in frame[column].dropna() if n > 0)
            if span:
                parts |= {} if span in parts.values() else {noun: span}
                break
    return _joined(parts)


def _joined(parts: dict[str, str]) -> str:
    text = ", ".join(f"{noun}: {span}" for noun, span in parts.items())
    by = " by estimate" if any(" to " in span for span in parts.values()) else ""
    return f"{text[:1].upper()}{text[1:]}{by}." if text else ""


def _span(numbers: Iterable[float]) -> str:
    """The smallest and the largest of some numbers; empty without any."""
    values = sorted({int(n) for n in numbers})
    ends = dict.fromkeys(whole(n) for n in (values[:1] + values[-1:]))
    return " to ".join(ends)
