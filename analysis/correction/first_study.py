"""What a first study shows of estimates: rho, the variance of people alone, and numbers of tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from conjury.inference.errors import InputError

from ..results import Result
from .correction_precision import CorrectionPrecision, adjusted, precision

_NUMBERS = ("estimate", "std_error", "df", "z", "p", "lower", "upper")


@dataclass(frozen=True)
class PilotEstimates:
    """What a first study has shown of m estimates."""

    keys: pd.DataFrame
    rho: np.ndarray  # (m,), as measured
    adjusted: np.ndarray  # (m,), without what chance adds
    sd: np.ndarray  # (m,), standard error of people alone, for one person
    df_rate: np.ndarray  # (m,), degrees of freedom of people alone for each person
    people: float  # NaN where it is not known
    tasks: float
    other: float
    models: tuple[str, ...]

    def df(self, people: np.ndarray) -> np.ndarray:
        """Degrees of freedom of people alone at numbers of people."""
        return np.asarray(np.clip(self.df_rate * people, 1.0, np.maximum(people - 1, 1.0)))

    def variance(self, people: np.ndarray) -> np.ndarray:
        """Variance of people alone at numbers of people."""
        return np.asarray(self.sd**2 / people)

    def precision(self, people: np.ndarray) -> CorrectionPrecision:
        """Precision of the corrected estimates at numbers of people."""
        return precision(self.adjusted, people, self.tasks, self.other)

    def interval(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Interval of rho by Fisher's z; all correlations where people are three or fewer."""
        if np.isnan(self.people):
            return np.full(len(self.rho), np.nan), np.full(len(self.rho), np.nan)
        if self.people <= 3:
            return np.full(len(self.rho), -1.0), np.full(len(self.rho), 1.0)
        half = float(ndtri(1 - alpha / 2)) / np.sqrt(self.people - 3)
        z = np.arctanh(np.clip(self.rho, -1 + 1e-12, 1 - 1e-12))
        return np.tanh(z - half), np.tanh(z + half)


def measured_of(
    measured: Result | pd.DataFrame, tasks: float | None, other_tasks: float | None
) -> PilotEstimates:
    """Take what a plan needs from a result or a table, with the numbers of tasks where they are given."""
    for name, value in (("tasks", tasks), ("other", other_tasks)):
        if value is not None and not value > 0:
            raise InputError(f"{name} is {value:g}; give a number above 0.")
    if isinstance(measured, pd.DataFrame):
        return _from_table(measured, tasks, other_tasks)
    gains, human, settings = measured.extra.get("gains"), measured.extra.get("human"), measured.settings
    if gains is None or human is None or "n_labelled" not in settings:
        raise InputError(
            f"A result of kind {measured.kind!r} has no rho; give one of a verb with correct='ppi', or "
            "a table with the columns rho and sd."
        )
    if settings.get("correct") == "covariate":
        raise InputError(
            "A result with correct='covariate' has no rho of people's and the model's answers; give one with "
            "correct='ppi'."
        )
    tested = (gains["rho"].notna() & human["std_error"].gt(0)).to_numpy()
    if not tested.any():
        raise InputError("No estimate has a rho; the model's or people's answers do not vary.")
    clusters = float(settings["n_people"])
    # Two rows for each task: the profiles of a pair
    n_labelled, n_other = settings["n_labelled"] / 2, settings["n_other"] / 2
    keys = human.drop(columns=[name for name in _NUMBERS if name in human])
    df = human["df"] if "df" in human else pd.Series(clusters - 1, index=human.index)
    rho = gains["rho"].to_numpy(float)[tested]
    return PilotEstimates(
        keys[tested].reset_index(drop=True),
        rho,
        adjusted(rho, clusters, len(settings["model"])),
        human["std_error"].to_numpy(float)[tested] * np.sqrt(clusters),
        df.to_numpy(float)[tested] / clusters,
        clusters,
        n_labelled / clusters if tasks is None else float(tasks),
        n_other if other_tasks is None else float(other_tasks),
        tuple(settings["model"]),
    )


def _from_table(table: pd.DataFrame, tasks: float | None, other_tasks: float | None) -> PilotEstimates:
    for column in ("rho", "sd"):
        if column not in table:
            raise InputError(f"The table has no column {column!r}; add it for each estimate.")
    for name, value in (("tasks", tasks), ("other", other_tasks)):
        if value is None:
            raise InputError(f"{name} is missing; a table of rho and sd does not have it, so give it.")
    rho, sd = (table[column].to_numpy(float) for column in ("rho", "sd"))
    if not (np.abs(rho) <= 1).all() or not ((sd > 0) & np.isfinite(sd)).all() or not len(table):
        raise InputError("rho is from -1 to 1 and sd above 0 in each row; correct the table.")
    keys = table.drop(columns=["rho", "sd"]).reset_index(drop=True)
    rate = np.ones(len(table))
    return PilotEstimates(
        keys, rho, rho, sd, rate, np.nan, float(tasks or 0), float(other_tasks or 0), ("model",)
    )
