"""Degenerate and wrong input: a right number, NaN with a warning, or one sentence; never a silent zero."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import (
    amce,
    amce_by_reference,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    cj_table,
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
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, N).astype(float),
            "a": pd.Categorical(rng.choice(list("xyz"), N), list("xyz")),
            "b": pd.Categorical(rng.choice(list("uv"), N), list("uv")),
            "g": pd.Categorical(rng.choice(list("mf"), N), list("mf")),
            "pair_id": np.arange(N) // 2,
            "w": rng.random(N) + 0.5,
        }
    )


DATA = posts()
FORMULA = "y ~ a + b"


def rows(found: Estimates) -> pd.DataFrame:
    frame = found.frame
    return frame.set_index(frame["feature"].astype(str) + "=" + frame["level"].astype(str))


def quiet(estimator: Callable[..., Estimates], *args: Any, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return rows(estimator(*args, **options))


# --- numbers that cannot be had are missing, with a warning --------------------------------------


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
def test_a_constant_outcome_has_no_standard_errors(value: float, engine: str) -> None:
    frame = DATA.assign(y=value)
    with pytest.warns(UserWarning, match=NO_ERROR):
        means = mm(frame, FORMULA, "pair_id", engine=engine).frame
    np.testing.assert_allclose(means["estimate"], value, atol=1e-14)
    effects = quiet(amce, frame, FORMULA, engine=engine)
    np.testing.assert_allclose(effects["estimate"], 0, atol=1e-14)
    assert means[["std_error", "z", "p", "lower", "upper"]].isna().all(axis=None)
    assert effects[["std_error", "z", "p", "lower", "upper"]].isna().all(axis=None)


def test_a_level_that_is_always_chosen_has_a_mean_of_one_without_error() -> None:
    frame = DATA.assign(y=np.where(DATA["a"] == "y", 1.0, DATA["y"]))
    with pytest.warns(UserWarning, match=f"{NO_ERROR} a=y:"):
        found = rows(mm(frame, FORMULA))
    assert found.loc["a=y", "estimate"] == 1
    assert np.isnan(found.loc["a=y", "p"])
    assert found.drop(index="a=y")["std_error"].notna().all()


def test_a_difference_with_a_group_that_does_not_vary_has_no_error() -> None:
    frame = DATA.assign(y=np.where((DATA["a"] == "y") & (DATA["g"] == "m"), 1.0, DATA["y"]))
    with pytest.warns(UserWarning, match=f"{NO_ERROR} a=y:"):
        found = rows(mm_diffs(frame, FORMULA, "g"))
    assert np.isfinite(found.loc["a=y", "estimate"])
    assert np.isnan(found.loc["a=y", "std_error"])


def test_an_unused_level_has_no_estimate() -> None:
    frame = DATA.assign(a=DATA["a"].cat.add_categories(["q"]))
    for estimator in (amce, mm):
        with pytest.warns(UserWarning, match=f"{NO_ESTIMATE} a=q:"):
            found = rows(estimator(frame, FORMULA))
        assert found.loc["a=q"].iloc[4:].isna().all()
        expected = rows(estimator(DATA, FORMULA))["estimate"]
        np.testing.assert_allclose(found.drop(index="a=q")["estimate"], expected)


def test_the_first_level_in_use_stands_in_for_an_unused_reference() -> None:
    frame = DATA.assign(a=DATA["a"].cat.set_categories(["q", "x", "y", "z"]))
    unused = pytest.warns(UserWarning, match="'q' of 'a' never occurs; 'x' is the reference")
    with unused, pytest.warns(UserWarning, match=f"{NO_ESTIMATE} a=q:"):
        found = rows(amce(frame, FORMULA))
    assert found.loc["a=x", "estimate"] == 0
    assert np.isnan(found.loc["a=q", "estimate"])
    expected = rows(amce(DATA, FORMULA))["estimate"]
    np.testing.assert_allclose(found.drop(index="a=q")["estimate"], expected, atol=1e-14)


def test_features_that_cannot_be_told_apart_have_no_estimate() -> None:
    frame = DATA.assign(c=DATA["a"].astype(str).str.upper())
    with pytest.warns(UserWarning, match=f"{NO_ESTIMATE} a=y, a=z, c=Y, c=Z:"):
        found = rows(amce(frame, "y ~ a + b + c"))
    assert found.loc[["a=y", "a=z", "c=Y", "c=Z"], "estimate"].isna().all()
    np.testing.assert_allclose(found.loc["b=v", "estimate"], rows(amce(DATA, FORMULA)).loc["b=v", "estimate"])


@pytest.mark.parametrize("engine", ["native", "statsmodels", "linearmodels"])
def test_a_level_in_one_group_only_has_no_difference(engine: str) -> None:
    frame = DATA[(DATA["a"] != "z") | (DATA["g"] == "m")]
    for estimator in (amce_diffs, mm_diffs):
        with pytest.warns(UserWarning, match=f"{NO_ESTIMATE} a=z:"):
            found = rows(estimator(frame, FORMULA, "g", engine=engine))
        assert found.loc["a=z", ["estimate", "std_error", "p"]].isna().all()
        assert found.drop(index="a=z")["std_error"].gt(0).all()


def test_a_reference_level_missing_in_a_group_leaves_its_effects_missing_there() -> None:
    frame = DATA[(DATA["a"] != "x") | (DATA["g"] == "m")]
    with pytest.warns(UserWarning, match=NO_ESTIMATE):
        found = rows(amce_diffs(frame, FORMULA, "g"))
    assert found.loc[["a=y", "a=z"], "estimate"].isna().all()
    assert np.isfinite(found.loc["b=v", "estimate"])


@pytest.mark.parametrize("engine", ["native", "statsmodels", "linearmodels"])
@pytest.mark.parametrize("estimator", [amce_diffs, mm_diffs])
def test_a_group_with_one_cluster_has_differences_without_errors(
    estimator: Callable[..., Estimates], engine: str
) -> None:
    frame = DATA.assign(k=np.where(DATA["g"] == "m", 0, DATA["pair_id"] + 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rows(estimator(frame, FORMULA, "g", "k", engine=engine))
    assert found["estimate"].notna().all()
    assert found["std_error"].isna().all()
    assert any(NO_ERROR in str(one.message) for one in caught)
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]


def test_a_group_with_one_cluster_leaves_the_errors_of_the_others() -> None:
    frame = DATA.assign(k=np.where(DATA["g"] == "m", 0, DATA["pair_id"] + 1))
    for estimate in ("amce", "mm"):
        with pytest.warns(UserWarning, match=NO_ERROR):
            found = cj(frame, FORMULA, "k", estimate=estimate, by="g").frame  # type: ignore[arg-type]
        estimated = found[found["estimate"] != 0]
        assert estimated.loc[estimated["g"] == "m", "std_error"].isna().all()
        assert estimated.loc[estimated["g"] == "f", "std_error"].gt(0).all()


def test_one_cluster_with_answers_among_several_gives_no_errors() -> None:
    frame = DATA.assign(k=DATA["pair_id"] % 4).assign(y=lambda d: d["y"].where(d["k"] == 0))
    with pytest.warns(UserWarning, match=NO_ERROR):
        found = rows(amce(frame, FORMULA, "k"))
    assert found["std_error"].isna().all()
    assert found["estimate"].notna().all()


def test_two_rows_that_fit_exactly_give_no_errors() -> None:
    two = pd.DataFrame({"y": [0, 1], "a": ["x", "y"]})
    with pytest.warns(UserWarning, match=NO_ERROR):
        found = rows(amce(two, "y ~ a"))
    assert found["estimate"].tolist() == [0, 1]
    assert found["std_error"].isna().all()


@pytest.mark.parametrize("engine", ["native", "statsmodels"])
def test_a_level_that_is_never_chosen_has_no_finite_logit(engine: str) -> None:
    frame = DATA.assign(y=np.where(DATA["a"] == "y", 0, DATA["y"]))
    with pytest.warns(UserWarning, match=f"{NO_ESTIMATE} a=y: its logit is infinite"):
        found = rows(amce(frame, FORMULA, family="quasibinomial", engine=engine))
    assert np.isnan(found.loc["a=y", "estimate"])
    without = frame[frame["a"] != "y"]
    expected = quiet(amce, without, FORMULA, family="quasibinomial", engine=engine)
    kept = ["a=z", "b=v"]
    np.testing.assert_allclose(found.loc[kept, "estimate"], expected.loc[kept, "estimate"], rtol=1e-6)


def test_a_reference_that_is_never_chosen_takes_its_whole_feature_along() -> None:
    frame = DATA.assign(y=np.where(DATA["a"] == "x", 0, DATA["y"]))
    found = quiet(amce, frame, FORMULA, family="quasibinomial")
    assert found.loc[["a=y", "a=z"], "estimate"].isna().all()
    assert np.isfinite(found.loc["b=v", "estimate"])


def test_a_constant_outcome_has_no_logits() -> None:
    found = quiet(amce, DATA.assign(y=1), FORMULA, family="quasibinomial")
    assert found.loc[["a=y", "a=z", "b=v"], "estimate"].isna().all()


def test_rows_of_weight_zero_give_nothing_but_their_cluster() -> None:
    zero = DATA.assign(w=np.where(DATA["pair_id"] < 10, 0.0, 1.0))
    found = rows(amce(zero, FORMULA, "pair_id", weights="w"))
    kept = rows(amce(zero[zero["w"] > 0], FORMULA, "pair_id"))
    np.testing.assert_allclose(found["estimate"], kept["estimate"], atol=1e-14)
    ratio = (found["std_error"] / kept["std_error"]).dropna() ** 2
    np.testing.assert_allclose(ratio, (40 / 39) / (30 / 29))


def test_rows_without_a_group_are_left_out() -> None:
    frame = DATA.assign(g=DATA["g"].where(DATA["pair_id"] > 9))
    kept = frame.dropna(subset=["g"])
    for estimator, same_errors in ((mm_diffs, True), (amce_diffs, False)):
        found, expected = (rows(estimator(data, FORMULA, "g", "pair_id")) for data in (frame, kept))
        np.testing.assert_allclose(found["estimate"], expected["estimate"])
        assert np.allclose(found["std_error"], expected["std_error"], rtol=1e-9) == same_errors
    found, expected = (cj(data, FORMULA, "pair_id", by="g").frame for data in (frame, kept))
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("verb", [amce_diffs, mm_diffs, cj, cj_freqs, cj_anova])
def test_every_verb_with_groups_says_how_many_rows_have_none(verb) -> None:
    frame = DATA.assign(g=DATA["g"].where(DATA["pair_id"] > 9))
    missing = int(frame["g"].isna().sum())
    with pytest.warns(UserWarning, match=rf"'g' is missing in {missing} of {N} rows.* are excluded"):
        found = verb(frame, FORMULA, by="g").frame
    pd.testing.assert_series_equal(
        found["estimate" if "estimate" in found else "f"],
        verb(frame.dropna(subset=["g"]), FORMULA, by="g").frame["estimate" if "estimate" in found else "f"],
    )


def test_an_analysis_of_variance_without_residuals_has_no_test() -> None:
    frame = pd.DataFrame({"y": [0.0, 1, 0, 1], "a": list("xyxy"), "g": list("mmff")})
    found = cj_anova(frame, "y ~ a", by="g").frame
    assert found["p"].isna().all()


# --- odd but right -------------------------------------------------------------------------------


def test_features_may_be_called_like_columns_of_the_result() -> None:
    names = {"a": "level", "b": "estimate"}
    found = amce(DATA.rename(columns=names), "y ~ level + estimate").frame
    np.testing.assert_array_equal(found["estimate"], amce(DATA, FORMULA).frame["estimate"])
    assert found["feature"].cat.categories.tolist() == ["level", "estimate"]


def test_odd_names_of_columns_and_levels_pass_through() -> None:
    levels = {"x": "Ünïcode ✓", "y": 'a "quoted", one', "z": " * + ~ (1)"}
    odd = DATA.rename(columns={"y": "was it?", "a": "größe & co", "b": "1st", "pair_id": " pair", "g": "if"})
    odd["größe & co"] = odd["größe & co"].cat.rename_categories(levels)
    found = amce_diffs(odd, "`was it?` ~ `größe & co` + `1st`", by="if", id=" pair").frame
    plain = amce_diffs(DATA, FORMULA, by="g", id="pair_id").frame
    np.testing.assert_array_equal(found[["estimate", "std_error"]], plain[["estimate", "std_error"]])
    assert found["level"].tolist()[:2] == [levels["y"], levels["z"]]
    assert "if" in found


def test_an_empty_string_is_a_level_like_any_other() -> None:
    frame = DATA.assign(a=DATA["a"].cat.rename_categories({"x": ""}))
    assert rows(amce(frame, FORMULA)).loc["a=", "estimate"] == 0


# --- refused in one sentence ---------------------------------------------------------------------

UNHASHABLE = [[i % 2] for i in range(N)]
TWICE = pd.concat([DATA, DATA[["a", "y", "pair_id", "w", "g"]]], axis=1)
MANY = pd.DataFrame(
    np.random.default_rng(1).choice(list("abcdefgh"), (N, 40)), columns=[f"f{i}" for i in range(40)]
)
ALL_FORTY = " + ".join(MANY.columns)

REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "one cluster": ("single cluster", lambda: amce(DATA.assign(k=1), FORMULA, "k")),
    "one row": ("single level", lambda: amce(DATA.iloc[:1], FORMULA)),
    "no rows": ("no rows", lambda: amce(DATA.iloc[:0], FORMULA)),
    "no rows to count": ("no rows", lambda: cj_freqs(DATA.iloc[:0], "~ a")),
    "no columns": ("no rows", lambda: amce(pd.DataFrame(), FORMULA)),
    "missing outcome": ("outcome is missing in every row", lambda: amce(DATA.assign(y=np.nan), FORMULA)),
    "missing feature": ("'a' is missing in every row", lambda: amce(DATA.assign(a=None), FORMULA)),
    "one level": ("single level in use \\('x'\\)", lambda: amce(DATA.assign(a="x"), FORMULA)),
    "empty together": (
        "No row has the outcome and every feature",
        lambda: amce(
            DATA.assign(a=DATA["a"].where(DATA["g"] == "m"), b=DATA["b"].where(DATA["g"] == "f")), FORMULA
        ),
    ),
    "zero weights": ("all zero", lambda: amce(DATA.assign(w=0), FORMULA, weights="w")),
    "negative weights": ("negative in row 1", lambda: amce(DATA.assign(w=-1), FORMULA, weights="w")),
    "missing weights": ("missing in row 1", lambda: mm(DATA.assign(w=np.nan), FORMULA, weights="w")),
    "weights as text": ("'w' holds text", lambda: mm(DATA.assign(w="one"), FORMULA, weights="w")),
    "infinite weights": ("infinite", lambda: mm(DATA.assign(w=np.inf), FORMULA, weights="w")),
    "missing id": ("empty in row 1", lambda: amce(DATA.assign(k=[None] + [1] * (N - 1)), FORMULA, "k")),
    "one group": ("fewer than two groups", lambda: amce_diffs(DATA.assign(g="m"), FORMULA, "g")),
    "no group": ("fewer than two groups", lambda: mm_diffs(DATA.assign(g=None), FORMULA, "g")),
    "no group in cj": ("No row", lambda: cj(DATA.assign(g=None), FORMULA, by="g")),
    "numeric feature": ("numeric", lambda: amce(DATA, "y ~ w")),
    "text outcome": ("holds text", lambda: amce(DATA.assign(s="yes"), "s ~ a")),
    "category outcome": ("holds text", lambda: amce(DATA, "a ~ b")),
    "date outcome": ("numbers are needed", lambda: amce(DATA.assign(s=pd.Timestamp("2020-01-01")), "s ~ a")),
    "complex outcome": ("numbers are needed", lambda: amce(DATA.assign(s=1j), "s ~ a")),
    "infinite outcome": ("infinite in row 1", lambda: amce(DATA.assign(y=-np.inf), FORMULA)),
    "outcome out of range": ("range 0 to 1", lambda: amce(DATA.assign(y=3), FORMULA, family="quasibinomial")),
    "two features": ("2 columns named 'a'", lambda: amce(TWICE, "y ~ a")),
    "two outcomes": ("2 columns named 'y'", lambda: amce(TWICE, "y ~ b")),
    "two ids": (
        "2 columns named 'pair_id'",
        lambda: bootstrap(amce, TWICE[["pair_id"]].join(DATA[["y", "b"]]), "y ~ b"),
    ),
    "two groups": (
        "2 columns named 'g'",
        lambda: cj(TWICE.drop(columns=["a", "y"]).join(DATA[["a", "y"]]), "y ~ a", by="g"),
    ),
    "two groups to count": ("2 columns named 'g'", lambda: cj_freqs(TWICE, "~ b", by="g")),
    "outcome as feature": ("both sides", lambda: amce(DATA, "y ~ a + y")),
    "no such feature": ("no column 'q'", lambda: amce(DATA, "y ~ q")),
    "no such outcome": ("no column 'q'", lambda: amce(DATA, "q ~ a")),
    "no such id": ("no column 'q'", lambda: amce(DATA, FORMULA, "q")),
    "no such weights": ("no column 'q'", lambda: amce(DATA, FORMULA, weights="q")),
    "no such group": ("no column 'q'", lambda: amce_diffs(DATA, FORMULA, "q")),
    "no such group to count": ("no column 'q'", lambda: cj_freqs(DATA, "~ a", by="q")),
    "unknown engine": ("no engine 'foo'", lambda: amce(DATA, FORMULA, engine="foo")),
    "unknown engine to count": ("no engine 'foo'", lambda: cj_freqs(DATA, "~ a", engine="foo")),
    "unknown engine of a test": ("no engine 'foo'", lambda: cj_anova(DATA, FORMULA, "g", engine="foo")),
    "engine of a table": ("takes no 'engine'", lambda: cj_table(DATA, "~ a", engine="cregg")),
    "unknown family": ("family is 'foo'", lambda: amce(DATA, FORMULA, family="foo")),  # type: ignore[arg-type]
    "unknown level order": ("level_order", lambda: mm(DATA, FORMULA, level_order="foo")),  # type: ignore[arg-type]
    "unknown estimate": ("no estimate 'foo'", lambda: cj(DATA, FORMULA, estimate="foo")),  # type: ignore[arg-type]
    "short feature order": ("each feature once", lambda: amce(DATA, FORMULA, feature_order=["a"])),
    "wrong feature order": ("each feature once", lambda: amce(DATA, FORMULA, feature_order=["a", "q"])),
    "double feature order": ("each feature once", lambda: amce(DATA, FORMULA, feature_order=["a", "b", "b"])),
    "mixed feature order": ("each feature once", lambda: amce(DATA, FORMULA, feature_order=["a", 3])),  # type: ignore[list-item]
    "stray label": ("'q', which is no feature", lambda: amce(DATA, FORMULA, feature_labels={"q": "Q"})),
    "one label for two": ("one label", lambda: amce(DATA, FORMULA, feature_labels={"a": "b"})),
    "unknown reference": ("'q' is no level", lambda: amce(DATA, FORMULA, reference={"a": "q"})),
    "no data frame": ("data is a dict", lambda: amce({"y": [1]}, FORMULA)),  # type: ignore[arg-type]
    "no data frame to count": ("data is a list", lambda: cj_freqs([1], "~ a")),  # type: ignore[arg-type]
    "lists as levels": ("lists", lambda: amce(DATA.assign(u=UNHASHABLE), "y ~ u")),
    "lists as id": ("lists", lambda: amce(DATA.assign(u=UNHASHABLE), FORMULA, "u")),
    "lists as groups": ("lists", lambda: cj(DATA.assign(u=UNHASHABLE), FORMULA, by="u")),
    "lists as groups to count": ("lists", lambda: cj_freqs(DATA.assign(u=UNHASHABLE), "~ a", by="u")),
    "lists as outcome": ("numbers are needed", lambda: amce(DATA.assign(u=UNHASHABLE), "u ~ a")),
    "too many features": ("combinations", lambda: amce(MANY.assign(y=1), f"y ~ {ALL_FORTY}")),
    "too many combinations": ("combinations", lambda: cj_props(MANY, "~ f0 + f1 + f2 + f3 + f4 + f5")),
    "margin out of range": ("margin is 3", lambda: cj_props(DATA, "~ a + b", margin=3)),
    "margin as text": ("margin is 'a'", lambda: cj_props(DATA, "~ a + b", margin="a")),  # type: ignore[arg-type]
    "groups by outcome": ("outcomes or weights", lambda: cj(DATA, "y ~ a", by="y")),
    "groups by weights": ("outcomes or weights", lambda: cj(DATA, "y ~ a", by="w", weights="w")),
    "groups by number": ("by is 3", lambda: cj(DATA, "y ~ a", by=3)),  # type: ignore[arg-type]
    "two columns of differences": ("one column", lambda: amce_diffs(DATA, "y ~ a", ["g", "b"])),  # type: ignore[arg-type]
    "differences without groups": ("one column", lambda: cj(DATA, "y ~ a", estimate="mm_differences")),
    "only the group": ("no feature besides 'g'", lambda: amce_diffs(DATA, "y ~ g", "g")),
    "null of a difference": ("takes no 'h0'", lambda: mm_diffs(DATA, "y ~ a", "g", h0=0.5)),
    "null of an effect": ("takes no 'h0'", lambda: cj(DATA, "y ~ a", by="g", h0=0.5)),
    "null in a bootstrap": ("takes no 'h0'", lambda: bootstrap(mm_diffs, DATA, "y ~ a", by="g", h0=0.5)),
    "no formula": ("formula is None", lambda: amce(DATA, None)),  # type: ignore[arg-type]
    "formula as list": ("formula is \\['y'", lambda: amce(DATA, ["y", "a"])),  # type: ignore[arg-type]
    "formula without outcome": ("no outcome", lambda: amce(DATA, "~ a")),
    "no such variable": ("variable is 'q'", lambda: amce_by_reference(DATA, FORMULA, "q")),
    "nothing to stack": ("no table", lambda: stack([])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name: str) -> None:
    says, call = REFUSED[name]
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
