"""Power of designs in which features restrict each other: exact sandwich, real estimates, free designs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce_diffs, power, power_by_simulation
from conjury.inference.errors import InputError

SCHOOL, TONE = ["none", "degree", "phd"], {"low": 0.5, "mid": 0.2, "high": 0.3}
JOBS = {
    "cook": {"none": 0.2, "degree": 0.1},
    "clerk": {"none": 0.1, "degree": 0.15, "phd": 0.05},
    "doctor": {"degree": 0.1, "phd": 0.2},
    "priest": {"phd": 0.1},
}
PAIR = [("job", "school")]
FORMULA = "y ~ job * school + tone"
ORDERS = {"job": list(JOBS), "school": SCHOOL, "tone": list(TONE)}
CELLS = pd.DataFrame(
    [(j, s, t, p * q) for j, met in JOBS.items() for s, p in met.items() for t, q in TONE.items()],
    columns=[*ORDERS, "probability"],
).astype({name: pd.CategoricalDtype(order) for name, order in ORDERS.items()})


def drawn(
    pull: np.ndarray, pairs: int, rng: np.random.Generator, cells: pd.DataFrame = CELLS
) -> pd.DataFrame:
    """Forced choices between profiles drawn from the cells, each of which pulls as it is told."""
    rows = rng.choice(len(cells), (pairs, 2), p=cells["probability"])
    first = (rng.random(pairs) < 0.5 + pull[rows[:, 0]] - pull[rows[:, 1]]).astype(float)
    chosen = np.stack([first, 1 - first], axis=1).ravel()
    profiles = cells.iloc[rows.ravel()].reset_index(drop=True)
    return profiles.assign(y=chosen, pair=np.repeat(np.arange(pairs), 2))


def row_of(frame: pd.DataFrame, feature: str, level: str) -> pd.Series[Any]:
    return frame[(frame["feature"] == feature) & (frame["level"] == level)].iloc[0]


def errors(*given: Any, **options: Any) -> pd.Series[Any]:
    return power(*given, **options).frame["std_error"]


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
def test_the_variance_is_the_sandwich_of_all_pairs(feature: str, level: str, effect: float) -> None:
    found = power(CELLS, restrictions=PAIR, amce=abs(effect), profiles=1000).frame
    exact = sandwich(CELLS, feature, level, abs(effect)) / 1000
    assert row_of(found, feature, level)["std_error"] ** 2 == pytest.approx(exact, rel=1e-10)


def test_interactions_across_unequal_cells_have_the_errors_of_the_estimator() -> None:
    tied = CELLS.assign(probability=CELLS["probability"] * np.where(CELLS["tone"] == "low", 1, 1.5))
    odd = (tied["job"] == "clerk") & (tied["tone"] == "high")
    tied.loc[odd, "probability"] *= 3
    tied["probability"] /= tied["probability"].sum()
    data = drawn(np.zeros(len(tied)), 60_000, np.random.default_rng(3), tied)
    with pytest.warns(UserWarning, match="priest"):
        estimated = amce_diffs(data, FORMULA, by="tone", id="pair").frame.query("tone == 'high'")
    found = power(tied, restrictions=PAIR, interaction=1e-6, by="tone", pairs=60_000).frame
    for level in ("clerk", "doctor"):
        ours = row_of(estimated, "job", level)["std_error"]
        planned = row_of(found[found["by_level"] == "high"], "job", level)["std_error"]
        assert ours == pytest.approx(planned, rel=0.03)


def test_levels_without_an_answer_are_named() -> None:
    found = power(CELLS, restrictions=PAIR, amce=0.1, power=0.8)
    assert "priest" not in set(found.frame["level"])
    assert found.notes[0] == (
        "No answer for priest of job: no level of school occurs both with it and with the reference cook."
    )
    assert "clerk over none, degree; doctor over degree" in found.notes[1]
    assert found.at(effect=0.1, pairs=100).notes == found.notes
    unused = CELLS.assign(tone=CELLS["tone"].cat.add_categories("shrill"))
    assert any("shrill never occurs" in note for note in power(unused, amce=0.1, pairs=9).notes)
    assert any("job and school never meet" in note for note in power(CELLS, amce=0.1, pairs=9).notes)
    told = power(TWINS, amce=0.1, pairs=100)
    assert set(told.frame["feature"]) == {"c"}
    assert (
        "No answer for y of a: its effect cannot be separated from those of other attributes." in told.notes
    )


def test_clusters_reliability_and_tests_apply_to_cells_too() -> None:
    given: dict[str, Any] = {"restrictions": PAIR, "amce": 0.1}
    plain = power(CELLS, **given, respondents=100, tasks=5).frame
    clustered = power(CELLS, **given, respondents=100, tasks=5, icc=0.25, tests=3).frame
    np.testing.assert_allclose(clustered["std_error"], plain["std_error"] * np.sqrt(2))
    assert (clustered["power"] < plain["power"]).all()
    noisy = power(CELLS, **given, pairs=500, reliability=0.68).frame
    np.testing.assert_allclose(noisy["observed_effect"], 0.06)


TWINS = pd.DataFrame({"a": list("xxyy"), "b": list("uuvv"), "c": list("stst")})
GAPS = CELLS.assign(job=CELLS["job"].where(CELLS["job"] != "cook"))


@pytest.mark.parametrize(
    ("design", "options", "told"),
    [
        (CELLS, {"restrictions": [("job", "scool")]}, "did you mean 'school'"),
        (CELLS, {"restrictions": ["job", "school"]}, "give pairs of features"),
        (CELLS, {"restrictions": [("job", "school"), ("job", "tone")]}, "name 'job' twice"),
        (CELLS, {"restrictions": [("job", "job")]}, "name 'job' twice"),
        (CELLS, {"features": ["jbo"]}, "did you mean 'job'"),
        (CELLS, {"convention": "cjpowr"}, "features that combine freely"),
        (CELLS, {"amce": None, "interaction": 0.1, "by": "scool"}, "by: 'scool'"),
        (CELLS[["probability"]], {}, "no attributes"),
        (CELLS.assign(probability=-0.1), {}, "negative"),
        (GAPS, {}, "'job' of the design has a missing level"),
        (TWINS, {"features": ["a"]}, "No answer for y of a"),
        ({"a": 2, "b": 2}, {"restrictions": [("a", "b")]}, "combinations of levels that occur"),
    ],
)
def test_restrictions_without_a_meaning_are_refused(design, options, told: str) -> None:
    with pytest.raises(InputError, match=told):
        power(design, **{"amce": 0.1, "pairs": 100, **options})


def test_simulations_refuse_tables_of_cells() -> None:
    with pytest.raises(InputError, match=r"in which all levels combine freely.*DataFrame.*power\(\)"):
        power_by_simulation(CELLS, "panel", n_sims=1)
