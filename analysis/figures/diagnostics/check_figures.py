"""Figures of the diagnostics: the result of each check, and what chance or the design would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from conjury.inference.errors import InputError

from ...frames.kinds import kind_of
from ..dot_marks import POINTS
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..gain_labels import NEUTRAL_PLACE
from ..interval_dots import LevelPanels, Texts, levels, table_of
from ..labels import ColumnNames, level_at

ONCE = (
    "position_balance",
    "design_probabilities",
    "profile_order",
    "task_order",
    "missing_choices",
    "attention_filters",
    "attribute_independence",
)
SAME = "Those counted as more were shown the same pairs and have the same numbers."


def caption(name: str, title: str, alpha: float, axis: str = "", table: pd.DataFrame | None = None) -> str:
    """Caption of the figure of a check: what points and bars are, and at which level."""
    text = kind_of(name).figure
    if text and table is not None and name in ONCE and has_same_numbers(table):
        text = f"{text} {SAME}"
    if not text:
        points = axis[:1].lower() + axis[1:] or "estimates"
        text = f"{{title}} Points: {points}; bars: {{level}} intervals, where there are any."
    return text.replace("{level}", level_at(alpha)).replace("{title}", f"{title}.")


NUMBERS = ["estimate", "lower", "upper"]
MANY = 4  # judges and prompts whose names share a line in a legend
TO_ONE = (0.0, 1.0)  # reach of an axis of counts or percentages that may all be zero
Draw = Callable[[Drawable, FigureStyle], LevelPanels]


def only_zeros(name: str, table: pd.DataFrame) -> bool:
    """Whether a check counted something that never occurred, of which a figure shows nothing."""
    if name == "answers":
        return not table.loc[table["answer"] != "ok", "share"].any()
    counted = {
        "impossible_profiles": "n",
        "missing_choices": "share_missing",
        "shared_tasks": "estimate",
        "repeated_keys": "estimate",
    }.get(name)
    return counted is not None and not table[counted].any()


def judges_of(table: pd.DataFrame, names: ColumnNames) -> pd.Series:
    """Name the judge and prompt of each row, on two lines where they are many."""
    joint = ", " if len(table[["judge", "prompt"]].drop_duplicates()) <= MANY else ",\n"
    pairs = zip(table["judge"].astype("string"), table["prompt"].astype("string").fillna(""), strict=True)
    texts = [joint.join(_judge_labels(*pair, names)) for pair in pairs]
    return pd.Series(texts, index=table.index, dtype="string")


def _judge_labels(judge: str, prompt: str, names: ColumnNames) -> list[str]:
    """Labels of a judge and its prompt, as far as they have names."""
    labels = [names.of("judges", judge)] if judge else []
    return [*labels, *([names.of("prompts", prompt)] if prompt else [])]


def has_same_numbers(table: pd.DataFrame) -> bool:
    """Whether judges or prompts have the same numbers, so that a figure of levels shows one of them."""
    if not {"judge", "prompt", "feature"} <= set(table) or table.empty:
        return False
    return bool((_merge_equal_judges("", table)["more"] != "").any())


def _merge_equal_judges(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Keep one of the judges with the same numbers, since they saw the same pairs, and count the others."""
    if table.empty:
        raise InputError(f"The check {name!r} has no numbers to draw.")
    numbers = [column for column in table.columns if column not in ("judge", "prompt")]
    tables_by_hash: dict[int, list[pd.DataFrame]] = {}
    for _, rows in table.groupby(["judge", "prompt"], sort=False, dropna=False):
        key = int(pd.util.hash_pandas_object(rows[numbers], index=False).to_numpy().sum())
        tables_by_hash.setdefault(key, []).append(rows)
    return pd.concat(
        [
            same[0].assign(more=f" and {len(same) - 1} more" if len(same) > 1 else "")
            for same in tables_by_hash.values()
        ],
        ignore_index=True,
    )


def _percent(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: 100 * table[name] for name in NUMBERS if name in table})


def _plot(
    name: str,
    style: FigureStyle,
    table: pd.DataFrame,
    panel: Texts,
    row: Texts,
    series: Texts,
    xlabel: str,
    *,
    baseline: float | None = 0.0,
    share_x: bool = False,
    hold: Sequence[float] = (),
) -> LevelPanels:
    """Dots and intervals of a check."""
    if table.empty:
        raise InputError(f"The check {name!r} has no numbers to draw.")
    what = kind_of(name).figure.removeprefix("{title} ").partition("; bars:")[0].removesuffix(".")
    return levels(
        table_of(table, panel, row, series),
        xlabel=xlabel,
        what=what,
        places=[NEUTRAL_PLACE] if isinstance(series, str) else style.names.places(table, pd.Series(series)),
        baseline=baseline,
        share_x=share_x,
        hold=hold,
    )


def _register_levels(
    name: str, xlabel: str, baseline: float | None = 0.0, by: str | None = None, percent: bool = False
) -> None:
    """Dots and intervals of levels, a panel for each attribute."""

    def drawer(result: Drawable, style: FigureStyle) -> LevelPanels:
        words, table = style.words, result.frame
        if "feature" not in table:
            shares = table.assign(estimate=100 * table["share_missing"])
            return _plot_judges(name, shares, style, "Pairs without a choice (%)", hold=TO_ONE)
        table = _merge_equal_judges(name, _percent(table) if percent else table)
        series = judges_of(table, style.names) + table["more"]
        if by is not None:
            feature_labels = table[by].map(words.feature).astype("string")
            series = feature_labels + ", " + series if series.nunique() > 1 else feature_labels
        panel = table["feature"].map(words.feature)
        rows = words.levels(table)
        return _plot(name, style, table, panel, rows, series, xlabel, baseline=baseline, share_x=True)

    figure(name)(drawer)


def _register_ranges(name: str, xlabel: str, by: str | None, baseline: float | None) -> None:
    """Medians and ranges over judges and prompts of a number that every level has."""

    def drawer(result: Drawable, style: FigureStyle) -> LevelPanels:
        words, table = style.words, result.frame[result.frame["estimate"].notna()]
        keys = ["feature", "level", *([by] if by else [])]
        ranges = (
            table.groupby(keys, sort=False, observed=True)["estimate"]
            .agg(["median", "min", "max"])
            .reset_index()
        )
        several = len(table[["judge", "prompt"]].drop_duplicates()) > 1
        ranges = ranges.rename(columns={"median": "estimate", "min": "lower", "max": "upper"})
        legend = "\nDots: median over judges and prompts; bars: lowest to highest" if several else ""
        return _plot(
            name,
            style,
            ranges,
            ranges["feature"].map(words.feature),
            words.levels(ranges),
            ranges[by].map(words.feature) if by else "",
            xlabel + legend,
            baseline=baseline,
            share_x=True,
            hold=[0.0] if baseline is None else [],
        )

    figure(name)(drawer)


def _plot_judges(
    name: str,
    table: pd.DataFrame,
    style: FigureStyle,
    xlabel: str,
    baseline: float | None = 0.0,
    hold: Sequence[float] = (),
) -> LevelPanels:
    """One row for each judge and prompt."""
    rows = judges_of(table, style.names).str.replace("\n", " ")
    return _plot(name, style, table, "Judges and prompts", rows, "", xlabel, baseline=baseline, hold=hold)


_register_ranges("design_card", "Effective rows of the contrast with the reference", None, None)
_register_levels("position_balance", "Standardised difference of shares, A minus B")
_register_levels(
    "design_probabilities", "Share observed minus share designed (percentage points)", percent=True
)
_register_levels("profile_order", f"AMCE in position B minus that in position A, {POINTS}", percent=True)
_register_levels("task_order", f"Change of the AMCE, {POINTS}", by="test", percent=True)
_register_levels(
    "attention_filters", f"AMCE of those who passed minus that of those who failed, {POINTS}", by="filter",
    percent=True,
)  # fmt: skip
_register_levels(
    "missing_choices", "Share without a choice minus that expected (percentage points)", percent=True
)
_register_ranges(
    "stimuli", "Standard error clustered by stimulus over that clustered by unit", "stimulus", 1.0
)
_register_ranges("clusters", "Effective number of clusters", "unit", None)


@figure("position_share")
def position_share(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Pairs in which position A was chosen."""
    table, xlabel = _percent(result.frame), "Pairs in which position A was chosen (%)"
    return _plot_judges(result.kind, table, style, xlabel, 50.0)


@figure("repeat_agreement")
def repeat_agreement(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Repeated pairs with the same choice."""
    table, xlabel = _percent(result.frame), "Repeated pairs with the same choice (%)"
    return _plot_judges(result.kind, table, style, xlabel, 50.0)


@figure("respondent_balance")
def respondent_balance(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Variation of levels between respondents over that expected of random assignment."""
    words, table = style.words, result.frame
    label = "Variation between respondents over that expected (bars: 95% of random assignments)"
    rows = table["feature"].map(words.feature)
    return _plot(
        result.kind, style, table, "Attributes", rows, judges_of(table, style.names), label, baseline=1.0
    )


@figure("attribute_independence")
def attribute_independence(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Dependence of pairs of attributes over that expected of independent ones."""
    words, table = style.words, _merge_equal_judges(result.kind, result.frame)
    return _plot(
        result.kind,
        style,
        table,
        table["feature"].map(words.feature),
        "with " + table["partner"].map(words.feature).astype("string"),
        judges_of(table, style.names) + table["more"],
        "Dependence over that expected (bars: 95% of random designs)",
        baseline=1.0,
        share_x=True,
        hold=[0.0],
    )


@figure("carry_over")
def carry_over(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Change in the probability of being chosen with the task before."""
    words, table = style.words, result.frame
    panel, row = table["test"].astype("string").str.capitalize(), table["feature"].map(words.feature)
    label, table = f"Change in the probability of being chosen, {POINTS}", _percent(table)
    return _plot(result.kind, style, table, panel, row, judges_of(table, style.names), label, share_x=True)


@figure("answers")
def answers(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Pairs without a single choice, by what was answered."""
    table = result.frame
    if table.empty:
        raise InputError("The check 'answers' has no numbers to draw.")
    rows = judges_of(table, style.names).str.replace("\n", " ")
    wide = table.assign(row=rows).pivot_table(index="row", columns="answer", values="share", sort=False)
    shares = wide.drop(columns="ok", errors="ignore").fillna(0.0)
    if shares.empty or not len(shares.columns):
        shares = pd.DataFrame({"no single choice": 0.0}, index=wide.index)
    long = (100 * shares).rename_axis(index="row").reset_index()
    long = long.melt("row", var_name="answer", value_name="estimate")
    return _plot(
        result.kind,
        style,
        long,
        "Judges and prompts",
        long["row"],
        long["answer"].map(style.words.feature),
        "Pairs without a single choice (%)",
        hold=TO_ONE,
    )


@figure("shared_tasks")
def shared_tasks(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Tasks of people in which each model made a choice."""
    table, xlabel = _percent(result.frame), "Tasks of people in which the model made a choice (%)"
    return _plot_judges(result.kind, table, style, xlabel, hold=(0.0, 100.0))


@figure("impossible_profiles")
def impossible_profiles(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Profiles or pairs that break a rule of the design."""
    words, table = (
        style.words,
        _merge_equal_judges(result.kind, result.frame).rename(columns={"n": "estimate"}),
    )
    return _plot(
        result.kind,
        style,
        table,
        "Rules of the design",
        table["rule"].map(words.feature),
        judges_of(table, style.names) + table["more"],
        "Profiles or pairs that break the rule",
        hold=TO_ONE,
    )
