"""Further quantities of forced choices, each estimated as its function says and true of the population."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ..trial_registry import Drawn, method, process
from .choices import FORMULA, WORTHS, choices, shares_of, win_probability
from .worlds import ItemSample, numbers, population_values

PROFILES = {
    "first": {"tone": "kind", "author": "cem"},
    "second": {"tone": "rude", "author": "ben"},
    "third": {"tone": "kind", "author": "ada"},
}
TARGET = {"author": {"ada": 0.2, "ben": 0.2, "cem": 0.6}}
SCALE = {"ada": 1.0, "ben": 2.0, "cem": 4.0}


def population(prevalence: float) -> ItemSample:
    """Every pair of profiles with its weight, and the probability that each profile is chosen."""
    shares = shares_of(prevalence)
    codes = np.indices([len(levels) for levels in WORTHS.values()] * 2).reshape(2, len(WORTHS), -1)
    weight = np.ones(codes.shape[2])
    for side in codes:
        for code, name in zip(side, WORTHS, strict=True):
            weight *= shares[name][code]
    chance = win_probability(codes[0], codes[1])
    n = codes.shape[2]
    frame = pd.DataFrame(
        {
            "pair_id": np.repeat(np.arange(n), 2),
            "judge_id": np.char.add("r", np.repeat(np.arange(n), 2).astype(str)),
            "judge_kind": "human",
            "position": np.tile(["A", "B"], n),
            "weight": np.repeat(weight, 2) * n,
            "chosen": np.column_stack([chance, 1 - chance]).ravel(),
            **{
                name: pd.Categorical.from_codes(codes[:, place].T.ravel(), pd.Index(list(levels)))
                for place, (name, levels) in enumerate(WORTHS.items())
            },
        }
    )
    groups = [
        frame.assign(
            group=pd.Categorical([name] * len(frame), ["x", "y"]), pair_id=frame["pair_id"] + place * n
        )
        for place, name in enumerate(("x", "y"))
    ]
    return ItemSample(pd.concat(groups, ignore_index=True), "judge_id", draws=0)


@lru_cache(maxsize=16)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Population values of every quantity."""
    sample = population(prevalence)
    return population_values([lambda data, part=part: further(data, part=part) for part in PARTS], sample)


@process("passport_preferences")
def preferences(
    rng: np.random.Generator,
    *,
    n: int = 300,
    prevalence: float = 0.33,
    clusters: int = 0,
    shape: str = "equal",
) -> Drawn:
    """As ``passport_choices``, with the population values of further quantities."""
    dataset = choices(rng, n=n, prevalence=prevalence, clusters=clusters, shape=shape)
    return Drawn(dataset.data, truth_of(prevalence))


@method("passport_preference")
def further(data: ItemSample, *, part: str, alpha: float = 0.05) -> pd.DataFrame:
    """One of the quantities in `PARTS`."""
    weights = {"weights": "weight"} if "weight" in data.frame else {}
    frame = PARTS[part](data.frame, {"id": data.cluster, "alpha": alpha, **weights}, weights)
    frame = frame[frame["estimate"].notna()]
    if "std_error" in frame:
        frame = frame[frame["std_error"].notna()]
    keys = [name for name in KEYS if name in frame]
    names = frame[keys].astype(str).agg(" ".join, axis=1) if keys else pd.Series("", index=frame.index)
    return numbers(frame, f"{part}: " + names)


Part = Callable[[pd.DataFrame, dict[str, Any], dict[str, str]], pd.DataFrame]
KEYS = ("group", "author", "feature", "reference", "level", "profile", "cycle", "quantity", "tone")


def _afcp(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import afcp

    return afcp(rows, "chosen ~ author", **options).frame


def _choice_level(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import choice_level

    return choice_level(rows, "chosen ~ author", [("cem", "ada"), ("cem", "ben")], **options).frame


def _cycles(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import preference_cycles

    return preference_cycles(rows, "chosen ~ author", **options).frame.iloc[[0]].assign(cycle="first")


def _fit(rows: pd.DataFrame, options: dict[str, Any]) -> Any:
    from ...conjoint import amce

    return amce(rows, FORMULA, **options)


def _importance(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import importance

    return importance(_fit(rows, options), alpha=options["alpha"]).frame


def _contrast(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import contrast

    return contrast(_fit(rows, options), "author", "cem", "ben", alpha=options["alpha"]).frame


def _substitution(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import substitution

    return substitution(_fit(rows, options), "author", SCALE, alpha=options["alpha"]).frame


def _shares(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import choice_shares

    return choice_shares(rows, FORMULA, PROFILES, **options).frame


def _interaction(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import interaction

    return interaction(rows, FORMULA, "author", "tone", **options).frame


def _conditional(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import conditional_amce

    return conditional_amce(rows, FORMULA, "author", "tone", **options).frame


def _reference(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import amce_by_reference

    estimates = amce_by_reference(rows, FORMULA, "author", **options).frame
    return estimates[estimates["feature"] == "author"]


def _target_effects(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import pamce

    return pamce(rows, FORMULA, TARGET, opponent=False, **options).frame


def _target_means(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import pmm

    return pmm(rows, FORMULA, TARGET, opponent=False, **options).frame


def _by_group(estimate: Any) -> Part:
    def estimated(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
        from ...conjoint import cj

        return cj(rows, FORMULA, estimate=estimate, by="group", **options).frame

    return estimated


def _sensitivity(rows: pd.DataFrame, options: dict[str, Any], weights: dict[str, str]) -> pd.DataFrame:
    from ...conjoint import target_sensitivity

    return target_sensitivity(rows, FORMULA, TARGET, opponent=False, **options).frame


PARTS: dict[str, Part] = {
    "afcp": _afcp,
    "choice_level": _choice_level,
    "preference_cycles": _cycles,
    "importance": _importance,
    "contrast": _contrast,
    "substitution": _substitution,
    "choice_shares": _shares,
    "interaction": _interaction,
    "conditional_amce": _conditional,
    "amce_by_reference": _reference,
    "pamce": _target_effects,
    "pmm": _target_means,
    "target_sensitivity": _sensitivity,
    "cj_amce": _by_group("amce"),
    "cj_mm": _by_group("mm"),
}
