"""Which logits are infinite follows from counts and the design: not from a processor, an order or a scale."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm
from conjury.analysis.numerics.linear import logistic, sides

N = 400
RNG = np.random.default_rng(5)
DATA = pd.DataFrame(
    {
        "a": pd.Categorical(RNG.choice(list("xyz"), N), list("xyz")),
        "b": pd.Categorical(RNG.choice(list("uv"), N), list("uv")),
        "c": pd.Categorical(RNG.choice(list("klm"), N), list("klm")),
        "g": pd.Categorical(RNG.choice(list("mf"), N), list("mf")),
        "pair_id": np.arange(N) // 2,
        "w": 10.0 ** RNG.normal(0, 1, N),
        "y": RNG.integers(0, 2, N).astype(float),
    }
)
FORMULA = "y ~ a + b + c"
A, B, C = (DATA[name].astype(str).to_numpy() for name in "abc")
RANK = DATA["a"].cat.codes.to_numpy() + DATA["c"].cat.codes.to_numpy() - 2
INFINITE = "its logit is infinite"

CASES: dict[str, tuple[np.ndarray, str, set[str]]] = {
    "nothing": (DATA["y"], FORMULA, set()),
    "level never chosen": (np.where(A == "y", 0, DATA["y"]), FORMULA, {"a=y"}),
    "level always chosen": (np.where(A == "y", 1, DATA["y"]), FORMULA, {"a=y"}),
    "reference never chosen": (np.where(A == "x", 0, DATA["y"]), FORMULA, {"a=y", "a=z"}),
    "reference always chosen": (np.where(A == "x", 1, DATA["y"]), FORMULA, {"a=y", "a=z"}),
    "one never and one always": (np.select([A == "y", C == "l"], [0, 1], DATA["y"]), FORMULA, {"a=y", "c=l"}),
    "two features that main effects cannot separate": (
        np.select([(A == "z") & (B == "v"), (A == "x") & (B == "u")], [1, 0], DATA["y"]),
        "y ~ a + b",
        set(),
    ),
    "a sum of two features, none of them alone": (
        np.select([RANK < 0, RANK > 0], [0, 1], DATA["y"]),
        FORMULA,
        {"a=y", "a=z", "c=l", "c=m"},
    ),
    "a cell of an interaction": (
        np.where((A == "y") & (B == "v"), 0, DATA["y"]),
        "y ~ a * b + c",
        {"a=y", "b=v"},
    ),
    "fractions": (np.where(A == "y", 0, 0.2 + 0.6 * DATA["y"]), FORMULA, {"a=y"}),
    "a constant": (np.ones(N), FORMULA, {"a=y", "a=z", "b=v", "c=l", "c=m"}),
}


def infinite(frame: pd.DataFrame, formula: str, **options: object) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = amce(frame, formula, family="quasibinomial", **options).frame
    missing = found[found["estimate"].isna()]
    names = set(missing["feature"].astype(str) + "=" + missing["level"].astype(str))
    said = [str(one.message) for one in caught if INFINITE in str(one.message)]
    assert bool(said) == bool(names)
    assert all(name in said[0] for name in names)
    assert not found["estimate"].abs().max() > 6
    return names


def table(frame: pd.DataFrame, formula: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = amce(frame, formula, "pair_id", family="quasibinomial").frame
    return found[["estimate", "std_error"]].to_numpy()


@pytest.mark.parametrize("case", CASES)
def test_exactly_the_logits_that_have_no_maximum_are_missing(case: str) -> None:
    outcome, formula, expected = CASES[case]
    frame = DATA.assign(y=outcome)
    for options in ({}, {"engine": "statsmodels"}, {"weights": "w"}, {"id": "pair_id", "vcov": "CR1"}):
        assert infinite(frame, formula, **options) == expected, options


@pytest.mark.long
@pytest.mark.r
@pytest.mark.parametrize("case", CASES)
def test_the_engine_of_r_reports_the_same_logits(case: str) -> None:
    outcome, formula, expected = CASES[case]
    assert infinite(DATA.assign(y=outcome), formula, engine="survey") == expected


@pytest.mark.parametrize("case", CASES)
def test_rounding_and_the_order_of_rows_do_not_change_which(case: str) -> None:
    outcome, formula, expected = CASES[case]
    plain = table(DATA.assign(y=outcome), formula)
    rng = np.random.default_rng(0)
    frame = DATA.assign(
        y=np.clip(outcome + 1e-16 * rng.normal(size=N), 0, 1), w=1 + 1e-16 * rng.normal(size=N)
    ).sample(frac=1, random_state=0)
    assert infinite(frame, formula, weights="w") == expected
    np.testing.assert_allclose(table(frame, formula), plain, rtol=1e-9, atol=1e-12)


def test_references_groups_and_means_have_the_same_infinite_logits() -> None:
    never = DATA.assign(y=np.where(A == "y", 0, DATA["y"]))
    assert infinite(never, FORMULA, reference={"a": "z"}) == {"a=y"}
    assert infinite(never, FORMULA, reference={"a": "y"}) == {"a=x", "a=z"}
    in_one = DATA.assign(y=np.where((A == "y") & (DATA["g"] == "m"), 0, DATA["y"]))
    with pytest.warns(UserWarning, match=INFINITE):
        found = amce_diffs(in_one, FORMULA, "g", family="quasibinomial").frame
    missing = found[found["estimate"].isna()]
    assert (missing["feature"].astype(str) + "=" + missing["level"].astype(str)).tolist() == ["a=y"]
    with pytest.warns(UserWarning, match=f"No estimate for a=y: {INFINITE}"):
        found = mm(never, FORMULA, family="quasibinomial").frame
    assert found["estimate"].isna().tolist() == (found["level"] == "y").tolist()


def test_draws_that_separate_a_level_are_counted_and_excluded() -> None:
    rare = np.where((A == "y") & (np.cumsum(A == "y") > 2), 0.0, DATA["y"])
    rare[np.flatnonzero(A == "y")[:2]] = 1.0
    with pytest.warns(UserWarning, match=r"In \d+ of 100 draws .* for a=y\."):
        found = bootstrap(
            amce, DATA.assign(y=rare), FORMULA, family="quasibinomial", unit="row", draws=100, seed=1
        )
    drawn = found.replicates[:, (found.frame["level"] == "y").to_numpy()]
    assert 0 < np.isnan(drawn).sum() < 50
    assert np.nanmax(np.abs(drawn)) < 10


def by_one_program(design: np.ndarray, side: np.ndarray) -> np.ndarray:
    """All separated rows at once: the largest sum of u with z'd >= u and 0 <= u <= 1 (Konis 2007)."""
    extreme = side != 0
    signed, n = design[extreme] * side[extreme, None], int(extreme.sum())
    free = design[~extreme]
    found = linprog(
        np.r_[np.zeros(design.shape[1]), -np.ones(n)],
        A_ub=np.hstack([-signed, np.eye(n)]),
        b_ub=np.zeros(n),
        A_eq=np.hstack([free, np.zeros((len(free), n))]) if len(free) else None,
        b_eq=np.zeros(len(free)) if len(free) else None,
        bounds=[(None, None)] * design.shape[1] + [(0, 1)] * n,
    )
    flags = np.zeros(len(design), dtype=bool)
    flags[extreme] = found.x[design.shape[1] :] > 0.5
    return flags


def sparse_design(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few rows, many levels, sometimes an interaction; weights over orders of magnitude."""
    n = int(rng.integers(3, 120))
    codes = [rng.integers(0, size, n) for size in rng.integers(2, 6, rng.integers(1, 6))]
    columns = [np.ones(n)] + [code == level for code in codes for level in range(1, code.max() + 1)]
    if len(codes) > 1 and rng.random() < 0.4:
        columns += [
            (codes[0] == i) & (codes[1] == j)
            for i in range(1, codes[0].max() + 1)
            for j in range(1, codes[1].max() + 1)
        ]
    design = np.column_stack(columns).astype(float)
    steep = design @ rng.normal(0, rng.choice([0.5, 2, 6]), design.shape[1])
    asked = rng.integers(1, 4, n)
    share = rng.binomial(asked, 1 / (1 + np.exp(-steep))) / asked
    weight = np.where(rng.random(n) < 0.05, 0, asked * 10.0 ** rng.normal(0, rng.choice([0, 1]), n))
    return design, weight, weight * share


@pytest.mark.long
def test_separated_cells_are_those_of_one_linear_program() -> None:
    rng = np.random.default_rng(12)
    n_separated = 0
    for _ in range(60):
        design, weight, total = sparse_design(rng)
        side, present = sides(weight, total), weight > 0
        expected = present.copy()
        if side.any():
            expected[present] = ~by_one_program(design[present], side[present])
        order = rng.permutation(len(design))
        columns = rng.permutation(design.shape[1])
        for scale in (1.0, 1 + 1e-16 * rng.normal(size=len(design))):
            fit = logistic(design[order][:, columns], (weight * scale)[order], (total * scale)[order])
            np.testing.assert_array_equal(fit.used, expected[order])
            assert ((fit.fitted[fit.used] > 0) & (fit.fitted[fit.used] < 1)).all()
        n_separated += not expected[present].all()
    assert 20 < n_separated < 50


@pytest.mark.long
@pytest.mark.parametrize("never", [pytest.param(0, marks=pytest.mark.long), 3])
def test_a_design_of_many_different_profiles_is_decided(never: int) -> None:
    rng = np.random.default_rng(1)
    sizes = (10, 8, 7, 6, 5, 5, 4, 3, 2)
    frame = pd.DataFrame({f"f{j}": rng.integers(0, size, 20_000).astype(str) for j, size in enumerate(sizes)})
    frame["y"] = np.where(frame["f0"] == str(never), 0, rng.integers(0, 2, len(frame)))
    missing = infinite(frame, "y ~ " + " + ".join(f"f{j}" for j in range(len(sizes))))
    assert len(missing) == {0: 9, 3: 1}[never]
