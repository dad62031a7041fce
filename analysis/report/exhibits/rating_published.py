"""Printed numbers of a study beside those recomputed from the judgments at hand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...audit.oogiri import STUDY
from ...figures.labels import words
from ...figures.raters.naming import Names
from ...figures.raters.terms import CORRELATIONS
from ...vocabulary import OVERALL
from ..cells import dimension_of
from ..markdown import table_blocks
from ..tables import number, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ..ratings_report import RatingsReport

ABOUT = {"published_means": "Means and standard deviations", "published_correlations": "Correlations"}
SIMULATED = "These judgments are simulated and are not compared with published numbers."
PARTS = ("Print", "Ours", "Gap")


def published(report: RatingsReport) -> str:
    """Set printed numbers beside ours: sums in words, and every number in tables."""
    names, made = [name for name in ABOUT if report.has(name)], report.manifest
    simulated = made.get("simulated") and not made.get("real_judges")
    if simulated and (names or made.get("study") == STUDY):
        return SIMULATED
    if not names:
        return "There are no published numbers to compare these results with."
    return "\n\n".join(_beside(report, name) for name in names)


def _beside(report: RatingsReport, name: str) -> str:
    frame, told = report.table(name), Names(report.words)
    apart = frame["difference"].abs()
    tables: list[GT] = []
    shown = 0
    for part in _parts(frame):
        tables.append(beside_table(part, told, len(tables) + 1))
        shown += len(part)
    rest = f" The folder has the other {whole(len(frame) - shown)}." if shown < len(frame) else ""
    return (
        f"{ABOUT[name]}: {whole(len(frame))} printed numbers have one of ours beside them; the largest "
        f"difference is {number(apart.max())}, the median {number(apart.median())}.{rest}\n\n"
        + table_blocks(name, tables, f"{ABOUT[name]}: printed and recomputed.")
    )


def _parts(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Means of all topics, or correlations by coefficient: what one table each shows."""
    if "coefficient" in frame:
        return [part for _, part in frame.groupby("coefficient", sort=False)]
    every = frame[frame["modality"].astype(str) == OVERALL]
    return [every if len(every) else frame]


def beside_table(frame: pd.DataFrame, told: Names, place: int = 1) -> GT:
    """Printed, ours and the difference, by dimension and response type, a group of columns a rater."""
    who = "judge" if "judge" in frame else "group"
    rows = frame.reset_index(drop=True)
    keys = pd.DataFrame(
        {
            "dimension": rows["dimension"].map(partial(dimension_of, told)),
            "Responses": rows["response_type"].map(partial(told.of, "response_type")),
        }
    )
    split = "modality" in rows and rows["modality"].nunique() > 1
    if split:
        keys["Responses"] += ", " + rows["modality"].map(partial(told.of, "modality"))
    wide: dict[tuple[str, str], dict[str, str]] = {}
    spans: dict[str, list[str]] = {}
    for key, row in zip(keys.itertuples(index=False, name=None), rows.to_dict("records"), strict=True):
        rater = told.of("judge", row[who])
        columns = [f"{rater} {part}" for part in PARTS]
        spans[rater] = columns
        texts = (number(row["printed"]), number(row["estimate"]), number(row["difference"]))
        cells: dict[str, str] = wide.setdefault((str(key[0]), str(key[1])), {})
        cells |= dict(zip(columns, texts, strict=True))
    shown = pd.DataFrame(
        [{"dimension": dimension, "Responses": kind, **cells} for (dimension, kind), cells in wide.items()]
    )
    table = styled_table(shown, name=f"published-{who}-{place}", groups="dimension", note=_note(rows))
    for rater, columns in spans.items():
        table = table.tab_spanner(rater, columns=columns)
    named: dict[str, Any] = {
        column: part for columns in spans.values() for column, part in zip(columns, PARTS, strict=True)
    }
    return table.cols_label(cases=named)


def _note(rows: pd.DataFrame) -> str:
    printed_in = ", ".join(str(name) for name in sorted(rows["table"].unique()))
    gap = "Gap: ours less the printed number."
    if "coefficient" not in rows:
        return f"Means, as printed in tables {printed_in}; standard deviations are in the folder. {gap}"
    name = str(rows["coefficient"].iloc[0])
    undefined = " Empty cells: one side gave all items the same rating." * bool(rows["estimate"].isna().any())
    what = f"{CORRELATIONS.get(name, words(name))} with the mean of people"
    return f"{what}, as printed in tables {printed_in}. {gap}{undefined}"
