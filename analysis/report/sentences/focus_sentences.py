"""Sentences on the attributes that a study asks about: effects of a judge, or of a model beside people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...figures.labels import p_text
from ...frames.sentences import agreeing, agreeing_with_part, capitalised, out_of, sentence, together
from ..method_sentences import plain
from ..table_format import whole
from .effect_sentences import MOST_MODELS, change, limits_of, signed
from .ranking_sentences import clear_rule

PEOPLE = "people"
MOST_EFFECTS = 2  # effects of a judge that a sentence names; one more of a judge who is alone
MOST_ATTRIBUTES = 4  # of models beside people
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
    names = (
        ["effect"]
        if len(ends) == 1
        else [f"{place} effect" for place in ("first", "second", "third", "fourth")]
    )
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
    verb = agreeing(more, "has an interval without 0", "have intervals without 0")
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


class ModelEffect(NamedTuple):
    """The effect of a level on one model, and its difference from that on people."""

    model: str
    effect: Limits
    difference: Limits
    p: float  # adjusted
    n_differing: int  # levels of the attribute whose adjusted p is below alpha
    n_tested: int


@dataclass(frozen=True)
class ComparedEffect:
    """Of an attribute the level in which a model and people differ most; without any, the largest effect."""

    level: str
    feature: str
    people: Limits
    models: tuple[ModelEffect, ...]


def find_compared_effects(
    differences: pd.DataFrame, effects: pd.DataFrame, alpha: float
) -> tuple[ComparedEffect, ...]:
    """Compare models with people in each attribute; both tables have ``feature_label, level_label``."""
    keys, sides = ["judge", "level_label"], effects[["judge", "level_label", *ENDS]].astype({"judge": str})
    frame = differences[[*keys, "feature_label", *ENDS, "p_adjusted"]].astype({"judge": str})
    of_people = sides[sides["judge"] == PEOPLE].drop(columns="judge")
    frame = frame.merge(sides, on=keys, suffixes=("", "_model"))
    frame = frame.merge(of_people, on="level_label", suffixes=("", "_people"))
    compared = []
    for feature, rows in frame[frame["p_adjusted"].notna()].groupby("feature_label", sort=False):
        is_clear = rows["p_adjusted"] < alpha
        ranked = rows[is_clear] if is_clear.any() else rows
        sizes = ranked[["estimate"] if is_clear.any() else ["estimate_model", "estimate_people"]]
        row = ranked.iloc[int(np.nanargmax(sizes.abs().max(axis=1).to_numpy(float)))]
        counts = is_clear.groupby(rows["judge"]).agg(["sum", "size"])
        models = tuple(
            ModelEffect(
                str(at["judge"]),
                _limits_in(at, "_model"),
                _limits_in(at),
                float(at["p_adjusted"]),
                *(int(n) for n in counts.loc[at["judge"]]),
            )
            for at in rows[rows["level_label"] == row["level_label"]].to_dict("records")
        )
        compared.append(
            ComparedEffect(str(row["level_label"]), str(feature), _limits_in(row, "_people"), models)
        )
    return tuple(compared)


def _limits_in(row: Mapping[str, Any] | pd.Series[Any], suffix: str = "") -> Limits:
    return Limits(*(float(row[end + suffix]) for end in ENDS))


class Basis(NamedTuple):
    """What effects of a judge rest on: the name of their intervals, choices, and the prompt of several."""

    bounds: str
    n: int  # 0 where it is not known
    prompt: str = ""


@dataclass(frozen=True)
class ComparedFocus:
    """Effects of models beside those of people, in the attributes that a study asks about."""

    effects: tuple[ComparedEffect, ...]
    outcome: str
    bases: Mapping[str, Basis]  # of models by name, and of people
    alpha: float
    over_prompts: tuple[tuple[float, float], ...] = ()  # of a model that is alone
    n_prompts: int = 1
    in_points: bool = False


@sentence
def compared_focus_in_words(values: ComparedFocus) -> str:
    """In which levels of the attributes that the study asks about models and people differ most."""
    sentences: list[str] = []
    for effect in values.effects[:MOST_ATTRIBUTES]:
        first = not sentences
        verb = f" changes {values.outcome} by " if first else ": "
        in_words = _model_beside_people if len(effect.models) == 1 else _models_beside_people
        sentences.append(f"*{plain(effect.level)}*{verb}{in_words(effect, values, first)}.")
    prompts = f"the {values.n_prompts} prompts of {plain(values.effects[0].models[0].model)}"
    spans = _over_prompts(values.over_prompts, prompts, values.in_points)
    between = " " if len(values.bases) == 2 else "\n\n"  # several models make an attribute a paragraph
    return f"{between.join(sentences)}{spans} {clear_rule(values.alpha)}"


def _side(values: ComparedFocus, who: str, side: Limits, *, first: bool) -> str:
    """An effect for somebody with its interval; at first mention with its name, choices and prompt."""
    basis, limits = values.bases[who], limits_of(side.lower, side.upper, values.in_points)
    if limits and first:
        limits = f"{basis.bounds} {limits}"
    under = f" under the prompt *{plain(basis.prompt)}*" if basis.prompt else ""
    counted = f"{whole(basis.n)} {agreeing(basis.n, 'choice', 'choices')}{under}" if basis.n and first else ""
    details = "; ".join(filter(None, [limits, counted]))
    return f"{change(side.estimate, values.in_points)} for {plain(who)}{f' ({details})' * bool(details)}"


def _test(model: ModelEffect, values: ComparedFocus) -> str:
    """The difference of a model from people with its interval and test."""
    size = change(model.difference.estimate, values.in_points)
    limits = limits_of(model.difference.lower, model.difference.upper, values.in_points)
    return f"a difference of {size} ({', '.join(filter(None, [limits, f'adjusted p {p_text(model.p)}']))})"


def _model_beside_people(effect: ComparedEffect, values: ComparedFocus, first: bool) -> str:
    """One model beside people, and how many levels of the attribute differ."""
    (model,) = effect.models
    of = f"{model.n_tested} levels of {plain(effect.feature)}"
    if model.n_tested == 1:
        clause = "" if model.n_differing else ", which is not clear"
    elif not model.n_differing:
        clause = f"; none of the {of} differs clearly"
    elif model.n_differing == 1:
        clause = f", the only clear difference among {of}"
    else:
        clause = f", the largest of {model.n_differing} clear differences among {of}"
    sides = ((model.model, model.effect), (PEOPLE, effect.people))
    texts = [_side(values, who, side, first=first) for who, side in sides]
    return f"{together(texts)}, {_test(model, values)}{clause}"


def _models_beside_people(effect: ComparedEffect, values: ComparedFocus, first: bool) -> str:
    """People, then several models, of many the most and the least distant; how many differ clearly."""
    ranked = sorted(effect.models, key=lambda model: -abs(model.difference.estimate))
    n_models, n_tested = len(ranked), max(model.n_tested for model in ranked)
    is_few = n_models <= MOST_MODELS
    named = (
        [("", model) for model in effect.models]
        if is_few
        else [(f"farthest of {n_models} models ", ranked[0]), ("nearest ", ranked[-1])]
    )
    texts = [
        f"{place}{_side(values, model.model, model.effect, first=first)}, {_test(model, values)}"
        f"{', which is not clear' * (n_tested == 1 and not model.n_differing)}"
        for place, model in named
    ]
    text = "; ".join([_side(values, PEOPLE, effect.people, first=first), *texts])
    of = f"{n_tested} levels of {plain(effect.feature)}"
    if is_few:
        verbs = [" differs clearly", *[""] * n_models]
        counts = [
            f"{plain(model.model)}{verb} in {model.n_differing or 'none'}"
            for verb, model in zip(verbs, effect.models, strict=False)
        ]
        return f"{text}; of {of} {together(counts)}" if n_tested > 1 else text
    differing = sum(model.n_differing > 0 for model in effect.models)
    where = f" in at least one of {of}" if n_tested > 1 else ""
    verb = agreeing_with_part(differing, n_models, "differs", "differ")
    return f"{text}; {out_of(differing, n_models, 'model')} {verb} clearly{where}"
