"""Sentences on effects: the largest, and models compared with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...figures.labels import level_at, p_text
from ...frames.rounding import digits_beside, percentage
from ...frames.sentences import agreeing, capitalised, out_of, sentence
from ..method_sentences import plain
from ..table_format import AS_IT_IS, IN_PERCENT, IN_POINTS, number, whole

HALF = 0.5
TABLE_UNITS = {"": (AS_IT_IS, ""), "points": (IN_POINTS, " points"), "percent": (IN_PERCENT, "%")}
UNEVEN = 4  # times as many profiles as another judge
SIDED = 0.25  # how far the share of position A may be from one half without a remark
MOST_MODELS = 3  # models that a sentence names


def change(value: float, in_points: bool) -> str:
    """A number, or a change of a probability in percentage points with its sign."""
    return f"{signed(value, in_points)} points" if in_points else number(value)


def signed(value: float, in_points: bool) -> str:
    """The number of `change` without its unit, for a column whose head has it."""
    return (IN_POINTS if in_points else AS_IT_IS).number(value)


def sized(row: Mapping[Any, Any], unit: str) -> str:
    """An estimate with its limits in points, percent or the unit of the outcome."""
    number_of, suffix = TABLE_UNITS[unit]
    limits = number_of.limits(row["lower"], row["upper"])
    return f"{number_of.number(row['estimate'])}{suffix}{f' ({limits})' * bool(limits)}"


def limits_of(lower: float, upper: float, in_points: bool) -> str:
    """An interval in the unit of `change`."""
    return (IN_POINTS if in_points else AS_IT_IS).limits(lower, upper)


@dataclass(frozen=True)
class LargestEffect:
    """The effect of the largest size, whichever its sign."""

    estimate: float
    lower: float
    upper: float
    level: str
    judge: str
    bounds: str  # name of the interval
    of_prompts: bool  # whether judges have further prompts, which are not looked at
    in_points: bool = False  # whether it is a change of a probability


def largest_effect(
    frame: pd.DataFrame,
    levels: Sequence[str],
    bounds: Sequence[str],
    *,
    of_prompts: bool = False,
    in_points: bool = False,
) -> LargestEffect | None:
    """Find the largest effect among those with a standard error; None where there are none."""
    # `levels` and `bounds` name the level and the interval of each row.
    size = frame["estimate"].abs().where(frame["std_error"].notna()).to_numpy(float)
    if np.isnan(size).all():
        return None
    at = int(np.nanargmax(size))
    row = frame.iloc[at]
    judge = str(row["judge"]) if "judge" in frame and not pd.isna(row["judge"]) else ""
    estimate, lower, upper = (float(row[name]) for name in ("estimate", "lower", "upper"))
    name = bounds[at] or "interval"
    return LargestEffect(estimate, lower, upper, levels[at], judge, name, of_prompts, in_points)


@sentence
def largest_effect_in_words(values: LargestEffect) -> str:
    """Name the largest effect with its interval."""
    who = f" for {plain(values.judge)}" if values.judge else ""
    limits = limits_of(values.lower, values.upper, values.in_points)
    bounds = f" ({values.bounds} {limits})" if limits else ""
    start = "Under one prompt of each judge, the" if values.of_prompts else "The"
    size = change(values.estimate, values.in_points)
    return f"{start} largest effect is {size}{bounds}, of *{plain(values.level)}*{who}."


@dataclass(frozen=True)
class FewestProfiles:
    """The judge with the fewest profiles, the most of any judge, and whether its intervals are wider."""

    judge: str
    least: int
    most: int
    wider: bool


def compare_sample_sizes(frame: pd.DataFrame, sizes: Mapping[str, int]) -> FewestProfiles | None:
    """Compare the judges with fewest and most profiles; None where these are of one order."""
    if not sizes or max(sizes.values()) < UNEVEN * min(sizes.values()):
        return None
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    width = (frame["upper"] - frame["lower"]).groupby(frame["judge"].astype(str)).median()
    wider = bool(width.get(least, np.nan) > width.get(most, np.nan))
    return FewestProfiles(least, sizes[least], sizes[most], wider)


@sentence
def uneven_in_words(values: FewestProfiles) -> str:
    """Name the judge whose estimates rest on far fewer profiles than those of others."""
    start = f"Intervals of {plain(values.judge)} are based on {whole(values.least)} profiles"
    if values.wider:
        return f"{start} and are wider than those of judges with up to {whole(values.most)}."
    return f"{start}, those of other judges on up to {whole(values.most)}."


@dataclass(frozen=True)
class PositionBias:
    """A judge who mostly chooses one position, and the share of position A."""

    judge: str
    share: float


def find_sided_judges(shares: pd.DataFrame) -> list[PositionBias]:
    """Judges with a share of position A far from one half."""
    far = shares[(shares["estimate"] - HALF).abs() > SIDED]
    return [PositionBias(str(row["judge"]), float(row["estimate"])) for row in far.to_dict("records")]


@sentence
def sided_in_words(values: PositionBias) -> str:
    """How often a judge chose position A, and what follows."""
    return (
        f"{plain(values.judge)} chose position A in {percentage(values.share, 1)} of pairs. Where the "
        "position decides most choices, attributes can change few of them, and effects are near zero."
    )


@dataclass(frozen=True)
class DifferenceCounts:
    """How many estimates of each model differ significantly from those of people."""

    counts: tuple[tuple[str, int, int], ...]  # model, differing, tested; most first
    what: str
    alpha: float
    of_prompts: bool = False  # whether models have further prompts, which are not looked at


def count_differences(
    frame: pd.DataFrame, what: str, alpha: float, *, of_prompts: bool = False
) -> DifferenceCounts:
    """Count significant differences from people by model."""
    tested = frame[frame["p_adjusted"].notna()]
    names = tested["judge"].astype(str)
    counts = (tested["p_adjusted"] < alpha).groupby(names, sort=False).agg(["sum", "size"])
    ranked = counts.sort_values("sum", ascending=False, kind="stable")
    rows = tuple((str(name), int(n), int(of)) for name, n, of in ranked.itertuples(name=None))
    return DifferenceCounts(rows, what, alpha, of_prompts)


def key_of_differences(alpha: float) -> str:
    """What the differences beside effects in a figure are."""
    return f"Right: model minus people, filled where the p value after Holm's adjustment is below {alpha:g}."


@sentence
def differing_in_words(values: DifferenceCounts) -> str:
    """How many models differ from people, and in how many estimates."""
    what = values.what
    if not values.counts:
        return f"No difference between models and people in {what} could be tested."
    rule = f"p below {values.alpha:g}, adjusted by Holm's method"
    name, n, of = values.counts[0]
    if len(values.counts) == 1:
        how = f"differs from people in {n} of {of}" if n else f"differs clearly from people in none of {of}"
        if of == 1:
            how, what = f"{'differs' if n else 'does not differ clearly'} from people in the only", what[:-1]
        return f"{plain(name)} {how} {what} ({rule})."
    count = sum(n > 0 for _, n, _ in values.counts)
    models = out_of(count, len(values.counts), "model")
    start = "Under one prompt of each, " if values.of_prompts else ""
    if not count:
        return (
            f"{capitalised(start + models)} differs clearly from people in {what} ({rule} within each model)."
        )
    named = [f"{plain(name)} in {n} of {of}" for name, n, of in values.counts[:MOST_MODELS]]
    more = " and so on" if len(values.counts) > MOST_MODELS else ""
    return (
        f"{start}{models} {agreeing(count, 'differs', 'differ')} from people in {what} ({rule} within each "
        f"model): {', '.join(named)}{more}."
    )


@dataclass(frozen=True)
class LargestDifference:
    """The difference from people of the largest size among those tested."""

    judge: str
    level: str
    estimate: float
    lower: float
    upper: float
    model: float
    people: float
    alpha: float
    several: bool  # whether there are several models
    in_points: bool = False  # whether it is a difference of changes of a probability


def largest_difference(
    frame: pd.DataFrame, levels: Sequence[str], alpha: float, *, in_points: bool = False
) -> LargestDifference | None:
    """Find the largest difference from people; None where none is tested."""
    size = frame["estimate"].abs().where(frame["p_adjusted"].notna()).to_numpy(float)
    if np.isnan(size).all():
        return None
    row = frame.iloc[at := int(np.nanargmax(size))]
    names = ("estimate", "lower", "upper", "model", "people")
    estimate, lower, upper, model, people = (float(row[name]) for name in names)
    several = frame.loc[frame["p_adjusted"].notna(), "judge"].nunique() > 1
    return LargestDifference(
        str(row["judge"]), levels[at], estimate, lower, upper, model, people, alpha, bool(several), in_points
    )


@sentence
def largest_difference_in_words(values: LargestDifference) -> str:
    """Name the largest difference from people with its interval."""
    who, in_points = plain(values.judge), values.in_points
    size, model, people = (change(x, in_points) for x in (values.estimate, values.model, values.people))
    limits = limits_of(values.lower, values.upper, in_points)
    return (
        f"The largest difference{f' of {who}' if values.several else ''} is {size} "
        f"({level_at(values.alpha)} interval {limits}), for {plain(values.level)}: {model} for {who}, "
        f"{people} for people."
    )


@dataclass(frozen=True)
class RowEstimate:
    """A row of a main table."""

    subject: str  # whose estimate of what it is, as the start of a sentence
    estimate: float
    lower: float
    upper: float
    level: str  # of the interval
    p: float
    adjusted: bool  # whether the p value is adjusted
    n: int  # 0 where it is not known
    counted: str  # what it counts
    in_points: bool = False  # whether the estimate is a change of a probability
    draws: int = 0  # random draws that the p value is a share of


@sentence
def row_in_words(values: RowEstimate) -> str:
    """An estimate with its interval, p value and number, as a paper states it."""
    scale, digits = (100, 1) if values.in_points else (1, 2)
    digits = digits_beside([scale * values.lower, scale * values.upper], digits, (0.0,))
    estimate, lower, upper = (
        number(scale * value, digits) for value in (values.estimate, values.lower, values.upper)
    )
    sign = "+" if values.in_points and values.estimate > 0 and float(estimate) else ""
    unit = " percentage points" if values.in_points else ""
    details = [f"{values.level} CI {lower} to {upper}" if lower and upper else ""]
    if values.p == values.p:
        details.append(f"{'adjusted ' * values.adjusted}p {p_text(values.p, values.draws)}")
    details.append(f"N = {whole(values.n)} {values.counted}" if values.n else "")
    texts = ", ".join(filter(None, details))
    return f"{values.subject} {sign}{estimate}{unit}{f' ({texts})' * bool(texts)}."
