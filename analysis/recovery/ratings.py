"""Estimates from simulated judgments beside the true values that the simulation knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text

from ..results import Result
from ..vocabulary import HUMAN, OVERALL
from .compare import compare_with_truth

COLUMNS = [
    "analysis", "quantity", "judge", "dimension", "response_type", "truth", "estimate", "lower", "upper",
    "inside",
]  # fmt: skip
KEYS = ["quantity", "judge", "dimension", "other", "response_type"]
LASTING, SINGLE = "latent_correlation", "latent_correlation_rating"
MODALITY = "modality"


def recovery(
    results: Mapping[str, Result], truth: pd.DataFrame, *, types: str = "response_type"
) -> pd.DataFrame:
    """Set estimates beside the true values of a simulation, where both are the same quantity.

    These are means of ratings (``expected_rating``), how much higher models rate than people
    (``positivity``), Pearson correlations of models with the mean of people (``raw_correlation``), each of
    all items and by type; of `dimension_model` without covariates, correlations between dimensions over
    items (``dimension_correlation``); and of `rater_model`, latent correlations with the consensus: of a
    single rating by a model or a person (``latent_correlation_rating``), of a model's lasting judgment
    (``latent_correlation``), which takes several samples of it, and, with the types and ``modality`` as
    covariates, the same within them (``latent_correlation_rating_within``, ``latent_correlation_within``).
    Latent correlations of a group that gives one extreme rating nearly always are not identified, and left
    out. What is defined otherwise, such as rank correlations of ratings between dimensions, is left out.
    """
    known = truth.rename(columns={"value": "truth"})
    parts = [
        compare_with_truth(estimates, known, KEYS).assign(analysis=name)
        for name, result in results.items()
        for estimates in _estimates(result, types)
    ]
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.concat(parts, ignore_index=True)
    table.loc[table["other"] != "", "dimension"] += " and " + table["other"]
    return table[COLUMNS]


def recovery_summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Condense a table of `rating_recovery`: one row per quantity and judge."""
    error = compared["estimate"].astype(float) - compared["truth"].astype(float)
    errors = compared.assign(error=error, size=error.abs(), held=compared["inside"].astype("Float64"))
    table = (
        errors.groupby(["quantity", "judge"], sort=False)
        .agg(
            n_estimates=("error", "size"),
            n_intervals=("held", "count"),
            n_inside=("held", "sum"),
            mean_error=("error", "mean"),
            mean_abs_error=("size", "mean"),
            max_abs_error=("size", "max"),
        )
        .reset_index()
    )
    bounded = table["n_intervals"].to_numpy(dtype=float)
    inside = table["n_inside"].to_numpy(dtype=float)
    share = np.divide(inside, bounded, out=np.full(len(table), np.nan), where=bounded > 0)
    table.insert(5, "share_inside", share)
    return table


def _estimates(result: Result, types: str) -> Iterator[pd.DataFrame]:
    """Estimates of a result that have true values: the keys of the truth, estimate, lower, upper."""
    frame, strata = result.frame, list(result.settings.get("by") or ())
    by_type = strata in ([], [types])
    if result.kind == "means" and by_type:
        yield _keyed(frame, "expected_rating", frame["group"], types if strata else None)
    elif result.kind == "biases" and by_type:
        kept = frame[(frame["bias"] == "positivity") & (frame["quantity"] == "difference")]
        yield _keyed(kept, "positivity", kept["judge"], types if strata else None)
    elif result.kind == "correlations" and by_type:
        kept = frame[frame["coefficient"] == "pearson"]
        yield _keyed(kept, "raw_correlation", kept["judge"], types if strata else None)
    elif result.kind == "dimension_model" and not result.settings.get("covariates"):
        kept = frame[(frame["level"] == "between") & (frame["quantity"] == "correlation")]
        keyed = _keyed(kept, "dimension_correlation", kept["group"], None)
        yield keyed.assign(other=as_text(kept["other_dimension"]).to_numpy(dtype=object))
    elif result.kind == "rater_model":
        yield from _latent(result, types)


def _latent(result: Result, types: str) -> Iterator[pd.DataFrame]:
    """Latent correlations of a rater model; within strata they are lasting where repeats tell noise apart."""
    ends = result.settings.get("at_the_end") or ()
    frame = result.frame[~result.frame["group"].isin(ends)]
    frame = frame.assign(dimension=str(result.settings.get("dimension") or ""))
    lasting = (frame["quantity"] == LASTING) & (frame["group"] != HUMAN)
    known = frame["group"].isin(frame.loc[frame["quantity"] == LASTING, "group"])
    chosen = {LASTING: lasting, SINGLE: frame["quantity"] == SINGLE}
    if set(result.settings.get("covariates") or ()) == {types, MODALITY}:
        within = frame["quantity"] == f"{LASTING}_within"
        chosen |= {f"{LASTING}_within": within & known & (frame["group"] != HUMAN)}
        chosen |= {f"{SINGLE}_within": within & ~known}
    for quantity, rows in chosen.items():
        yield _keyed(frame[rows], quantity, frame.loc[rows, "group"], None)


def _keyed(frame: pd.DataFrame, quantity: str, judge: pd.Series[str], types: str | None) -> pd.DataFrame:
    """Name a quantity by the keys of the truth; all items together have the empty type."""
    kind = "" if types is None else as_text(frame[types]).replace(OVERALL, "").to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "quantity": quantity,
            "judge": as_text(judge).to_numpy(dtype=object),
            "dimension": as_text(frame["dimension"]).to_numpy(dtype=object),
            "other": "",
            "response_type": kind,
            **{name: frame[name].to_numpy(dtype=float) for name in ("estimate", "lower", "upper")},
        }
    )
