"""What must hold for any data: names, order and engine do not matter, estimates are what they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conjury.analysis.conjoint import (
    amce,
    amce_by_reference,
    amce_diffs,
    cj,
    cj_freqs,
    cj_props,
    mm,
    mm_diffs,
)
from conjury.analysis.conjoint.estimates import Estimates
from conjury.analysis.frames.cells import build_cells
from conjury.analysis.numerics import sandwich as vcov
from conjury.analysis.results import stack

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

few = settings(
    max_examples=5, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
seeds = st.integers(0, 10**6)
NUMBERS = ["estimate", "std_error", "z", "p", "lower", "upper"]
FORMULA = "y ~ a + b + c"
Estimator = Callable[[pd.DataFrame], Estimates]

ESTIMATORS: dict[str, Estimator] = {
    "amce": lambda d: amce(d, FORMULA, "id"),
    "amce_weighted": lambda d: amce(d, FORMULA, "id", weights="w"),
    "amce_restricted": lambda d: amce(d, "y ~ a * b + c", "id"),
    "amce_logit": lambda d: amce(
        d.assign(y=(d["y"] > 0).astype(float).where(d["y"].notna())), FORMULA, "id", family="quasibinomial"
    ),
    "mm": lambda d: mm(d, FORMULA, "id", h0=0.1),
    "amce_diffs": lambda d: amce_diffs(d, FORMULA, "g", "id"),
    "mm_diffs": lambda d: mm_diffs(d, FORMULA, "g", "id", weights="w"),
    "cj": lambda d: cj(d, FORMULA, "id", by=["g", "c"], estimate="mm"),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def posts(seed: int, n: int = 240) -> pd.DataFrame:
    """Skewed levels, some missing cells and answers, uneven clusters, any weights."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "a": pd.Categorical(rng.choice(list("xyz"), n, p=[0.5, 0.3, 0.2]), list("zxy")),
            "b": pd.Categorical(rng.choice(["u", "v"], n), ["v", "u"]),
            "c": pd.Categorical(rng.choice(["no", "yes"], n), ["no", "yes"]),
            "g": pd.Categorical(rng.choice(["m", "f"], n), ["m", "f"]),
            "id": np.sort(rng.integers(0, n // 4, n)),
            "w": rng.random(n) * 3,
        }
    )
    frame.loc[rng.random(n) < 0.04, "y"] = np.nan
    frame.loc[rng.random(n) < 0.04, "a"] = np.nan
    return frame


def keyed(found: Estimates) -> pd.DataFrame:
    keys = [name for name in ("by", "feature", "level") if name in found.frame]
    return found.frame.astype(dict.fromkeys(keys, "string")).set_index(keys)[NUMBERS].sort_index()


def assert_same(found: Estimates, expected: Estimates, columns: list[str] = NUMBERS) -> None:
    ours, theirs = keyed(found)[columns], keyed(expected)[columns]
    pd.testing.assert_index_equal(ours.index, theirs.index)
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10)


@every_estimator
@given(seed=seeds)
@few
def test_the_order_of_rows_does_not_matter(name: str, seed: int) -> None:
    frame = posts(seed)
    assert_same(ESTIMATORS[name](frame.sample(frac=1, random_state=seed)), ESTIMATORS[name](frame))


@every_estimator
@given(seed=seeds)
@few
def test_the_index_of_the_data_does_not_matter(name: str, seed: int) -> None:
    frame = posts(seed)
    odd = frame.set_axis(np.random.default_rng(seed).integers(0, 5, len(frame)).astype(str), axis=0)
    pd.testing.assert_frame_equal(ESTIMATORS[name](odd).frame, ESTIMATORS[name](frame).frame)


@every_estimator
@given(seed=seeds)
@few
def test_the_names_of_clusters_do_not_matter(name: str, seed: int) -> None:
    frame = posts(seed)
    names = np.random.default_rng(seed).permutation(1000)
    renamed = frame.assign(id=[f"r{names[i]}" for i in frame["id"]])
    far = frame.assign(id=names[frame["id"]].astype(np.int64) * 10**12)
    expected = ESTIMATORS[name](frame)
    assert_same(ESTIMATORS[name](renamed), expected)
    assert_same(ESTIMATORS[name](far), expected)


@every_estimator
@given(seed=seeds)
@few
def test_data_twice_over_with_their_clusters_change_nothing(name: str, seed: int) -> None:
    frame = posts(seed)
    assert_same(ESTIMATORS[name](pd.concat([frame, frame])), ESTIMATORS[name](frame))


@every_estimator
@given(seed=seeds, factor=st.sampled_from([1e-6, 0.5, 1e5]))
@few
def test_the_scale_of_weights_does_not_matter(name: str, seed: int, factor: float) -> None:
    frame = posts(seed)
    assert_same(ESTIMATORS[name](frame.assign(w=frame["w"] * factor)), ESTIMATORS[name](frame))


@every_estimator
@given(seed=seeds)
@few
def test_names_of_levels_do_not_matter_while_their_order_stays(name: str, seed: int) -> None:
    frame = posts(seed)
    named = frame.assign(a=frame["a"].cat.rename_categories({"x": "9 μ", "y": "a+b", "z": "None"}))
    found, expected = ESTIMATORS[name](named).frame, ESTIMATORS[name](frame).frame
    np.testing.assert_array_equal(found[NUMBERS], expected[NUMBERS])


@every_estimator
@given(seed=seeds)
@few
def test_ordered_features_are_treated_as_unordered(name: str, seed: int) -> None:
    frame = posts(seed)
    ordered = frame.assign(**{key: frame[key].cat.as_ordered() for key in "abcg"})
    pd.testing.assert_frame_equal(ESTIMATORS[name](ordered).frame, ESTIMATORS[name](frame).frame)


@every_estimator
@given(seed=seeds)
@few
def test_clusters_may_be_added_up_in_any_portions(name: str, seed: int) -> None:
    frame = posts(seed)
    expected = ESTIMATORS[name](frame)
    portion, vcov._CLUSTERS_AT_A_TIME = vcov._CLUSTERS_AT_A_TIME, 7
    try:
        assert_same(ESTIMATORS[name](frame), expected)
    finally:
        vcov._CLUSTERS_AT_A_TIME = portion


@every_estimator
@given(seed=seeds)
@few
def test_covariances_are_symmetric_not_negative_and_hold_the_squared_errors(name: str, seed: int) -> None:
    found = ESTIMATORS[name](posts(seed))
    assert found.vcov is not None
    errors = found.frame["std_error"].dropna()
    assert found.frame["std_error"].notna().sum() == len(errors)
    np.testing.assert_allclose(np.diag(found.vcov), errors**2, rtol=1e-9)
    np.testing.assert_allclose(found.vcov, found.vcov.T, atol=1e-14)
    assert np.linalg.eigvalsh(found.vcov).min() > -1e-10 * np.trace(found.vcov)


@every_estimator
@given(seed=seeds)
@few
def test_intervals_and_tests_follow_from_estimate_and_error(name: str, seed: int) -> None:
    found = ESTIMATORS[name](posts(seed))
    frame, null = found.frame.dropna(subset=["std_error"]), found.provenance.null
    np.testing.assert_allclose(frame["z"], (frame["estimate"] - null) / frame["std_error"])
    np.testing.assert_allclose(frame["upper"] + frame["lower"], 2 * frame["estimate"], atol=1e-12)
    outside = (frame["lower"] > null) | (frame["upper"] < null)
    np.testing.assert_array_equal(frame["p"] < 0.05, outside)


@pytest.mark.parametrize("verb", [amce, mm])
@given(seed=seeds)
@few
def test_feature_and_level_order_permute_rows_and_nothing_else(
    verb: Callable[..., Estimates], seed: int
) -> None:
    frame = posts(seed)
    plain = verb(frame, FORMULA, "id")
    turned = verb(frame, FORMULA, "id", feature_order=["c", "a", "b"], level_order="descending")
    assert_same(turned, plain)
    assert turned.frame["feature"].astype(str).tolist() == ["c"] * 2 + ["a"] * 3 + ["b"] * 2
    assert turned.frame["level"].astype(str).tolist()[2:5] == ["y", "x", "z"]
    assert turned.vcov is not None
    np.testing.assert_allclose(np.diag(turned.vcov), turned.frame["std_error"].dropna() ** 2)


@given(seed=seeds)
@few
def test_whole_weights_are_repeated_rows(seed: int) -> None:
    frame = posts(seed)
    frame["w"] = np.random.default_rng(seed).integers(0, 4, len(frame))
    copies = frame.loc[frame.index.repeat(frame["w"])]
    for estimator in (amce, mm):
        weighted, repeated = estimator(frame, FORMULA, weights="w"), estimator(copies, FORMULA)
        assert_same(weighted, repeated, ["estimate"])
        kept = frame.assign(id=frame["id"].where(frame["id"].isin(copies["id"]), copies["id"].iloc[0]))
        assert_same(estimator(kept, FORMULA, "id", weights="w"), estimator(copies, FORMULA, "id"))


@given(seed=seeds)
@few
def test_another_reference_gives_differences_of_amces(seed: int) -> None:
    frame = posts(seed)
    plain, turned = amce(frame, FORMULA, "id"), amce(frame, FORMULA, "id", reference={"a": "y"})
    one, two = keyed(plain)["estimate"], keyed(turned)["estimate"]
    np.testing.assert_allclose(two["a"], one["a"] - one[("a", "y")], atol=1e-12)
    np.testing.assert_allclose(two[["b", "c"]], one[["b", "c"]], atol=1e-12)
    assert plain.vcov is not None
    x, y = ("a", "x"), ("a", "y")
    variance = plain.vcov.loc[x, x] + plain.vcov.loc[y, y] - 2 * plain.vcov.loc[x, y]
    np.testing.assert_allclose(keyed(turned).loc[("a", "x"), "std_error"], np.sqrt(variance), rtol=1e-8)


@given(seed=seeds)
@few
def test_amces_by_reference_are_those_of_each_reference(seed: int) -> None:
    frame = posts(seed)
    found = amce_by_reference(frame, FORMULA, "a", "id").frame
    for level, part in found.groupby("reference", sort=False):
        own = amce(frame, FORMULA, "id", reference={"a": level}).frame
        both = part.merge(own, on=["feature", "level"], suffixes=("", "_own"))
        assert len(both) == len(own) == 7
        np.testing.assert_allclose(both["estimate"], both["estimate_own"], atol=1e-12)
        np.testing.assert_allclose(both["std_error"], both["std_error_own"], rtol=1e-8)


@given(seed=seeds)
@few
def test_groups_are_estimated_as_if_alone(seed: int) -> None:
    frame = posts(seed)
    for kind, verb in (("amce", amce), ("mm", mm)):
        found = cj(frame, FORMULA, "id", estimate=kind, by="g").frame  # type: ignore[arg-type]
        for group, part in found.groupby("g"):
            alone = verb(frame[frame["g"] == group], FORMULA, "id").frame
            np.testing.assert_allclose(part[NUMBERS], alone[NUMBERS], rtol=1e-8, atol=1e-12)


@given(seed=seeds)
@few
def test_differences_are_those_of_the_groups(seed: int) -> None:
    frame = posts(seed)
    for kind, verb in (("amce", amce_diffs), ("mm", mm_diffs)):
        groups = cj(frame, FORMULA, "id", estimate=kind, by="g").frame  # type: ignore[arg-type]
        wide = groups.astype({"level": str}).pivot(index="level", columns="g", values="estimate")
        found = verb(frame, FORMULA, "g", "id").frame
        assert set(found["by"]) == {"f - m"}
        expected = (wide["f"] - wide["m"]).loc[found["level"].astype(str)]
        np.testing.assert_allclose(found["estimate"], expected, atol=1e-12)


@given(seed=seeds)
@few
def test_amce_differences_are_interactions_of_one_regression(seed: int) -> None:
    frame = posts(seed).dropna()
    dummies = pd.get_dummies(frame[["a", "b"]], drop_first=True, dtype=float)
    second = (frame["g"] == "f").to_numpy(float)[:, None]
    design = np.hstack([np.ones_like(second), dummies, second, dummies * second])
    bread = np.linalg.inv(design.T @ design)
    coef = bread @ design.T @ frame["y"].to_numpy()
    scores = design * (frame["y"].to_numpy() - design @ coef)[:, None]
    sums = pd.DataFrame(scores).groupby(frame["id"].to_numpy()).sum().to_numpy()
    clusters = len(sums)
    errors = np.sqrt(clusters / (clusters - 1) * np.diag(bread @ sums.T @ sums @ bread))
    found = amce_diffs(frame, "y ~ a + b", "g", "id").frame
    np.testing.assert_allclose(found["estimate"], coef[-3:], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found["std_error"], errors[-3:], rtol=1e-8)


@given(seed=seeds)
@few
def test_marginal_means_are_group_means(seed: int) -> None:
    frame = posts(seed)
    found = keyed(mm(frame, FORMULA, weights="w"))["estimate"]
    for feature in "abc":
        used = frame.dropna(subset=["y", feature])
        sums = used.assign(t=used["w"] * used["y"]).groupby(feature, observed=True)[["t", "w"]].sum()
        for level, row in sums.iterrows():
            np.testing.assert_allclose(found[(feature, level)], row["t"] / row["w"], rtol=1e-9)


@given(seed=seeds)
@few
def test_errors_without_clusters_are_heteroskedasticity_robust(seed: int) -> None:
    frame = posts(seed).dropna()
    n = len(frame)
    design = np.hstack(
        [np.ones((n, 1)), pd.get_dummies(frame[["a", "b", "c"]], drop_first=True, dtype=float)]
    )
    bread = np.linalg.inv(design.T @ design)
    coef = bread @ design.T @ frame["y"].to_numpy()
    scores = design * (frame["y"].to_numpy() - design @ coef)[:, None]
    errors = np.sqrt(n / (n - 1) * np.diag(bread @ scores.T @ scores @ bread))[1:]
    found = amce(frame, FORMULA).frame.dropna(subset=["std_error"])
    np.testing.assert_allclose(found["estimate"], coef[1:], atol=1e-12)
    np.testing.assert_allclose(found["std_error"], errors, rtol=1e-8)


@given(seed=seeds)
@few
def test_amces_of_a_balanced_design_are_differences_of_marginal_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product([list("xyz"), list("uv"), ["no", "yes"], range(3)], names=[*"abc", "r"])
    frame = grid.to_frame(index=False).assign(y=rng.normal(size=len(grid)))
    effects, means = keyed(amce(frame, FORMULA))["estimate"], keyed(mm(frame, FORMULA))["estimate"]
    for feature, base in (("a", "x"), ("b", "u"), ("c", "no")):
        np.testing.assert_allclose(effects[feature], means[feature] - means[(feature, base)], atol=1e-12)


@given(seed=seeds)
@few
def test_a_restricted_effect_averages_over_the_partners_that_meet_both_levels(seed: int) -> None:
    frame = posts(seed, 400).dropna()
    frame = frame[(frame["a"] != "y") | (frame["b"] != "u")]
    found = keyed(amce(frame, "y ~ a * b", "id"))["estimate"]
    mean = frame.groupby(["a", "b"], observed=True)["y"].mean()
    only_v = mean["y", "v"] - mean["z", "v"]
    both = ((mean["x", "v"] - mean["z", "v"]) + (mean["x", "u"] - mean["z", "u"])) / 2
    np.testing.assert_allclose(found[("a", "y")], only_v, atol=1e-10)
    np.testing.assert_allclose(found[("a", "x")], both, atol=1e-10)
    over_zx = np.mean([mean["z", "u"] - mean["z", "v"], mean["x", "u"] - mean["x", "v"]])
    np.testing.assert_allclose(found[("b", "u")], over_zx, atol=1e-10)


@given(seed=seeds)
@few
def test_strings_booleans_and_categories_give_the_same_numbers(seed: int) -> None:
    frame = posts(seed)
    yes = frame["c"] == "yes"
    category = amce(frame.assign(c=pd.Categorical(yes.map({False: "no", True: "yes"}))), FORMULA, "id").frame
    for values in (yes, yes.astype("boolean"), yes.map({False: "no", True: "yes"}).astype("string")):
        found = amce(frame.assign(c=values), FORMULA, "id").frame
        np.testing.assert_array_equal(found[NUMBERS], category[NUMBERS])


@given(seed=seeds)
@few
def test_booleans_and_nullable_numbers_are_outcomes(seed: int) -> None:
    frame = posts(seed).dropna(subset=["y"])
    chosen = frame["y"] > 0
    expected = amce(frame.assign(y=chosen.astype(float)), FORMULA, "id").frame
    for values in (chosen, chosen.astype("boolean"), chosen.astype("Int8"), chosen.astype("float32")):
        pd.testing.assert_frame_equal(amce(frame.assign(y=values), FORMULA, "id").frame, expected)


@given(seed=seeds)
@few
def test_missing_values_are_left_out_row_by_row(seed: int) -> None:
    frame = posts(seed)
    complete = frame.dropna(subset=["y", "a"])
    assert_same(amce(frame, FORMULA, "id"), amce(complete, FORMULA, "id"), ["estimate"])
    answered = frame.dropna(subset=["y"])
    assert_same(mm(frame, FORMULA, "id"), mm(answered, FORMULA, "id"), ["estimate"])
    g, h = frame["id"].nunique(), complete["id"].nunique()
    ratio = keyed(amce(frame, FORMULA, "id"))["std_error"] / keyed(amce(complete, FORMULA, "id"))["std_error"]
    np.testing.assert_allclose(ratio.dropna() ** 2, (g / (g - 1)) / (h / (h - 1)), rtol=1e-8)


@pytest.mark.parametrize("engine", ["statsmodels", "linearmodels"])
@given(seed=seeds)
@few
def test_engines_agree_and_their_tables_stack(engine: str, seed: int) -> None:
    frame = posts(seed)
    for call in (
        lambda name: amce(frame, FORMULA, "id", weights="w", engine=name),
        lambda name: mm(frame, FORMULA, engine=name),
        lambda name: amce_diffs(frame, FORMULA, "g", "id", engine=name),
        lambda name: mm_diffs(frame, FORMULA, "g", "id", engine=name),
    ):
        ours, theirs = call("native"), call(engine)
        assert_same(theirs, ours)
        both = stack([ours.frame.assign(engine="native"), theirs.frame.assign(engine=engine)])
        assert len(both) == 2 * len(ours.frame)
        assert both["level"].cat.categories.tolist() == ours.frame["level"].cat.categories.tolist()
        assert both["engine"].value_counts().nunique() == 1


def test_stacked_tables_keep_levels_in_the_order_in_which_they_appear() -> None:
    frame = posts(1)
    one, two = amce(frame, "y ~ a").frame, amce(frame, "y ~ c + b").frame
    both = stack([one, two])
    assert both["feature"].cat.categories.tolist() == ["a", "c", "b"]
    assert both["level"].astype(str).tolist() == ["z", "x", "y", "no", "yes", "v", "u"]


@given(seed=seeds)
@few
def test_counts_add_up_to_the_rows(seed: int) -> None:
    frame = posts(seed)
    counts = cj_freqs(frame, "~ a + b").frame.groupby("feature", observed=True)["estimate"].sum()
    assert counts.to_dict() == {"a": frame["a"].notna().sum(), "b": len(frame)}
    weighted = cj_freqs(frame, "~ b", by="g", weights="w").frame.set_index(["g", "level"])["estimate"]
    expected = frame.groupby(["g", "b"], observed=True)["w"].sum()
    np.testing.assert_allclose([weighted[key] for key in expected.index], expected)
    shares: Any = cj_props(frame, "~ a + b", weights="w").frame
    np.testing.assert_allclose(shares["proportion"].sum(), 1)
    within = cj_props(frame, "~ a + b", margin=1).frame.groupby("a", observed=True)["proportion"].sum()
    np.testing.assert_allclose(within, 1)


def test_ten_thousand_clusters_take_several_portions_and_give_the_plain_sandwich() -> None:
    rng = np.random.default_rng(8)
    n = 20_000
    frame = pd.DataFrame({"y": rng.random(n), "a": rng.choice(["u", "v"], n), "id": np.arange(n) // 2})
    assert build_cells(frame, "y", ["a"], clusters=["id"]).clusters.n > vcov._CLUSTERS_AT_A_TIME
    design = np.column_stack([np.ones(n), frame["a"] == "v"]).astype(float)
    bread = np.linalg.inv(design.T @ design)
    scores = design * (frame["y"].to_numpy() - design @ (bread @ design.T @ frame["y"]))[:, None]
    sums = scores[::2] + scores[1::2]
    expected = np.sqrt(10_000 / 9_999 * (bread @ sums.T @ sums @ bread)[1, 1])
    np.testing.assert_allclose(amce(frame, "y ~ a", "id").frame["std_error"].iloc[1], expected, rtol=1e-10)
