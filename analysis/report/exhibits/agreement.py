"""Exhibits of agreement coefficients, of replacement tests and their power, and of both answers together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...figures.raters.agreement import compared_in_words
from ...figures.raters.naming import Names
from ...figures.raters.replacement import scenario_name
from ...figures.raters.terms import COEFFICIENTS, WEIGHTS
from ...raters.replacement import epsilon_curve
from ...raters.replacement.epsilon_curve import epsilons
from ...results import Result
from ..data import ReportData
from ..drawing import parts
from ..methods import plain
from ..tables import (
    NO_BREAK,
    Row,
    dimension_of,
    interval,
    intervals,
    number,
    spread,
    styled_table,
    whole,
    with_gaps,
)
from .ratings import captioned
from .registry import Drawn, Exhibit, Laid, ended, exhibit

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import Recorded

SHOWN_COEFFICIENTS = (
    ("percent", "nominal"),
    ("cohen", "quadratic"),
    ("fleiss", "nominal"),
    ("krippendorff", "nominal"),
    ("krippendorff", "ordinal"),
    ("krippendorff", "quadratic"),
    ("gwet", "nominal"),
    ("gwet", "quadratic"),
    ("icc2", ""),
    ("g_absolute", ""),
    ("kendall_w", ""),
)


SHOWN_EPSILONS = 7


@exhibit(
    "agreement",
    method=(
        "Agreement coefficients with percentile bootstrap intervals; analytical standard errors are "
        "clustered, with Student's t."
    ),
)
def agreement(result: Result, record: Recorded, report: ReportData) -> Exhibit:
    """Agreement coefficients, and pairs of raters."""
    lines = "lines: {level} percentile bootstrap intervals, {drawn}, else analytical ones"
    pairs = captioned(record, "Cells: agreement of two raters", of="Every pair of raters.")
    lead = "{figure} shows every pair of raters that share enough items."
    return Exhibit(
        "{figure} shows agreement coefficients, and {table} the numbers.",
        [Drawn(result, captioned(record, "Points: coefficients", lines))],
        [Laid(agreement_tables(result, report.names), ended(plain(record.title)))],
        further=[Exhibit(lead, [Drawn(result, pairs, part, part)]) for part in parts(result)],
    )


def _passed(result: Result, record: Recorded, report: ReportData) -> str:
    return passed_tests(result, report.names)


@exhibit(
    "alt_test",
    method=(
        "The alternative annotator test: a one-sided paired t test for each annotator, adjusted over "
        "annotators; intervals are percentiles of bootstrap draws."
    ),
    headline=_passed,
)
def alt_test(result: Result, record: Recorded, report: ReportData) -> Exhibit:
    """The alternative annotator test, and its winning rates over epsilon."""
    lead = (
        "The alternative annotator test [@calderon2025] asks of each person whether a model comes as close "
        "to the others as they do. {figure} and {table} show the share of people against whom the model "
        "wins, and how often it comes at least as close."
    )
    lines = "lines: {level} percentile bootstrap intervals, {drawn}"
    text = captioned(record, "Points: rates, filled where the model passes", lines, "vertical lines: 0.5")
    over = captioned(record, "Lines: winning rates", of="Over epsilon.")
    further = [
        Exhibit(
            "{figure} shows the same for other values of epsilon, the advantage that people must have to be "
            "worth their cost: points mark the smallest with which a model passes.",
            [Drawn(result, over, part, part)],
        )
        for part in parts(result)
    ]
    if further:  # the test of each person is known
        title = f"{ended(plain(record.title))} Over epsilon."
        table = Laid([curve_table(result, report.names)], title, "epsilon")
        further.append(Exhibit("{table} gives the winning rate with each epsilon.", tables=[table]))
    return Exhibit(
        lead,
        [Drawn(result, text)],
        [Laid(alt_test_tables(result, report.names), ended(plain(record.title)))],
        passed_tests(result, report.names),
        further,
    )


def passed_tests(result: Result, names: Names) -> str:
    """How many tests are passed, and by which models where they are few."""
    frame = result.frame
    passed = frame[frame["passes"].fillna(False).astype(bool)]
    total = f"{whole(len(passed))} of {whole(len(frame))} tests are passed"
    if passed.empty or len(passed) > 8:
        return f"{total}."
    models = [
        plain(names.of("judge", row["model"]))
        + (f" ({plain(dimension_of(names, row['dimension']))})" if row["dimension"] else "")
        for row in passed.to_dict("records")
    ]
    return f"{total}: {', '.join(models)}."


@exhibit("alt_power", method="The test is run on simulated panels; intervals are Wilson's.")
def alt_power(result: Result, record: Recorded, report: ReportData) -> Exhibit:
    """The power of the test with such a panel."""
    lead = (
        "{figure} and {table} show the power of the test with a panel like this one: how often a model "
        "passes that agrees with people as well as they agree with each other, one that knows their "
        "consensus, and one that is behind people by exactly epsilon and should not pass."
    )
    bands = "bands: {level} intervals of the simulation"
    text = captioned(record, "Lines: shares of simulated studies that a model passes", bands)
    tables = power_tables(result, report.names)
    return Exhibit(lead, [Drawn(result, text)], [Laid(tables, ended(plain(record.title)))])


def alt_test_tables(result: Result, names: Names) -> list[GT]:
    """Winning rates and advantage probabilities of every model."""
    frame = result.frame
    several = frame["scoring"].nunique() > 1
    shown = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(partial(dimension_of, names))
            + (", " + frame["scoring"].map(words) if several else ""),
            "Model": frame["model"].map(partial(names.of, "judge")),
            "Winning rate": frame["winning_rate"].map(lambda value: number(value, 2)),
            "Advantage probability": [
                NO_BREAK.join(
                    filter(
                        None,
                        (
                            number(row["advantage_probability"]),
                            interval(
                                row.get("advantage_probability_lower"), row.get("advantage_probability_upper")
                            ),
                        ),
                    )
                )
                for row in frame.to_dict("records")
            ],
            "Passes": frame["passes"].map({True: "yes", False: "no"}),
            "Smallest epsilon": [number(value, 2) or "above 1" for value in frame["smallest_epsilon"]],
            "People compared": frame["n_annotators"].map(whole),
        }
    )
    note = f"Epsilon is {result.settings['epsilon']:g}; a model passes with a winning rate of 0.5."
    return [styled_table(shown, name="alt-test", groups="dimension", note=note)]


def power_tables(result: Result, names: Names) -> list[GT]:
    """Probability of passing over the number of items, for a panel and models of known agreement."""
    frame = result.frame.reset_index(drop=True)
    same = frame.groupby(["scenario", "epsilon", "model_agreement"], sort=False)
    behind = same["difference"].transform("mean")
    kinds = [scenario_name(row) for row in frame.to_dict("records")]
    shown = spread(
        frame,
        {
            "Model": pd.Series(kinds, index=frame.index),
            "Epsilon": frame["epsilon"].map("{:g}".format),
            "Agreement with a person": frame["model_agreement"].map(lambda value: number(value, 2)),
            "Behind people by": behind.map(lambda value: number(value, 2)),
        },
        frame["instances"].map(whole) + " items",
        lambda row: NO_BREAK.join((number(row["pass_rate"], 2), interval(row["lower"], row["upper"], 2))),
    )
    note = (
        "Probability of passing, in brackets the intervals of the simulation. Behind people by: probability "
        "of a person to be at least as close to the others, less that of the model."
    )
    return [styled_table(shown, name="power", left=1, note=note)]


def agreement_tables(result: Result, names: Names) -> list[GT]:
    """The coefficients that are reported most, those compared as columns; all others are in the folder."""
    frame = result.frame.copy()
    weights = frame["weights"].astype("string").fillna("")
    frame["_key"] = list(zip(frame["coefficient"].astype(str), weights, strict=True))
    frame = frame[frame["_key"].isin(SHOWN_COEFFICIENTS) & frame["estimate"].notna()]
    compared = compared_in_words(frame, names)
    named = [
        COEFFICIENTS[name] + (f", {WEIGHTS[weight]}" if weight else "") for name, weight in frame["_key"]
    ]
    shown = spread(
        frame,
        {
            "dimension": frame["dimension"].map(partial(dimension_of, names)),
            "Coefficient": pd.Series(named, index=frame.index),
        },
        pd.Series(compared, index=frame.index),
        _agreement_cell,
    )
    note = (
        f"In brackets: {intervals(result.settings)}, where there was a bootstrap, else analytical ones. "
        "The folder holds all coefficients."
    )
    note = with_gaps(note, shown, "not defined for that comparison")
    return [styled_table(shown, name="agreement", groups="dimension", note=note)]


def _agreement_cell(row: Row) -> str:
    booted = not pd.isna(row.get("boot_lower", float("nan")))
    prefix = "boot_" if booted else ""
    bounds = interval(row.get(f"{prefix}lower"), row.get(f"{prefix}upper"), 2)
    return NO_BREAK.join(filter(None, (number(row["estimate"], 2), bounds)))


def spaced(values: Sequence[float]) -> list[float]:
    """Some of many values at equal steps, ends included."""
    last = len(values) - 1
    return [float(values[round(k * last / (SHOWN_EPSILONS - 1))]) for k in range(SHOWN_EPSILONS)]


def curve_table(result: Result, names: Names) -> GT:
    """Winning rates of an alternative annotator test over epsilon."""
    frame = epsilon_curve(result, spaced(epsilons(result))).frame
    several = frame["scoring"].nunique() > 1
    rows = {
        "dimension": frame["dimension"].map(partial(dimension_of, names))
        + (", " + frame["scoring"].map(words) if several else ""),
        "Model": frame["model"].map(partial(names.of, "judge")),
    }
    cells = spread(
        frame,
        rows,
        frame["epsilon"].map("{:g}".format),
        lambda row: number(row["winning_rate"], 2) or "no test",
    )
    note = "Winning rate with each epsilon; a model passes from 0.5."
    return styled_table(cells, name="epsilon", groups="dimension", note=note)
