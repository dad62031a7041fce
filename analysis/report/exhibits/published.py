"""Sections of a report that set estimates beside other numbers: true values, printed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..markdown import captioned, picture, slug, table_blocks
from ..methods import plain
from ..tables import number, whole

if TYPE_CHECKING:
    from ..report import Results

PUBLISHED_INTRO = """\
The published analysis of this study joined each picture to the row before the one that made it; for
one picture in a hundred the attributes changed. @fig-published puts the printed estimates beside the
estimates made with the right join and, where the results hold them, with the published join. Points in
the right panel say how far ours lie from print. @tbl-published lists every judge that both hold."""
PUBLISHED_CAPTION = (
    "Printed estimates beside ours (left), and ours minus printed in percentage points (right), for one "
    "judge that both hold."
)


def truth_section(report: Results) -> str:
    """Compare estimates of simulated choices with their true values; say so where there are none."""
    if not report.simulated:
        return (
            "The choices are not marked as simulated: no true effects are known, and this section has "
            "nothing to show."
        )
    if not report.has("recovery"):
        return (
            "The choices are simulated, but the true values did not lie beside them when they were "
            "analysed, so this section has nothing to show."
        )
    found = report.table("recovery")
    drawn = picture("recovery", report.build_figure("recovery"), report.alt("recovery"))
    return (
        f"{_drawn(report)} "
        f"{recovered(found, report.bounds(report.main))} @fig-truth shows the errors of the estimates in "
        f"@fig-{slug(report.main)}: where a line crosses zero, the interval holds the true value. "
        "@tbl-recovery counts this for every analysis, judge and prompt.\n"
        + captioned("fig-truth", drawn, "Estimates minus true values, with intervals, for the attributes.")
        + table_blocks(
            "recovery",
            report.great_tables("recovery"),
            "Shares of true values inside the intervals, and absolute errors of the estimates.",
        )
    )


def recovered(found: pd.DataFrame, bounds: str) -> str:
    """Say over all analyses how many intervals hold the true value."""
    weight = found["n_levels"].astype(float)
    inside = (found["in_normal"] * weight).sum() / weight.sum()
    told = (
        f"Of {whole(weight.sum())} estimates with a standard error, {number(100 * inside, 1)}% have their "
        f"true value inside the {bounds or 'normal interval'}"
    )
    booted = found["in_bootstrap"].notna()
    if booted.any():
        share = (found["in_bootstrap"] * weight)[booted].sum() / weight[booted].sum()
        told += f" and {number(100 * share, 1)}% inside the bootstrap interval"
    return f"{told}; the largest error is {number(found['max_abs_error'].max())}."


def published_section(report: Results) -> str:
    """Set printed numbers beside ours where both are about the same judges."""
    if not report.has("published") or (report.simulated and not report.real_judges):
        return _unpublished(report)
    drawn = picture("published", report.build_figure("published"), report.alt("published"))
    return (
        PUBLISHED_INTRO
        + "\n"
        + captioned("fig-published", drawn, PUBLISHED_CAPTION)
        + table_blocks("published", report.great_tables("published"), "Printed estimates beside ours.")
    )


def _unpublished(report: Results) -> str:
    if not report.simulated:
        return "There are no printed numbers to compare these results with."
    others = [plain(report.label("judges", name)) for name in report.real_judges]
    if not others:
        return (
            "The judges of these results are simulated: they only bear the names of people and models, "
            "and they are not compared with print."
        )
    named = " and ".join(others)
    return (
        f"All judges but {named} are simulated: they only bear the names of people and models, and they are "
        f"not compared with print. There are no printed numbers of {named}."
    )


def _drawn(report: Results) -> str:
    """Say whose choices were drawn from what is known."""
    if not report.real_judges:
        return "The choices were drawn from known part-worths, so the true value of every estimate is known."
    others = " and ".join(plain(report.label("judges", name)) for name in report.real_judges)
    return (
        f"The choices of all judges but {others} were drawn from known part-worths, so the true values of "
        "their estimates are known."
    )
