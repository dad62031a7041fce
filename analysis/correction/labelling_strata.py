"""Which tasks to give to people: shares of strata by what a model leaves unexplained in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.design.sampling import inclusion_probabilities, stratum_names
from conjury.inference.errors import InputError, listed
from conjury.inference.tables.schema import POSITIONS, SAMPLING

from ..numerics.linear import least_squares
from .sources import people_and_models, sampling_weights

PAIR, STRATUM = "pair_id", "stratum"
PRIOR = 5  # tasks that count as having the residual of all strata, so that few tasks do not decide


def strata_plan(
    choices: pd.DataFrame,
    column: str,
    outcome: str,
    human: Sequence[str],
    model: Sequence[str],
    people: Sequence[float],
    tasks: float,
    costs: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Tasks of people in each stratum at numbers of people, with the least variance for their cost."""
    # Shares are in proportion to N s / sqrt(cost) (Neyman allocation): N tasks of the models in the stratum,
    # s the standard deviation of people's answers around the prediction from the models' answers.
    for name in (PAIR, "position", "judge_id", "judge_kind", outcome, column):
        if name not in choices:
            raise InputError(f"The choices have no column {name!r}, which strata of tasks need; add it.")
    if "repeat" in choices:
        choices = choices[~choices["repeat"].fillna(False).to_numpy(bool)]
    choices = choices.reset_index(drop=True)
    stratum = _stratum_of_rows(choices, column)
    of_people, of_models = people_and_models(choices, human, model, ("judge_id", "panel", "judge_kind"))
    answered = choices[outcome].notna().to_numpy()
    key = [choices[PAIR].astype("string"), choices["position"].astype("string")]
    row = choices.groupby(key, sort=False).ngroup().to_numpy()
    predictors = _answers(choices, of_models & answered, row, outcome)
    labelled = of_people & answered & np.isfinite(predictors[row]).all(axis=1)
    if labelled.sum() < 4:
        raise InputError(
            f"{listed(list(model))} answered fewer than two of people's tasks; ask about more of them."
        )
    squared = _squared_residuals(choices[labelled], predictors[row[labelled]], outcome)
    names, code = np.unique(stratum, return_inverse=True)
    n = np.bincount(code[labelled], minlength=len(names)) / len(POSITIONS)
    total = np.bincount(code[labelled], squared, len(names)) / len(POSITIONS)
    sd = np.sqrt((total + PRIOR * squared.mean()) / (n + PRIOR))
    first = of_models & ~choices[PAIR].where(of_models).duplicated().to_numpy()
    size = np.bincount(code[first], minlength=len(names))
    table = pd.DataFrame(
        {STRATUM: names, "tasks_model": size, "tasks_both": n.astype(int), "residual_sd": sd}
    )
    table = table[size > 0].reset_index(drop=True)
    table["cost"] = _costs(table[STRATUM], costs)
    spread = table["residual_sd"] if squared.mean() > 0 else 1.0
    weight = table["tasks_model"] * spread / np.sqrt(table["cost"])
    table["share"] = weight / weight.sum()
    return pd.concat([_expected_tasks(table, n, tasks) for n in people], ignore_index=True)


def precision_gain(table: pd.DataFrame) -> float:
    """Variance of the mean residual with shares in proportion to the models' tasks over that of the plan."""
    # It is at equal costs, for tasks whose number is small compared with the models'.
    strata = table[table["people"] == table["people"].iloc[0]]
    size, sd = strata["tasks_model"] / strata["tasks_model"].sum(), strata["residual_sd"]
    planned = (size**2 * sd**2 / strata["share"]).sum() * (strata["share"] * strata["cost"]).sum()
    return float((size * sd**2).sum() * (size * strata["cost"]).sum() / planned) if planned > 0 else 1.0


def _expected_tasks(table: pd.DataFrame, people: float, tasks: float) -> pd.DataFrame:
    """The tasks of so many people in each stratum, at most all of it."""
    size = table["tasks_model"].to_numpy()
    n = int(np.clip(np.round(people * tasks), 1, size.sum()))
    each = np.repeat((table["share"] / table["tasks_model"]).to_numpy(), size)
    expected = np.add.reduceat(inclusion_probabilities(each, n), np.cumsum(size) - size)
    return table.assign(people=int(people), tasks=expected)


def _stratum_of_rows(choices: pd.DataFrame, column: str) -> np.ndarray:
    """Name of the stratum of each row: the levels of both profiles of its pair, in any order."""
    pairs, code = np.unique(choices[PAIR].astype("string").to_numpy(str), return_inverse=True)
    levels = np.full((len(pairs), len(POSITIONS)), "", dtype=object)
    for number, position in enumerate(POSITIONS):
        rows = choices["position"].astype("string").eq(position).fillna(False).to_numpy(bool)
        levels[code[rows], number] = choices[column].astype("string").fillna("missing")[rows]
    if (levels == "").any():
        name = pairs[(levels == "").any(axis=1)][0]
        raise InputError(f"Pair {name!r} has one row, and strata need both profiles of each; add the other.")
    return stratum_names(levels)[code]


def _answers(choices: pd.DataFrame, answered: np.ndarray, row: np.ndarray, outcome: str) -> np.ndarray:
    """Mean answer of each model to each pair and position, shape (rows, J)."""
    means = []
    names, n = choices["judge_id"].astype(str).to_numpy(), int(row.max()) + 1
    for judge in dict.fromkeys(names[answered]):
        mask = answered & (names == judge)
        with np.errstate(invalid="ignore"):
            values = choices[outcome].to_numpy(dtype=float, na_value=np.nan)[mask]
            means.append(np.bincount(row[mask], values, n) / np.bincount(row[mask], minlength=n))
    return np.column_stack(means) if means else np.full((n, 1), np.nan)


def _squared_residuals(people: pd.DataFrame, predictors: np.ndarray, outcome: str) -> np.ndarray:
    """Squared residuals of people's answers (n,) on the models' answers (n, J)."""
    weight = sampling_weights(people[SAMPLING]) if SAMPLING in people else None
    weight = np.ones(len(people)) if weight is None else weight
    values = people[outcome].to_numpy(dtype=float)
    fit = least_squares(np.column_stack([np.ones(len(people)), predictors]), weight, weight * values)
    return np.asarray((values - fit.fitted) ** 2)


def _costs(strata: pd.Series[Any], costs: Mapping[str, float] | None) -> np.ndarray:
    """Cost of a person's task in each stratum, 1 where all are equal."""
    if costs is None:
        return np.ones(len(strata))
    absent = [name for name in strata if name not in costs]
    if absent:
        raise InputError(f"cost_strata has no cost of {listed(absent, 3)}; give one for each stratum.")
    values = np.array([float(costs[name]) for name in strata])
    if not ((values > 0) & np.isfinite(values)).all():
        raise InputError("cost_strata has a cost that is not above 0; correct it.")
    return values
