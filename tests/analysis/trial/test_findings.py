"""What the committed results of trials say, as README.md and docs/comparisons/validation.md state it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from conjury.analysis.trial import list_trials, load_trial
from conjury.inference.tables.files import TRIALS

TESTS = Path(__file__).resolve().parents[2]
RESULTS = TRIALS / "results"


@cache
def table(name: str) -> pd.DataFrame:
    return pd.read_parquet(RESULTS / "tables" / f"{name}.parquet")


def number(name: str, method: str, measure: str = "coverage", **where: object) -> float:
    """The one number of a method in a cell."""
    rows = table(name)
    for column, value in {"method": method, "measure": measure, **where}.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1, rows
    return float(rows["estimate"].iloc[0])


@pytest.mark.parametrize("name", list_trials())
def test_results_are_those_of_the_trial_file(name: str) -> None:
    trial, found = load_trial(name), table(name)
    assert found["draws"].eq(trial.draws).all()
    assert set(found["method"]) == {one.label for one in trial.tried}
    grid = [column for column in found if column in {n for one in trial.processes for n in one.expand}]
    assert len(found[["process", *grid]].drop_duplicates()) == len(trial.cells)
    assert (found["failures"] <= 0.08 * found["draws"]).all()
    manifest = json.loads((RESULTS / "manifest.json").read_text(encoding="utf-8"))
    entry = next(one for one in manifest["results"] if one["name"] == name)
    assert entry["settings"]["processor_seconds"] > 1
    assert manifest["parts"][name]["command"].startswith(f"conjury trial {name}")


FINDINGS = [
    (name, row)
    for name, rows in yaml.safe_load((TESTS / "fixtures" / "findings.yaml").read_text("utf-8")).items()
    for row in rows
]


@pytest.mark.parametrize(("name", "row"), FINDINGS, ids=str)
def test_results_are_as_the_pages_state_them(name: str, row: dict[str, Any]) -> None:
    where = dict(row)
    said = {
        key: where.pop(key) for key in ("is", "within", "above", "below", "over", "minus") if key in where
    }
    found = number(name, **where)
    if "over" in said:
        found /= number(name, **where | {"method": said["over"]})
    if "minus" in said:
        found -= number(name, **where | {"method": said["minus"]})
    if "is" in said:
        assert found == pytest.approx(said["is"], abs=said.get("within", 0.02))
    assert said.get("above", -np.inf) < found < said.get("below", np.inf)
