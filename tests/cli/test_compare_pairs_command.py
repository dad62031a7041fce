"""``conjury compare-pairs``: any format, a second file of labels, pages, limits, JSON, hostile names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from conjury import compare_pairs
from conjury.inference.tables.files import EXAMPLES

Run = Callable[..., Any]
ROLES = "--id prompt --judge winner --human ann"
HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, in other formats and as two files, and a file of two systems, one with a hostile name."""
    folder = tmp_path_factory.mktemp("pairs")
    table = pd.read_csv(EXAMPLES / "pairs" / "verdicts.csv")
    table.to_csv(folder / "verdicts.csv", index=False)
    table.replace("small", "small, new").to_csv(folder / "commas.csv", index=False)
    table.drop(columns="ann").to_json(folder / "judged.jsonl", orient="records", lines=True)
    labels = table.dropna(subset="ann")[["prompt", "model_a", "model_b", "ann"]].iloc[::2]
    labels.sample(frac=1, random_state=1).to_csv(folder / "labels.csv", index=False, sep=";")
    pairs = pd.DataFrame(
        {"prompt": range(40), "model_a": HOSTILE, "model_b": "tame", "ab": "tame", "ba": "tame"}
    )
    pairs.loc[:9, ["ab", "ba"]] = HOSTILE
    pairs.to_csv(folder / "hostile.csv", index=False)
    return folder


def _json(ended: Any) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    content = json.loads(ended.out)
    assert isinstance(content, dict)
    return content


@pytest.mark.long
def test_a_second_file_of_labels_gives_the_result_of_one_file(place: Path, conjury: Run) -> None:
    frame = compare_pairs(place / "verdicts.csv", "winner", "ann", id="prompt").frame
    command = f"compare-pairs judged.jsonl --labels labels.csv {ROLES} --labelled by=person,sampled=random"
    record = _json(conjury(f"{command} --json", cwd=place))
    assert record["settings"]["provenance"]["label_by"] == {
        "person": record["settings"]["provenance"]["labels"]
    }
    estimates = {row["name"]: row["estimate"] for row in record["estimates"] if "estimate" in row}
    assert list(estimates) == frame["name"].tolist()
    assert_allclose(list(estimates.values()), frame["estimate"].to_numpy(dtype=float))
    assert record["kind"] == "pair_comparison"
    assert record["settings"]["groups"][0][:2] == ["tuned", "large"]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ("--fail-under win_rate.lower=0.7", 1),
        ("--fail-under win_rate.lower=0.5 --fail-over order_flips.upper=0.5 --fail-over net_first.p=1", 0),
        pytest.param("--fail-over order_flips.upper=0.1", 1, marks=pytest.mark.long),
    ],
)
def test_a_limit_that_is_not_met_ends_with_1(limits: str, code: int, place: Path, conjury: Run) -> None:
    command = f"compare-pairs commas.csv --id prompt --judge winner {limits} --systems tuned,"
    ended = conjury(f"{command}'\"small, new\"'", cwd=place)
    assert ended.code == code, ended.err
    assert "pairs of tuned, 'small, new'" in ended.out
    assert "no system 'small' (did you mean '\"small, new\"'?)" in conjury(f"{command}small", cwd=place).err
    assert ("FAILS" in ended.out) == bool(code)
    assert "preference alone: tuned wins 75.8% of 32 pairs" in " ".join(ended.out.split())


@pytest.mark.long
def test_ranks_have_limits_too_and_a_page_shows_them(place: Path, conjury: Run) -> None:
    ended = conjury(
        f"compare-pairs verdicts.csv {ROLES} --html pairs.html --fail-over rank[tuned].upper=3", cwd=place
    )
    assert ended.code == 0, ended.out
    page = (place / "pairs.html").read_text(encoding="utf-8")
    for text in ("No reliable winner of 5 systems", "Ranking", "Differences of strengths", "<svg"):
        assert text in page


@pytest.mark.long
def test_hostile_names_of_systems_are_text(place: Path, conjury: Run) -> None:
    ended = conjury("compare-pairs hostile.csv --html hostile.html", cwd=place)
    assert ended.code == 0, ended.err
    assert "\x1b[31m" not in ended.out
    assert "<script>alert(1)" not in (place / "hostile.html").read_text(encoding="utf-8")
