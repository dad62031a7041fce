"""The numbers of a design card: how often levels are shown, and what each contrast is worth.

The effective sample size of a contrast is the number of profiles, half of them with the level and half with
its reference, whose independent answers would give the estimate the same variance: ``1 / V`` for an estimate
of variance ``V`` where no attribute has an effect, since an answer with an even chance has the variance 1/4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.design.profiles import level_probabilities
from conjury.inference.study.models import Study
from conjury.inference.study.restrictions import (
    chance,
    count_removed,
    drawn_shares,
    joint_shares,
    named_levels,
    shows_combination,
    tied_attributes,
)

from .closed_form import power
from .result import Power

NEGLIGIBLE = 1e-9  # an effect at which variances are those without any
SMALL = 0.02  # 2 percentage points
MODELS = "models"  # the plan of all models, who see the pairs that are drawn
KEYS = ["feature", "level", "reference"]
CONTRASTS = [
    *("plan", *KEYS, "effective", "meetings", "meetings_drawn"),
    *("std_error", "detectable", "power"),
]
USUAL_POWER = 0.8  # the convention (Cohen 1988)


@dataclass(frozen=True)
class PairPlan:
    """Who judges how many pairs: all models, or a panel."""

    # name, label: what tables and what people call them
    name: str
    label: str
    pairs: float  # repeats excluded
    # of `conjury.analysis.conjoint.power.power`, such as the ``tasks`` of a respondent
    options: Mapping[str, Any]


@dataclass(frozen=True)
class DesignCard:
    """The content of a design card."""

    # ``feature, level, reference`` (whether it is), ``derived, drawn`` (probability before restrictions),
    # ``probability, expected, shown`` (profiles in the pairs that were drawn)
    levels: pd.DataFrame
    # a row for each plan and each level but the reference: ``plan, feature, level, reference, effective``
    # (sample size), ``meetings, meetings_drawn`` (pairs in which the two stand against each other, expected
    # and drawn; the latter missing for panels), ``std_error`` without any effect, ``detectable`` (smallest
    # effect found with the usual power) and ``power`` for a small effect
    contrasts: pd.DataFrame
    # ``combination, because, probability, profiles, pairs`` (expected), ``profiles_drawn, pairs_drawn``
    implausible: pd.DataFrame
    # ``combination, because, cells`` (combinations of all attributes that it names), ``probability``
    restrictions: pd.DataFrame
    ties: pd.DataFrame  # ``feature, partner, cramers_v`` of attributes that restrictions name together
    powers: tuple[Power, ...]  # the minimum detectable effects of each plan
    n_pairs: int  # pairs that were drawn


def make_card(study: Study, profiles: pd.DataFrame, plans: Sequence[PairPlan]) -> DesignCard:
    """Work out the numbers of a design card."""
    joined = joins(study)
    powers = tuple(
        power(study, pairs=plan.pairs, power=USUAL_POWER, restrictions=joined, **plan.options)
        for plan in plans
    )
    tables = [_contrasts(study, profiles, plan, result) for plan, result in zip(plans, powers, strict=True)]
    return DesignCard(
        _levels(study, profiles),
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=CONTRASTS),
        _implausible(study, profiles),
        _restrictions(study),
        _dependence_table(study),
        powers,
        len(profiles) // 2,
    )


def joins(study: Study) -> tuple[tuple[str, str], ...]:
    """Pairs that the study's main analysis of AMCEs joins by ``*``; none where nothing is restricted."""
    if not study.design.restrictions:
        return ()
    analyses = [analysis for analysis in study.analyses if analysis.verb == "amce"]
    main = [analysis for analysis in analyses if not analysis.exclude] or analyses
    return tuple(main[0].joined) if main else ()


def cramers_v(joint: np.ndarray) -> float:
    """Cramer's V of two attributes with the joint distribution ``joint``, shape (a, b)."""
    free = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    distance = float(((joint - free) ** 2 / free).sum())
    return float(np.sqrt(distance / (min(joint.shape) - 1)))


def _levels(study: Study, profiles: pd.DataFrame) -> pd.DataFrame:
    table = level_probabilities(study)
    design_shares = {
        (name, level): float(share)
        for name, shares in drawn_shares(study).items()
        for level, share in zip(study.levels(name), shares, strict=True)
    }
    for part in study.derived:
        design_shares |= {
            (part.id, level.id): sum(design_shares[part.source, name] for name in level.covers)
            for level in part.levels
        }
    keys = list(zip(table["feature"], table["level"], strict=True))
    counts = {name: profiles[name].value_counts() for name in study.features}
    return pd.DataFrame(
        {
            "feature": table["feature"],
            "level": table["level"],
            "reference": [level == study.levels(name)[0] for name, level in keys],
            "derived": table["feature"].isin([part.id for part in study.derived]),
            "drawn": [design_shares[key] for key in keys],
            "probability": table["probability"],
            "expected": len(profiles) * table["probability"],
            "shown": [int(counts[name].get(level, 0)) for name, level in keys],
        }
    )


def _contrasts(study: Study, profiles: pd.DataFrame, plan: PairPlan, result: Power) -> pd.DataFrame:
    idle = result.at(effect=NEGLIGIBLE, pairs=plan.pairs).frame
    small = result.at(effect=SMALL, pairs=plan.pairs).frame
    table = result.frame[KEYS].astype(str)
    table.insert(0, "plan", plan.name)
    shares = idle["n_level"] / idle["profiles"], idle["n_reference"] / idle["profiles"]
    return table.assign(
        effective=1 / idle["std_error"].to_numpy() ** 2,
        meetings=2 * plan.pairs * shares[0].to_numpy() * shares[1].to_numpy(),
        meetings_drawn=[
            _meetings(profiles[feature], level, reference) if plan.name == MODELS else np.nan
            for feature, level, reference in zip(*(table[name] for name in KEYS), strict=True)
        ],
        std_error=idle["std_error"].to_numpy(),
        detectable=result.frame["effect"].to_numpy(),
        power=small["power"].to_numpy(),
    )


def _meetings(column: pd.Series[str], level: str, reference: str) -> int:
    """Count the pairs in which a level meets its reference."""
    sides = [(column == name).to_numpy().reshape(-1, 2) for name in (level, reference)]
    return int((sides[0] & sides[1][:, ::-1]).any(axis=1).sum())


def _implausible(study: Study, profiles: pd.DataFrame) -> pd.DataFrame:
    n_pairs = len(profiles) // 2
    codes = {
        part.id: np.asarray(
            profiles[part.id].cat.set_categories(study.levels(part.id)).cat.codes, dtype=np.int64
        )
        for part in study.attributes
    }
    rows = []
    for position, combination in enumerate(study.design.implausible):
        share = chance(study, combination)
        mask = shows_combination(study, combination, codes)
        rows.append(
            {
                "combination": position,
                "because": combination.because or "",
                "probability": share,
                "profiles": 2 * n_pairs * share,
                "pairs": n_pairs * (1 - (1 - share) ** 2),
                "profiles_drawn": int(mask.sum()),
                "pairs_drawn": int(mask.reshape(-1, 2).any(axis=1).sum()),
            }
        )
    names = ["combination", "because", "probability", "profiles", "pairs", "profiles_drawn", "pairs_drawn"]
    return pd.DataFrame(rows, columns=names)


def _restrictions(study: Study) -> pd.DataFrame:
    rows = [
        (position, part.because or "", *count_removed(study, part))
        for position, part in enumerate(study.design.restrictions)
    ]
    return pd.DataFrame(rows, columns=["combination", "because", "cells", "probability"])


def _dependence_table(study: Study) -> pd.DataFrame:
    """Every pair that restrictions make dependent, those that they name together and those in between."""
    names = dict.fromkeys(name for part in study.design.restrictions for name in named_levels(study, part))
    order = [attribute.id for attribute in study.attributes if attribute.id in names]
    rows = [(a, b, cramers_v(joint_shares(study, [a, b]))) for a, b in combinations(order, 2)]
    named = set(tied_attributes(study))
    dependent_rows = [row for row in rows if row[2] > 1e-9 or row[:2] in named]
    return pd.DataFrame(dependent_rows, columns=["feature", "partner", "cramers_v"])
