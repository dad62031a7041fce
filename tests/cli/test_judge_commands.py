"""``conjury judge`` and ``conjury compare-runs``: what they print, write and return."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conjury.inference.tables.files import EXAMPLES

Run = Callable[..., Any]
HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for file in (EXAMPLES / "judge").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    frame = pd.DataFrame({"verdict": [HOSTILE, "ok"] * 20, "label": [HOSTILE, "ok"] * 15 + ["ok"] * 10})
    frame.to_csv(tmp_path / "hostile.csv", index=False)
    return tmp_path


def test_a_judge_is_compared_with_people_in_one_page(
    place: Path, conjury: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # headings of narrow terminals take two lines
    ended = conjury("judge comments.csv --human ann,ben,eva --by language", cwd=place)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "comments.csv: 240 rows"
    assert lines[1] == ("  judge: 'verdict'; people: 'ann', 'ben', 'eva'; scale: nominal (guessed judge)")
    for heading in ("Agreement with people", "Subgroups", "Replacement test", "Number of labels needed"):
        assert any(line.startswith(heading) for line in lines)
    assert any("passes the replacement test" in line for line in lines)


LIMITS = {
    "--fail-under kappa.lower=0.4": True,
    "--fail-under accuracy.lower=0.9": False,
    "--fail-over rate_difference[toxic].upper=0.2": True,
    "--fail-over rate_difference[toxic]=0.01": False,
}


def test_a_limit_that_is_not_met_ends_with_1(place: Path, conjury: Run) -> None:
    command = "judge comments.csv --human ann,ben,eva"
    ended = conjury(f"{command} {' '.join(LIMITS)} --json", cwd=place)
    assert ended.code == 1
    assert [gate["passes"] for gate in json.loads(ended.out)["gates"]] == list(LIMITS.values())
    met = " ".join(limit for limit, passes in LIMITS.items() if passes)
    for limits, code in ((met, 0), ("--quiet --fail-under kappa.lower=0.6", 1)):
        ended = conjury(f"{command} {limits}", cwd=place)
        assert ended.code == code
        assert (bool(ended.out), "FAILS" in ended.err) == (not code, bool(code))


def test_json_has_every_number_of_the_page(place: Path, conjury: Run) -> None:
    ended = conjury("judge comments.csv --human ann --json --fail-under kappa.lower=0.9", cwd=place)
    assert ended.code == 1
    record = json.loads(ended.out)
    kappa = next(one for one in record["estimates"] if one["name"] == "kappa")
    assert kappa["lower"] < kappa["estimate"] < kappa["upper"]
    assert record["gates"][0]["passes"] is False
    assert record["verdict"][0].startswith("The judge gives the people's label in ")
    assert {one["measure"] for one in record["precision"]} == {"kappa", "accuracy"}


def test_two_runs_are_compared_by_item(place: Path, conjury: Run) -> None:
    ended = conjury("compare-runs comments.csv new_prompt.csv --human ann,ben,eva --by language", cwd=place)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "comments against new_prompt: 240 pairs"
    assert "items: 'id'" in lines[1]
    assert any("neither different nor equivalent" in line for line in lines)
    gated = conjury("compare-runs comments.csv new_prompt.csv --fail-over flips.upper=0.05", cwd=place)
    assert gated.code == 1


@pytest.mark.long
def test_what_a_file_contains_neither_runs_nor_moves_the_cursor(place: Path, conjury: Run) -> None:
    ended = conjury("judge hostile.csv --html page.html", cwd=place)
    assert ended.code == 0
    assert "\x1b" not in ended.out
    page = (place / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert "<svg" in page
    again = conjury("compare-runs hostile.csv hostile.csv --html runs.html", cwd=place)
    assert again.code == 0
    assert "<script" not in (place / "runs.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_targets_of_an_evaluation_are_not_taken_for_labels_of_people(place: Path, conjury: Run) -> None:
    frame = pd.DataFrame({"id": range(20), "target": ["Paris", "Lima"] * 10, "grade": ["C", "I"] * 10})
    frame.to_csv(place / "a.csv", index=False)
    frame.assign(grade=["C"] * 10 + ["I"] * 10).to_csv(place / "b.csv", index=False)
    ended = conjury("compare-runs a.csv b.csv --judge grade", cwd=place)
    assert ended.code == 0
    assert "people: none" in ended.out
    for name in ("a", "b"):
        graded = pd.read_csv(place / f"{name}.csv").assign(target=["c ", "i"] * 10)
        graded.to_csv(place / f"{name}.csv", index=False)
    assert "people: 'target'" in conjury("compare-runs a.csv b.csv --judge grade", cwd=place).out


def test_several_judges_read_how_labels_came_about(place: Path, conjury: Run) -> None:
    ended = conjury("judge comments.csv --judge verdict,ben --human ann --labelled by=model", cwd=place)
    assert ended.code == 2
    assert "labels of 'ann' were written by a model, so they are no people's" in ended.err
