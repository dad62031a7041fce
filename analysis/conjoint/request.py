"""What a user asked an estimator for: one frozen record that every engine and the bootstrap read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal, get_args

import pandas as pd

from conjury.inference.errors import InputError, UnknownOption, unknown_name

from ..frames.cells import chance_of
from ..frames.variables import Formula, parse
from ..numerics.intervals import check_alpha
from ..results import KEY_COLUMNS, NUMBER_COLUMNS

Family = Literal["gaussian", "quasibinomial"]
LevelOrder = Literal["ascending", "descending"]
Vcov = Literal["survey", "CR0", "CR1", "CR1S", "CR2", "CV3", "HC0", "HC1", "HC2", "HC3"]
_OUTCOME_FREE = ("cj_freqs", "cj_props", "cj_table")
_LAYOUT = {"feature_order", "feature_labels", "level_order"}
VCOVS = get_args(Vcov)
_FITTED = _LAYOUT | {"id", "weights", "strata", "engine", "family", "alpha", "vcov"}
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
class EstimateRequest:
    """A verb, its formula and its options, as the verbs name them; ``clusters`` are the columns of ``id``."""

    verb: str
    formula: Formula
    clusters: tuple[str, ...] = ()
    weights: str | None = None
    strata: str | None = None
    by: tuple[str, ...] = ()
    variable: str | None = None
    engine: str = "native"
    family: Family = "gaussian"
    vcov: Vcov = "survey"
    alpha: float = 0.05
    h0: float | None = None
    reference: Mapping[str, Any] | None = None
    feature_order: tuple[str, ...] | None = None
    feature_labels: Mapping[str, str] | None = None
    level_order: LevelOrder = "ascending"
    margin: int | None = None

    @property
    def id(self) -> str | None:
        """Names of the cluster columns, or None where rows are independent."""
        return ", ".join(self.clusters) or None

    @property
    def features(self) -> tuple[str, ...]:
        """Features in the order of the output."""
        return self.feature_order or self.formula.features

    def label(self, feature: str) -> str:
        """The feature's label in the output."""
        return (self.feature_labels or {}).get(feature, feature)

    def with_verb(self, verb: str, **changes: Any) -> EstimateRequest:
        """The same request put to another verb."""
        return replace(self, verb=verb, **changes)


def make_request(verb: str, formula: str | Formula, **options: Any) -> EstimateRequest:
    """Check the options that all verbs share and put them into a `EstimateRequest`."""
    if not isinstance(formula, str | Formula):
        raise InputError(f"formula is {formula!r}; give a string such as 'chosen ~ slur + identity'.")
    parsed = formula if isinstance(formula, Formula) else parse(formula)
    if not parsed.outcome and verb not in _OUTCOME_FREE:
        raise InputError(f"Formula {parsed} has no outcome; write it as 'chosen {parsed}'.")
    _check_accepted(verb, options)
    for option in ("weights", "strata", "variable"):
        options[option] = _column_name(options.get(option), option)
    options["clusters"] = _column_names(options.pop("id", None), "id")
    options["by"] = _column_names(options.pop("by", None), "by")
    clash = next((name for name in options["by"] if name in (*KEY_COLUMNS, *NUMBER_COLUMNS, "by")), None)
    if clash is not None:
        raise InputError(f"by names {clash!r}, which is a column of every result; rename it in the data.")
    h0 = options.get("h0")
    if h0 is not None and (not isinstance(h0, Real) or not math.isfinite(h0)):
        raise InputError(f"h0 is {h0!r}; give a number, such as 0.5 for a forced choice between two.")
    if verb in _OUTCOME_FREE and options.get("engine", "native") not in ("native", "cregg"):
        raise InputError(f"{verb} has no engine {options['engine']!r}; its engines are native and cregg.")
    order = options.pop("feature_order", None)
    if order is not None and Counter(order) != Counter(parsed.features):
        raise InputError(
            f"feature_order is {list(order)}; it must contain each feature once: {list(parsed.features)}."
        )
    labels = options.get("feature_labels") or {}
    stray = next((name for name in labels if name not in parsed.features), None)
    if stray is not None:
        raise InputError(f"feature_labels names {stray!r}, which is no feature of {parsed}.")
    names = [labels.get(name, name) for name in parsed.features]
    if len(set(names)) < len(names):
        raise InputError(f"feature_labels gives two features one label: {names}; make them different.")
    if options.get("level_order", "ascending") not in ("ascending", "descending"):
        raise InputError(f"level_order is {options['level_order']!r}; give 'ascending' or 'descending'.")
    if options.get("family", "gaussian") not in ("gaussian", "quasibinomial"):
        raise InputError(f"family is {options['family']!r}; give 'gaussian' or 'quasibinomial'.")
    _check_vcov(options)
    check_alpha(options.get("alpha", 0.05))
    return EstimateRequest(verb, parsed, feature_order=tuple(order) if order is not None else None, **options)


def _check_accepted(verb: str, options: Mapping[str, Any]) -> None:
    defaults = {field.name: field.default for field in fields(EstimateRequest)} | {"id": None, "h0": 0.0}
    for name, value in options.items():
        if name not in defaults:
            raise UnknownOption(f"{verb} has no option {name!r}; omit it.", name)
        if name not in _ACCEPTED[verb] and value is not None and value != defaults[name]:
            raise InputError(f"{verb} takes no {name!r}; omit it, since it has no effect.")


def is_independent(vcov: str) -> bool:
    """Whether a convention takes rows as independent."""
    return vcov.startswith("HC")


def _check_vcov(options: Mapping[str, Any]) -> None:
    """Refuse a covariance that the other options leave without meaning."""
    vcov, clusters = options.get("vcov", "survey"), options["clusters"]
    if vcov not in VCOVS:
        raise unknown_name("vcov", vcov, VCOVS)
    if (vcov != "survey" or len(clusters) > 1) and options.get("engine", "native") != "native":
        raise InputError(
            f"Engine {options['engine']!r} supports vcov='survey' with one cluster column; use "
            f"engine='native'."
        )
    if options["strata"] and options.get("engine", "native") not in ("native", "survey"):
        raise InputError(f"Engine {options['engine']!r} has no strata; use engine='native' or 'survey'.")
    if options["strata"] and (vcov != "survey" or len(clusters) > 1):
        raise InputError(
            "strata require vcov='survey' and one cluster column; omit the other options, or strata."
        )
    if vcov.startswith("HC") and clusters:
        raise InputError(f"{vcov} treats rows as independent; omit id, or give vcov='CR1' or 'CR2'.")
    if vcov.startswith(("CR", "CV")) and not clusters:
        raise InputError(f"{vcov} needs clusters; give id, or vcov='HC1', 'HC2' or 'HC3' for rows.")
    if vcov == "CR2" and (len(clusters) > 1 or options["weights"]):
        raise InputError(
            "CR2 is defined for one cluster column without weights; give vcov='CR1' instead, or one id."
        )
    if vcov == "CV3" and len(clusters) > 1:
        raise InputError("CV3 is defined for one cluster column; give vcov='CR1' instead, or one id.")
    if vcov in ("CR2", "CV3", "HC2", "HC3") and options.get("family", "gaussian") != "gaussian":
        raise InputError(f"{vcov} is defined for family='gaussian'; give vcov='CR1' or 'HC1' instead.")


def _column_names(value: Any, option: str) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, str) and value.startswith("~"):  # a formula of one side: ~respondent + pair
        values = [part.strip() for part in value.removeprefix("~").split("+")]
    names = tuple(name for item in values if (name := _column_name(item, option)))
    if len(set(names)) < len(names):
        raise InputError(f"{option} names a column twice: {list(names)}; name each once.")
    return names


def _column_name(value: Any, option: str) -> str | None:
    if value is None or isinstance(value, str):
        return value.removeprefix("~").strip() if value and value.startswith("~") else value or None
    raise InputError(f"{option} is {value!r}; give the name of one column as a string.")


MEANS = ("mm", "cj_mm")


def with_chance(request: EstimateRequest, chance: float) -> EstimateRequest:
    """The request with chance as its null value, on the scale of the estimates."""
    if request.family != "gaussian" and chance:
        chance = math.log(chance / (1 - chance))
    return replace(request, h0=chance)


def with_null(request: EstimateRequest, data: pd.DataFrame) -> EstimateRequest:
    """The request with its null value: the one that was given, else chance, on the scale of the estimates."""
    if request.h0 is not None or request.verb not in MEANS:
        return request
    return with_chance(request, chance_of(data, request.formula.outcome, request.clusters))
