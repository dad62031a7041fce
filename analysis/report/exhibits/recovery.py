"""Results on ratings beside the truth of a simulation, and printed numbers beside each other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...audit.oogiri import published_checks
from ...figures.labels import words
from ...figures.raters import alt_of, figure_of
from ...figures.raters.naming import Names
from ...figures.raters.terms import TRUTHS
from ...recovery.ratings import recovery_summary
from ...results import Result
from ..captions import caption
from ..cells import in_words
from ..markdown import captioned, picture, table_blocks
from ..methods import plain
from ..tables import number, styled_table, whole

if TYPE_CHECKING:
    from ..ratings_report import RatingsReport


def checks(report: RatingsReport) -> str:
    """What the printed numbers of the study say of each other; no data are needed for it."""
    found = published_checks()
    listed = [
        f"- **{plain(in_words(_upper(row['check']), report.words))}.** "
        f"{plain(in_words(row['finding'], report.words))}"
        for row in found.to_dict("records")
    ]
    return "The printed numbers can be checked against each other, without data.\n\n" + "\n".join(listed)


def _upper(text: object) -> str:
    return str(text)[:1].upper() + str(text)[1:]


OF_RATINGS = (
    "Intervals of means, biases and correlations take the people as they are; the truth is that of all "
    "people who could have been drawn. Estimates that are the same in every bootstrap draw have no interval "
    "and are not counted."
)


def truth(report: RatingsReport, note: str = OF_RATINGS) -> str:
    """Compare estimates with the true values that a simulation knows; ``note`` ends that of the table."""
    if not report.manifest.get("simulated"):
        return "These judgments are not marked as simulated: no true values are known."
    if not report.has("recovery"):
        return "The judgments are simulated, and no true values lie beside them."
    found = report.table("recovery")
    told = Names(report.words)
    summary = recovery_summary(found)
    counts = summary.groupby("quantity", sort=False)[["n_inside", "n_intervals"]].sum()
    shares = [
        f"{TRUTHS.get(str(name), words(name))} {_percent(row['n_inside'], row['n_intervals'])}"
        for name, row in counts.iterrows()
        if row["n_intervals"]
    ]
    shown = pd.DataFrame(
        {
            "quantity": summary["quantity"].map(lambda name: TRUTHS.get(str(name), words(name))),
            "Judge": summary["judge"].map(partial(told.of, "judge")),
            "Estimates": summary["n_estimates"].map(whole),
            "Intervals": summary["n_intervals"].map(whole),
            "Hold the truth": [
                _percent(row["n_inside"], row["n_intervals"]) or "none has one"
                for row in summary.to_dict("records")
            ],
            "Mean error": summary["mean_error"].map(number),
            "Mean size of error": summary["mean_abs_error"].map(number),
            "Largest": summary["max_abs_error"].map(number),
        }
    )
    note = f"Errors are estimate minus truth. {note}"
    table = styled_table(shown, name="recovery", groups="quantity", note=note)
    drawn = Result(found, "recovery")
    labels = report.words
    figure = picture("recovery", figure_of(drawn, labels=labels), alt_of(drawn, labels))
    return (
        f"Shares of intervals that hold the true value: {'; '.join(shares)} (@tbl-recovery). @fig-recovery "
        "sets estimates against true values: on the dashed line both are equal, and hollow points have an "
        f"interval that misses the truth. The folder has all {whole(len(found))} estimates.\n"
        + captioned("fig-recovery", figure, caption("Estimates against true values.", "recovery", {}))
        + table_blocks("recovery", [table], "Estimates beside true values.")
    )


def _percent(part: float, of: float) -> str:
    return f"{number(100 * float(part) / float(of), 0)}%" if of else ""
