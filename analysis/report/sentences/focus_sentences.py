"""Sentences on the attributes that a study asks about: effects of a judge, or of a model beside people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...figures.labels import p_text
from ...frames.sentences import agreeing, capitalised, sentence, together
from ..method_sentences import plain
from ..table_format import whole
from .effect_sentences import change, limits_of, signed

MOST_EFFECTS = 2  # effects of a judge that a sentence names; one more of a judge who is alone
MOST_ATTRIBUTES = 3  # of a model beside people
ENDS = ["estimate", "lower", "upper"]


class Limits(NamedTuple):
    """An estimate with its limits."""

    estimate: float
    lower: float
    upper: float


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
    n_named: int = MOST_EFFECTS  # of the clear effects
    over_prompts: tuple[tuple[float, float], ...] = ()  # least and largest estimate of each effect named
    n_prompts: int = 1
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
    every: pd.DataFrame | None = None,
    is_alone: bool = False,
    n: int = 0,
    in_points: bool = False,
) -> FocusEffects | None:
    """Effects whose intervals exclude zero, and attributes without one; None where none is estimated."""
    # `features` and `levels` name the attribute and the level of each row; `every` has the effects under all
    # prompts of the judge, with the level in `level_label`.
    named = frame.assign(feature_label=list(features), level_label=list(levels))
    tested = named[named["std_error"].notna() & named["lower"].notna()]
    if tested.empty:
        return None
    is_clear = (tested["lower"] > 0) | (tested["upper"] < 0)
    ranked = tested[is_clear].sort_values("estimate", key=abs, ascending=False, kind="stable")
    is_further = ranked.groupby("feature_label", sort=False).cumcount() > 0
    ranked = ranked.iloc[np.argsort(is_further.to_numpy(), kind="stable")]
    numbers = ranked[["level_label", *ENDS]].itertuples(index=False, name=None)
    attributes = tuple(dict.fromkeys(tested["feature_label"]))
    without = [name for name in attributes if name not in set(ranked["feature_label"])]
    rows_without = tested[tested["feature_label"].isin(without)]
    clear = tuple((str(level), float(at), float(low), float(high)) for level, at, low, high in numbers)
    names = [level for level, *_ in clear[: MOST_EFFECTS + is_alone]]
    return FocusEffects(
        judge,
        clear,
        tuple(without),
        (float(rows_without["lower"].min()), float(rows_without["upper"].max())),
        attributes,
        outcome,
        bounds,
        prompt,
        MOST_EFFECTS + is_alone,
        span_of_prompts(every, names),
        1 if every is None else every["prompt"].nunique(),
        n,
        in_points,
    )


def span_of_prompts(every: pd.DataFrame | None, levels: Sequence[str]) -> tuple[tuple[float, float], ...]:
    """The least and the largest estimate of each level over prompts; empty with a single prompt."""
    if every is None or every["prompt"].nunique() < 2:
        return ()
    spans = every.groupby("level_label")["estimate"].agg(["min", "max"]).reindex(list(levels))
    return tuple((float(low), float(high)) for low, high in spans.itertuples(index=False, name=None))


def _over_prompts(spans: Sequence[tuple[float, float]], prompts: str, in_points: bool) -> str:
    """Between which values the effects named before lie under all ``prompts``."""
    if not spans:
        return ""
    ends = [f"{signed(low, in_points)} to {change(high, in_points)}" for low, high in spans]
    names = ["effect"] if len(ends) == 1 else [f"{place} effect" for place in ("first", "second", "third")]
    texts = [f"the {name} is {text}" for name, text in zip(names, ends, strict=False)]
    return f" Under {prompts}, {together(texts)}."


@sentence
def focus_in_words(values: FocusEffects) -> str:
    """State the clear effects of the attributes that the study asks about, and which have none."""
    effects: list[str] = []
    for level, estimate, lower, upper in values.clear[: values.n_named]:
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
    effects += [f"{whole(more)} {levels} {verb} (unadjusted)"] if more else []
    text = "; ".join(filter(None, [together(effects, len(effects)), unclear]))
    size = f"in {whole(values.n)} {agreeing(values.n, 'choice', 'choices')} of" if values.n else "for"
    who = f"{size} {plain(values.judge)}" if values.judge else ""
    under = f"under the prompt *{plain(values.prompt)}*" if values.prompt else ""
    start = " ".join(filter(None, [who, under]))
    text = f"{start}, {text}." if start else f"{text}."
    return capitalised(text) + _over_prompts(
        values.over_prompts, f"its {values.n_prompts} prompts", values.in_points
    )


@dataclass(frozen=True)
class ComparedEffect:
    """Of an attribute the level in which a model and people differ most; without any, the largest effect."""

    level: str
    feature: str
    model: Limits
    people: Limits
    difference: Limits
    p: float  # adjusted
    n_differing: int  # levels of the attribute whose adjusted p is below alpha
    n_tested: int


def find_compared_effects(
    differences: pd.DataFrame,
    model: pd.DataFrame,
    people: pd.DataFrame,
    features: Sequence[str],
    levels: Sequence[str],
    alpha: float,
) -> tuple[ComparedEffect, ...]:
    """Compare a model with people in each attribute; ``features`` and ``levels`` name rows of differences."""
    keys = ["feature", "level"]
    frame = differences.astype(dict.fromkeys(keys, str))[[*keys, *ENDS, "p_adjusted"]]
    frame = frame.assign(feature_label=list(features), level_label=list(levels))
    for name, side in (("model_", model), ("people_", people)):
        limits = side.astype(dict.fromkeys(keys, str))[[*keys, *ENDS]]
        frame = frame.merge(limits.rename(columns={end: name + end for end in ENDS}), on=keys)
    effects = []
    for feature, rows in frame[frame["p_adjusted"].notna()].groupby("feature_label", sort=False):
        clear_rows = rows[rows["p_adjusted"] < alpha]
        sizes = clear_rows[["estimate"]] if len(clear_rows) else rows[["model_estimate", "people_estimate"]]
        at = int(np.nanargmax(sizes.abs().max(axis=1).to_numpy(float)))
        row = (clear_rows if len(clear_rows) else rows).iloc[at]
        model_limits, people_limits, limits_of_difference = (
            Limits(*(float(row[prefix + end]) for end in ENDS)) for prefix in ("model_", "people_", "")
        )
        effects.append(
            ComparedEffect(
                str(row["level_label"]),
                str(feature),
                model_limits,
                people_limits,
                limits_of_difference,
                float(row["p_adjusted"]),
                len(clear_rows),
                len(rows),
            )
        )
    return tuple(effects)


@dataclass(frozen=True)
class ComparedFocus:
    """Effects of a model beside those of people, in the attributes that a study asks about."""

    model: str
    effects: tuple[ComparedEffect, ...]
    outcome: str
    bounds: tuple[str, str]  # names of the intervals of the model and of people
    n: tuple[int, int]  # choices of the model and of people, 0 where they are not known
    prompt: str = ""
    over_prompts: tuple[tuple[float, float], ...] = ()
    n_prompts: int = 1
    in_points: bool = False


@sentence
def compared_focus_in_words(values: ComparedFocus) -> str:
    """In which levels of the attributes that the study asks about a model and people differ most."""
    sentences: list[str] = []
    for effect in values.effects[:MOST_ATTRIBUTES]:
        first = not sentences
        sides = [
            f"{change(side.estimate, values.in_points)} for {who}{_basis(values, place, side, first)}"
            for place, (who, side) in enumerate(
                ((plain(values.model), effect.model), ("people", effect.people))
            )
        ]
        verb = f" changes {values.outcome} by " if first else ": "
        sentences.append(f"*{plain(effect.level)}*{verb}{together(sides)}{_difference(effect, values)}.")
    prompts = f"the {values.n_prompts} prompts of {plain(values.model)}"
    return " ".join(sentences) + _over_prompts(values.over_prompts, prompts, values.in_points)


def _basis(values: ComparedFocus, place: int, side: Limits, first: bool) -> str:
    """The interval of a model (place 0) or of people, at first mention with its name and with choices."""
    limits, n = limits_of(side.lower, side.upper, values.in_points), values.n[place]
    if limits and first:
        limits = f"{values.bounds[place]} {limits}"
    under = f" under the prompt *{plain(values.prompt)}*" if values.prompt and not place else ""
    counted = f"{whole(n)} {agreeing(n, 'choice', 'choices')}{under}" if n and first else ""
    details = "; ".join(filter(None, [limits, counted]))
    return f" ({details})" if details else ""


def _difference(effect: ComparedEffect, values: ComparedFocus) -> str:
    """The difference with its interval and test, and how many levels of the attribute differ."""
    size = change(effect.difference.estimate, values.in_points)
    limits = limits_of(effect.difference.lower, effect.difference.upper, values.in_points)
    test = ", ".join(filter(None, [limits, f"adjusted p {p_text(effect.p)}"]))
    of = f"{effect.n_tested} levels of {plain(effect.feature)}"
    if effect.n_tested == 1:
        clause = "" if effect.n_differing else ", which is not clear"
    elif not effect.n_differing:
        clause = f"; none of the {of} differs clearly"
    elif effect.n_differing == 1:
        clause = f", the only clear one among {of}"
    else:
        clause = f", the largest of {effect.n_differing} clear ones among {of}"
    return f", a difference of {size} ({test}){clause}"
