"""Confidence sequences of rare and of frequent outcomes, looked at again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..trial_registry import Drawn, method, process, true_values
from . import choices as conjoint
from . import label_situations as labelled
from .worlds import ItemSample, draw_correlated_patterns

FROM = 100  # units at the first look, from which sequences have limits
LOOKS = 7  # from the first to the last, evenly on a logarithmic scale


@process("passport_sequence")
def sequence(rng: np.random.Generator, *, n: int = 1000, prevalence: float = 0.5) -> Drawn:
    """Items that two people and a model label as they come in."""
    codes, probability = labelled.patterns(prevalence)
    items = codes[draw_correlated_patterns(rng, probability, np.arange(n), 0.0)]
    values = labelled.truth_of(prevalence, 0.0).set_index("quantity")["truth"]
    truth = {"share of a": float(values["share_rare"])}
    names = ("percent", "cohen", "krippendorff", "gwet")
    truth |= {f"with people: {name}": float(values[f"with people: {name}"]) for name in names}
    frame = labelled.table_of(items, np.arange(n))
    return Drawn(ItemSample(frame), true_values(population={f"sequence of {k}": v for k, v in truth.items()}))


def looks_until(n: int) -> list[int]:
    """Numbers of units at which estimates are made."""
    return sorted({int(size) for size in np.geomspace(FROM, n, LOOKS)})


def intersect_limits_of_looks(path: pd.DataFrame, names: pd.Series[Any]) -> pd.DataFrame:
    """The last estimate of each quantity, with the limits that lie inside those of every look."""
    rows = path.assign(quantity="sequence of " + names.astype(str)).groupby("quantity", sort=False)
    estimates = rows.agg(estimate=("estimate", "last"), lower=("lower", "max"), upper=("upper", "min"))
    return estimates.reset_index()


@method("passport_sequence_of_ratings")
def estimate_ratings_at_looks(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Means and coefficients of agreement at every look."""
    from ...raters import agreement, means, sequential

    frame = data.frame
    looks = looks_until(len(frame))
    rated = labelled.judgments(frame, ["a"]).assign(value=(frame["a"] == labelled.CLASSES[0]).astype(float))
    mean = sequential(means, rated, looks=looks, alpha=alpha).frame
    labels = labelled.judgments(frame, ["a", *labelled.PEOPLE]).sort_values("item_id", key=_number)
    agreed = sequential(agreement, labels, looks=looks, alpha=alpha, draws=0).frame
    agreed = agreed[agreed["against"].notna()]
    return pd.concat(
        [
            intersect_limits_of_looks(mean, "share of " + mean["group"].astype(str)),
            intersect_limits_of_looks(agreed, "with people: " + agreed["coefficient"].astype(str)),
        ],
        ignore_index=True,
    )


def _number(names: pd.Series[Any]) -> pd.Series:
    return names.str[1:].astype(int)


@process("passport_sequence_of_choices")
def sequence_of_choices(rng: np.random.Generator, *, n: int = 1000, prevalence: float = 0.33) -> Drawn:
    """Pairs that come in one after the other, a level of which is rare."""
    dataset = conjoint.choices(rng, n=n, prevalence=prevalence)
    truth = dataset.truth.assign(quantity="sequence of " + dataset.truth["quantity"])
    return Drawn(dataset.data, truth)


@method("passport_sequence_of_effects")
def estimate_effects_at_looks(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """AMCEs and marginal means at every look."""
    from ...conjoint import amce, mm, sequential

    looks = looks_until(data.frame["pair_id"].nunique())
    tables = []
    for verb, prefix in ((amce, ""), (mm, "mean ")):
        path = sequential(verb, data.frame, conjoint.FORMULA, id="pair_id", looks=looks, alpha=alpha).frame
        path = path[path["std_error"].notna()]
        tables.append(
            intersect_limits_of_looks(
                path, prefix + path["feature"].astype(str) + "=" + path["level"].astype(str)
            )
        )
    return pd.concat(tables, ignore_index=True)
