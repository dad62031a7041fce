"""What annotation and evaluation programs write, through every door: the numbers are those of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conjury import agreement
from conjury.inference.readers.judgments import load_judgments
from tests.support.messes.clean_tables import CleanTable, cohen, right_number
from tests.support.rating_exports import EXPORTS, MODEL, PEOPLE, SCORES, RatingExport, answers

Run = Callable[..., Any]
IDS = [export.name for export in EXPORTS]


def written(export: RatingExport, rows: pd.DataFrame, folder: Path) -> str:
    """The files of an export in a folder; what a command names."""
    files = export.files(rows)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return export.path or next(iter(files))


def kappas(ended: Any) -> dict[tuple[str, str], float]:
    """Cohen's kappa without weights by its two sides, as `agreement --json` gives it."""
    assert ended.code == 0, ended.err
    rows = next(iter(json.loads(ended.out)["estimates"].values()))
    return {
        (row["among"], row.get("against") or ""): row["estimate"]
        for row in rows
        if row["weights"] == "nominal"
    }


@pytest.mark.parametrize("export", EXPORTS, ids=IDS)
def test_an_export_gives_the_kappa_of_its_answers(export: RatingExport, tmp_path: Path) -> None:
    rows = answers(export.classes)
    notes: list[str] = []
    judgments = load_judgments(tmp_path / written(export, rows, tmp_path), notes=notes)
    result = agreement(judgments, ["cohen"], draws=0).frame.query("weights == 'nominal'")
    values = {(row.among, row.against or ""): row.estimate for row in result.fillna("").itertuples()}
    if len(export.people) > 1 and not export.is_named:
        assert values["human", ""] == pytest.approx(cohen(rows, *PEOPLE))
    if len(export.people) == 1 and export.model is not None:
        answered = rows.dropna()
        assert values["human", export.model] == pytest.approx(cohen(answered, PEOPLE[0], MODEL))
    assert "and is read as such" in " ".join(notes)


@pytest.mark.parametrize("export", EXPORTS, ids=IDS)
def test_judge_compares_the_columns_of_an_export(export: RatingExport, tmp_path: Path, conjury: Run) -> None:
    rows = answers(export.classes)
    name = written(export, rows, tmp_path)
    if export.model is None:
        ended = conjury(f"judge {name}", cwd=tmp_path)
        assert ended.code == 2
        assert "all judges are people; name one of them with --judge" in ended.err
        options = ["--judge", export.people[1], "--human", export.people[0]]
        answered, sides = rows, (PEOPLE[1], PEOPLE[0])
    else:
        options = ["--human", export.people[0], *(["--judge", export.model] if export.is_named else [])]
        answered, sides = rows.dropna(), (MODEL, PEOPLE[0])
    ended = conjury("judge", name, *options, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    estimates = {row["name"]: row for row in json.loads(ended.out)["estimates"]}
    frame = answered[list(sides)].set_axis(["judge", "human"], axis=1)
    scale = "interval" if export.classes == SCORES else "nominal"
    expected = right_number(CleanTable("x", frame, ("human",), scale), frame)
    estimate = estimates["icc" if scale == "interval" else "kappa"]
    assert estimate["estimate"] == pytest.approx(expected)
    assert estimate["n"] == len(answered)


@pytest.mark.long
@pytest.mark.parametrize("export", EXPORTS, ids=IDS)
def test_import_recognises_an_export_and_agreement_of_its_file_is_the_same(
    export: RatingExport, tmp_path: Path, conjury: Run
) -> None:
    name = written(export, answers(export.classes), tmp_path)
    command = "--coefficient cohen --draws 0 --json"
    expected = kappas(conjury(f"agreement {name} --results a {command}", cwd=tmp_path))
    ended = conjury(f"import {name} --out j.parquet", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "and is read as such" in " ".join(ended.out.split())
    assert kappas(conjury(f"agreement j.parquet --results b {command}", cwd=tmp_path)) == pytest.approx(
        expected
    )
    ended = conjury(f"import {name} --out k.parquet --strict", cwd=tmp_path)
    assert ended.code == 2
    assert "--strict allows none; state it with --format" in ended.err
