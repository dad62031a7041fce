"""Tables that ``conjury judge`` and ``conjury compare-runs`` read, refuse, or describe in a note."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Run = Callable[..., Any]


def estimates(ended: Any) -> dict[str, Any]:
    """Estimates that a command printed as JSON, by name."""
    assert ended.code == 0, ended.err
    return {one["name"]: one for one in json.loads(ended.out)["estimates"]}


def test_ratings_with_an_empty_cell_are_those_of_the_complete_rows(tmp_path: Path, conjury: Run) -> None:
    random = np.random.default_rng(7)
    quality = random.normal(50, 10, 40)
    frame = pd.DataFrame({name: quality + random.normal(0, 4, 40) for name in ("judge", "human")}).round(1)
    frame.drop(index=3).to_csv(tmp_path / "complete.csv", index=False)
    for column in ("judge", "human"):
        gap = frame.copy()
        gap.loc[3, column] = np.nan
        gap.to_csv(tmp_path / "gap.csv", index=False)
        found, known = (
            estimates(conjury(f"judge {name}.csv --judge judge --human human --json", cwd=tmp_path))
            for name in ("gap", "complete")
        )
        assert [found[name] for name in ("icc", "pearson", "bias")] == [
            known[name] for name in ("icc", "pearson", "bias")
        ]
