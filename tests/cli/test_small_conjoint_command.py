"""A small conjoint from the command line: one share of repeats in every table and on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from made_up_hotels import choices_of, design_of, hotels

from conjury.analysis.report import Report
from conjury.inference.tables import write_table

Told = Callable[..., tuple[int, str]]


@pytest.mark.long
def test_repeats_of_a_small_study_give_one_share_in_all_tables(
    conjury_here: Told, tmp_path: Path, capsys
) -> None:
    study = hotels(tmp_path / "hotels")
    write_table(choices_of(study, design_of(study), agreeing=40), tmp_path / "choices.parquet")
    file = tmp_path / "hotels" / "study.yaml"
    code, said = conjury_here("fit", file, "--data", "choices.parquet", "--draws", 0, "--out", "results")
    assert code == 0, said
    code, said = conjury_here("diagnose", file, "--results", "results")
    assert code == 0, said
    tables = tmp_path / "results" / "tables"
    names = {"reliability": "agreement", "check_repeat_agreement": "estimate"}
    shares = {name: pd.read_parquet(tables / f"{name}.parquet")[column] for name, column in names.items()}
    assert {name: share.tolist() for name, share in shares.items()} == {name: [40 / 60] for name in names}
    assert set(pd.read_parquet(tables / "corrected.parquet")["source"]) == {"observed", "corrected"}
    report = Report(tmp_path / "results", "diagnosed")
    report.show("reliability")
    printed = capsys.readouterr().out
    assert re.findall(r"\b(Above|Below|No better than|Not clearly above) chance", printed) == ["Above"]
    assert "Correct AMCEs" in str(report.table("diagnosis")["remedy"].tolist())
