"""What figures of estimates among people share that models make more precise: sources, gains, colours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .labels import ColumnNames, level_of
from .theme import distinct_colors

PEOPLE, CORRECTED = "People only", "Corrected"
SOURCE = "series_in_words"  # column: from whose answers an estimate is
NEUTRAL_PLACE = 48  # of differences and corrected estimates; no model near the top of a study has its marker
_PROMPTED = re.compile(r"(?P<judge>.+) \((?P<prompt>[^()]+)\)")  # a model under one of its prompts


def gain_definition(unit: str) -> str:
    """What a gain is, where ``unit`` names what is counted: people, or labelled items."""
    return f"how many times as many {unit} would be as precise without models"


def label_with_gain(label: str, lines: str, unit: str) -> str:
    """An axis label that also says what the lines are and what is at the right."""
    return f"{label} (lines: {lines})\nRight: gain ({gain_definition(unit)})"


def typical_gain(gains: pd.Series[Any], unit: str) -> str:
    """The median gain, and how many are at most 1, as a sentence without its full stop."""
    values = gains.dropna()
    if values.empty:
        return "No gain could be computed"
    if len(values) == 1:
        return f"The gain is {values.iloc[0]:.2f} ({gain_definition(unit)})"
    n_without_gain = int((values <= 1).sum())
    less = f", {n_without_gain} of them at most 1" if n_without_gain else ""
    return f"The median of {len(values)} gains is {values.median():.2f} ({gain_definition(unit)}){less}"


def gain_text(gain: float) -> str:
    """A gain as a factor."""
    return f"\N{MULTIPLICATION SIGN}{gain:.2f}"


def bounds_of(settings: Mapping[str, Any]) -> str:
    """What the lines are: ``95% intervals``."""
    return f"{level_of(settings)} intervals"


def model_in_words(name: str, names: ColumnNames) -> str:
    """Label of a model, with that of its prompt where it is under one of several."""
    prompted = _PROMPTED.fullmatch(name)
    if prompted is None:
        return names.of("judge", name)
    return f"{names.of('judge', prompted['judge'])}, {names.of('prompts', prompted['prompt'])}"


def models_in_words(models: Sequence[str], names: ColumnNames) -> dict[str, str]:
    """Labels of models, with the identifier where two have the same."""
    labels = {name: model_in_words(name, names) for name in models}
    duplicate_labels = {text for text in labels.values() if list(labels.values()).count(text) > 1}
    return {name: f"{text} ({name})" if text in duplicate_labels else text for name, text in labels.items()}


def alone_in_words(models: Sequence[str], names: ColumnNames) -> dict[str, str]:
    """What the estimates of each model alone are called in a legend."""
    return {name: f"{text} only" for name, text in models_in_words(models, names).items()}


def places_of(models: Sequence[str], names: ColumnNames) -> list[int]:
    """Colours of people, of corrected estimates and of the models, which have their usual ones."""
    return distinct_colors([0, NEUTRAL_PLACE, *(names.place(name, models) for name in models)])
