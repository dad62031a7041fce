"""What a user asked an estimator for: one frozen record that every engine and the bootstrap read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal

import pandas as pd

from conjury.inference.errors import InputError

from ..formula import Formula, parse
from ..results import KEY_COLUMNS, NUMBER_COLUMNS, check_alpha

Family = Literal["gaussian", "quasibinomial"]
LevelOrder = Literal["ascending", "descending"]
_OUTCOME_FREE = ("cj_freqs", "cj_props", "cj_table")
_LAYOUT = {"feature_order", "feature_labels", "level_order"}
_FITTED = _LAYOUT | {"id", "weights", "engine", "family", "alpha"}
_ACCEPTED = {
    "amce": _FITTED | {"reference"},
    "amce_by_reference": _FITTED | {"reference", "variable"},
    "amce_diffs": _FITTED | {"reference", "by"},
    "cj_amce": _FITTED | {"reference", "by"},
    "mm": _FITTED | {"h0"},
    "cj_mm": _FITTED | {"h0", "by"},
    "mm_diffs": _FITTED | {"by"},
    "cj_freqs": _LAYOUT | {"id", "weights", "engine", "by"},
    "cj_props": {"id", "weights", "engine", "margin"},
    "cj_table": _LAYOUT,
}


@dataclass(frozen=True)
class Request:
    """A verb, its formula and its options; field names are the keyword arguments of the public verbs."""

    verb: str
    formula: Formula
    id: str | None = None
    weights: str | None = None
    by: tuple[str, ...] = ()
    variable: str | None = None
    engine: str = "native"
    family: Family = "gaussian"
    alpha: float = 0.05
    h0: float = 0.0
    reference: Mapping[str, Any] | None = None
    feature_order: tuple[str, ...] | None = None
    feature_labels: Mapping[str, str] | None = None
    level_order: LevelOrder = "ascending"
    margin: int | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Features in the order of the output."""
        return self.feature_order or self.formula.features

    def label(self, feature: str) -> str:
        """The feature's label in the output."""
        return (self.feature_labels or {}).get(feature, feature)

    def with_verb(self, verb: str, **changes: Any) -> Request:
        """The same request put to another verb."""
        return replace(self, verb=verb, **changes)


def make_request(verb: str, formula: str | Formula, **options: Any) -> Request:
    """Check the options that all verbs share and put them into a `Request`."""
    if not isinstance(formula, str | Formula):
        raise InputError(f"formula is {formula!r}; give a string such as 'chosen ~ slur + identity'.")
    parsed = formula if isinstance(formula, Formula) else parse(formula)
    if not parsed.outcome and verb not in _OUTCOME_FREE:
        raise InputError(f"Formula {parsed} has no outcome; write it as 'chosen {parsed}'.")
    _check_accepted(verb, options)
    for option in ("id", "weights", "variable"):
        options[option] = _column_name(options.get(option), option)
    by = options.pop("by", None)
    grouping = by if isinstance(by, list | tuple) else [by]
    options["by"] = tuple(name for value in grouping if (name := _column_name(value, "by")))
    taken = next((name for name in options["by"] if name in (*KEY_COLUMNS, *NUMBER_COLUMNS, "by")), None)
    if taken is not None:
        raise InputError(f"by names {taken!r}, which is a column of every result; rename it in the data.")
    if len(set(options["by"])) < len(options["by"]):
        raise InputError(f"by names a column twice: {list(options['by'])}; name each once.")
    h0 = options.get("h0", 0.0)
    if not isinstance(h0, Real) or not math.isfinite(h0):
        raise InputError(f"h0 is {h0!r}; give a number, such as 0.5 for a forced choice between two.")
    if verb in _OUTCOME_FREE and options.get("engine", "native") not in ("native", "cregg"):
        raise InputError(f"{verb} has no engine {options['engine']!r}; its engines are native and cregg.")
    order = options.pop("feature_order", None)
    if order is not None and Counter(order) != Counter(parsed.features):
        raise InputError(
            f"feature_order is {list(order)}; it must hold each feature once: {list(parsed.features)}."
        )
    labels = options.get("feature_labels") or {}
    stray = next((name for name in labels if name not in parsed.features), None)
    if stray is not None:
        raise InputError(f"feature_labels names {stray!r}, which is no feature of {parsed}.")
    shown = [labels.get(name, name) for name in parsed.features]
    if len(set(shown)) < len(shown):
        raise InputError(f"feature_labels gives two features one label: {shown}; make them different.")
    if options.get("level_order", "ascending") not in ("ascending", "descending"):
        raise InputError(f"level_order is {options['level_order']!r}; give 'ascending' or 'descending'.")
    if options.get("family", "gaussian") not in ("gaussian", "quasibinomial"):
        raise InputError(f"family is {options['family']!r}; give 'gaussian' or 'quasibinomial'.")
    check_alpha(options.get("alpha", 0.05))
    return Request(verb, parsed, feature_order=tuple(order) if order is not None else None, **options)


def _check_accepted(verb: str, options: Mapping[str, Any]) -> None:
    defaults = {field.name: field.default for field in fields(Request)}
    for name, value in options.items():
        if name not in defaults:
            raise InputError(f"{verb} has no option {name!r}; leave it out.")
        if name not in _ACCEPTED[verb] and value is not None and value != defaults[name]:
            raise InputError(f"{verb} takes no {name!r}; leave it out, it would change nothing.")


def require_frame(data: Any) -> pd.DataFrame:
    """Return ``data`` if it is a DataFrame, else raise InputError."""
    if not isinstance(data, pd.DataFrame):
        raise InputError(f"data is a {type(data).__name__}; give a pandas DataFrame with one row a profile.")
    return data


def _column_name(value: Any, option: str) -> str | None:
    if value is None or isinstance(value, str):
        return value.removeprefix("~").strip() if value and value.startswith("~") else value or None
    raise InputError(f"{option} is {value!r}; give the name of one column as a string.")
