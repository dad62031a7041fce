"""Designs as power analyses take them: a study, shares of levels, or a number of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import value_in_words

from .power_model import PowerContrasts

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

Shares = int | Sequence[float] | Mapping[str, float]
Design = Union["Study", Mapping[str, Shares], pd.DataFrame, int]
ByFeature = float | Mapping[str, float] | None


def level_shares(design: Design) -> dict[str, dict[str, float]]:
    """Probability of each level, the reference first; a number of levels stands for it and any other."""
    if isinstance(design, Integral):
        return {"attribute": _shares("attribute", design)}
    if isinstance(design, Mapping):
        if not design:
            raise InputError("The design has no attributes; give at least one with its number of levels.")
        return {str(name): _shares(str(name), value) for name, value in design.items()}
    if (
        isinstance(design, (int, pd.DataFrame))
        or not hasattr(design, "attributes")
        or not hasattr(design, "stimuli")
    ):
        raise InputError(
            f"The design is given as {value_in_words(design)}; give a study, a mapping from attributes to "
            "levels, or a number of levels."
        )
    from conjury.inference.design.profiles import level_probabilities

    table = level_probabilities(design)
    return {
        str(name): dict(zip(rows["level"], rows["probability"].astype(float), strict=True))
        for name, rows in table.groupby("feature", sort=False)
    }


def contrasts(
    shares: Mapping[str, Mapping[str, float]], features: Sequence[str] | None, by: str | Shares | None
) -> pd.DataFrame:
    """One row for each level against its reference, for interactions crossed with the levels of ``by``."""
    names = list(shares) if features is None else list(features)
    for name in names:
        if name not in shares:
            raise InputError(f"features: {unknown_attribute(name, shares)}")
    partner = None if by is None else _second_feature(shares, by)
    rows = []
    for name in names:
        if partner is not None and name == partner[0]:
            continue
        for row in _level_rows(name, shares[name]):
            if partner is None:
                rows.append(row)
                continue
            for by_row in _level_rows(*partner):
                second = {"by" if key == "feature" else f"by_{key}": value for key, value in by_row.items()}
                rows.append(row | second)
    if not rows:
        raise InputError("No feature is left to interact with 'by'; name another feature in features.")
    return categories_in_order(_contrast_weights(pd.DataFrame(rows)))


def categories_in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Make features and levels categories in the order of the rows."""
    return table.astype(
        {name: pd.CategoricalDtype(list(dict.fromkeys(table[name]))) for name in ("feature", "level")}
    )


def _contrast_weights(table: pd.DataFrame) -> pd.DataFrame:
    """Shares and weights of contrasts of features that combine freely."""
    if "by_share" not in table:
        return table.assign(own_weight=1 / table["share"], rest_weight=1 / table["reference_share"])
    by, by_reference = table.pop("by_share"), table.pop("by_reference_share")
    shares = {
        "share": table["share"] * by,
        "reference_share": table["reference_share"] * by,
        "other_share": table["share"] * by_reference,
        "other_reference_share": table["reference_share"] * by_reference,
    }
    remainder = sum(1 / shares[name] for name in ("other_share", "reference_share", "other_reference_share"))
    return table.assign(**shares, own_weight=1 / shares["share"], rest_weight=remainder)


def as_levels(
    table: pd.DataFrame, design: Design, stimuli: ByFeature, stimulus_sd: ByFeature
) -> PowerContrasts:
    """Numbers of the contrasts, with the stimuli that the design or the caller names for each feature."""
    missing = pd.Series(np.nan, table.index)
    counts = _study_stimuli(design) if stimuli is None else _by_feature(stimuli, table, "stimuli")
    spreads = _by_feature(stimulus_sd, table, "stimulus_sd")
    features = table["feature"].astype(str)
    for name, spread in spreads.items():
        if isinstance(stimulus_sd, Mapping) and spread > 0 and name not in counts:
            raise InputError(
                f"stimulus_sd names '{name}', but not how many stimuli it has; add it to stimuli."
            )
    if spreads and not counts:
        raise InputError(
            "stimulus_sd is given, but the design names no stimuli; give their number in stimuli."
        )
    k = np.array([counts.get(name, np.inf) for name in features], dtype=float)
    sd = np.array([spreads.get(name, 0.0) for name in features], dtype=float)
    if (k < 1).any():
        raise InputError("stimuli contains a number below 1; give the number of stimuli of each level.")
    if (sd < 0).any() or (sd >= 0.5).any():
        raise InputError(
            "stimulus_sd is outside 0 to 0.5; it is a standard deviation of choice probabilities."
        )
    return PowerContrasts(
        table["share"].to_numpy(float),
        table["reference_share"].to_numpy(float),
        table.get("other_share", missing).to_numpy(float),
        table.get("other_reference_share", missing).to_numpy(float),
        table["own_weight"].to_numpy(float),
        table["rest_weight"].to_numpy(float),
        k,
        np.where(np.isfinite(k), sd, 0.0),
    )


def _shares(name: str, value: Any) -> dict[str, float]:
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value < 2:
            raise InputError(f"Attribute '{name}' has {value} levels; an effect needs at least 2.")
        return {"reference": 1 / int(value), "any other": 1 / int(value)}
    if isinstance(value, Mapping):
        named = {str(level): share for level, share in value.items()}
    elif isinstance(value, Sequence) and not isinstance(value, str):
        named = {str(number): share for number, share in enumerate(value, start=1)}
    else:
        raise InputError(
            f"Attribute '{name}' is {value!r}; give its number of levels, or the probabilities of its levels."
        )
    for share in named.values():
        if not isinstance(share, Real) or not float(share) > 0:
            raise InputError(f"Attribute '{name}': {share!r} is not a probability; give a number above 0.")
    total = sum(named.values())
    if len(named) < 2 or abs(total - 1) > 1e-6:
        raise InputError(
            f"Attribute '{name}': {len(named)} probabilities sum to {total:.6g}; give 2 or more with sum 1."
        )
    return {level: float(share) for level, share in named.items()}


def _level_rows(feature: str, shares: Mapping[str, float]) -> list[dict[str, Any]]:
    (reference, base), *levels = shares.items()
    return [
        {
            "feature": feature,
            "level": level,
            "reference": reference,
            "share": share,
            "reference_share": base,
        }
        for level, share in levels
    ]


def _second_feature(
    shares: Mapping[str, Mapping[str, float]], by: str | Shares
) -> tuple[str, Mapping[str, float]]:
    if isinstance(by, str):
        if by not in shares:
            raise InputError(f"by: {unknown_attribute(by, shares)}")
        return by, shares[by]
    return "by", _shares("by", by)


def unknown_attribute(name: str, names: Mapping[str, Any]) -> str:
    """State in words that a design has no such attribute, and what may be meant."""
    near = get_close_matches(name, names, n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(names)}."
    return f"'{name}' is not an attribute of the design; {remedy}"


def _study_stimuli(design: Design) -> dict[str, float]:
    if isinstance(design, (Mapping, pd.DataFrame, int)):
        return {}
    return {stimulus.attribute: float(stimulus.count) for stimulus in design.stimuli}


def _by_feature(values: ByFeature, table: pd.DataFrame, what: str) -> dict[str, float]:
    if values is None:
        return {}
    names = list(dict.fromkeys(table["feature"].astype(str)))
    if not isinstance(values, Mapping):
        return {name: float(values) for name in names}
    return {str(name): float(value) for name, value in values.items()}
