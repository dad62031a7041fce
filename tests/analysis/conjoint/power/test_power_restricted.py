"""Power of designs in which features restrict each other: exact sandwich, real estimates, free designs."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conjury.analysis.conjoint import amce, amce_diffs, power, power_by_simulation
from conjury.cli.main import app
from conjury.inference.design.profiles import attribute_cells
from conjury.inference.errors import InputError
from conjury.inference.study import load_study

SCHOOL, TONE = ["none", "degree", "phd"], {"low": 0.5, "mid": 0.2, "high": 0.3}
JOBS = {
    "cook": {"none": 0.2, "degree": 0.1},
    "clerk": {"none": 0.1, "degree": 0.15, "phd": 0.05},
    "doctor": {"degree": 0.1, "phd": 0.2},
    "priest": {"phd": 0.1},
}
PAIR = [("job", "school")]
FORMULA = "y ~ job * school + tone"


def table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    names = ["job", "school", "tone", "probability"]
    orders = {"job": list(JOBS), "school": SCHOOL, "tone": list(TONE)}
    types = {name: pd.CategoricalDtype(order) for name, order in orders.items()}
    return pd.DataFrame(rows, columns=names).astype(types)


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    return table(
        [(j, s, t, p * q) for j, met in JOBS.items() for s, p in met.items() for t, q in TONE.items()]
    )


def drawn(cells: pd.DataFrame, pull: np.ndarray, pairs: int, rng: np.random.Generator) -> pd.DataFrame:
    """Forced choices between profiles drawn from the cells, each of which pulls as it is told."""
    rows = rng.choice(len(cells), (pairs, 2), p=cells["probability"])
    first = (rng.random(pairs) < 0.5 + pull[rows[:, 0]] - pull[rows[:, 1]]).astype(float)
    chosen = np.stack([first, 1 - first], axis=1).ravel()
    profiles = cells.iloc[rows.ravel()].reset_index(drop=True)
    return profiles.assign(y=chosen, pair=np.repeat(np.arange(pairs), 2))


def row_of(frame: pd.DataFrame, feature: str, level: str) -> pd.Series[Any]:
    return frame[(frame["feature"] == feature) & (frame["level"] == level)].iloc[0]


def sandwich(cells: pd.DataFrame, feature: str, level: str, effect: float) -> float:
    """Variance per profile of a contrast, by enumeration of all pairs of cells and both choices."""
    names = {"job": list(JOBS), "school": SCHOOL, "tone": list(TONE)}
    flags = {(n, one): (cells[n] == one).to_numpy(float) for n, ls in names.items() for one in ls}
    met = [(j, s) for j, own in JOBS.items() for s in own]
    design = np.stack([flags["job", j] * flags["school", s] for j, s in met], axis=1)
    design = np.hstack([design, np.stack([flags["tone", t] for t in ("mid", "high")], axis=1)])
    contrast = np.zeros(design.shape[1])
    if feature == "tone":
        contrast[len(met) + ["mid", "high"].index(level)] = 1
    else:
        place, base = ("job", "school").index(feature), names[feature][0]
        levels = [{pair[1 - place] for pair in met if pair[place] == one} for one in (level, base)]
        shared = set.intersection(*levels)
        for column, pair in enumerate(met):
            sign = (pair[place] == level) - 1.0 * (pair[place] == base)
            contrast[column] = sign * (pair[1 - place] in shared) / len(shared)
    p = cells["probability"].to_numpy()
    pull = effect * flags[feature, level]
    mean = 0.5 + pull - p @ pull
    middle = np.zeros((design.shape[1],) * 2)
    for i, j in product(range(len(cells)), repeat=2):
        chance = 0.5 + pull[i] - pull[j]
        for answer, weight in ((1.0, chance), (0.0, 1 - chance)):
            score = design[i] * (answer - mean[i]) + design[j] * (1 - answer - mean[j])
            middle += p[i] * p[j] * weight * np.outer(score, score)
    bread = np.linalg.inv(design.T @ (design * p[:, None]))
    return float(contrast @ bread @ middle @ bread @ contrast / 2)


@pytest.mark.parametrize(
    ("feature", "level", "effect"),
    [("job", "doctor", 0.2), ("job", "clerk", 0.1), ("school", "phd", -0.15), ("tone", "high", 0.1)],
)
def test_the_variance_is_the_sandwich_of_all_pairs(
    cells: pd.DataFrame, feature: str, level: str, effect: float
) -> None:
    found = power(cells, restrictions=PAIR, amce=abs(effect), profiles=1000).frame
    exact = sandwich(cells, feature, level, abs(effect)) / 1000
    assert row_of(found, feature, level)["std_error"] ** 2 == pytest.approx(exact, rel=1e-10)


def test_a_large_study_has_the_planned_errors(cells: pd.DataFrame) -> None:
    pull = 0.15 * (cells["job"] == "doctor").to_numpy(float)
    data = drawn(cells, pull, 60_000, np.random.default_rng(1))
    with pytest.warns(UserWarning, match="No estimate for job=priest"):
        estimated = amce(data, FORMULA, id="pair").frame
    found = power(cells, restrictions=PAIR, amce=0.15, pairs=60_000).frame
    for feature, level in (("job", "doctor"), ("school", "degree"), ("school", "phd"), ("tone", "high")):
        ours = estimated[(estimated["feature"] == feature) & (estimated["level"] == level)].iloc[0]
        planned = row_of(found, feature, level)["std_error"]
        assert ours["std_error"] == pytest.approx(planned, rel=0.04), (feature, level)
    doctor = row_of(estimated, "job", "doctor")
    assert doctor["std_error"] == pytest.approx(row_of(found, "job", "doctor")["std_error"], rel=0.015)
    assert abs(doctor["estimate"] - 0.15) < 4 * doctor["std_error"]


@pytest.mark.filterwarnings("ignore:No estimate for job=priest")
@pytest.mark.parametrize(
    "sims", [pytest.param(100, marks=pytest.mark.long), pytest.param(1000, marks=pytest.mark.slow)]
)
def test_repeated_studies_have_the_planned_power(cells: pd.DataFrame, sims: int) -> None:
    rng, pull = np.random.default_rng(2), 0.2 * (cells["job"] == "doctor").to_numpy(float)
    rows = [
        row_of(amce(drawn(cells, pull, 400, rng), FORMULA, id="pair").frame, "job", "doctor")
        for _ in range(sims)
    ]
    planned = row_of(power(cells, restrictions=PAIR, amce=0.2, pairs=400).frame, "job", "doctor")
    share = np.mean([row["p"] < 0.05 for row in rows])
    error = np.sqrt(planned["power"] * (1 - planned["power"]) / sims)
    assert abs(share - planned["power"]) < 3 * error
    spread = np.std([row["estimate"] for row in rows], ddof=1)
    assert abs(spread / planned["std_error"] - 1) < 3 / np.sqrt(2 * sims)


def test_free_designs_are_a_special_case() -> None:
    study = load_study("moderation")
    named = power(study, amce=0.03, pairs=5000)
    by_cells = power(attribute_cells(study), amce=0.03, pairs=5000)
    pd.testing.assert_frame_equal(named.frame, by_cells.frame, rtol=1e-10)
    assert by_cells.notes == ("speech follows from slur; each is planned without the other.",)


def test_free_interactions_are_a_special_case() -> None:
    shares = {"a": {"x": 0.2, "y": 0.8}, "b": {"u": 0.5, "v": 0.1, "w": 0.4}, "c": {"s": 0.5, "t": 0.5}}
    rows = [
        (*levels, np.prod([shares[name][level] for name, level in zip(shares, levels, strict=True)]))
        for levels in product(*shares.values())
    ]
    table = pd.DataFrame(rows, columns=[*shares, "probability"])
    named = power(shares, interaction=0.1, by="b", pairs=1000).frame
    pd.testing.assert_frame_equal(named, power(table, interaction=0.1, by="b", pairs=1000).frame, rtol=1e-10)


def test_interactions_across_unequal_cells_have_the_errors_of_the_estimator(cells: pd.DataFrame) -> None:
    tied = cells.assign(probability=cells["probability"] * np.where(cells["tone"] == "low", 1, 1.5))
    odd = (tied["job"] == "clerk") & (tied["tone"] == "high")
    tied.loc[odd, "probability"] *= 3
    tied["probability"] /= tied["probability"].sum()
    data = drawn(tied, np.zeros(len(tied)), 60_000, np.random.default_rng(3))
    with pytest.warns(UserWarning, match="priest"):
        estimated = amce_diffs(data, FORMULA, by="tone", id="pair").frame
    found = power(tied, restrictions=PAIR, interaction=1e-6, by="tone", pairs=60_000).frame
    for level in ("clerk", "doctor"):
        ours = estimated[(estimated["tone"] == "high") & (estimated["level"] == level)].iloc[0]
        planned = found[(found["by_level"] == "high") & (found["level"] == level)].iloc[0]
        assert ours["std_error"] == pytest.approx(planned["std_error"], rel=0.03)


def test_equal_weights_cost_more_than_those_of_the_design() -> None:
    study = load_study("moderation")
    free = power(study, amce=0.05, pairs=5000, features=["topic"]).frame["std_error"]
    same = power(study, restrictions=[("topic", "reply")], amce=0.05, pairs=5000, features=["topic"])
    np.testing.assert_allclose(free, same.frame["std_error"], rtol=1e-10)
    skewed = {"a": [0.5, 0.5], "b": [0.9, 0.1]}
    rows = [(f"a{i}", f"b{j}", p * q) for (i, p), (j, q) in product(*map(enumerate, skewed.values()))]
    cells = pd.DataFrame(rows, columns=["a", "b", "probability"])
    errors = power(cells, restrictions=[("a", "b")], amce=1e-6, pairs=5000, features=["a"]).frame["std_error"]
    plain = power(skewed, amce=1e-6, pairs=5000, features=["a"]).frame["std_error"]
    assert (errors / plain).item() == pytest.approx(np.sqrt((1 / 0.9 + 1 / 0.1) / 4))


def test_other_attributes_that_go_together_cost_power() -> None:
    rows = [("x", "u", 0.4), ("x", "v", 0.1), ("y", "u", 0.1), ("y", "v", 0.4)]
    cells = pd.DataFrame(rows, columns=["a", "b", "probability"])
    found = power(cells, amce=1e-6, pairs=1000).frame["std_error"]
    alone = power({"a": 2, "b": 2}, amce=1e-6, pairs=1000).frame["std_error"]
    np.testing.assert_allclose(found / alone, 1 / np.sqrt(1 - 0.6**2))


def test_levels_without_an_answer_are_named(cells: pd.DataFrame) -> None:
    found = power(cells, restrictions=PAIR, amce=0.1, power=0.8)
    assert "priest" not in set(found.frame["level"])
    assert found.notes[0] == (
        "No answer for priest of job: no level of school occurs both with it and with the reference cook."
    )
    assert "clerk over none, degree; doctor over degree" in found.notes[1]
    assert found.at(effect=0.1, pairs=100).notes == found.notes
    unused = cells.assign(tone=cells["tone"].cat.add_categories("shrill"))
    assert any("shrill never occurs" in note for note in power(unused, amce=0.1, pairs=9).notes)
    assert any("job and school never meet" in note for note in power(cells, amce=0.1, pairs=9).notes)
    twins = pd.DataFrame({"a": list("xxyy"), "b": list("uuvv"), "c": list("stst")})
    told = power(twins, amce=0.1, pairs=100)
    assert set(told.frame["feature"]) == {"c"}
    assert (
        "No answer for y of a: its effect cannot be separated from those of other attributes." in told.notes
    )
    with pytest.raises(InputError, match="No answer for y of a"):
        power(twins, amce=0.1, pairs=100, features=["a"])


def test_clusters_reliability_and_tests_apply_to_cells_too(cells: pd.DataFrame) -> None:
    plain = power(cells, restrictions=PAIR, amce=0.1, respondents=100, tasks=5).frame
    clustered = power(cells, restrictions=PAIR, amce=0.1, respondents=100, tasks=5, icc=0.25, tests=3).frame
    np.testing.assert_allclose(clustered["std_error"], plain["std_error"] * np.sqrt(2))
    assert (clustered["power"] < plain["power"]).all()
    noisy = power(cells, restrictions=PAIR, amce=0.1, pairs=500, reliability=0.68).frame
    np.testing.assert_allclose(noisy["observed_effect"], 0.06)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"restrictions": [("job", "scool")]}, "did you mean 'school'"),
        ({"restrictions": ["job", "school"]}, "give pairs of features"),
        ({"restrictions": [("job", "school"), ("job", "tone")]}, "name 'job' twice"),
        ({"restrictions": [("job", "job")]}, "name 'job' twice"),
        ({"features": ["jbo"]}, "did you mean 'job'"),
        ({"convention": "cjpowr"}, "features that combine freely"),
    ],
)
def test_restrictions_without_a_meaning_are_refused(
    cells: pd.DataFrame, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        power(cells, amce=0.1, pairs=100, **options)


def test_designs_that_do_not_say_which_levels_meet_are_refused(cells: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="which levels meet"):
        power({"a": 2, "b": 2}, amce=0.1, pairs=100, restrictions=[("a", "b")])
    with pytest.raises(InputError, match="no attributes"):
        power(cells[["probability"]], amce=0.1, pairs=100)
    with pytest.raises(InputError, match="'job' of the design has a missing level"):
        power(cells.assign(job=cells["job"].where(cells["job"] != "cook")), amce=0.1, pairs=100)
    with pytest.raises(InputError, match="negative"):
        power(cells.assign(probability=-0.1), amce=0.1, pairs=100)
    with pytest.raises(InputError, match="by: 'scool'"):
        power(cells, interaction=0.1, by="scool", pairs=100)


def test_simulations_and_the_command_refuse_tables_of_cells(cells: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in which all levels combine freely.*DataFrame.*power\(\)"):
        power_by_simulation(cells, "panel", n_sims=1)  # type: ignore[arg-type]
    file = tmp_path / "cells.csv"
    cells.to_csv(file, index=False)
    result = CliRunner().invoke(app, ["power", str(file)])
    assert isinstance(result.exception, InputError)
    assert "all levels combine freely" in str(result.exception)


def test_the_command_tells_of_analyses_that_join_features(tmp_path: Path) -> None:
    shutil.copytree(load_study("moderation").folder, tmp_path / "moderation")
    file = tmp_path / "moderation" / "study.yaml"
    text = file.read_text()
    assert "slur + identity" in text
    file.write_text(text.replace("slur + identity", "slur * identity", 1))
    result = CliRunner().invoke(app, ["power", str(file)])
    assert "joins features by *" in " ".join(result.stdout.split())
