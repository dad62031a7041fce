"""Mixed models against lme4's committed tables, against dense matrices, and against known truths."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from reference_tables import FIXTURES, stimuli

from conjury.analysis.conjoint import amce, mixed
from conjury.analysis.numerics.mixed import CrossProducts, fit
from conjury.inference.errors import InputError

FORMULA = "rating ~ tone + author + reply"
TABLES = {
    "errors_mixed": ["text", "user"],
    "errors_mixed_three": ["text", "user", "respondent", "text:author"],
    "errors_mixed_boundary": ["text", "user", "text:reply"],
}
zero = pytest.mark.filterwarnings("ignore:The variance of")


@zero
@pytest.mark.parametrize("name", TABLES)
def test_estimates_and_variances_equal_those_of_lme4(name: str) -> None:
    table = pd.read_csv(FIXTURES / "r" / f"{name}.csv").iloc[1:]
    components = pd.read_csv(FIXTURES / "r" / f"{name}_components.csv")
    ours = mixed(stimuli(), FORMULA, TABLES[name])
    rows = ours.frame.dropna(subset=["std_error"])
    np.testing.assert_allclose(rows["estimate"], table["coef"], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(rows["std_error"], table["std_error"], rtol=1e-6)
    covariance = table.filter(like="vcov_").to_numpy()[:, 1:]
    np.testing.assert_allclose(ours.vcov, covariance, rtol=1e-6, atol=1e-9)
    assert ours.components["factor"].tolist() == components["name"].tolist()
    assert ours.components["levels"].tolist() == components["levels"].tolist()
    np.testing.assert_allclose(ours.components["variance"], components["variance"], rtol=1e-5)
    np.testing.assert_allclose(ours.provenance.extra["criterion"], components["criterion"][0], rtol=1e-7)


@pytest.mark.long
@zero
@pytest.mark.r
@pytest.mark.parametrize(
    "name", [*list(TABLES)[:1], *(pytest.param(name, marks=pytest.mark.slow) for name in list(TABLES)[1:])]
)
def test_the_engine_lme4_gives_the_same_fit(name: str) -> None:
    pytest.importorskip("rpy2")
    from conjury.analysis import r

    if r.call("versions", packages=["lme4"])["packages"]["lme4"] is None:
        pytest.skip("R's package lme4 is not installed")
    data = stimuli().assign(tone=lambda frame: frame["tone"].cat.add_categories("shrill"))
    with pytest.warns(UserWarning, match="tone=shrill"):
        ours, theirs = (mixed(data, FORMULA, TABLES[name], engine=e) for e in ("native", "lme4"))
    np.testing.assert_allclose(ours.frame["estimate"], theirs.frame["estimate"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.frame["std_error"], theirs.frame["std_error"], rtol=1e-6)
    np.testing.assert_allclose(ours.components["variance"], theirs.components["variance"], rtol=1e-5)
    assert "df" in ours.frame
    assert "df" not in theirs.frame


def problem(seed: int = 2) -> tuple[CrossProducts, np.ndarray, np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(seed)
    n, sizes = 90, (6, 5)
    design = np.column_stack([np.ones(n), random.normal(size=(n, 2))])
    codes = [random.integers(0, size, n) for size in sizes]
    shown = [np.eye(size)[code] for size, code in zip(sizes, codes, strict=True)]
    outcome = design @ [1.0, 0.5, 0.0] + random.normal(size=n)
    outcome += sum(z @ random.normal(0, 0.8, z.shape[1]) for z in shown)
    both = np.hstack(shown)
    made = CrossProducts(
        design.T @ design,
        design.T @ both,
        both.T @ both,
        design.T @ outcome,
        both.T @ outcome,
        float(outcome @ outcome),
        n,
        (slice(0, 6), slice(6, 11)),
    )
    return made, design, outcome, shown


def test_degrees_of_freedom_follow_satterthwaite_with_the_expected_information() -> None:
    made, design, _, shown = problem()
    found = fit(made)
    n = len(design)
    pieces = [*(z @ z.T for z in shown), np.eye(n)]
    variance = np.append(found.variance, found.residual)
    inverse = np.linalg.inv(sum(v * piece for v, piece in zip(variance, pieces, strict=True)))
    vcov = np.linalg.inv(design.T @ inverse @ design)
    projection = inverse - inverse @ design @ vcov @ design.T @ inverse
    moved = [projection @ piece for piece in pieces]
    information = np.array([[np.trace(a @ b) / 2 for a in moved] for b in moved])
    contrast = np.array([0.3, 1.0, -1.0])
    reach = inverse @ design @ vcov @ contrast
    slopes = np.array([reach @ piece @ reach for piece in pieces])
    expected = 2 * (contrast @ vcov @ contrast) ** 2 / (slopes @ np.linalg.inv(information) @ slopes)
    np.testing.assert_allclose(found.df(contrast[None]), expected, rtol=1e-8)


def test_a_variance_of_zero_is_said_and_gives_the_linear_model() -> None:
    data = stimuli()
    data["turn"] = data.groupby(["text", "reply"], observed=True).cumcount() % 2
    data["rating"] -= data.groupby("turn")["rating"].transform("mean")
    with pytest.warns(UserWarning, match="variance of 'turn' is estimated as zero"):
        made = mixed(data, FORMULA, "turn")
    plain = amce(data, FORMULA).frame["estimate"]
    np.testing.assert_allclose(made.frame["estimate"], plain, rtol=1e-9, atol=1e-12)
    assert made.components["variance"].iloc[0] == 0
    assert np.isfinite(made.frame["df"].dropna()).all()


def test_restricted_features_and_missing_levels_are_handled_as_by_amce() -> None:
    data = stimuli()
    data = data[~((data["tone"] == "rude") & (data["reply"] == "reply"))].copy()
    data["author"] = data["author"].where(data["author"] != "man")
    with warnings.catch_warnings(record=True):
        ours = mixed(data, "rating ~ tone * reply + author", ["text"])
        same = amce(data, "rating ~ tone * reply + author")
    assert ours.provenance.n_used == same.provenance.n_used
    assert (ours.frame["estimate"].isna() == same.frame["estimate"].isna()).all()
    np.testing.assert_allclose(ours.frame["estimate"], same.frame["estimate"], atol=0.1)


ODD = stimuli().assign(
    row=lambda d: np.arange(len(d)), text_number=lambda d: d["text"].astype("category").cat.codes, one=1
)


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "mixed"))
def test_what_cannot_be_fitted_is_refused_in_a_sentence(match, columns, options, monkeypatch) -> None:
    module = import_module("conjury.analysis.conjoint.standard_errors.mixed_effects")
    monkeypatch.setattr(module, "MOST_LEVELS", 29 if "levels" in match else module.MOST_LEVELS)
    with pytest.raises(InputError, match=match):
        mixed(ODD.assign(**columns), FORMULA, **options)
