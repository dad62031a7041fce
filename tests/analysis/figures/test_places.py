"""What is drawn of every kind of result: points at estimates, lines over limits, at their labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import cases
from drawn import drawn_points, vertical_lines
from made_up.figures import example, long_labels
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis import figures
from conjury.analysis.results import Result

NUMBERS = (
    ("estimate", "lower", "upper"),
    ("winning_rate", "winning_rate_lower", "winning_rate_upper"),
    ("advantage_probability", "advantage_probability_lower", "advantage_probability_upper"),
    ("agreement", "lower", "upper"),
    ("expected", "lower", "upper"),
    ("observed",),
    ("ties", "lower", "upper"),
    ("share", "share_lower", "share_upper"),
)
CODES: defaultdict[str, set[str]] = defaultdict(set)  # by identifier


def coded(name: str) -> str:
    """A label of an identifier that no other words contain."""
    CODES[name].add(code := f"Q{sum(map(len, CODES.values()))}Q")
    return code


LABELS = long_labels(coded)
CODES["people"] = CODES["human"]


def candidates(result: Result) -> Iterator[tuple[np.ndarray, set[str]]]:
    """Estimates with limits of all tables of a result, and codes of what each is about."""
    for table in (result.frame, *result.extra.values()):
        for row in table.to_dict("records") if isinstance(table, pd.DataFrame) else ():
            words = {word for value in row.values() for word in re.split(r"\W+", str(value))}
            codes = {code for word in words for code in CODES.get(word, ())}
            for names in NUMBERS:
                if all(isinstance(row.get(name), float) for name in names):
                    yield np.array([*(row[name] for name in names), *[np.nan] * (3 - len(names))]), codes


def true_values(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(true=frame["estimate"] - np.linspace(-0.05, 0.04, len(frame)))


def detectable_effects(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(effect_design=np.linspace(0.02, 0.05, len(frame)),
                        effect_found=np.linspace(0.06, 0.1, len(frame)))  # fmt: skip


VARIED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "truth": true_values,
    "detectable": detectable_effects,
}  # tables of equal numbers, made unequal


def errors_of_estimates(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**frame[["estimate", "lower", "upper"]].sub(frame["true"], axis=0))


def effects_without_signs(frame: pd.DataFrame) -> pd.DataFrame:
    names = ["estimate", "effect_design", "effect_found"]
    long = frame.melt(["feature", "level"], names, value_name="share")
    return long.assign(share=long["share"].abs(), share_lower=np.nan, share_upper=np.nan)


def shares_of_levels(frame: pd.DataFrame) -> pd.DataFrame:
    counts = frame["estimate"].groupby(frame["feature"].astype(str))
    share = 100 * frame["estimate"] / counts.transform("sum")
    return frame[["feature", "level"]].assign(share=share, share_lower=np.nan, share_upper=np.nan)


def measures(measure: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A measure of a trial with Wilson's limits, of bias with 1.96 Monte Carlo standard errors."""

    def table(frame: pd.DataFrame) -> pd.DataFrame:
        own = frame[frame["measure"] == measure]
        n = own["draws"] - own["failures"]
        lower, upper = proportion_confint(own["estimate"].clip(0, 1) * n, n, method="wilson")
        if measure == "bias":
            half = 1.959964 * own["mc_error"]
            lower, upper = own["estimate"] - half, own["estimate"] + half
        return own[["estimate"]].assign(lower=lower, upper=upper)

    return table


DERIVED: dict[
    str, Callable[[pd.DataFrame], pd.DataFrame]
] = {  # what is drawn of a table, where it is not in it
    "truth": errors_of_estimates,
    "detectable": effects_without_signs,
    "frequencies": shares_of_levels,
    "decision_study": lambda frame: frame[~frame["cheapest"]].rename(columns={"phi": "estimate"}),
    "trial": measures("coverage"),
    "trial, bias": measures("bias"),
    "trial, power": measures("power"),
}


@pytest.mark.parametrize(("name", "n_points", "lines"), cases(__file__, "places"))
def test_points_lines_and_labels_are_those_of_one_row_of_the_table(
    name: str, n_points: int, lines: list[float]
) -> None:
    """Each point is at an estimate, the line through it ends at its limits, and its words are of that row."""
    shown = example(name)
    result = shown.result
    if name in VARIED:
        result = replace(result, frame=VARIED[name](result.frame))
    figure = figures.draw(result, labels=LABELS, **shown.options)
    if name in DERIVED:
        result = Result(DERIVED[name](result.frame), result.kind)
    points, rows = drawn_points(figure), list(candidates(result))
    numbers = np.array([row for row, _ in rows])
    assert vertical_lines(figure) == set(lines)
    if name == "tier_accuracy":  # rates of chance are behind the estimates of the same row
        points = [point for point in points if "Chance" not in point.words]
        n_points -= len(points)
    assert len(points) == n_points
    assert len({(point.place, round(point.x, 6)) for point in points}) == n_points
    below = figure.get_supxlabel() + figure.axes[-2:][0].get_xlabel()
    unit = 100 if re.search(r"\(%\)|percent", below, re.I) and name != "frequencies" else 1
    for point in points:
        drawn = np.array([point.x, *point.limits])
        codes = set(re.findall(r"Q\d+Q", point.words))
        same = np.flatnonzero(np.isclose(unit * numbers, drawn, equal_nan=True).all(axis=1))
        assert any(codes <= rows[k][1] for k in same), point
