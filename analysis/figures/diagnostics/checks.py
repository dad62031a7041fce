"""Figures of the diagnostics: what each check found, against what chance or the design would give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..labels import LabelKey, Labels, display_order
from ..panels import Points, draw_panels
from .people import draw_runs, draw_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = ("estimate", "lower", "upper")
MANY = 4  # judges and prompts whose names share a line in a legend
TO_ONE = (0.0, 1.0)  # reach of an axis of counts or percentages that may all be zero


def draw(
    name: str, table: pd.DataFrame, *, theme: str = "light", labels: Mapping[LabelKey, str] | None = None
) -> Figure:
    """Draw the table of a check."""
    if name not in _DRAWERS:
        raise InputError(f"There is no figure of a check {name!r}; the checks are {', '.join(_DRAWERS)}.")
    if table.empty:
        raise InputError(f"The check {name!r} has no numbers to draw.")
    return _DRAWERS[name](table, Labels(labels), theme)


def only_zeros(name: str, table: pd.DataFrame) -> bool:
    """Whether a check counted something that never occurred, of which a figure shows nothing."""
    if name == "answers":
        return not table.loc[table["answer"] != "ok", "share"].any()
    counted = {"impossible_profiles": "n", "missing_choices": "share_missing"}.get(name)
    return counted is not None and not table[counted].any()


def series_of(table: pd.DataFrame, labels: Labels) -> pd.Series:
    """Name the judge and prompt of each row, on two lines where they are many."""
    joint = ", " if len(table[["judge", "prompt"]].drop_duplicates()) <= MANY else ",\n"
    pairs = zip(table["judge"].astype("string"), table["prompt"].astype("string").fillna(""), strict=True)
    return pd.Series(
        [joint.join(labels.feature(part) for part in pair if part) for pair in pairs],
        index=table.index,
        dtype="string",
    )


def once(table: pd.DataFrame) -> pd.DataFrame:
    """Keep one of the judges whose numbers are the same, since they saw the same pairs, and say how many."""
    numbers = [name for name in table.columns if name not in ("judge", "prompt")]
    groups = table.groupby(["judge", "prompt"], sort=False, dropna=False)
    kept: dict[int, list[pd.DataFrame]] = {}
    for _, rows in groups:
        key = int(pd.util.hash_pandas_object(rows[numbers], index=False).to_numpy().sum())
        kept.setdefault(key, []).append(rows)
    frames = []
    for same in kept.values():
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        frames.append(same[0].assign(more=more))
    return pd.concat(frames, ignore_index=True)


def _points(table: pd.DataFrame, panel: pd.Series, row: pd.Series, series: pd.Series) -> Points:
    drawn = pd.DataFrame(
        {
            "panel": panel.astype("string"),
            "row": row.astype("string"),
            "series": series.astype("string"),
            "reference": False,
            **{name: table[name] if name in table else float("nan") for name in NUMBERS},
        }
    )
    panels = display_order(drawn["panel"])
    rows = {name: display_order(drawn.loc[drawn["panel"] == name, "row"]) for name in panels}
    return Points(drawn, panels, rows, display_order(drawn["series"]))


def _levels(
    xlabel: str, baseline: float | None = 0.0, by: str | None = None, percent: bool = False
) -> Callable[[pd.DataFrame, Labels, str], Figure]:
    """Dots and intervals of levels, a panel for each attribute."""

    def drawer(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
        if "feature" not in table:
            return _by_judge("Pairs without a choice (%)", 0.0, hold=TO_ONE)(
                table.assign(estimate=100 * table["share_missing"]), labels, theme
            )
        table = once(table)
        if percent:
            table = table.assign(**{name: 100 * table[name] for name in NUMBERS})
        series = series_of(table, labels) + table["more"]
        if by is not None:
            several = series.nunique() > 1
            named = table[by].map(labels.feature).astype("string")
            series = named + ", " + series if several else named
        features = table["feature"].map(labels.feature)
        levels = pd.Series(
            [labels.level(f, v) for f, v in zip(table["feature"], table["level"], strict=True)],
            index=table.index,
        )
        points = _points(table, features, levels, series)
        return draw_panels(points, theme=theme, xlabel=xlabel, baseline=baseline)

    return drawer


def _range_of_levels(
    xlabel: str, series: str | None, baseline: float | None, value: str = "estimate"
) -> Callable[[pd.DataFrame, Labels, str], Figure]:
    """Medians and ranges over judges and prompts of a number that every level has."""

    def drawer(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
        table = table[table[value].notna()]
        keys = ["feature", "level", *([series] if series else [])]
        found = table.groupby(keys, sort=False)[value].agg(["median", "min", "max"]).reset_index()
        several = len(table[["judge", "prompt"]].drop_duplicates()) > 1
        drawn = found.rename(columns={"median": "estimate", "min": "lower", "max": "upper"})
        which = drawn[series].map(labels.feature) if series else pd.Series("all", index=drawn.index)
        levels = pd.Series(
            [labels.level(f, v) for f, v in zip(drawn["feature"], drawn["level"], strict=True)],
            index=drawn.index,
        )
        points = _points(drawn, drawn["feature"].map(labels.feature), levels, which)
        told = (
            f"{xlabel}\nDots: median over judges and prompts; bars: lowest to highest" if several else xlabel
        )
        hold = [0.0] if baseline is None else []
        return draw_panels(points, theme=theme, xlabel=told, baseline=baseline, share_x=True, hold=hold)

    return drawer


def _by_judge(
    xlabel: str, baseline: float | None, percent: bool = False, hold: Sequence[float] = ()
) -> Callable[[pd.DataFrame, Labels, str], Figure]:
    """One row for each judge and prompt."""

    def drawer(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
        if percent:
            table = table.assign(**{name: 100 * table[name] for name in NUMBERS})
        everywhere = pd.Series("Judges and prompts", index=table.index)
        points = _points(table, everywhere, series_of(table, labels).str.replace("\n", " "), everywhere)
        return draw_panels(points, theme=theme, xlabel=xlabel, baseline=baseline, hold=hold)

    return drawer


def _respondents(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    everywhere = pd.Series("Attributes", index=table.index)
    points = _points(table, everywhere, table["feature"].map(labels.feature), series_of(table, labels))
    label = "Variation between respondents over that expected (bars: 95% of random assignments)"
    return draw_panels(points, theme=theme, xlabel=label, baseline=1.0)


def _independence(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    table = once(table)
    points = _points(
        table,
        table["feature"].map(labels.feature),
        "with " + table["partner"].map(labels.feature).astype("string"),
        series_of(table, labels) + table["more"],
    )
    label = "Dependence over that expected (bars: 95% of random designs)"
    return draw_panels(points, theme=theme, xlabel=label, baseline=1.0, share_x=True, hold=[0.0])


def _carry(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    panel = table["test"].astype("string").str.capitalize()
    points = _points(table, panel, table["feature"].map(labels.feature), series_of(table, labels))
    return draw_panels(points, theme=theme, xlabel="Change in the probability of being chosen", share_x=True)


def _answers(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    series = series_of(table, labels).str.replace("\n", " ")
    wide = table.assign(row=series).pivot_table(index="row", columns="answer", values="share", sort=False)
    lost = wide.drop(columns="ok", errors="ignore").fillna(0.0)
    if lost.empty or not len(lost.columns):
        lost = pd.DataFrame({"no single choice": 0.0}, index=wide.index)
    drawn = (100 * lost).rename_axis(index="row").reset_index()
    drawn = drawn.melt("row", var_name="answer", value_name="estimate")
    everywhere = pd.Series("Judges and prompts", index=drawn.index)
    points = _points(drawn, everywhere, drawn["row"], drawn["answer"].map(labels.feature))
    return draw_panels(
        points, theme=theme, xlabel="Pairs without a single choice (%)", baseline=0.0, hold=TO_ONE
    )


def _impossible(table: pd.DataFrame, labels: Labels, theme: str) -> Figure:
    table = once(table).rename(columns={"n": "estimate"})
    everywhere = pd.Series("Rules of the design", index=table.index)
    points = _points(
        table, everywhere, table["rule"].map(labels.feature), series_of(table, labels) + table["more"]
    )
    return draw_panels(
        points, theme=theme, xlabel="Profiles or pairs that break the rule", baseline=0.0, hold=TO_ONE
    )


_DRAWERS: dict[str, Callable[[pd.DataFrame, Labels, str], Figure]] = {
    "design_card": _range_of_levels("Effective rows of the contrast with the reference", None, None),
    "position_balance": _levels("Standardised difference of shares, A less B"),
    "respondent_balance": _respondents,
    "design_probabilities": _levels("Share observed less share designed (percentage points)", percent=True),
    "attribute_independence": _independence,
    "impossible_profiles": _impossible,
    "position_share": _by_judge("Pairs in which position A was chosen (%)", 50.0, percent=True),
    "profile_order": _levels("AMCE in position B less AMCE in position A"),
    "task_order": _levels("Change of the AMCE", by="test"),
    "carry_over": _carry,
    "attention_filters": _levels("AMCE of those who passed less AMCE of those who failed", by="filter"),
    "repeat_agreement": _by_judge("Repeated pairs with the same choice (%)", 50.0, percent=True),
    "straight_lining": draw_runs,
    "response_times": draw_times,
    "answers": _answers,
    "missing_choices": _levels("Share without a choice less that expected (percentage points)", percent=True),
    "stimuli": _range_of_levels("Error clustered by stimulus over error clustered by unit", "stimulus", 1.0),
    "clusters": _range_of_levels("Effective number of clusters", "unit", None),
}
