"""Sentences on effects: the largest, and models compared with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...figures.labels import level_at
from ...frames.rounding import NULLS, digits_beside, p_value, percentage
from ...frames.sentences import agreeing, capitalised, out_of, sentence, together
from ..method_sentences import plain
from ..table_format import AS_IT_IS, IN_POINTS, number, whole

HALF = 0.5
UNEVEN = 4  # times as many profiles as another judge
SIDED = 0.25  # how far the share of position A may be from one half without a remark
MOST_PROMPTS = 5  # prompts of a judge that a sentence names
MOST_MODELS = 3  # models that a sentence names
MOST_EFFECTS = 2  # effects of a judge that a sentence names; one more of a judge who is alone


def change(value: float, in_points: bool) -> str:
    """A number, or a change of a probability in percentage points with its sign."""
    return f"{signed(value, in_points)} points" if in_points else number(value)


def signed(value: float, in_points: bool) -> str:
    """The number of `change` without its unit, for a column whose head has it."""
    return (IN_POINTS if in_points else AS_IT_IS).number(value)


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
class FocusEffects:
    """Effects of the attributes that a study asks about, of one judge."""

    judge: str
    # level, estimate and limits: the largest of each attribute, then the others, the largest first
    clear: tuple[tuple[str, float, float, float], ...]
    unclear: tuple[str, ...]  # attributes without any such effect
    unclear_limits: tuple[float, float]  # the lowest and the highest limit of these
    features: tuple[str, ...]  # attributes that are looked at
    outcome: str
    bounds: str  # name of the intervals
    prompt: str = ""  # that the effects are under; of a judge with several
    # attributes, prompts, clear effects, and all; of several prompts
    by_prompt: tuple[tuple[str, str, int, int], ...] = ()
    is_alone: bool = False  # whether there is no other judge
    n: int = 0  # choices, 0 where they are not known
    in_points: bool = False  # whether effects are changes of a probability


def find_focus_effects(
    frame: pd.DataFrame,
    features: Sequence[str],
    levels: Sequence[str],
    *,
    outcome: str,
    bounds: str,
    judge: str = "",
    prompt: str = "",
    other_prompts: pd.DataFrame | None = None,
    is_alone: bool = False,
    n: int = 0,
    in_points: bool = False,
) -> FocusEffects | None:
    """Effects whose intervals exclude zero, and attributes without one; None where none is estimated."""
    # `features` and `levels` name the attribute and the level of each row; `other_prompts` has the same
    # effects under the judge's other prompts, with the attribute in `feature_label`.
    named = frame.assign(feature_label=list(features), level_label=list(levels))
    tested = _with_limits(named)
    if tested.empty:
        return None
    ranked = tested[_is_clear(tested)].sort_values("estimate", key=abs, ascending=False, kind="stable")
    is_further = ranked.groupby("feature_label", sort=False).cumcount() > 0
    ranked = ranked.iloc[np.argsort(is_further.to_numpy(), kind="stable")]
    numbers = ranked[["level_label", "estimate", "lower", "upper"]].itertuples(index=False, name=None)
    attributes = tuple(dict.fromkeys(tested["feature_label"]))
    without = [name for name in attributes if name not in set(ranked["feature_label"])]
    rows_without = tested[tested["feature_label"].isin(without)]
    clear = tuple((str(level), float(at), float(low), float(high)) for level, at, low, high in numbers)
    by_prompt = (
        ()
        if other_prompts is None
        else tuple(_clear_by_prompt(pd.concat([tested, _with_limits(other_prompts)])))
    )
    return FocusEffects(
        judge,
        clear,
        tuple(without),
        (float(rows_without["lower"].min()), float(rows_without["upper"].max())),
        attributes,
        outcome,
        bounds,
        prompt,
        by_prompt,
        is_alone,
        n,
        in_points,
    )


def _with_limits(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["std_error"].notna() & frame["lower"].notna()]


def _is_clear(frame: pd.DataFrame) -> pd.Series[bool]:
    return (frame["lower"] > 0) | (frame["upper"] < 0)


def _clear_by_prompt(frame: pd.DataFrame) -> list[tuple[str, str, int, int]]:
    """Attributes and prompts with the number of effects whose intervals exclude zero, and of all."""
    keys = [frame["feature_label"].astype(str), frame["prompt"].astype(str)]
    counts = _is_clear(frame).groupby(keys, sort=False).agg(["sum", "size"])
    return [
        (str(feature), str(prompt), int(n), int(of))
        for (feature, prompt), n, of in counts.itertuples(name=None)
    ]


@sentence
def focus_in_words(values: FocusEffects) -> str:
    """State the clear effects of the attributes that the study asks about, and which have none."""
    effects: list[str] = []
    for level, estimate, lower, upper in values.clear[: MOST_EFFECTS + values.is_alone]:
        verb, bounds = ("", "") if effects else (f"changes {values.outcome} ", f"{values.bounds} ")
        size, limits = change(estimate, values.in_points), limits_of(lower, upper, values.in_points)
        effects.append(f"*{plain(level)}* {verb}by {size} ({bounds}{limits})")
    unclear = f"no clear effect of {together(map(plain, values.unclear))}" if values.unclear else ""
    if unclear:
        limits = limits_of(*values.unclear_limits, values.in_points)
        unclear += f" (every {'interval' if effects else values.bounds} contains 0; all lie within {limits})"
    more = len(values.clear) - len(effects)
    with_effects = [name for name in values.features if name not in values.unclear]
    levels = f"more {agreeing(more, 'level', 'levels')} of {together(map(plain, with_effects))}"
    verb = agreeing(more, "has a clear effect", "have clear effects")
    effects += [f"{whole(more)} {levels} {verb}"] if more else []
    text = "; ".join(filter(None, [together(effects, len(effects)), unclear]))
    size = f"in {whole(values.n)} {agreeing(values.n, 'choice', 'choices')} of" if values.n else "for"
    who = f"{size} {plain(values.judge)}" if values.judge else ""
    under = f"under the prompt *{plain(values.prompt)}*" if values.prompt else ""
    start = " ".join(filter(None, [who, under]))
    text = f"{start}, {text}." if start else f"{text}."
    return f"{capitalised(text)}{_prompt_by_prompt(values)}"


def _prompt_by_prompt(values: FocusEffects) -> str:
    """How many levels of each attribute have clear effects under each prompt; prompts that differ by name."""
    texts, prompts = [], dict.fromkeys(prompt for _, prompt, _, _ in values.by_prompt)
    for feature in dict.fromkeys(feature for feature, *_ in values.by_prompt):
        counts = {prompt: (n, of) for name, prompt, n, of in values.by_prompt if name == feature}
        usual = Counter(counts.values()).most_common(1)[0][0]
        exceptions = [
            f"{n} of {of} under *{plain(name)}*" for name, (n, of) in counts.items() if (n, of) != usual
        ]
        but = f" ({together(exceptions, MOST_PROMPTS)})" if exceptions else ""
        texts.append(f"{plain(feature)} {usual[0] or 'none'} of {usual[1]}{but}")
    if not texts:
        return ""
    return f" Levels with clear effects under each of {len(prompts)} prompts: {'; '.join(texts)}."


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


@sentence
def row_in_words(values: RowEstimate) -> str:
    """An estimate with its interval, p value and number, as a paper states it."""
    scale, digits = (100, 1) if values.in_points else (1, 2)
    digits = digits_beside(
        [scale * values.lower, scale * values.upper], digits, (0.0,) if values.in_points else NULLS
    )
    estimate, lower, upper = (
        number(scale * value, digits) for value in (values.estimate, values.lower, values.upper)
    )
    sign = "+" if values.in_points and values.estimate > 0 and float(estimate) else ""
    unit = " percentage points" if values.in_points else ""
    details = [f"{values.level} CI {lower} to {upper}" if lower and upper else ""]
    if values.p == values.p:
        p = p_value(values.p)
        name = "adjusted p" if values.adjusted else "p"
        details.append(f"{name} < {p.removeprefix('<')}" if p.startswith("<") else f"{name} = {p}")
    details.append(f"N = {whole(values.n)} {values.counted}" if values.n else "")
    texts = ", ".join(filter(None, details))
    return f"{values.subject} {sign}{estimate}{unit}{f' ({texts})' * bool(texts)}."
