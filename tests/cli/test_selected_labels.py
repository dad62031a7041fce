"""People who label rows by the judge's answer: estimates hold for all judged rows, or are not printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.correction import rates
from conjury.analysis.raters.validation import judge

Run = Callable[..., Any]
LABELS = np.array(["fail", "pass"])


def reviewed(seed: int = 3, n: int = 4000, chances: tuple[float, float] = (0.20, 0.02)) -> pd.DataFrame:
    """70% of answers are good, the judge is right in 80%; people label fails and passes by ``chances``."""
    random = np.random.default_rng(seed)
    good = random.random(n) < 0.7
    verdict = np.where(random.random(n) < 0.8, good, ~good)
    labelled = random.random(n) < np.where(verdict, chances[1], chances[0])
    human = np.where(labelled, LABELS[good.astype(int)], "")
    return pd.DataFrame({"id": range(n), "judge": LABELS[verdict.astype(int)], "human": human})


def run(frame: pd.DataFrame, place: Path, conjury: Run, options: str = "") -> tuple[dict[str, Any], Any]:
    frame.to_csv(place / "a.csv", index=False)
    ended = conjury(f"judge a.csv --judge judge --human human --json {options}", cwd=place)
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    return {one["name"]: one for one in record["estimates"]}, record


def test_rates_and_agreement_are_those_of_all_judged_rows(tmp_path: Path, conjury: Run) -> None:
    result, record = run(reviewed(), tmp_path, conjury)
    truth = {"corrected_rate[pass]": 0.7, "accuracy": 0.8, "kappa": 0.543, "recall[pass]": 0.8}
    for name, value in truth.items():
        assert result[name]["lower"] < value < result[name]["upper"], name
        assert abs(result[name]["estimate"] - value) < 0.04, name
    assert result["people_only_rate[pass]"]["upper"] < 0.5
    assert "rogan_gladen_rate[pass]" not in result
    assert any("People labelled rows by the judge's answer: 1.9%" in note for note in record["notes"])
    assert "of all judged rows, weighted from 373 labelled rows" in record["verdict"][0]
    for column in ("estimate", "lower", "upper"):  # one quantity, one interval
        assert result["people_rate[pass]"][column] == result["corrected_rate[pass]"][column]


@pytest.mark.long
def test_the_rate_is_that_of_the_correction_by_maximum_likelihood(tmp_path: Path, conjury: Run) -> None:
    for chances in ((0.20, 0.02), (0.1, 0.1)):
        frame = reviewed(chances=chances)
        result, _ = run(frame, tmp_path, conjury)
        table = pd.DataFrame({"label": frame["human"].replace("", None), "judged": frame["judge"]})
        expected = rates(table).frame.set_index(["method", "class"]).loc[("mle", "pass")]
        for column in ("estimate", "lower", "upper"):
            assert result["corrected_rate[pass]"][column] == pytest.approx(expected[column])


def test_random_labels_are_not_weighted(tmp_path: Path, conjury: Run) -> None:
    frame = reviewed(chances=(0.1, 0.1))
    result, record = run(frame, tmp_path, conjury)
    part = frame[frame["human"] != ""]
    assert result["accuracy"]["estimate"] == pytest.approx((part["judge"] == part["human"]).mean())
    assert not any("by the judge's answer" in note for note in record["notes"])
    assert "rogan_gladen_rate[pass]" in result


@pytest.mark.parametrize("passes", [0, 4])
def test_an_answer_with_few_labels_has_no_rate_and_a_sentence(
    tmp_path: Path, conjury: Run, passes: int
) -> None:
    frame = reviewed()
    labelled = frame.index[(frame["judge"] == "pass") & (frame["human"] != "")]
    frame.loc[labelled[passes:], "human"] = ""
    result, record = run(frame, tmp_path, conjury)
    assert not {"corrected_rate[pass]", "rogan_gladen_rate[pass]"} & set(result)
    assert any("fewer than 5 rows with 'pass' have a label; label more" in note for note in record["notes"])
    assert any("need not hold for the others" in note for note in record["notes"])
    assert not any("Over all judged rows" in sentence for sentence in record["verdict"])


def test_labels_that_nobody_selected_but_are_few_have_no_rate(tmp_path: Path, conjury: Run) -> None:
    frame = reviewed(n=300)
    frame["human"] = np.where(np.arange(300) < 7, frame["judge"], "")
    result, record = run(frame, tmp_path, conjury)
    assert "corrected_rate[pass]" not in result
    assert any("Rates have no estimate over all judged rows" in note for note in record["notes"])


def scores(seed: int = 1, n: int = 1500, worst: bool = False) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    quality = random.random(n)
    verdict = np.clip(quality**0.5 + random.normal(0, 0.1, n), 0, 1).round(3)
    chance = np.where(verdict < 0.4, 0.6, 0.0) if worst else 0.3 * (1 - verdict) + 0.05
    human = np.where(random.random(n) < chance, (quality + random.normal(0, 0.1, n)).round(3), np.nan)
    return pd.DataFrame({"judge": verdict, "human": human})


@pytest.mark.long
def test_means_of_ratings_are_those_of_all_judged_rows(tmp_path: Path, conjury: Run) -> None:
    result, record = run(scores(), tmp_path, conjury)
    assert result["corrected_mean"]["lower"] < 0.5 < result["corrected_mean"]["upper"]
    assert result["people_only_mean"]["upper"] < 0.5
    assert result["people_mean"]["lower"] < 0.5 < result["people_mean"]["upper"]
    assert result["bias"]["lower"] < 1 / 1.5 - 0.5 < result["bias"]["upper"]
    assert any("ratings from" in note for note in record["notes"])
    expected, _ = run(scores(worst=True), tmp_path, conjury)
    assert "corrected_mean" not in expected
    assert {"judge_only_mean", "people_only_mean"} <= set(expected)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "chances"), [(4000, (0.20, 0.02)), (400, (0.3, 0.06)), (600, (0.1, 0.6))])
def test_weighted_estimates_cover_at_the_nominal_rate(n: int, chances: tuple[float, float]) -> None:
    truth = {"corrected_rate[pass]": 0.7, "accuracy": 0.8, "kappa": 0.543, "recall[fail]": 0.8}
    inside: dict[str, list[bool]] = {name: [] for name in truth}
    for seed in range(60):
        result = judge(reviewed(seed, n, chances), "judge", "human").frame.set_index("name")
        for name, value in truth.items():
            if name in result.index:
                inside[name].append(bool(result.loc[name, "lower"] <= value <= result.loc[name, "upper"]))
    for name, hits in inside.items():
        assert np.mean(hits) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(hits)), name
