"""``conjury fit`` and ``conjury report`` where answers are missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from made_up.choices import model_and_people

from conjury.inference.tables import write_table

Told = Callable[..., str]


@pytest.mark.slow
def test_a_small_study_with_refusals_is_fitted_and_reported_from_an_empty_folder(
    tmp_path: Path, short_study: Path, done: Told
) -> None:
    models, people = model_and_people(60, 5, 6)
    lost = models["pair_id"].isin(models["pair_id"].unique()[:6])
    refused = models.assign(
        chosen=models["chosen"].mask(lost), status=models["status"].astype("string").mask(lost, "refused")
    )
    write_table(refused, tmp_path / "models.parquet")
    write_table(people, tmp_path / "people.parquet")
    call = "--data models.parquet --data people.parquet --draws 0 --out results"
    printed = done("fit", short_study / "study.yaml", call, cwd=tmp_path)
    assert "84 of 90 choices were answered" in " ".join(printed.split())
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text(encoding="utf-8"))
    assert "amce_bounds" in [entry["name"] for entry in manifest["results"]]
    table = pd.read_parquet(tmp_path / "results" / "tables" / "amce_bounds.parquet")
    assert (table["bound_lower"] <= table["bound_upper"]).all()
    assert (tmp_path / "results" / "figures" / "amce_bounds.svg").is_file()
    done("report", "conjoint", "--results results", cwd=tmp_path)
    page = (tmp_path / "reports" / "conjoint.html").read_text(encoding="utf-8")
    assert "What was not answered" in page
    assert "Of 2 judges, 1 lacks answers: GPT-4o gave 54 of 60 choices (90.0%)" in " ".join(page.split())
