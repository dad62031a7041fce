"""Interactions against clubSandwich, exact values of small designs, and their invariances."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from reference_tables import FIXTURES, complete_posts

from conjury.analysis.conjoint import adjust, amce_diffs, cj, conditional_amce, contrast, interaction, wald
from conjury.inference.errors import InputError

FORMULA = "y ~ a + b + c"
LEVELS = {"a": list("xyz"), "b": list("uvw"), "c": list("pq")}


def full_design(copies: int = 1) -> pd.DataFrame:
    """Every combination, ``copies`` times, with a mean that depends on all of them."""
    rows = list(itertools.product(*LEVELS.values())) * copies
    frame = pd.DataFrame(
        {
            name: pd.Categorical(own, LEVELS[name])
            for name, own in zip(LEVELS, zip(*rows, strict=True), strict=True)
        }
    )
    a, b, c = (frame[name].cat.codes.to_numpy(float) for name in LEVELS)
    return frame.assign(y=0.3 + 0.1 * a - 0.2 * b + 0.07 * a * b + 0.05 * (a == 2) * (b == 1) + 0.1 * c)


def noisy(n: int = 600, seed: int = 1, shares: tuple[float, ...] = (0.6, 0.3, 0.1)) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(random.choice(LEVELS["a"], n, p=shares), LEVELS["a"]),
            "b": pd.Categorical(random.choice(LEVELS["b"], n), LEVELS["b"]),
            "c": pd.Categorical(random.choice(LEVELS["c"], n), LEVELS["c"]),
            "id": random.integers(0, 80, n),
        }
    )
    return frame.assign(y=0.4 * ((frame["a"] == "y") & (frame["b"] == "w")) + random.normal(size=n))


NOISY = noisy()


def crossed(data: pd.DataFrame = NOISY, formula: str = FORMULA, **options):
    return interaction(data, formula, "a", "b", **options)


def test_effects_against_baselines_equal_those_of_club_sandwich() -> None:
    expected = pd.read_csv(FIXTURES / "comparisons" / "interaction_cr1.csv")
    formula = "chosen ~ tone + topic + author + reply"
    found = interaction(complete_posts(), formula, "author", "reply", id="respondent", vcov="CR1").frame
    columns = ["estimate", "std_error", "p"]
    np.testing.assert_allclose(found[columns], expected[columns], rtol=1e-8)


@pytest.mark.parametrize(
    ("distribution", "p", "q"),
    [
        ("uniform", [1 / 3] * 3, [1 / 3] * 3),
        ({"a": {"x": 0.5, "y": 0.5}, "b": {"u": 0.2, "v": 0.3, "w": 0.5}}, [0.5, 0.5, 0], [0.2, 0.3, 0.5]),
    ],
)
def test_baseline_free_effects_equal_the_enumerated_ones(distribution, p, q) -> None:
    data = full_design().assign(y=lambda d: d["y"] + 0.01 * np.arange(len(d)) % 0.03)
    mean = data.groupby(["a", "b"], observed=True)["y"].mean().unstack()
    p, q = np.array(p), np.array(q)
    exact = mean - (mean @ q).to_numpy()[:, None] - p @ mean.to_numpy() + p @ mean.to_numpy() @ q
    for row in crossed(data, kind="amie", distribution=distribution).frame.itertuples():
        assert row.estimate == pytest.approx(exact.loc[row.level, row.b], abs=1e-12)


@pytest.mark.parametrize("distribution", ["design", "uniform"])
def test_baseline_free_effects_average_to_zero_over_either_feature(distribution: str) -> None:
    found = crossed(id="id", kind="amie", distribution=distribution).frame
    wide = found.assign(level=found["level"].astype(str)).pivot(index="level", columns="b", values="estimate")
    p, q = (NOISY[name].value_counts(normalize=True).sort_index().to_numpy() for name in ("a", "b"))
    if distribution == "uniform":
        p = q = np.full(3, 1 / 3)
    np.testing.assert_allclose(p @ wide.to_numpy(), 0, atol=1e-12)
    np.testing.assert_allclose(wide.to_numpy() @ q, 0, atol=1e-12)


def test_only_effects_against_baselines_change_with_the_reference_and_the_joint_test_is_one() -> None:
    plain, other = {"id": "id"}, {"id": "id", "reference": {"a": "z", "b": "v"}}
    free, turned = (crossed(kind="amie", **o).frame.astype({"level": str}) for o in (plain, other))
    merged = free.merge(turned, on=["level", "b"])
    assert len(merged) == 9
    np.testing.assert_allclose(merged["estimate_x"], merged["estimate_y"], atol=1e-12)
    np.testing.assert_allclose(merged["std_error_x"], merged["std_error_y"], rtol=1e-9)
    first, second = (crossed(**o).frame["estimate"].abs().sum() for o in (plain, other))
    assert abs(first - second) > 0.01
    against = wald(crossed(id="id"), each="feature").frame.iloc[0]
    with pytest.warns(UserWarning, match="rank of their covariance"):
        joint = wald(crossed(id="id", kind="amie"), each="feature").frame.iloc[0]
    assert (against["df"], joint["df"], joint["tested"]) == (4, 4, 9)
    assert joint["chi2"] == pytest.approx(against["chi2"], rel=1e-8)


def test_conditional_effects_are_those_of_groups() -> None:
    found = conditional_amce(NOISY, FORMULA, "a", "b", id="id")
    own = cj(NOISY, "y ~ a + c", id="id", by="b").frame.query("feature == 'a'")
    np.testing.assert_allclose(found.frame["estimate"], own["estimate"], atol=1e-12)
    assert found.vcov.shape == (6, 6)
    assert set(found.frame["feature"]) == {"a"}
    difference = amce_diffs(NOISY, "y ~ a + c", "b", id="id").frame
    mine = contrast(found, "a", "y", group=("w", "u")).frame["estimate"].iloc[0]
    theirs = difference[(difference["b"] == "w") & (difference["level"] == "y")]["estimate"].iloc[0]
    assert mine == pytest.approx(theirs, abs=1e-12)
    assert adjust(found, "romano_wolf", draws=200, seed=1).frame["p_adjusted"].notna().sum() == 6


CUT = NOISY[~((NOISY["a"] == "z") & (NOISY["b"] == "w"))]
SHORT = {"a": {"x": 0.3}, "b": {"u": 1.0}}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crossed(CUT, kind="amie"), "never occurs with b=w"),
        (lambda: crossed(formula="y ~ a * c + b"), "restricts 'a' by 'c'"),
        (lambda: interaction(NOISY, FORMULA, "a", "d"), "does not name 'd'"),
        (lambda: interaction(NOISY, FORMULA, "a", "a"), "name two features"),
        (lambda: crossed(kind="aie"), "kind='acie' or 'amie'"),
        (lambda: crossed(kind="amie", distribution=SHORT), "sum to 1"),
        (lambda: conditional_amce(NOISY, FORMULA, "d", "b"), "has no feature 'd'"),
    ],
)
def test_interactions_that_are_not_identified_are_refused(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_an_empty_cell_leaves_its_interaction_missing() -> None:
    with pytest.warns(UserWarning, match="No estimate for a=z"):
        found = crossed(CUT).frame
    assert found["estimate"].isna().tolist() == [False, False, False, True]
