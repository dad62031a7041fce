"""Tables of agreement coefficients and of replacement tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ...figures.labels import words
from ...figures.raters.agreement import compared_in_words
from ...figures.raters.alt_power import scenario_name
from ...figures.raters.naming import Names
from ...figures.raters.terms import COEFFICIENTS, WEIGHTS
from ...raters.replacement import epsilon_curve
from ...raters.replacement.epsilon_curve import epsilons
from ..cells import Row, dimension_of, intervals, spread, with_gaps
from ..markdown import slug, table_blocks
from ..tables import NO_BREAK, interval, number, styled_table, whole

if TYPE_CHECKING:
    from great_tables import GT

    from ...results import Result

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


def alt_test_tables(result: Result, told: Names) -> list[GT]:
    """Winning rates and advantage probabilities of every model."""
    frame = result.frame
    several = frame["scoring"].nunique() > 1
    shown = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(partial(dimension_of, told))
            + (", " + frame["scoring"].map(words) if several else ""),
            "Model": frame["model"].map(partial(told.of, "judge")),
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


SHOWN_EPSILONS = 7


def spaced(values: Sequence[float]) -> list[float]:
    """Some of many values at equal steps, ends included."""
    last = len(values) - 1
    return [float(values[round(k * last / (SHOWN_EPSILONS - 1))]) for k in range(SHOWN_EPSILONS)]


def curve_table(result: Result, name: str, title: str, told: Names) -> str:
    """Winning rates of an alternative annotator test over epsilon, as a block with its lead."""
    frame = epsilon_curve(result, spaced(epsilons(result))).frame
    several = frame["scoring"].nunique() > 1
    shown = spread(
        frame,
        {
            "dimension": frame["dimension"].map(partial(dimension_of, told))
            + (", " + frame["scoring"].map(words) if several else ""),
            "Model": frame["model"].map(partial(told.of, "judge")),
        },
        frame["epsilon"].map("{:g}".format),
        lambda row: number(row["winning_rate"], 2) or "no test",
    )
    own = f"{name}_epsilon"
    title = f"{title} Over epsilon."
    table = styled_table(
        shown, name="epsilon", groups="dimension", note="Winning rate with each epsilon; passes from 0.5."
    )
    return f"@tbl-{slug(own)} gives the winning rate with each epsilon.\n\n" + table_blocks(
        own, [table], title
    )


def power_tables(result: Result, told: Names) -> list[GT]:
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


def agreement_tables(result: Result, told: Names) -> list[GT]:
    """The coefficients that are reported most, those compared as columns; all others are in the folder."""
    frame = result.frame.copy()
    weights = frame["weights"].astype("string").fillna("")
    frame["_key"] = list(zip(frame["coefficient"].astype(str), weights, strict=True))
    frame = frame[frame["_key"].isin(SHOWN_COEFFICIENTS) & frame["estimate"].notna()]
    compared = compared_in_words(frame, told)
    named = [
        COEFFICIENTS[name] + (f", {WEIGHTS[weight]}" if weight else "") for name, weight in frame["_key"]
    ]
    shown = spread(
        frame,
        {
            "dimension": frame["dimension"].map(partial(dimension_of, told)),
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
