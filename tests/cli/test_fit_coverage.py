"""``conjury fit`` and its report where intervals were measured to cover too rarely."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up.choices import model_and_people

from conjury.analysis.frames.passport import COVERAGE_NOTE_OPENING, read_passport
from conjury.inference.tables import write_table

Told = Callable[..., str]


@pytest.mark.slow
def test_few_pairs_with_a_rare_level_have_a_note_in_the_output_and_in_the_report(
    tmp_path: Path, short_study: Path, done: Told
) -> None:
    rows = read_passport()["amce, vcov=survey", "author=cem"]
    least = min(rows, key=lambda one: one.situation.n)  # a few pairs, a rare level
    models, _ = model_and_people(2 * round(least.situation.n), 5, 6)
    write_table(models, tmp_path / "models.parquet")
    call = "--data models.parquet --draws 0 --out results"
    printed = " ".join(done("fit", short_study / "study.yaml", call, cwd=tmp_path).split())
    note = f"{COVERAGE_NOTE_OPENING} ({least.label};"
    assert (note in printed) == least.fails
    manifest = json.loads((tmp_path / "results" / "manifest.json").read_text(encoding="utf-8"))
    (entry,) = [one for one in manifest["results"] if one["name"] == "amce"]
    assert any(note in one and f"({least.coverage:.0%})" in one for one in entry["notes"]) == least.fails
    done("report", "conjoint", "--results results", cwd=tmp_path)
    page = " ".join((tmp_path / "reports" / "conjoint.html").read_text(encoding="utf-8").split())
    assert (note in page) == least.fails


@pytest.mark.long
def test_many_pairs_have_no_note(tmp_path: Path, short_study: Path, done: Told) -> None:
    models, _ = model_and_people(2000, 5, 6)
    write_table(models, tmp_path / "models.parquet")
    call = "--data models.parquet --draws 0 --out results"
    assert COVERAGE_NOTE_OPENING not in done("fit", short_study / "study.yaml", call, cwd=tmp_path)
