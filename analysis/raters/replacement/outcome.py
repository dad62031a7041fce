"""The result of the alternative annotator test, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...numerics.intervals import inference
from ...numerics.types import Floats
from ...results import Result
from .decide import PASSING, Evidence, Verdict
from .intervals import Bounds
from .scoring import Mask


@dataclass(frozen=True, repr=False)
class AltTest(Result):
    """The alternative annotator test of one or several models.

    ``frame`` has one row a dimension, scoring and model; ``extra["annotators"]`` one row a dimension,
    scoring, model and annotator. For a single row its numbers are attributes as well.
    """

    @property
    def winning_rate(self) -> float:
        """Share of annotators against whom the model wins, of the one model tested."""
        return float(self._row()["winning_rate"])

    @property
    def advantage_probability(self) -> float:
        """How often the model is at least as close to the others as a person, of the one model tested."""
        return float(self._row()["advantage_probability"])

    @property
    def passes(self) -> bool:
        """Whether the one model tested wins against at least half of the annotators."""
        return bool(self._row()["passes"])

    def _row(self) -> pd.Series[Any]:
        if len(self.frame) != 1:
            raise InputError(
                f"The result has {len(self.frame)} rows ({self.frame['model'].nunique()} models); read them "
                "in its frame, or ask for one model, dimension and scoring."
            )
        return self.frame.iloc[0]


def model_rows(
    models: Sequence[str],
    found: Evidence,
    kept: Mask,
    said: Verdict,
    bounded: Bounds,
    smallest: Floats,
    counts: Floats,
) -> pd.DataFrame:
    """One row a model; ``counts`` has shape (M, 2): items and ratings of people compared."""
    n_kept = kept.sum(axis=1)
    with np.errstate(invalid="ignore"):
        advantage = np.where(kept, found.rho_model, 0.0).sum(axis=1) / np.where(n_kept > 0, n_kept, np.nan)
    return pd.DataFrame(
        {
            "model": list(models),
            "winning_rate": said.winning_rate,
            "winning_rate_lower": np.minimum(bounded.rate_lower, said.winning_rate),
            "winning_rate_upper": np.maximum(bounded.rate_upper, said.winning_rate),
            "advantage_probability": advantage,
            "advantage_probability_std_error": bounded.advantage_error,
            "advantage_probability_lower": bounded.advantage_lower,
            "advantage_probability_upper": bounded.advantage_upper,
            "passes": pd.array(
                [bool(rate >= PASSING) if np.isfinite(rate) else pd.NA for rate in said.winning_rate],
                dtype="boolean",
            ),
            "pass_share": bounded.pass_share,
            "smallest_epsilon": smallest,
            "n_annotators": n_kept,
            "n_left_out": (~kept).sum(axis=1),
            "n_items": counts[:, 0].astype(np.int64),
            "n_ratings": counts[:, 1].astype(np.int64),
        }
    )


def annotator_rows(
    models: Sequence[str],
    people: Sequence[str],
    found: Evidence,
    kept: Mask,
    said: Verdict,
    epsilon: float,
    min_instances: int,
    alpha: float,
) -> pd.DataFrame:
    """One row a model and annotator, those left out with the reason."""
    shape = found.n.shape
    tests = inference(found.difference.ravel(), found.std_error.ravel(), alpha, epsilon,
                      np.maximum(found.clusters.ravel() - 1, 1))  # fmt: skip
    shown = kept.ravel()
    wins = pd.array(said.wins.ravel(), dtype="boolean")
    wins[~shown] = pd.NA
    return pd.DataFrame(
        {
            "model": np.repeat(np.array(models, dtype=object), shape[1]),
            "annotator": np.tile(np.array(people, dtype=object), shape[0]),
            "rho_model": found.rho_model.ravel(),
            "rho_human": found.rho_human.ravel(),
            "difference": found.difference.ravel(),
            "std_error": found.std_error.ravel(),
            "lower": tests.lower,
            "upper": tests.upper,
            "statistic": tests.z,
            "df": np.where(shown, found.clusters.ravel() - 1, np.nan),
            "p": said.p.ravel(),
            "p_adjusted": said.p_adjusted.ravel(),
            "wins": wins,
            "n_items": found.n.ravel().astype(np.int64),
            "n_clusters": found.clusters.ravel().astype(np.int64),
            "left_out": pd.array(
                [_why(n, min_instances) if not ok else pd.NA for n, ok in zip(found.n.ravel(), shown,
                                                                              strict=True)],
                dtype="string",
            ),
        }
    )  # fmt: skip


def _why(n: float, min_instances: int) -> str:
    if not n:
        return "no item shared with the model and another annotator"
    if n >= min_instances:
        return "one cluster of items only"
    return f"{n:.0f} items, fewer than {min_instances}"
