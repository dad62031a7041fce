"""Degenerate and wrong input: a right number, NaN with a warning, or one sentence; never a silent zero."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from shared_folder import REPOSITORY

from conjury.analysis import conjoint
from conjury.analysis.conjoint import (
    amce,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    mm,
    mm_diffs,
)
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.results import stack
from conjury.inference.errors import InputError

N = 80
NO_ESTIMATE, NO_ERROR = "No estimate for", "No standard error for"


def posts() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kinds = {"a": "xyz", "b": "uv", "g": "mf"}
    frame = pd.DataFrame({"y": rng.integers(0, 2, N).astype(float)})
    for name, levels in kinds.items():
        frame[name] = pd.Categorical(rng.choice(list(levels), N), list(levels))
    return frame.assign(pair_id=np.arange(N) // 2, w=rng.random(N) + 0.5)


DATA = posts()
FORMULA = "y ~ a + b"


def given(**columns: Any) -> pd.DataFrame:
    return DATA.assign(**columns)


def fixed(value: float, **levels: str) -> pd.DataFrame:
    """The data with one outcome wherever these levels occur."""
    here = np.logical_and.reduce([DATA[name] == level for name, level in levels.items()])
    return DATA.assign(y=np.where(here, value, DATA["y"]))


def rows(found: Estimates) -> pd.DataFrame:
    frame = found.frame
    return frame.set_index(frame["feature"].astype(str) + "=" + frame["level"].astype(str))


def quiet(estimator: Callable[..., Estimates], *args: Any, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return rows(estimator(*args, **options))


def warned(match: str, estimator: Callable[..., Estimates], *args: Any, **options: Any) -> pd.DataFrame:
    with pytest.warns(UserWarning, match=match):
        return rows(estimator(*args, **options))


# --- numbers that cannot be had are missing, with a warning --------------------------------------


@pytest.mark.filterwarnings("ignore:No standard error")
@pytest.mark.parametrize(("noise", "known"), [(1e-4, True), (1e-9, True), (1e-14, False)])
def test_small_errors_are_reported_and_those_of_rounding_are_not(noise: float, known: bool) -> None:
    outcome = (DATA["b"] == "u") + noise * np.random.default_rng(2).normal(size=N)
    row = rows(amce(given(y=outcome), "y ~ b")).loc["b=v"]
    groups = [outcome[DATA["b"] == level] for level in "uv"]
    expected = np.sqrt(sum(own.var(ddof=0) / len(own) for own in groups) * N / (N - 1))
    assert row["std_error"] == pytest.approx(expected if known else np.nan, rel=1e-5, nan_ok=True)


def test_covariances_that_an_engine_does_not_give_are_missing() -> None:
    ours, theirs = (
        mm(DATA, FORMULA, "pair_id", engine=name).vcov.to_numpy() for name in ("native", "statsmodels")
    )
    assert np.isfinite(ours).all()
    assert np.isnan(theirs[:3, 3:]).all()
    np.testing.assert_allclose(theirs[:3, :3], ours[:3, :3], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
def test_a_constant_outcome_has_no_standard_errors(value: float, engine: str) -> None:
    means = warned(NO_ERROR, mm, given(y=value), FORMULA, "pair_id", engine=engine)
    np.testing.assert_allclose(means["estimate"], value, atol=1e-14)
    effects = quiet(amce, given(y=value), FORMULA, engine=engine)
    np.testing.assert_allclose(effects["estimate"], 0, atol=1e-14)
    assert means[["std_error", "z", "p", "lower", "upper"]].isna().all(axis=None)
    assert effects[["std_error", "z", "p", "lower", "upper"]].isna().all(axis=None)


def test_a_level_that_is_always_chosen_has_a_mean_of_one_without_error() -> None:
    found = warned(f"{NO_ERROR} a=y:", mm, fixed(1.0, a="y"), FORMULA)
    assert found.loc["a=y", "estimate"] == 1
    assert np.isnan(found.loc["a=y", "p"])
    assert found.drop(index="a=y")["std_error"].notna().all()
    found = warned(f"{NO_ERROR} a=y:", mm_diffs, fixed(1.0, a="y", g="m"), FORMULA, "g")
    assert np.isfinite(found.loc["a=y", "estimate"])
    assert np.isnan(found.loc["a=y", "std_error"])


def test_an_unused_level_has_no_estimate() -> None:
    frame = given(a=DATA["a"].cat.add_categories(["q"]))
    for estimator in (amce, mm):
        found = warned(f"{NO_ESTIMATE} a=q:", estimator, frame, FORMULA)
        assert found.loc["a=q"].iloc[4:].isna().all()
        expected = rows(estimator(DATA, FORMULA))["estimate"]
        np.testing.assert_allclose(found.drop(index="a=q")["estimate"], expected)


def test_the_first_level_in_use_stands_in_for_an_unused_reference() -> None:
    frame = given(a=DATA["a"].cat.set_categories(["q", "x", "y", "z"]))
    with pytest.warns(UserWarning, match="'q' of 'a' never occurs; 'x' is the reference") as told:
        found = warned(f"{NO_ESTIMATE} a=q:", amce, frame, FORMULA)
    assert sum("never occurs" in str(one.message) for one in told) == 1
    assert found.loc["a=x", "estimate"] == 0
    assert np.isnan(found.loc["a=q", "estimate"])
    expected = rows(amce(DATA, FORMULA))["estimate"]
    np.testing.assert_allclose(found.drop(index="a=q")["estimate"], expected, atol=1e-14)


def test_features_that_cannot_be_told_apart_have_no_estimate() -> None:
    frame = given(c=DATA["a"].astype(str).str.upper())
    found = warned(f"{NO_ESTIMATE} a=y, a=z, c=Y, c=Z:", amce, frame, "y ~ a + b + c")
    assert found.loc[["a=y", "a=z", "c=Y", "c=Z"], "estimate"].isna().all()
    np.testing.assert_allclose(found.loc["b=v", "estimate"], rows(amce(DATA, FORMULA)).loc["b=v", "estimate"])


@pytest.mark.parametrize("engine", ["native", "statsmodels", "linearmodels"])
@pytest.mark.parametrize("estimator", [amce_diffs, mm_diffs])
def test_a_level_or_a_cluster_in_one_group_only_has_no_difference_or_error(estimator, engine: str) -> None:
    frame = DATA[(DATA["a"] != "z") | (DATA["g"] == "m")]
    found = warned(f"{NO_ESTIMATE} a=z:", estimator, frame, FORMULA, "g", engine=engine)
    assert found.loc["a=z", ["estimate", "std_error", "p"]].isna().all()
    assert found.drop(index="a=z")["std_error"].gt(0).all()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rows(estimator(ONE_CLUSTER, FORMULA, "g", "k", engine=engine))
    assert found["estimate"].notna().all()
    assert found["std_error"].isna().all()
    assert any(NO_ERROR in str(one.message) for one in caught)
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]


ONE_CLUSTER = given(k=np.where(DATA["g"] == "m", 0, DATA["pair_id"] + 1))


def test_a_reference_level_missing_in_a_group_leaves_its_effects_missing_there() -> None:
    found = warned(NO_ESTIMATE, amce_diffs, DATA[(DATA["a"] != "x") | (DATA["g"] == "m")], FORMULA, "g")
    assert found.loc[["a=y", "a=z"], "estimate"].isna().all()
    assert np.isfinite(found.loc["b=v", "estimate"])


def test_one_cluster_gives_no_errors_and_leaves_those_of_other_groups() -> None:
    for estimate in ("amce", "mm"):
        found = warned(NO_ERROR, cj, ONE_CLUSTER, FORMULA, "k", estimate=estimate, by="g")
        estimated = found[found["estimate"] != 0]
        assert estimated.loc[estimated["g"] == "m", "std_error"].isna().all()
        assert estimated.loc[estimated["g"] == "f", "std_error"].gt(0).all()
    answered = given(k=DATA["pair_id"] % 4).assign(y=lambda d: d["y"].where(d["k"] == 0))
    found = warned(NO_ERROR, amce, answered, FORMULA, "k")
    assert found["std_error"].isna().all()
    assert found["estimate"].notna().all()
    exact = warned(NO_ERROR, amce, pd.DataFrame({"y": [0, 1], "a": ["x", "y"]}), "y ~ a")
    assert exact["estimate"].tolist() == [0, 1]
    assert exact["std_error"].isna().all()


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
def test_a_level_that_is_never_chosen_has_no_finite_logit(engine: str) -> None:
    logit = {"family": "quasibinomial", "engine": engine}
    frame = fixed(0, a="y")
    found = warned(f"{NO_ESTIMATE} a=y: its logit is infinite", amce, frame, FORMULA, **logit)
    assert np.isnan(found.loc["a=y", "estimate"])
    expected = quiet(amce, frame[frame["a"] != "y"], FORMULA, **logit)
    kept = ["a=z", "b=v"]
    np.testing.assert_allclose(found.loc[kept, "estimate"], expected.loc[kept, "estimate"], rtol=1e-6)


def test_rows_of_weight_zero_give_nothing_but_their_cluster() -> None:
    zero = given(w=np.where(DATA["pair_id"] < 10, 0.0, 1.0))
    found = rows(amce(zero, FORMULA, "pair_id", weights="w"))
    kept = rows(amce(zero[zero["w"] > 0], FORMULA, "pair_id"))
    np.testing.assert_allclose(found["estimate"], kept["estimate"], atol=1e-14)
    ratio = (found["std_error"] / kept["std_error"]).dropna() ** 2
    np.testing.assert_allclose(ratio, (40 / 39) / (30 / 29))


@pytest.mark.parametrize("verb", [amce_diffs, mm_diffs, cj, cj_freqs, cj_anova])
def test_every_verb_with_groups_says_how_many_rows_have_none(verb) -> None:
    frame = given(g=DATA["g"].where(DATA["pair_id"] > 9))
    kept, missing = frame.dropna(subset=["g"]), int(frame["g"].isna().sum())
    with pytest.warns(UserWarning, match=rf"'g' is missing in {missing} of {N} rows.* are excluded"):
        found = verb(frame, FORMULA, by="g").frame
    expected = verb(kept, FORMULA, by="g").frame
    value = "estimate" if "estimate" in found else "f"
    pd.testing.assert_series_equal(found[value], expected[value])
    if verb in (amce_diffs, mm_diffs, cj):  # one regression of all groups counts the clusters of all rows
        one, two = (quiet(verb, data, FORMULA, by="g", id="pair_id") for data in (frame, kept))
        same = np.allclose(one["std_error"], two["std_error"], rtol=1e-9, equal_nan=True)
        assert same == (verb is not amce_diffs)


def test_an_analysis_of_variance_without_residuals_has_no_test() -> None:
    frame = pd.DataFrame({"y": [0.0, 1, 0, 1], "a": list("xyxy"), "g": list("mmff")})
    found = cj_anova(frame, "y ~ a", by="g", id="y")
    assert found.frame["p"].isna().all()
    assert "takes rows as independent" in found.notes[-1]


# --- odd but right -------------------------------------------------------------------------------


def test_odd_names_of_columns_and_levels_pass_through() -> None:
    found = amce(DATA.rename(columns={"a": "level", "b": "estimate"}), "y ~ level + estimate").frame
    np.testing.assert_array_equal(found["estimate"], amce(DATA, FORMULA).frame["estimate"])
    assert found["feature"].cat.categories.tolist() == ["level", "estimate"]
    levels = {"x": "Ünïcode ✓", "y": 'a "quoted", one', "z": " * + ~ (1)"}
    odd = DATA.rename(columns={"y": "was it?", "a": "größe & co", "b": "1st", "pair_id": " pair", "g": "if"})
    odd["größe & co"] = odd["größe & co"].cat.rename_categories(levels)
    found = amce_diffs(odd, "`was it?` ~ `größe & co` + `1st`", by="if", id=" pair").frame
    plain = amce_diffs(DATA, FORMULA, by="g", id="pair_id").frame
    np.testing.assert_array_equal(found[["estimate", "std_error"]], plain[["estimate", "std_error"]])
    assert found["level"].tolist()[:2] == [levels["y"], levels["z"]]
    assert "if" in found
    empty = given(a=DATA["a"].cat.rename_categories({"x": ""}))
    assert rows(amce(empty, FORMULA)).loc["a=", "estimate"] == 0


def test_options_at_their_default_and_groups_in_a_list_are_no_error() -> None:
    assert len(cj(DATA, "y ~ a", by="g", h0=0.0).frame) == 6
    listed, named = (cj_anova(DATA, "y ~ a", by=by).frame.drop(columns="model") for by in (["g"], "g"))
    pd.testing.assert_frame_equal(listed, named)


def test_covariances_are_named_by_group_feature_and_level() -> None:
    fit = amce_diffs(DATA, "y ~ a", "g", id="pair_id")
    assert fit.vcov.index.tolist() == [("f - m", "a", "y", "f"), ("f - m", "a", "z", "f")]
    plain = amce(DATA, FORMULA, id="pair_id")
    expected = rows(plain).loc["b=v", "std_error"] ** 2
    assert plain.vcov.loc[("b", "v"), ("b", "v")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("estimator", "value"), [(cj_freqs, "estimate"), (cj_props, "proportion")])
def test_bootstrapped_counts_have_limits_and_no_test(estimator: Callable[..., Any], value: str) -> None:
    frame = bootstrap(estimator, DATA, "~ a", draws=50, seed=1).frame
    np.testing.assert_allclose(frame[value], estimator(DATA, "~ a").frame[value])
    assert frame[["z", "p"]].isna().all(axis=None)
    assert ((frame["lower"] < frame[value]) & (frame[value] < frame["upper"])).all()


# --- beyond cregg --------------------------------------------------------------------------------

HOLED = DATA[~((DATA["a"] == "z") & (DATA["b"] == "v"))].reset_index(drop=True)


def test_differences_of_restricted_effects_are_those_of_the_groups() -> None:
    found = rows(amce_diffs(HOLED, "y ~ a * b", "g", id="pair_id"))["estimate"]
    one, two = (rows(amce(HOLED[HOLED["g"] == g], "y ~ a * b"))["estimate"] for g in "fm")
    np.testing.assert_allclose(found, (one - two).loc[found.index], atol=1e-12)


def test_frequencies_by_group_are_counts_of_the_groups() -> None:
    found = cj(DATA, "y ~ a", estimate="frequencies", by="g").frame
    assert found["estimate"].tolist() == pd.crosstab(DATA["g"], DATA["a"]).to_numpy().ravel().tolist()
    assert found["g"].astype(str).tolist() == ["m"] * 3 + ["f"] * 3
    shares = cj_props(DATA, "~ a").frame["proportion"]
    np.testing.assert_allclose(shares, DATA["a"].value_counts(normalize=True, sort=False))


def test_one_label_in_two_features_gives_a_row_for_each() -> None:
    frame = given(c=DATA["g"].cat.rename_categories({"m": "x", "f": "y"}))
    found = amce(frame, "y ~ a + c", id="pair_id")
    assert rows(found).index.tolist() == ["a=x", "a=y", "a=z", "c=x", "c=y"]
    named = amce(DATA, "y ~ a + g", id="pair_id").frame
    np.testing.assert_allclose(found.frame["estimate"], named["estimate"], atol=1e-12)
    assert cj_freqs(frame, "~ a + c").frame["estimate"].sum() == 2 * N


def test_text_is_a_feature_and_numbers_are_not() -> None:
    as_text = given(a=DATA["a"].astype(str))
    pd.testing.assert_frame_equal(amce(as_text, "y ~ a").frame, amce(DATA, "y ~ a").frame)
    with pytest.raises(InputError, match="numeric"):
        amce(DATA, "y ~ w")


PARITY = (REPOSITORY / "PARITY.md").read_text(encoding="utf-8")


def test_every_row_of_the_list_of_differences_names_a_test() -> None:
    rows = [line for line in PARITY.splitlines() if line.startswith("| ") and not line.startswith("| case")]
    rows = [row for row in rows if not row.startswith("| printed |")]
    assert len(rows) >= 20
    assert [row for row in rows if "::" not in row] == []


# --- refused in one sentence ---------------------------------------------------------------------
UNHASHABLE = [[i % 2] for i in range(N)]
TWICE = pd.concat([DATA, DATA[["a", "y", "pair_id", "w", "g"]]], axis=1)
MANY = pd.DataFrame(
    np.random.default_rng(1).choice(list("abcdefgh"), (N, 40)), columns=[f"f{i}" for i in range(40)]
)
ALL_FORTY = " + ".join(MANY.columns)
HALVES = given(a=DATA["a"].where(DATA["g"] == "m"), b=DATA["b"].where(DATA["g"] == "f"))
PEOPLE = given(judge_kind="human", judge_id=np.repeat(["r1", "r2"], N // 2), pair_id=np.arange(N) % 40 // 2)
TWO_IDS = TWICE[["pair_id"]].join(DATA[["y", "b"]])
BY_A_AND_G = TWICE.drop(columns=["a", "y"]).join(DATA[["a", "y"]])

REFUSED_BY_PYTHON: dict[str, tuple[str, Callable[[], object]]] = {
    "one row": ("single level", lambda: amce(DATA.iloc[:1], FORMULA)),
    "no rows": ("no rows", lambda: amce(DATA.iloc[:0], FORMULA)),
    "no rows to count": ("no rows", lambda: cj_freqs(DATA.iloc[:0], "~ a")),
    "no columns": ("no rows", lambda: amce(pd.DataFrame(), FORMULA)),
    "empty together": ("No row has the outcome and every feature", lambda: amce(HALVES, FORMULA)),
    "missing id": ("empty in row 1", lambda: amce(given(k=[None] + [1] * (N - 1)), FORMULA, "k")),
    "date outcome": ("numbers are needed", lambda: amce(given(s=pd.Timestamp("2020-01-01")), "s ~ a")),
    "complex outcome": ("numbers are needed", lambda: amce(given(s=1j), "s ~ a")),
    "two features": ("2 columns named 'a'", lambda: amce(TWICE, "y ~ a")),
    "two outcomes": ("2 columns named 'y'", lambda: amce(TWICE, "y ~ b")),
    "two ids": ("2 columns named 'pair_id'", lambda: bootstrap(amce, TWO_IDS, "y ~ b")),
    "two groups": ("2 columns named 'g'", lambda: cj(BY_A_AND_G, "y ~ a", by="g")),
    "two groups to count": ("2 columns named 'g'", lambda: cj_freqs(TWICE, "~ b", by="g")),
    "no data frame": ("A table is given as", lambda: amce({"y": [1]}, FORMULA)),
    "no data frame to count": ("A table is given as", lambda: cj_freqs([1], "~ a")),
    "lists as levels": ("lists", lambda: amce(given(u=UNHASHABLE), "y ~ u")),
    "lists as id": ("lists", lambda: amce(given(u=UNHASHABLE), FORMULA, "u")),
    "lists as groups": ("lists", lambda: cj(given(u=UNHASHABLE), FORMULA, by="u")),
    "lists as groups to count": ("lists", lambda: cj_freqs(given(u=UNHASHABLE), "~ a", by="u")),
    "lists as outcome": ("numbers are needed", lambda: amce(given(u=UNHASHABLE), "u ~ a")),
    "too many features": ("combinations", lambda: amce(MANY.assign(y=1), f"y ~ {ALL_FORTY}")),
    "too many combinations": ("combinations", lambda: cj_props(MANY, "~ f0 + f1 + f2 + f3 + f4 + f5")),
    "nothing to stack": ("no table", lambda: stack([])),
    "pairs numbered by respondent": (
        "belongs to several respondents",
        lambda: bootstrap(amce, PEOPLE, "y ~ a"),
    ),
}


def of_line(columns: dict[str, Any], options: dict[str, Any]) -> Callable[[], object]:
    """The call of a line of the file of refusals."""
    given_options = {"formula": FORMULA, **options}
    verb, formula = getattr(conjoint, given_options.pop("verb")), given_options.pop("formula")
    first = [getattr(conjoint, given_options.pop("estimator"))] if "estimator" in options else []
    return lambda: verb(*first, given(**columns), formula, **given_options)


@pytest.mark.parametrize(
    ("says", "call"),
    [
        *(pytest.param(*case, id=name) for name, case in REFUSED_BY_PYTHON.items()),
        *(
            pytest.param(case.values[0], of_line(*case.values[1:]), id=case.id)
            for case in refusals("conjoint", "any verb")
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(says: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=says) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize("name", ["by", "outcome", "statistic", "feature", "level", "p", "estimate", "lower"])
def test_groups_may_not_be_called_like_a_column_of_the_result(name: str) -> None:
    frame = DATA.rename(columns={"g": name})
    for call in (
        lambda: amce_diffs(frame, "y ~ a", name),
        lambda: mm_diffs(frame, "y ~ a", name),
        lambda: cj(frame, "y ~ a", by=name),
        lambda: cj_freqs(frame, "~ a", by=["b", name]),
    ):
        with pytest.raises(InputError, match=f"by names '{name}'.*rename"):
            call()


@pytest.mark.parametrize("alpha", [0, 1, -0.05, 5, np.nan, np.inf, "0.05", None, [0.05]])
def test_alpha_lies_between_zero_and_one(alpha: Any) -> None:
    for call in (
        lambda: amce(DATA, FORMULA, alpha=alpha),
        lambda: bootstrap(amce, DATA, FORMULA, alpha=alpha, draws=2),
    ):
        with pytest.raises(InputError, match="alpha is"):
            call()


def test_pairs_that_models_number_alike_are_units() -> None:
    models = PEOPLE.assign(judge_kind="model")
    assert len(bootstrap(amce, models, "y ~ a", draws=10, seed=1).replicates) == 10
