"""Judges as instruments: analyses of facets as steps, where tables have columns of facets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from conjury.inference.study.models import ItemStudy, Study

from ...frames.notes import noted_warnings
from ...instrument import (
    decision_study,
    drift,
    flips,
    order_effects,
    specifications,
    variance_components,
)
from ...instrument.decisions import FACETS
from ...results import AnalysisStep, Result, analysis
from ..robustness_steps import analysis_of_effects
from ..runner import unused_name

OCCASION = "occasion"


@analysis("facets", order=10)
def instrument_steps(
    facet_data: tuple[Study | ItemStudy, pd.DataFrame], options: Mapping[str, Any]
) -> Iterator[AnalysisStep]:
    """Plan the analyses of facets of choices or ratings."""
    study, data = facet_data
    alpha = options["alpha"]
    draw_options: dict[str, Any] = {"alpha": alpha, "seed": options["seed"]}

    def step(
        name: str, title: str, call: Callable[..., Result], *arguments: Any, **options: Any
    ) -> AnalysisStep:
        call_with_notes = partial(_call_with_notes, call, *arguments, **options)
        return AnalysisStep(unused_name(study, name), title, call_with_notes)

    if isinstance(study, Study):
        formula = analysis_of_effects(study).formula
        features = None if data["profile_id"].notna().all() else [part.id for part in study.attributes]
        position_options = {"features": features, "alpha": alpha}
        yield step("order_effects", "Choices by position", order_effects, data, formula, **position_options)
        title = "Effects under every combination of facets"
        yield step("specifications", title, specifications, data, formula, features=features, **draw_options)
    elif isinstance(study, ItemStudy):
        data = _one_dimension(study, data)
    facets = [name for name in FACETS if name in data and data[name].nunique() > 1]
    if facets:
        yield step("flips", "Decisions that flip between levels of facets", flips, data, alpha=alpha)
    if facets and pd.api.types.is_numeric_dtype(data["chosen" if "chosen" in data else "value"]):
        title = "Sources of variance in answers"
        components = cache(partial(_call_with_notes, variance_components, data, **draw_options))
        yield step("variance_components", title, components)
        yield step(
            "decision_study", "How many prompts, orders and repeats", lambda: decision_study(components())
        )
    if OCCASION in facets:
        yield step("drift", "Change between occasions", drift, data, alpha=alpha)


def _call_with_notes(call: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Call an analysis; warnings become notes of its result."""
    with noted_warnings() as warned:
        result = call(*arguments, **options)
    all_notes = tuple(dict.fromkeys((*result.notes, *warned)))
    return Result(result.frame, result.kind, all_notes, result.settings, result.extra)


def _one_dimension(study: ItemStudy, data: pd.DataFrame) -> pd.DataFrame:
    """Judgments of the main dimension, or of the first; numbers where all answers are."""
    if "dimension" in data and data["dimension"].nunique() > 1:
        names = data["dimension"].astype("string")
        main = study.main if study.main in set(names) else names.dropna().iloc[0]
        data = data[(names == main).to_numpy(dtype=bool)]
    values = pd.to_numeric(data["value"], errors="coerce")
    return data.assign(value=values) if values.notna().sum() == data["value"].notna().sum() else data
