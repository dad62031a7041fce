"""Who answered what: options, rows and notes that every correction by human data shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.schema import SAMPLING

from ..numerics.intervals import SAME
from ..numerics.types import Floats
from .debias import least_correlation

AT_MOST_HALF = (
    "If a model judges no better than the judges it is compared with, its answers replace at most half of "
    "the human labels, whatever their number (Dorner, Nastl and Hardt 2025)."
)


def refuse_unused(options: Mapping[str, Any]) -> None:
    """Refuse options that a correction has no use for; None and empty ones were not given."""
    unused = next((name for name, value in options.items() if value not in (None, (), [])), None)
    if unused is not None:
        why = "intervals need no bootstrap" if unused == "draws" else "there are no baselines"
        raise InputError(f"{unused} has no effect with correct='ppi': {why}; omit it.")


def people_and_models(
    table: pd.DataFrame, human: str | Sequence[str], model: str | Sequence[str], columns: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Flag the rows of people and those of models, which differ."""
    people, models = (
        _rows_named(table, names, name, columns) for names, name in ((human, "human"), (model, "model"))
    )
    if (people & models).any():
        raise InputError("human and model name the same rows; name people in one and models in the other.")
    return people, models


def _rows_named(
    table: pd.DataFrame, names: str | Sequence[str], option: str, columns: Sequence[str]
) -> np.ndarray:
    """Flag the rows that have one of the names in one of the columns that there are, shape (n,)."""
    fields = [column for column in columns if column in table]
    flags = np.zeros(len(table), dtype=bool)
    for name in [names] if isinstance(names, str) else names:
        matches = np.logical_or.reduce(
            [table[column].eq(name).fillna(False).to_numpy(dtype=bool) for column in fields]
        )
        if not matches.any():
            raise InputError(
                f"{option} names {name!r}, which no row has in {listed(fields)}; correct the name, or give "
                "data with people's and models' rows."
            )
        flags |= matches
    return flags


def check_overlap(
    models: Sequence[str], labelled: np.ndarray, of_models: np.ndarray, what: str, remedies: Sequence[str]
) -> None:
    """Refuse models that answered nothing of what people answered, or nothing else; flags of shape (n,)."""
    if not (labelled & of_models).any():
        raise InputError(
            f"{listed(models)} answered none of the {what} that people answered, so its agreement with them "
            f"cannot be estimated; {remedies[0]}."
        )
    if not (of_models & ~labelled).any():
        raise InputError(
            f"{listed(models)} answered only the {what} of people, so it adds no precision; {remedies[1]}."
        )


def sampling_weights(probabilities: pd.Series[Any]) -> Floats | None:
    """One over the probability of n labelled rows to be chosen; None where all are equal or missing."""
    probability = pd.to_numeric(probabilities, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if np.isnan(probability).all():
        return None
    bad = ~((probability > 0) & (probability <= 1))
    if bad.any():
        raise InputError(
            f"Column {SAMPLING!r} has no number above 0 and up to 1 in {int(bad.sum()):,} of people's rows; "
            "give the probability with which each was chosen for people, or omit the column if all are equal."
        )
    return 1.0 / probability if np.ptp(probability) > SAME else None


def represented_rows(probabilities: pd.Series[Any] | None, labelled: np.ndarray) -> Floats | None:
    """How many rows each of n rows stands for if it is labelled, (n,); None where all count alike."""
    weights = sampling_weights(probabilities[labelled]) if probabilities is not None else None
    if weights is None:
        return None
    represented = np.ones(len(labelled))
    represented[labelled] = weights
    return represented


def weight_columns(weights: np.ndarray, models: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of the weights (m, J) of each model: ``weight``, or ``weight_MODEL`` of several."""
    names = ["weight"] if len(models) == 1 else [f"weight_{name}" for name in models]
    return dict(zip(names, weights.T, strict=False))


CLUSTERS = "clusters of labelled items"


def low_correlation(rho: Floats, clusters: np.ndarray | int, what: str = "people") -> list[str]:
    """Say in how many estimates people and models correlate too little for a gain, given their clusters."""
    least = np.broadcast_to([least_correlation(int(n)) for n in np.atleast_1d(clusters)], np.shape(rho))
    mask = np.isfinite(rho)
    low = mask & (np.abs(np.nan_to_num(rho)) < least)
    if not low.any():
        return []
    limits = sorted({f"{value:.2f}" for value in least[low]})
    between = limits[0] if len(limits) == 1 else f"a limit of {limits[0]} to {limits[-1]}"
    return [
        f"In {int(low.sum())} of {int(mask.sum())} rows the answers of people and model correlate less than "
        f"{between}, below which a model does not shorten intervals with so few {what}."
    ]
