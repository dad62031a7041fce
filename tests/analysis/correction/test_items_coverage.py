"""Coverage of corrected means under simulation, and on items that people and models rated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.correction.items import Rows, bounded, correct, weighted_mean
from conjury.analysis.numerics.panel import Clusters

DRAWS = 1_200
OTHERS = 1_000


def estimates(human: np.ndarray, model: np.ndarray, seed: int = 1) -> pd.DataFrame:
    """Rows human only and corrected of a mean, of which the first ``len(human)`` items are labelled."""
    n = len(human)
    clusters = {"item_id": Clusters.of_rows(len(model))}
    one = np.ones
    rows = Rows(
        weighted_mean(human[:, None], one(n)),
        [weighted_mean(model[:n, None], one(n))],
        [weighted_mean(model[n:, None], one(len(model) - n))],
        clusters,
    )
    found = correct(rows, "coefficient", 5, seed)
    return pd.concat([bounded(found.human, 0.05), bounded(found.corrected, 0.05)], ignore_index=True)


def covered(tables: list[pd.DataFrame], truth: float) -> tuple[float, float, float]:
    """Coverage of human only and corrected intervals, and the ratio of their mean widths."""
    lower = np.array([table["lower"] for table in tables])
    upper = np.array([table["upper"] for table in tables])
    inside = ((lower <= truth) & (truth <= upper)).mean(axis=0)
    width = (upper - lower).mean(axis=0)
    return float(inside[0]), float(inside[1]), float(width[1] / width[0])


@pytest.mark.long
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("n", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_intervals_of_means_cover(n: int, rho: float) -> None:
    rng = np.random.default_rng(17)
    tables = []
    for draw in range(DRAWS):
        model = rng.normal(0, 1, n + OTHERS)
        human = rho * model[:n] + np.sqrt(1 - rho**2) * rng.normal(0, 1, n)
        tables.append(estimates(human, model, draw))
    human_only, corrected, width = covered(tables, 0.0)
    noise = 3 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert abs(human_only - 0.95) < noise
    assert corrected > 0.95 - noise - (0.015 if n == 20 else 0.005)
    assert 0.98 < width < 1.05 if rho == 0 else width < (0.95 if rho == 0.6 else 0.6)


REAL = [("10k_prompts", 4), ("cebab_stars", 4), ("framing", None)]


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(("name", "at_least"), REAL)
def test_hidden_ratings_are_covered(shared: Path, name: str, at_least: float | None) -> None:
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet").query("dataset == @name")
    values = (
        table["value"].map({"yes": 1.0, "no": 0.0}).fillna(pd.to_numeric(table["value"], errors="coerce"))
    )
    each = table.assign(value=values).dropna(subset="value")
    people = each[each["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    model = (
        each[each["judge_id"] == "gpt-4o"].groupby("item_id")["value"].mean().reindex(people.index).dropna()
    )
    people = people[model.index].to_numpy()
    n, rng, tables = len(people) // 10, np.random.default_rng(5), []
    for draw in range(500):
        order = rng.permutation(len(people))
        tables.append(estimates(people[order[:n]], model.to_numpy()[order], draw))
    _, corrected, width = covered(tables, people.mean())
    assert corrected > 0.93
    assert width < 1.03
