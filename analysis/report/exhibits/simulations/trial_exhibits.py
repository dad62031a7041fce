"""Exhibits of trials: coverage, power and further performance of each method by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import counted

from ....figures.figure_registry import parts
from ....figures.trial.performance_figures import MEASURES, cell_labels, panel_labels
from ....results import Result
from ...blocks import slug
from ...method_sentences import plain
from ...report_data import ReportData
from ...sentences.simulation_sentences import count_low_coverage, covering_in_words
from ...table_format import NO_BREAK, number, styled_table, whole
from ..exhibit_registry import Drawn, Exhibit, Laid, ended, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

TABLES = ("coverage", "width", "bias", "power")
FIGURES = {
    None: "{measure} of each method by cell. Points: means over draws; lines: 95% Monte Carlo intervals.",
    "power": "Shares of draws in which each method rejects 0: power, or the type I error where the true "
    "value is 0. Lines: 95% Monte Carlo intervals.",
    "nested_loop": "{measure} over all cells, in the order of the parameters below.",
    "zip": "Intervals minus the true value, from the middle to the largest error in standard errors, where "
    "methods differ most.",
}


def _method(record: RecordedResult, report: ReportData) -> str:
    settings, frame = record.settings, report.table(record.name)
    cells = [name for name in ("process", *settings.get("parameters", [])) if name in frame]
    draws, seconds = frame["draws"], round(settings.get("processor_seconds") or 0)
    level = number(1 - float(settings["alpha"]), 2)
    number_of_cells = counted(len(frame[cells].drop_duplicates()), "cell")
    draw_counts = " to ".join(dict.fromkeys([whole(draws.min()), whole(draws.max())]))
    return (
        f"Simulated data with known true values: {number_of_cells}, {draw_counts} draws of each, seed "
        f"{settings.get('seed')}. All methods of a cell analysed the same draws. Performance measures and "
        f"their Monte Carlo standard errors follow [@morris2019]; intervals are at {level}. The draws took "
        f"{counted(seconds, 'second')} of one processor."
    )


@exhibit("trial", method=_method)
def trial(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Performance of methods: figures, a table, and which intervals cover too rarely."""
    part_names = {None, *parts(result)}
    main = MEASURES["coverage" if _has(result, "coverage") else "bias"]
    figures = [
        Drawn(result, caption.format(measure=main), part or "", part)
        for part, caption in FIGURES.items()
        if part in part_names
    ]
    aims = plain(str(result.settings.get("aims") or "").strip())
    tables = [
        Laid([performance_table(result, measure)], f"{MEASURES[measure]} of each method by cell.", measure)
        for measure in TABLES
        if _has(result, measure)
    ]
    return Exhibit(
        f"{aims} {{figure}} and {{table}} compare the methods.".strip(),
        figures,
        tables,
        f"{coverage_sentences(result)} {_seconds(result)}".strip(),
        heading=f"### {ended(plain(record.title))} {{#sec-{slug(record.name)}}}",
    )


def _has(result: Result, measure: str) -> bool:
    return bool(result.frame.loc[result.frame["measure"] == measure, "estimate"].notna().any())


def coverage_sentences(result: Result) -> str:
    """In how many cells each method covers too rarely, by estimand; how often where it does worst."""
    rows = result.frame[(result.frame["measure"] == "coverage") & result.frame["estimate"].notna()]
    nominal = 1 - float(result.settings["alpha"])
    sentences = []
    for estimand, estimand_rows in rows.groupby("estimand", sort=False):
        named = (result.settings.get("labels") or {}).get("estimand", {}).get(estimand)
        about = str(named) if named and rows["estimand"].nunique() > 1 else ""
        sentences.append(covering_in_words(count_low_coverage(estimand_rows, about, nominal)))
    if not sentences:
        return ""
    return (
        f"Rows in which intervals cover less often than {number(nominal, 2)} by more than chance, and the "
        f"range of coverage. {' '.join(sentences)}"
    )


def _seconds(result: Result) -> str:
    spent = result.extra["seconds"].groupby("method", sort=False)["seconds"].mean() * 1000
    texts = [f"{plain(str(name))} {number(value, 1)}" for name, value in spent.items()]
    return f"Milliseconds per draw: {'; '.join(texts)}."


def performance_table(result: Result, measure: str) -> GT:
    """A measure of each method, rows by quantity and cell."""
    frame = result.frame[result.frame["measure"] == measure].reset_index(drop=True)
    texts = [
        f"{number(row['estimate'])}{NO_BREAK}({number(row['mc_error'])})" if pd.notna(row["estimate"]) else ""
        for row in frame.to_dict("records")
    ]
    cells = frame.assign(Of=panel_labels(frame, result), Cell=cell_labels(frame, result), text=texts)
    wide = cells.pivot_table(
        index=["Of", "Cell"], columns="method", values="text", aggfunc="first", sort=False
    )
    rows = wide[list(dict.fromkeys(frame["method"]))].reset_index()
    return styled_table(rows, groups="Of", note="In parentheses: Monte Carlo standard errors.")
