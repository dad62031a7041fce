"""Forced choices of respondents between two profiles with a rare level: AMCEs, means, differences."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ...numerics.types import Codes, Floats
from ..methods.conjoint_methods import quantities
from ..trial_registry import Drawn, method, process, true_values
from .worlds import ItemSample, cluster_of_items

WORTHS = {
    "tone": {"kind": 0.0, "rude": 0.4},
    "author": {"ada": 0.0, "ben": -0.3, "cem": 0.4},  # cem is the rare level
}
TASTE = 0.3  # standard deviation of the part-worth of a rude tone between respondents
FORMULA = "chosen ~ tone + author"
SIDES = np.array(["A", "B"])


def shares_of(prevalence: float) -> dict[str, Floats]:
    """Shares of the levels of each attribute."""
    share = (1 - prevalence) / 2
    return {"tone": np.full(2, 0.5), "author": np.array([share, share, prevalence])}


def win_probability(first: np.ndarray, second: np.ndarray) -> Floats:
    """Probability that the first of two profiles is chosen; codes of attributes come first."""
    gap = sum(
        np.array(list(levels.values()))[first_code] - np.array(list(levels.values()))[second_code]
        for levels, first_code, second_code in zip(WORTHS.values(), first, second, strict=True)
    )
    return np.asarray(ndtr(gap / np.sqrt(1 + TASTE**2 * (first[0] != second[0]))))


@lru_cache(maxsize=64)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Effects and means over all pairs of profiles, by enumeration."""
    shares = shares_of(prevalence)
    codes = np.indices([len(levels) for levels in WORTHS.values()]).reshape(len(WORTHS), -1)
    weight = np.ones(codes.shape[1])
    for code, name in zip(codes, WORTHS, strict=True):
        weight *= shares[name][code]
    probability = win_probability(codes[:, :, None], codes[:, None, :]) @ weight
    values: dict[str, float] = {}
    for code, (name, levels) in zip(codes, WORTHS.items(), strict=True):
        means = [
            float(np.average(probability[code == number], weights=weight[code == number]))
            for number in range(len(levels))
        ]
        for level, mean in zip(levels, means, strict=True):
            values[f"mean {name}={level}"] = mean
            values[f"mean difference {name}={level}"] = 0.0
            values[f"difference {name}={level}"] = 0.0
            values[f"{name}={level}"] = mean - means[0]
    return true_values(population=values)


@process("passport_choices")
def choices(
    rng: np.random.Generator,
    *,
    n: int = 300,
    prevalence: float = 0.33,
    clusters: int = 0,
    shape: str = "equal",
    missing: float = 0.0,
) -> Drawn:
    """``n`` pairs by ``clusters`` respondents (0: one each), in two groups with the same preferences."""
    who = cluster_of_items(n, clusters, shape)
    people = int(who.max()) + 1
    shares = shares_of(prevalence)
    codes: dict[str, Codes] = {
        name: rng.choice(len(levels), (n, 2), p=shares[name]) for name, levels in WORTHS.items()
    }
    parts = [np.array(list(levels.values()))[codes[name]] for name, levels in WORTHS.items()]
    utility = np.sum(parts, axis=0)
    taste = rng.normal(0, TASTE, people)[who] * (
        (codes["tone"][:, 0] == 1) * 1.0 - (codes["tone"][:, 1] == 1)
    )
    first = utility[:, 0] - utility[:, 1] + taste + rng.normal(size=n) > 0
    answers = np.column_stack([first, ~first]).astype(float)
    if missing:
        answers[rng.random(n) < missing] = np.nan
    group = np.where(rng.permutation(people) % 2 == 0, "x", "y")
    frame = pd.DataFrame(
        {
            "pair_id": np.repeat(np.arange(n), 2),
            "respondent": np.repeat(who, 2),
            "judge_id": np.char.add("r", np.repeat(who, 2).astype(str)),
            "judge_kind": "human",
            "position": np.tile(SIDES, n),
            "chosen": answers.ravel(),
            "group": pd.Categorical(np.repeat(group[who], 2), categories=["x", "y"]),
            **{
                name: pd.Categorical.from_codes(codes[name].ravel(), pd.Index(list(levels)))
                for name, levels in WORTHS.items()
            },
        }
    )
    return Drawn(ItemSample(frame, "respondent" if clusters else "pair_id"), truth_of(prevalence))


def effects_by_quantity(frame: pd.DataFrame, prefix: str = "") -> pd.DataFrame:
    """Rows of a table of effects with intervals, by quantity."""
    estimates = quantities(frame)
    return estimates.assign(quantity=prefix + estimates["quantity"])


@method("passport_amce")
def effects_of(data: ItemSample, *, vcov: Any = "survey", alpha: float = 0.05) -> pd.DataFrame:
    """AMCEs with a kind of standard error; HC takes rows as independent."""
    from ...conjoint import amce

    unit = None if vcov.startswith("HC") else data.cluster
    return effects_by_quantity(amce(data.frame, FORMULA, id=unit, vcov=vcov, alpha=alpha).frame)


@method("passport_mm")
def means_of(data: ItemSample, *, vcov: Any = "survey", alpha: float = 0.05) -> pd.DataFrame:
    """Marginal means with a kind of standard error."""
    from ...conjoint import mm

    unit = None if vcov.startswith("HC") else data.cluster
    return effects_by_quantity(mm(data.frame, FORMULA, id=unit, vcov=vcov, alpha=alpha).frame, "mean ")


@method("passport_group_diffs")
def differences_of(data: ItemSample, *, vcov: Any = "survey", alpha: float = 0.05) -> pd.DataFrame:
    """Differences of AMCEs and of marginal means between groups of respondents."""
    from ...conjoint import amce_diffs, mm_diffs

    options: dict[str, Any] = {"by": "group", "id": data.cluster, "vcov": vcov, "alpha": alpha}
    return pd.concat(
        [
            effects_by_quantity(amce_diffs(data.frame, FORMULA, **options).frame, "difference "),
            effects_by_quantity(mm_diffs(data.frame, FORMULA, **options).frame, "mean difference "),
        ],
        ignore_index=True,
    )


@method("passport_bootstrap")
def bootstrap_of(
    data: ItemSample,
    rng: np.random.Generator,
    *,
    interval: Any = "percentile",
    draws: int = 499,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """AMCEs with a kind of bootstrap interval."""
    from ...conjoint import amce, bootstrap

    estimates = bootstrap(
        amce, data.frame, FORMULA, unit=data.cluster or "pair_id", method=interval, draws=draws, alpha=alpha,
        seed=int(rng.integers(2**31)),
    )  # fmt: skip
    return effects_by_quantity(estimates.frame)


@method("passport_wild")
def wild_of(
    data: ItemSample, rng: np.random.Generator, *, draws: int = 499, alpha: float = 0.05
) -> pd.DataFrame:
    """AMCEs with intervals by the wild cluster bootstrap."""
    from ...conjoint import amce, wild

    fit = amce(data.frame, FORMULA, id=data.cluster, vcov="CR1", alpha=alpha)
    return effects_by_quantity(wild(fit, draws=draws, seed=int(rng.integers(2**31))).frame)


@method("passport_bounds")
def bounds_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """AMCEs and means over everything that the missing answers could have been."""
    from ...conjoint import amce, bounds, mm

    tables = []
    for verb, prefix in ((amce, ""), (mm, "mean ")):
        estimates = bounds(verb, data.frame, FORMULA, id=data.cluster, alpha=alpha).frame
        wide = estimates.drop(columns=["lower", "upper", "p"], errors="ignore")
        tables.append(
            effects_by_quantity(wide.rename(columns={"ci_lower": "lower", "ci_upper": "upper"}), prefix)
        )
    return pd.concat(tables, ignore_index=True)
