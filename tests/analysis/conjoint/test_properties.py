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
    max_examples=2, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
seeds = given(seed=st.integers(0, 10**6))
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
FURTHER = ("amce_weighted", "amce_restricted", "mm", "cj")


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


def renamed(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return frame.assign(id=np.array([f"r{n}" for n in rng.permutation(1000)])[frame["id"]])


LEVELS = {"x": "9 μ", "y": "a+b", "z": "None"}
NEUTRAL: dict[str, Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]] = {
    "order of rows": lambda d, rng: d.iloc[rng.permutation(len(d))],
    "names of clusters": renamed,
    "far apart numbers of clusters": lambda d, rng: d.assign(id=d["id"].astype(np.int64) * 10**12),
    "data twice over with their clusters": lambda d, rng: pd.concat([d, d]),
    "tiny weights": lambda d, rng: d.assign(w=d["w"] * 1e-6),
    "large weights": lambda d, rng: d.assign(w=d["w"] * 1e5),
}
IRRELEVANT: dict[str, Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]] = {
    "index": lambda d, rng: d.set_axis(rng.integers(0, 5, len(d)).astype(str), axis=0),
    "names of levels": lambda d, rng: d.assign(a=d["a"].cat.rename_categories(LEVELS)),
    "order of levels as a scale": lambda d, rng: d.assign(**{key: d[key].cat.as_ordered() for key in "abcg"}),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in FURTHER else ()) for name in ESTIMATORS]
)
@seeds
@few
def test_what_says_nothing_about_effects_does_not_matter(name: str, seed: int) -> None:
    frame = posts(seed)
    expected = ESTIMATORS[name](frame)
    for change in NEUTRAL.values():
        assert_same(ESTIMATORS[name](change(frame, np.random.default_rng(seed))), expected)
    for what, change in IRRELEVANT.items():
        found = ESTIMATORS[name](change(frame, np.random.default_rng(seed))).frame
        np.testing.assert_array_equal(found[NUMBERS], expected.frame[NUMBERS])
        if what in ("index", "order of levels as a scale"):
            pd.testing.assert_frame_equal(found, expected.frame)
    portion, vcov._CLUSTERS_AT_A_TIME = vcov._CLUSTERS_AT_A_TIME, 7
    try:
        assert_same(ESTIMATORS[name](frame), expected)
    finally:
        vcov._CLUSTERS_AT_A_TIME = portion


@every_estimator
@seeds
@few
def test_intervals_and_tests_follow_from_estimates_and_their_covariance(name: str, seed: int) -> None:
    found = ESTIMATORS[name](posts(seed))
    frame, null = found.frame.dropna(subset=["std_error"]), found.provenance.null
    np.testing.assert_allclose(np.diag(found.vcov), frame["std_error"] ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.vcov, found.vcov.T, atol=1e-14)
    assert np.linalg.eigvalsh(found.vcov).min() > -1e-10 * np.trace(found.vcov)
    np.testing.assert_allclose(frame["z"], (frame["estimate"] - null) / frame["std_error"])
    np.testing.assert_allclose(frame["upper"] + frame["lower"], 2 * frame["estimate"], atol=1e-12)
    outside = (frame["lower"] > null) | (frame["upper"] < null)
    np.testing.assert_array_equal(frame["p"] < 0.05, outside)


@seeds
@few
def test_feature_and_level_order_permute_rows_and_nothing_else(seed: int) -> None:
    frame = posts(seed)
    for verb in (amce, mm):
        turned = verb(frame, FORMULA, "id", feature_order=["c", "a", "b"], level_order="descending")
        assert_same(turned, verb(frame, FORMULA, "id"))
        assert turned.frame["feature"].astype(str).tolist() == ["c"] * 2 + ["a"] * 3 + ["b"] * 2
        assert turned.frame["level"].astype(str).tolist()[2:5] == ["y", "x", "z"]
        np.testing.assert_allclose(np.diag(turned.vcov), turned.frame["std_error"].dropna() ** 2)


@pytest.mark.long
@seeds
@few
def test_whole_weights_are_repeated_rows(seed: int) -> None:
    frame = posts(seed)
    frame["w"] = np.random.default_rng(seed).integers(0, 4, len(frame))
    copies = frame.loc[frame.index.repeat(frame["w"])]
    kept = frame.assign(id=frame["id"].where(frame["id"].isin(copies["id"]), copies["id"].iloc[0]))
    for estimator in (amce, mm):
        assert_same(estimator(frame, FORMULA, weights="w"), estimator(copies, FORMULA), ["estimate"])
        assert_same(estimator(kept, FORMULA, "id", weights="w"), estimator(copies, FORMULA, "id"))


@seeds
@few
def test_another_reference_gives_differences_of_amces(seed: int) -> None:
    frame = posts(seed)
    plain, turned = amce(frame, FORMULA, "id"), amce(frame, FORMULA, "id", reference={"a": "y"})
    one, two = keyed(plain)["estimate"], keyed(turned)["estimate"]
    np.testing.assert_allclose(two["a"], one["a"] - one[("a", "y")], atol=1e-12)
    np.testing.assert_allclose(two[["b", "c"]], one[["b", "c"]], atol=1e-12)
    x, y = ("a", "x"), ("a", "y")
    variance = plain.vcov.loc[x, x] + plain.vcov.loc[y, y] - 2 * plain.vcov.loc[x, y]
    np.testing.assert_allclose(keyed(turned).loc[("a", "x"), "std_error"], np.sqrt(variance), rtol=1e-8)
    by_reference = amce_by_reference(frame, FORMULA, "a", "id").frame
    for level, part in by_reference.groupby("reference", sort=False):
        own = amce(frame, FORMULA, "id", reference={"a": level}).frame
        both = part.merge(own, on=["feature", "level"], suffixes=("", "_own"))
        assert len(both) == len(own) == 7
        np.testing.assert_allclose(both["estimate"], both["estimate_own"], atol=1e-12)
        np.testing.assert_allclose(both["std_error"], both["std_error_own"], rtol=1e-8)


@pytest.mark.long
@seeds
@few
def test_groups_are_estimated_as_if_alone_and_differences_are_theirs(seed: int) -> None:
    frame = posts(seed)
    for kind, verb, diffs in (("amce", amce, amce_diffs), ("mm", mm, mm_diffs)):
        groups = cj(frame, FORMULA, "id", estimate=kind, by="g").frame
        for group, part in groups.groupby("g"):
            alone = verb(frame[frame["g"] == group], FORMULA, "id").frame
            np.testing.assert_allclose(part[NUMBERS], alone[NUMBERS], rtol=1e-8, atol=1e-12)
        wide = groups.astype({"level": str}).pivot(index="level", columns="g", values="estimate")
        found = diffs(frame, FORMULA, "g", "id").frame
        assert set(found["by"]) == {"f - m"}
        expected = (wide["f"] - wide["m"]).loc[found["level"].astype(str)]
        np.testing.assert_allclose(found["estimate"], expected, atol=1e-12)


def by_hand(design: np.ndarray, outcome: pd.Series, cluster: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of a regression and their errors, from scores summed by cluster."""
    bread = np.linalg.inv(design.T @ design)
    coef = bread @ design.T @ outcome.to_numpy()
    scores = design * (outcome.to_numpy() - design @ coef)[:, None]
    sums = pd.DataFrame(scores).groupby(np.asarray(cluster)).sum().to_numpy()
    n = len(sums)
    return coef, np.sqrt(n / (n - 1) * np.diag(bread @ sums.T @ sums @ bread))


@seeds
@few
def test_effects_and_their_differences_are_those_of_one_regression(seed: int) -> None:
    frame = posts(seed).dropna()
    ones = np.ones((len(frame), 1))
    dummies = pd.get_dummies(frame[["a", "b"]], drop_first=True, dtype=float).to_numpy()
    second = (frame["g"] == "f").to_numpy(float)[:, None]
    coef, errors = by_hand(np.hstack([ones, dummies, second, dummies * second]), frame["y"], frame["id"])
    found = amce_diffs(frame, "y ~ a + b", "g", "id").frame
    np.testing.assert_allclose(found["estimate"], coef[-3:], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found["std_error"], errors[-3:], rtol=1e-8)
    coef, errors = by_hand(np.hstack([ones, dummies]), frame["y"], np.arange(len(frame)))  # HC0 by rows
    plain = amce(frame, "y ~ a + b").frame.dropna(subset=["std_error"])
    np.testing.assert_allclose(plain["estimate"], coef[1:], atol=1e-12)
    np.testing.assert_allclose(plain["std_error"], errors[1:], rtol=1e-8)


@seeds
@few
def test_marginal_means_are_group_means_and_amces_of_a_balanced_design_their_differences(seed: int) -> None:
    frame = posts(seed)
    found = keyed(mm(frame, FORMULA, weights="w"))["estimate"]
    for feature in "abc":
        used = frame.dropna(subset=["y", feature])
        sums = used.assign(t=used["w"] * used["y"]).groupby(feature, observed=True)[["t", "w"]].sum()
        np.testing.assert_allclose(found[feature].loc[sums.index], sums["t"] / sums["w"], rtol=1e-9)
    grid = pd.MultiIndex.from_product([list("xyz"), list("uv"), ["no", "yes"], range(3)], names=[*"abc", "r"])
    full = grid.to_frame(index=False).assign(y=np.random.default_rng(seed).normal(size=len(grid)))
    effects, means = keyed(amce(full, FORMULA))["estimate"], keyed(mm(full, FORMULA))["estimate"]
    for feature, base in (("a", "x"), ("b", "u"), ("c", "no")):
        np.testing.assert_allclose(effects[feature], means[feature] - means[(feature, base)], atol=1e-12)


@seeds
@few
def test_a_restricted_effect_averages_over_the_partners_that_meet_both_levels(seed: int) -> None:
    frame = posts(seed, 400).dropna()
    frame = frame[(frame["a"] != "y") | (frame["b"] != "u")]
    found = keyed(amce(frame, "y ~ a * b", "id"))["estimate"]
    mean = frame.groupby(["a", "b"], observed=True)["y"].mean()
    both = ((mean["x", "v"] - mean["z", "v"]) + (mean["x", "u"] - mean["z", "u"])) / 2
    over_zx = np.mean([mean["z", "u"] - mean["z", "v"], mean["x", "u"] - mean["x", "v"]])
    expected = {("a", "y"): mean["y", "v"] - mean["z", "v"], ("a", "x"): both, ("b", "u"): over_zx}
    np.testing.assert_allclose(found[list(expected)], list(expected.values()), atol=1e-10)


@seeds
@few
def test_kinds_of_values_give_the_same_numbers(seed: int) -> None:
    frame = posts(seed)
    yes = frame["c"] == "yes"
    words = yes.map({False: "no", True: "yes"})
    category = amce(frame.assign(c=pd.Categorical(words)), FORMULA, "id").frame
    for values in (yes, yes.astype("boolean"), words.astype("string")):
        found = amce(frame.assign(c=values), FORMULA, "id").frame
        np.testing.assert_array_equal(found[NUMBERS], category[NUMBERS])
    answered = frame.dropna(subset=["y"])
    chosen = answered["y"] > 0
    expected = amce(answered.assign(y=chosen.astype(float)), FORMULA, "id").frame
    for values in (chosen, chosen.astype("boolean"), chosen.astype("Int8"), chosen.astype("float32")):
        pd.testing.assert_frame_equal(amce(answered.assign(y=values), FORMULA, "id").frame, expected)


@seeds
@few
def test_missing_values_are_left_out_row_by_row(seed: int) -> None:
    frame = posts(seed)
    complete, answered = frame.dropna(subset=["y", "a"]), frame.dropna(subset=["y"])
    every, own = amce(frame, FORMULA, "id"), amce(complete, FORMULA, "id")
    assert_same(every, own, ["estimate"])
    assert_same(mm(frame, FORMULA, "id"), mm(answered, FORMULA, "id"), ["estimate"])
    g, h = frame["id"].nunique(), complete["id"].nunique()
    ratio = keyed(every)["std_error"] / keyed(own)["std_error"]
    np.testing.assert_allclose(ratio.dropna() ** 2, (g / (g - 1)) / (h / (h - 1)), rtol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["statsmodels", "linearmodels"])
@seeds
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
        assert both["level"].cat.categories.tolist() == ours.frame["level"].cat.categories.tolist()
        assert both["engine"].value_counts().tolist() == [len(ours.frame)] * 2


def test_stacked_tables_keep_levels_in_the_order_in_which_they_appear() -> None:
    frame = posts(1)
    one, two = amce(frame, "y ~ a").frame, amce(frame, "y ~ c + b").frame
    both = stack([one, two])
    assert both["feature"].cat.categories.tolist() == ["a", "c", "b"]
    assert both["level"].astype(str).tolist() == ["z", "x", "y", "no", "yes", "v", "u"]


@seeds
@few
def test_counts_add_up_to_the_rows(seed: int) -> None:
    frame = posts(seed)
    counts = cj_freqs(frame, "~ a + b").frame.groupby("feature", observed=True)["estimate"].sum()
    assert counts.to_dict() == {"a": frame["a"].notna().sum(), "b": len(frame)}
    weighted = cj_freqs(frame, "~ b", by="g", weights="w").frame.set_index(["g", "level"])["estimate"]
    expected = frame.groupby(["g", "b"], observed=True)["w"].sum()
    np.testing.assert_allclose([weighted[key] for key in expected.index], expected)
    np.testing.assert_allclose(cj_props(frame, "~ a + b", weights="w").frame["proportion"].sum(), 1)
    within = cj_props(frame, "~ a + b", margin=1).frame.groupby("a", observed=True)["proportion"].sum()
    np.testing.assert_allclose(within, 1)


def test_ten_thousand_clusters_take_several_portions_and_give_the_plain_sandwich() -> None:
    rng = np.random.default_rng(8)
    n = 20_000
    frame = pd.DataFrame({"y": rng.random(n), "a": rng.choice(["u", "v"], n), "id": np.arange(n) // 2})
    assert build_cells(frame, "y", ["a"], clusters=["id"]).clusters.n > vcov._CLUSTERS_AT_A_TIME
    design = np.column_stack([np.ones(n), frame["a"] == "v"]).astype(float)
    _, errors = by_hand(design, frame["y"], frame["id"])
    np.testing.assert_allclose(amce(frame, "y ~ a", "id").frame["std_error"].iloc[1], errors[1], rtol=1e-10)
