"""The exhibit of estimates compared with the true values of a simulation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ....figures.labels import TRUTHS, rows_of_one_prompt, words
from ....frames.reported_intervals import reported
from ....frames.rounding import percentage
from ....pipeline.manifest import rows_in_words
from ....pipeline.recovery import effects_with_truth, recovery_summary
from ....results import Result
from ...blocks import slug
from ...method_sentences import bounds_name, plain
from ...report_data import ReportData
from ...sentences.simulation_sentences import (
    CoverageShares,
    average_coverage,
    inside_in_words,
    recovered_in_words,
)
from ...table_format import NO_BREAK, number, styled_table, whole
from ..conjoint.conjoint_basis import lines_of
from ..exhibit_registry import Drawn, Exhibit, Laid, exhibit
from ..figure_basis import basis_in_words

if TYPE_CHECKING:
    from great_tables import GT

    from ....pipeline.manifest import RecordedResult

OF_RATINGS = (
    "Intervals of means, biases and correlations treat people as fixed; the true values are those of all "
    "people who could have been drawn. Estimates that are the same in every bootstrap draw have no interval "
    "and are not counted."
)
OF_LABELS = (
    "The true values are those of the items. Where votes are the gold labels, they are sometimes wrong, and "
    "tied items have none, so that estimates can deviate by more than chance."
)
CAPTION = "Shares of true values inside the intervals, and absolute errors of the estimates."
GOLD = ("scores", "confusion", "annotators")  # kinds of results that compare answers with gold labels


@exhibit("recovery")
def recovery(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Estimates compared with true values."""
    if "in_normal" in result.frame:
        return _conjoint_recovery(result, report)
    return _item_recovery(result, report)


def _conjoint_recovery(result: Result, report: ReportData) -> Exhibit:
    titles = {entry.name: entry.title for entry in report.results}
    table = recovery_table(report.named(result.frame), titles)
    main = next(iter(report.of_kind("amce")), None)
    if main is None:
        return Exhibit(
            tables=[Laid([table], CAPTION)], reading=recovered_in_words(average_coverage(result.frame, ""))
        )
    estimates = reported(report.table(main.name), main.settings)
    comparison = rows_of_one_prompt(effects_with_truth(report.table("truth"), {main.name: estimates}))
    figure = Drawn(
        Result(report.named(comparison), "truth"),
        "Estimates minus true values, with intervals, by attribute.",
        options={"bounds": lines_of(main, comparison)},
        subtitle=" ".join(basis_in_words(report, main, comparison)),
    )
    return Exhibit(
        f"{_simulated(report)} {{figure shows}} the errors of the estimates in @fig-{slug(main.name)}: where "
        "a line crosses zero, the interval contains the true value. {table counts} this for every analysis, "
        "judge and prompt.",
        [figure],
        [Laid([table], CAPTION)],
        recovered_in_words(average_coverage(result.frame, bounds_name(main.settings, "normal"))),
    )


def _simulated(report: ReportData) -> str:
    """Whose choices were drawn from known values."""
    if not report.real_judges:
        return "The choices were drawn from known part-worths, so the true value of every estimate is known."
    names = " and ".join(plain(report.label("judges", name)) for name in report.real_judges)
    return (
        f"The choices of all judges except {names} were drawn from known part-worths, so the true values of "
        "their estimates are known."
    )


def recovery_table(frame: pd.DataFrame, titles: dict[str, str]) -> GT:
    """Shares of intervals that contain the true value, and errors, by analysis, judge and prompt."""
    rows = pd.DataFrame(
        {
            "analysis": [titles.get(name) or words(name) for name in frame["analysis"].astype(str)],
            "Judge": frame["judge"].astype(str).str.replace(" ", NO_BREAK),
            "Prompt": frame["prompt"].astype("string").fillna("").str.replace(" ", NO_BREAK),
            "Estimates": frame["n_levels"].map(whole),
            "In normal intervals": frame["in_normal"].map(_percent),
            "In bootstrap intervals": frame["in_bootstrap"].map(_percent),
            "Mean error": frame["mean_abs_error"].map(lambda value: number(value, 4)),
            "Largest error": frame["max_abs_error"].map(lambda value: number(value, 4)),
        }
    )
    empty = [name for name in ("Prompt", "In bootstrap intervals") if (rows[name] == "").all()]
    n_left = 1 + ("Prompt" not in empty)
    return styled_table(rows.drop(columns=empty), groups="analysis", n_left=n_left)


def _percent(share: float, digits: int = 1) -> str:
    return "" if pd.isna(share) else percentage(share, digits)


def _item_recovery(result: Result, report: ReportData) -> Exhibit:
    frame, names = result.frame, report.names
    summary = recovery_summary(frame)
    counts = summary.groupby("quantity", sort=False)[["n_inside", "n_intervals"]].sum()
    inside = CoverageShares(
        tuple(
            (TRUTHS.get(str(name), words(name)), int(row["n_inside"]), int(row["n_intervals"]))
            for name, row in counts.iterrows()
        )
    )
    rows = pd.DataFrame(
        {
            "quantity": summary["quantity"].map(lambda name: TRUTHS.get(str(name), words(name))),
            "Judge": summary["judge"].map(partial(names.of, "judge")),
            "Estimates": summary["n_estimates"].map(whole),
            "Intervals": summary["n_intervals"].map(whole),
            "Contain the truth": [
                _part(row["n_inside"], row["n_intervals"]) or "none has one"
                for row in summary.to_dict("records")
            ],
            "Mean error": summary["mean_error"].map(number),
            "Mean size of error": summary["mean_abs_error"].map(number),
            "Largest": summary["max_abs_error"].map(number),
        }
    )
    note = f"Errors are estimate minus truth. {OF_LABELS if report.of_kind(*GOLD) else OF_RATINGS}"
    lead = (
        "{figure compares} estimates with true values: on the dashed line both are equal, and hollow points "
        f"have an interval that misses the true value. The folder has all {whole(len(frame))} estimates."
    )
    caption = (
        "Estimates against true values. Points: estimates, hollow where the interval misses the true value; "
        "lines: intervals."
    )
    table = styled_table(rows, groups="quantity", note=note)
    data = rows_in_words(report.run.get("data") or [])
    basis = f"Estimates: {whole(len(frame))}{f', from {data}' * bool(data)}."
    return Exhibit(
        lead,
        [Drawn(Result(frame, "recovery"), caption, subtitle=basis)],
        [Laid([table], "Estimates and true values.")],
        inside_in_words(inside),
    )


def _part(part: float, of: float) -> str:
    return _percent(float(part) / float(of), 0) if of else ""
