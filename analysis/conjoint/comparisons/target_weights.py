"""Weights that turn the distribution of attributes in a design into a target distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed

from ...frames.variables import (
    as_category,
    factor_codes,
    no_level,
    numeric_column,
    require_column,
    unit_codes,
)
from ..standard_errors.resample import UNIT_COLUMNS

Distribution = str | Mapping[str, Mapping[str, float]] | pd.DataFrame
SHARE = "probability"


@dataclass(frozen=True)
class Factor:
    """Joint distribution of some attributes, independent of all others."""

    names: tuple[str, ...]
    shares: np.ndarray  # probabilities of the combinations of levels; they sum to 1

    def over(self, names: Sequence[str]) -> Factor:
        """The distribution of some of its attributes, summed over the others."""
        gone = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        return Factor(tuple(name for name in self.names if name in names), self.shares.sum(axis=gone))


@dataclass(frozen=True)
class TargetWeights:
    """Weights of n rows for the effects of each of F features."""

    features: tuple[str, ...]
    # (n, F): target over design probability of all attributes but the feature's own; mean 1
    weight: np.ndarray
    # ``feature, rows, effective, share`` (effective sample size after Kish, and over the number of rows) and
    # ``largest`` (largest weight, the mean being 1)
    table: pd.DataFrame


def target_weights(
    data: pd.DataFrame,
    features: Sequence[str],
    target: Distribution,
    *,
    pair: str | Sequence[str] | None = None,
    opponent: bool = True,
    design: Distribution | None = None,
) -> TargetWeights:
    """Weigh rows by how likely their attributes are in a target, against the design."""
    named = _attributes(target, features)
    codes, levels = _codes(data, named)
    target_factors = _factors(target, named, levels, "target")
    design_factors = _observed(codes, levels) if design is None else _factors(design, named, levels, "design")
    _check_support(target_factors, design_factors, levels)
    opponents = _opponents(data, pair) if opponent else None
    against = (
        np.ones(len(data))
        if opponents is None
        else _ratio(target_factors, design_factors, codes, named)[opponents]
    )
    columns = [
        _ratio(target_factors, design_factors, codes, [k for k in named if k != name]) * against
        for name in features
    ]
    weight = np.column_stack(columns)
    if not weight.sum(axis=0).all():
        raise InputError("No row has a profile that occurs in the target; check its levels.")
    weight /= weight.mean(axis=0)
    effective = weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0)
    table = pd.DataFrame(
        {
            "feature": list(features),
            "rows": len(data),
            "effective": effective,
            "share": effective / len(data),
            "largest": weight.max(axis=0),
        }
    )
    return TargetWeights(tuple(features), weight, table)


def pair_columns(data: pd.DataFrame, pair: str | Sequence[str] | None) -> list[str]:
    """Columns that identify a choice; by default ``pair`` or ``pair_id``, where there is one."""
    if pair is None:
        return [name for name in UNIT_COLUMNS["pair"] if name in data.columns][:1]
    return [pair] if isinstance(pair, str) else list(pair)


def _ratio(
    target: Sequence[Factor], design: Sequence[Factor], codes: Mapping[str, np.ndarray], names: Sequence[str]
) -> np.ndarray:
    """Target over design probability of each row's levels of some attributes, shape (n,)."""
    top, bottom = _density(target, codes, names), _density(design, codes, names)
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def _density(factors: Sequence[Factor], codes: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    density = np.ones(len(next(iter(codes.values()))))
    for factor in factors:
        margin = factor.over(names)
        if margin.names:
            indices = [codes[name] for name in margin.names]
            missing = np.any([code < 0 for code in indices], axis=0)
            density *= np.where(missing, 0.0, margin.shares[tuple(np.maximum(code, 0) for code in indices)])
    return density


def _attributes(target: Distribution, features: Sequence[str]) -> list[str]:
    if isinstance(target, str):
        return list(features)
    if isinstance(target, pd.DataFrame):
        if SHARE not in target:
            raise InputError(f"The target table has no column {SHARE!r}; add one that sums to 1.")
        return [str(name) for name in target.columns if name != SHARE]
    if not isinstance(target, Mapping) or not target:
        raise InputError("target is empty; give {attribute: {level: probability}}, a table, or 'uniform'.")
    return list(target)


def _codes(
    data: pd.DataFrame, names: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    codes, levels = {}, {}
    for name in names:
        require_column(data, name)
        codes[name], categories = factor_codes(data.assign(**{name: as_category(data, name)}), name, None)
        levels[name] = tuple(map(str, categories))
    return codes, levels


def _observed(codes: Mapping[str, np.ndarray], levels: Mapping[str, tuple[str, ...]]) -> list[Factor]:
    counts = {name: np.bincount(code[code >= 0], minlength=len(levels[name])) for name, code in codes.items()}
    return [Factor((name,), count / max(count.sum(), 1)) for name, count in counts.items()]


def _factors(
    distribution: Distribution, names: Sequence[str], levels: Mapping[str, tuple[str, ...]], option: str
) -> list[Factor]:
    """Read a distribution of the named attributes."""
    if isinstance(distribution, str):
        if distribution != "uniform":
            raise InputError(f"{option} is {distribution!r}; give probabilities of levels, or 'uniform'.")
        return [Factor((name,), np.full(len(levels[name]), 1 / len(levels[name]))) for name in names]
    if isinstance(distribution, pd.DataFrame):
        return [_joint(distribution, names, levels, option)]
    lacking = next((name for name in names if name not in distribution), None)
    if lacking is not None:
        raise InputError(f"{option} lacks the attribute {lacking!r}, which the target names; add its levels.")
    return [_marginal(name, distribution[name], levels[name], option) for name in names]


def _marginal(name: str, probabilities: Mapping[str, float], levels: tuple[str, ...], option: str) -> Factor:
    shares = np.zeros(len(levels))
    for level, share in probabilities.items():
        shares[_position(name, level, levels, option)] = share
    return Factor((name,), _checked(shares, f"{name!r} in {option}"))


def _joint(
    table: pd.DataFrame, names: Sequence[str], levels: Mapping[str, tuple[str, ...]], option: str
) -> Factor:
    for name in (*names, SHARE):
        if name not in table:
            raise InputError(f"The {option} table has no column {name!r}; the target names it.")
    shares = np.zeros([len(levels[name]) for name in names])
    place = [[_position(name, value, levels[name], option) for value in table[name]] for name in names]
    np.add.at(shares, tuple(np.array(codes, dtype=int) for codes in place), numeric_column(table, SHARE))
    return Factor(tuple(names), _checked(shares, f"the {option} table"))


def _position(name: str, level: object, levels: tuple[str, ...], option: str) -> int:
    if str(level) not in levels:
        raise no_level(level, name, levels, f"{option}: ")
    return levels.index(str(level))


def _checked(shares: np.ndarray, where: str) -> np.ndarray:
    if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise InputError(
            f"The probabilities of {where} sum to {shares.sum():.6g}; they must be positive and sum to 1."
        )
    return np.asarray(shares / shares.sum())


def _check_support(
    target: Sequence[Factor], design: Sequence[Factor], levels: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise InputError where the target has what the design never shows."""
    for factor in target:
        for index in zip(*np.nonzero(factor.shares), strict=True):
            profile = dict(zip(factor.names, index, strict=True))
            parts = [(part, part.over(factor.names)) for part in design if set(part.names) & set(profile)]
            if prod(float(part.shares[tuple(profile[n] for n in part.names)]) for _, part in parts) > 0:
                continue
            what = ", ".join(f"{name}={levels[name][code]}" for name, code in profile.items())
            raise InputError(
                f"The target gives {what} a positive probability, but it never occurs in the design, which "
                "weights cannot correct; set it to 0."
            )


def _opponents(data: pd.DataFrame, pair: str | Sequence[str] | None) -> np.ndarray:
    """Row of the other profile of each row's choice, shape (n,)."""
    columns = pair_columns(data, pair)
    if not columns:
        raise InputError(
            "The other profile of a choice is found by a column 'pair' or 'pair_id', which the data lack; "
            "name it by pair=, or give opponent=False if profiles were judged alone."
        )
    for name in columns:
        require_column(data, name)
    if len(columns) == 1:
        codes, n_pairs = unit_codes(data, columns[0])
    else:
        codes = data.groupby(columns, sort=False, observed=True, dropna=False).ngroup().to_numpy()
        n_pairs = int(codes.max(initial=-1)) + 1
    sizes = np.bincount(codes, minlength=n_pairs)
    if (sizes != 2).any():
        row = int(np.flatnonzero(sizes[codes] != 2)[0])
        raise InputError(
            f"The choice of row {row + 1} has {sizes[codes[row]]} rows by "
            f"{listed(map(repr, columns))}, not two; name all columns that distinguish choices by pair=, "
            "or give opponent=False."
        )
    order = np.argsort(codes, kind="stable").reshape(-1, 2)
    opponents = np.empty(len(codes), dtype=np.int64)
    opponents[order] = order[:, ::-1]
    return opponents
