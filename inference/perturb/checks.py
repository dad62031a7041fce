"""What perturbations are asked for, checked before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ..errors import InputError
from ..tables.columns import as_text, did_you_mean, listed, refuse
from ..tables.streams import KINDS
from .lexicon import LANGUAGES, varieties

ADDED = (
    "base_item_id", "condition", "changes", "n_changes", "n_changed_words", "n_span_words", "rate",
    "rate_met",
)  # fmt: skip
_NAMES = {"english": "en", "inglés": "en", "spanish": "es", "español": "es", "castellano": "es"}


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that there are not."""
    if not kinds:
        raise InputError(f"no kind of perturbation is named; use {listed(KINDS)}.")
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"there is no perturbation '{kind}'{did_you_mean(kind, KINDS)}; use {listed(KINDS)}."
            )


def checked_rates(rates: Mapping[str, float]) -> dict[str, float]:
    """Return rates by kind, all of them shares above 0."""
    check_kinds(list(rates) or [KINDS[0]])
    for kind, rate in rates.items():
        if not 0 < rate <= 1:
            raise InputError(f"rate {rate:g} of {kind} is no share of words; give one above 0 and up to 1.")
    return dict(rates)


def check_originals(items: pd.DataFrame) -> None:
    """Refuse items that are perturbed copies already."""
    for column in ADDED:
        if column in items:
            raise InputError(
                f"items: there is a column '{column}' already; give the originals, not perturbed copies."
            )


def languages_of(items: pd.DataFrame, column: str) -> list[str]:
    """Return en or es for every item."""
    if column not in items:
        hint = did_you_mean(column, items.columns)
        raise InputError(
            f"items: column '{column}' is missing{hint}; name the one that holds en or es with "
            "--language-column."
        )
    texts = as_text(items[column]).str.casefold().str.strip()
    codes = texts.replace(_NAMES).str.split("[-_]", regex=True).str[0]
    unknown = ~codes.isin(LANGUAGES).to_numpy(dtype=bool)
    if unknown.any():
        value = items[column].iloc[int(unknown.argmax())]
        known = f"perturbations know {' and '.join(LANGUAGES)}"
        refuse("items", column, unknown, f"holds '{value}'; {known}", "leave other items out")
    return [str(code) for code in codes]


def checked_varieties(dialects: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variety of each language that dialect substitutions lead to; None is the default."""
    for language, variety in dialects.items():
        if language not in LANGUAGES:
            raise InputError(f"there are no dialects of language '{language}'; use {listed(LANGUAGES)}.")
        known = varieties(language)
        if variety not in known:
            raise InputError(
                f"there is no variety '{variety}' of {language}{did_you_mean(variety, known)}; "
                f"use {listed(known)}."
            )
    return {language: dialects.get(language) for language in LANGUAGES}
