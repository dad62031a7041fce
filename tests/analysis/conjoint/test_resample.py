"""The bootstrap against naive refits on copied rows, and its intervals against scipy and the textbook."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.special import ndtr, ndtri

from conjury.analysis.conjoint import (
    amce,
    amce_by_reference,
    amce_diffs,
    bootstrap,
    cj,
    cj_anova,
    cj_freqs,
    cj_props,
    mm,
    mm_diffs,
    resample,
)
from conjury.analysis.conjoint.resample import draw_weights
from conjury.analysis.numerics import intervals
from conjury.analysis.numerics.bootstrap import cross
from conjury.analysis.numerics.panel import Clusters
from conjury.inference.errors import InputError

FORMULA = "chosen ~ a + b"
METHODS = ("percentile", "basic", "bca", "studentized")


def choices(pairs: int = 150, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = 2 * pairs
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(rng.choice(list("xyz"), n), list("xyz")),
            "b": pd.Categorical(rng.choice(list("uv"), n), list("uv")),
            "g": pd.Categorical(rng.choice(list("mf"), n), list("mf")),
            "w": rng.random(n) + 0.5,
            "pair_id": rng.permutation(np.repeat(np.arange(pairs), 2)),
            "respondent": rng.integers(0, 30, n),
        }
    )
    score = (frame["a"] == "y") * 1.2 - (frame["b"] == "v") * 0.7 + rng.gumbel(size=n)
    best = score.groupby(frame["pair_id"]).transform("max")
    return frame.assign(chosen=(score == best).astype(float))


DATA = choices()
CALLS: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {
    "amce": (amce, FORMULA, {}),
    "amce_weighted": (amce, FORMULA, {"weights": "w"}),
    "amce_restricted": (amce, "chosen ~ a * b", {}),
    "amce_logit": (amce, FORMULA, {"family": "quasibinomial"}),
    "amce_reference": (amce, FORMULA, {"reference": {"a": "z"}}),
    "amce_by_reference": (amce_by_reference, FORMULA, {"variable": "a"}),
    "mm": (mm, FORMULA, {}),
    "mm_weighted": (mm, FORMULA, {"weights": "w"}),
    "amce_diffs": (amce_diffs, FORMULA, {"by": "g"}),
    "mm_diffs": (mm_diffs, FORMULA, {"by": "g"}),
    "cj_amce": (cj, FORMULA, {"by": "g"}),
    "cj_mm": (cj, FORMULA, {"by": ["g", "b"], "estimate": "mm"}),
    "cj_frequencies": (cj, FORMULA, {"by": "g", "estimate": "frequencies"}),
    "cj_freqs": (cj_freqs, "~ a + b", {"weights": "w"}),
    "cj_props": (cj_props, "~ a + b", {"margin": 2}),
}


def drawn_counts(unit: str, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each unit in each draw, and the unit of each row."""
    codes = np.arange(len(DATA)) if unit == "row" else np.unique(DATA[unit], return_inverse=True)[1]
    units = cross([Clusters(codes, int(codes.max()) + 1)])
    return np.vstack([block() for block in draw_weights(units, draws, seed)]), codes


@pytest.mark.parametrize("unit", ["row", "pair_id", "respondent"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:No estimate for b=", "ignore:No standard error for a=x")
def test_a_replicate_is_the_estimate_from_copied_rows(name: str, unit: str) -> None:
    estimator, formula, options = CALLS[name]
    found = bootstrap(estimator, DATA, formula, unit=unit, draws=3, seed=9, **options)
    counts, codes = drawn_counts(unit, 3, 9)
    for count, replicate in zip(counts, found.replicates, strict=True):
        copies = DATA.loc[np.repeat(np.arange(len(DATA)), count[codes].astype(int))]
        frame = estimator(copies, formula, **options).frame
        expected = frame["proportion" if "proportion" in frame else "estimate"]
        np.testing.assert_allclose(replicate, expected, rtol=1e-9, atol=1e-11)


def test_pairs_are_drawn_whole_and_are_the_default() -> None:
    by_default = bootstrap(amce, DATA, FORMULA, draws=20, seed=2)
    np.testing.assert_array_equal(
        by_default.replicates, bootstrap(amce, DATA, FORMULA, unit="pair_id", draws=20, seed=2).replicates
    )
    answers = DATA.assign(chosen=DATA["chosen"].astype(str))
    props = bootstrap(cj_props, answers, "~ chosen", draws=50, seed=3)
    np.testing.assert_allclose(props.replicates, 0.5)
    rows = bootstrap(cj_props, answers, "~ chosen", unit="row", draws=50, seed=3)
    assert rows.replicates.std() > 0.01


def test_units_are_found_by_their_usual_names() -> None:
    renamed = DATA.rename(columns={"pair_id": "pair", "respondent": "judge_id"})
    for unit, column in (("pair", "pair_id"), ("respondent", "respondent")):
        found = bootstrap(amce, renamed, FORMULA, unit=unit, draws=10, seed=1)
        expected = bootstrap(amce, DATA, FORMULA, unit=column, draws=10, seed=1)
        np.testing.assert_array_equal(found.replicates, expected.replicates)


def test_weights_are_multinomial() -> None:
    counts, _ = drawn_counts("pair_id", 4000, 5)
    draws, units = counts.shape
    assert (counts.sum(axis=1) == units).all()
    assert (counts == np.round(counts)).all()
    mean, variance = counts.mean(axis=0), counts.var(axis=0)
    p = 1 / units
    np.testing.assert_allclose(mean.mean(), 1)
    assert np.abs(mean - 1).max() < 5 * np.sqrt((1 - p) / draws)
    np.testing.assert_allclose(variance.mean(), 1 - p, atol=5 * np.sqrt(3 / (draws * units)))
    shares = [np.mean(counts == k) for k in range(4)]
    np.testing.assert_allclose(shares, scipy.stats.binom.pmf(range(4), units, p), atol=0.004)
    assert abs(np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] + p) < 5 / np.sqrt(draws)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_numbers_with_any_number_of_processors(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for processors in (1, 2, 7):
        monkeypatch.setattr(resample, "_processors", lambda found=processors: found)
        tables.append(bootstrap(amce, DATA, FORMULA, draws=120, seed=3, method=method).frame)
    for other in tables[1:]:
        pd.testing.assert_frame_equal(other, tables[0], check_exact=True)
    with_other_seed = bootstrap(amce, DATA, FORMULA, draws=120, seed=4, method=method).frame
    assert (with_other_seed["lower"] != tables[0]["lower"]).any()


def test_progress_counts_every_draw() -> None:
    seen: list[int] = []
    bootstrap(amce, DATA, FORMULA, draws=120, seed=1, progress=seen.append)
    assert sum(seen) == 120


def rare() -> pd.DataFrame:
    frame = DATA.assign(a=DATA["a"].cat.add_categories("rare"))
    frame.loc[[0, 1], "a"] = "rare"
    return frame


@pytest.mark.parametrize("draws", [51, 200])
@pytest.mark.parametrize("estimator", [amce, mm])
def test_draws_that_lose_a_level_are_missing_for_it_and_left_out(estimator: Any, draws: int) -> None:
    frame = rare()
    found = bootstrap(estimator, frame, FORMULA, unit="row", draws=draws, seed=6)
    counts, _ = drawn_counts("row", draws, 6)
    lost = counts[:, :2].sum(axis=1) == 0
    position = found.frame.index[found.frame["level"] == "rare"][0]
    np.testing.assert_array_equal(np.isnan(found.replicates[:, position]), lost)
    assert 0 < lost.sum() < draws
    others = [row for row in found.frame.index if row != position]
    assert not np.isnan(found.replicates[:, others]).any()
    kept = found.replicates[~lost, position]
    np.testing.assert_allclose(found.frame.loc[position, "std_error"], kept.std(ddof=1))
    np.testing.assert_allclose(found.frame.loc[position, "lower"], np.quantile(kept, 0.025))


def test_a_draw_without_the_reference_has_no_effects() -> None:
    frame = rare()
    found = bootstrap(amce, frame, FORMULA, unit="row", draws=100, seed=6, reference={"a": "rare"})
    lost = drawn_counts("row", 100, 6)[0][:, :2].sum(axis=1) == 0
    of_a = (found.frame["feature"] == "a").to_numpy() & found.frame["lower"].notna().to_numpy()
    assert np.isnan(found.replicates[lost][:, of_a]).all()
    assert not np.isnan(found.replicates[~lost]).any()


def test_the_last_lone_draw_of_a_block_is_not_taken_for_zero() -> None:
    frame, lone = rare(), 0
    for seed in range(40):
        replicates = bootstrap(mm, frame, "chosen ~ a", unit="row", draws=51, seed=seed).replicates[-1]
        lost = drawn_counts("row", 51, seed)[0][-1, :2].sum() == 0
        assert np.isnan(replicates[3]) == lost
        lone += lost
    assert lone > 0


# --- intervals -----------------------------------------------------------------------------------


def test_percentile_and_basic_intervals_are_quantiles() -> None:
    found = {m: bootstrap(amce, DATA, FORMULA, draws=300, seed=8, method=m, alpha=0.1) for m in METHODS[:2]}
    replicates, frame = found["percentile"].replicates, found["percentile"].frame
    tested = frame["lower"].notna().to_numpy()
    low, high = np.quantile(replicates[:, tested], [0.05, 0.95], axis=0)
    np.testing.assert_allclose(frame.loc[tested, "lower"], low, rtol=1e-12)
    np.testing.assert_allclose(frame.loc[tested, "upper"], high, rtol=1e-12)
    basic = found["basic"].frame[tested]
    np.testing.assert_allclose(basic["lower"], 2 * basic["estimate"] - high)
    np.testing.assert_allclose(basic["upper"], 2 * basic["estimate"] - low)
    np.testing.assert_allclose(frame.loc[tested, "std_error"], replicates[:, tested].std(axis=0, ddof=1))
    np.testing.assert_allclose(found["percentile"].vcov, np.cov(replicates[:, tested].T), rtol=1e-10)


def test_intervals_of_a_mean_are_those_of_scipy() -> None:
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({"y": rng.exponential(size=60), "a": ["u", "v"] * 30})
    values = frame.loc[frame["a"] == "u", "y"].to_numpy()
    only = frame.assign(a=pd.Categorical(frame["a"], ["u", "v"]))
    for method in ("percentile", "basic", "bca"):
        found = bootstrap(mm, only, "y ~ a", unit="row", draws=20_000, seed=1, method=method).frame.iloc[0]  # type: ignore[arg-type]
        name = {"bca": "BCa"}.get(method, method)
        peer = scipy.stats.bootstrap(
            (values,), np.mean, method=name, n_resamples=20_000, rng=np.random.default_rng(2)
        )
        limits = peer.confidence_interval
        np.testing.assert_allclose([found["lower"], found["upper"]], limits, atol=0.025)


def influence(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    moved = weight * (y - np.average(y, weights=weight)) / weight.sum()
    return np.asarray(moved)


def test_bca_intervals_follow_efron() -> None:
    found = bootstrap(mm, DATA, FORMULA, unit="respondent", weights="w", draws=400, seed=8, method="bca")
    z = ndtri(0.975)
    for number, row in found.frame.iterrows():
        inside = (DATA[str(row["feature"])] == row["level"]).to_numpy()
        moved = np.zeros(len(DATA))
        moved[inside] = influence(DATA["chosen"].to_numpy()[inside], DATA["w"].to_numpy()[inside])
        u = pd.Series(moved).groupby(DATA["respondent"].to_numpy()).sum()
        a = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
        replicates = found.replicates[:, int(str(number))]
        bias = ndtri(((replicates < row["estimate"]).sum() + 0.5) / (len(replicates) + 1))
        levels = [ndtr(bias + (bias + s * z) / (1 - a * (bias + s * z))) for s in (-1, 1)]
        np.testing.assert_allclose([row["lower"], row["upper"]], np.quantile(replicates, levels), rtol=1e-9)


def test_studentized_intervals_follow_the_textbook() -> None:
    draws = 200
    found = bootstrap(mm, DATA, FORMULA, unit="respondent", draws=draws, seed=8, method="studentized")
    counts, codes = drawn_counts("respondent", draws, 8)
    y = DATA["chosen"].to_numpy()
    for number, row in found.frame.iterrows():
        inside = (DATA[str(row["feature"])] == row["level"]).to_numpy()

        def mean_and_error(count: np.ndarray, inside: np.ndarray = inside) -> tuple[float, float]:
            rows = np.repeat(np.arange(len(DATA)), (count[codes] * inside).astype(int))
            mean = y[rows].mean()
            per_unit = np.bincount(codes[inside], (y[inside] - mean), len(count)) / len(rows)
            return float(mean), float(np.sqrt((count * per_unit**2).sum()))

        estimate, error = mean_and_error(np.ones(counts.shape[1]))
        t = np.array([(m - estimate) / s for m, s in map(mean_and_error, counts)])
        low, high = np.quantile(t, [0.025, 0.975])
        expected = [estimate - high * error, estimate - low * error]
        np.testing.assert_allclose([row["lower"], row["upper"]], expected, rtol=1e-9)
        np.testing.assert_allclose(
            found.replicates[:, int(str(number))], [m for m, _ in map(mean_and_error, counts)]
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.05, pytest.param(0.2, marks=pytest.mark.long)])
def test_p_values_invert_the_interval(method: Any, alpha: float) -> None:
    draws, near = 399, 0
    for null in np.linspace(0.3, 0.7, 13):
        frame = bootstrap(mm, DATA, FORMULA, draws=draws, seed=8, method=method, alpha=alpha, h0=null).frame
        outside = (frame["lower"] > null) | (frame["upper"] < null)
        assert (frame.loc[outside, "p"] < alpha + 4 / (draws + 1)).all()
        assert (frame.loc[~outside, "p"] > alpha - 4 / (draws + 1)).all()
        near += int(outside.sum())
    assert 0 < near < 13 * 5


@pytest.mark.parametrize("acceleration", [-0.1, 0.0, 0.1])
def test_a_null_at_the_limit_has_p_of_alpha_whatever_the_acceleration(acceleration: float) -> None:
    replicates = np.random.default_rng(3).gamma(9, size=(20_001, 1))
    sample = intervals.Sample(np.array([8.8]), replicates, np.array([True]))
    moments = intervals.Moments(np.ones(1), np.array([6 * acceleration]))
    found = intervals.bca(sample, moments, 0.1)
    for null in (found.lower[0], found.upper[0]):
        np.testing.assert_allclose(intervals.bca(sample, moments, 0.1, null).p, 0.1, atol=0.002)


@pytest.mark.parametrize("method", METHODS)
def test_p_values_lie_between_one_draw_and_one(method: Any) -> None:
    frame = bootstrap(mm, DATA, FORMULA, draws=99, seed=1, method=method, h0=-50).frame
    assert (frame["p"] < 0.05).all()
    if method != "bca":
        np.testing.assert_allclose(frame["p"], 1 / 100)
    middle = bootstrap(mm, DATA, FORMULA, draws=99, seed=1, method=method, h0=0.5).frame
    assert middle["p"].between(1e-3, 1).all()


def test_quantiles_leave_missing_values_out() -> None:
    values = np.random.default_rng(1).random((50, 3))
    values[:20, 1], values[:, 2] = np.nan, np.nan
    found = intervals._quantiles(values, 0.3)
    np.testing.assert_allclose(found[:2], [np.quantile(values[:, 0], 0.3), np.quantile(values[20:, 1], 0.3)])
    assert np.isnan(found[2])


def test_bootstrap_errors_agree_with_clustered_ones() -> None:
    large = choices(2000)
    for estimator, options in ((amce, {}), (amce_diffs, {"by": "g"})):
        exact = estimator(large, FORMULA, id="pair_id", **options).frame["std_error"].dropna()
        drawn = (
            bootstrap(estimator, large, FORMULA, draws=1500, seed=1, **options).frame["std_error"].dropna()
        )
        np.testing.assert_allclose(drawn, exact, rtol=0.09)


def test_counts_have_percentile_intervals() -> None:
    found = bootstrap(cj_freqs, DATA, "~ a", unit="row", draws=2000, seed=1).frame
    share = found["estimate"] / len(DATA)
    np.testing.assert_allclose(found["std_error"], np.sqrt(len(DATA) * share * (1 - share)), rtol=0.08)
    shares = bootstrap(cj_props, DATA, "~ a", unit="row", draws=2000, seed=1).frame
    np.testing.assert_allclose(shares["std_error"] * len(DATA), found["std_error"], rtol=1e-9)
    assert shares["a"].tolist() == list("xyz")


def test_the_table_has_the_columns_of_the_estimator() -> None:
    plain, drawn = (
        amce_diffs(DATA, FORMULA, "g", "pair_id"),
        bootstrap(amce_diffs, DATA, FORMULA, by="g", draws=9),
    )
    assert list(drawn.frame) == list(plain.frame)
    pd.testing.assert_series_equal(drawn.frame["estimate"], plain.frame["estimate"])
    assert drawn.provenance.interval == "percentile"
    assert drawn.provenance.extra == {
        "unit": "pair", "n_units": 150, "draws": 9, "seed": None, "method": "percentile"
    }  # fmt: skip


def test_an_estimate_that_never_varies_has_no_interval() -> None:
    same = DATA.assign(chosen=0.1)
    for method in METHODS:
        with pytest.warns(UserWarning, match="No interval for"):
            frame = bootstrap(amce, same, FORMULA, draws=20, seed=1, method=method).frame  # type: ignore[arg-type]
        assert frame[["lower", "upper", "p"]].isna().all(axis=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bootstrap(amce, DATA, FORMULA, draws=20, seed=1)


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("needs a column 'nope'", lambda: bootstrap(amce, DATA, FORMULA, unit="nope")),
        ("'pair' or 'pair_id'", lambda: bootstrap(amce, DATA.drop(columns="pair_id"), FORMULA)),
        ("or 'judge_id'", lambda: bootstrap(mm, DATA[["chosen", "a"]], "chosen ~ a", unit="respondent")),
        ("empty in row 1", lambda: bootstrap(amce, DATA.assign(k=[None] + [1] * 299), FORMULA, unit="k")),
        ("no interval 'normal'", lambda: bootstrap(amce, DATA, FORMULA, method="normal")),  # type: ignore[arg-type]
        ("single value", lambda: bootstrap(amce, DATA.assign(k=1), FORMULA, unit="k")),
        ("cj_anova cannot be bootstrapped", lambda: bootstrap(cj_anova, DATA, FORMULA, by="g")),
        ("cannot be bootstrapped", lambda: bootstrap(np.mean, DATA, FORMULA)),  # type: ignore[arg-type]
        ("leave engine out", lambda: bootstrap(amce, DATA, FORMULA, engine="survey")),
        ("draws is 1;", lambda: bootstrap(amce, DATA, FORMULA, draws=1)),
        ("draws is 10.0;", lambda: bootstrap(amce, DATA, FORMULA, draws=10.0)),  # type: ignore[arg-type]
        ("seed is 'x'", lambda: bootstrap(amce, DATA, FORMULA, seed="x")),  # type: ignore[arg-type]
        ("data is a list", lambda: bootstrap(amce, [1], FORMULA)),  # type: ignore[arg-type]
        ("no bca interval", lambda: bootstrap(cj_freqs, DATA, "~ a", method="bca")),
        ("no studentized interval", lambda: bootstrap(cj_props, DATA, "~ a", method="studentized")),
        ("one column", lambda: bootstrap(cj, DATA, FORMULA, estimate="mm_differences")),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(says: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=says):
        call()


def test_ties_with_the_null_are_ties_whatever_rounding_does() -> None:
    rng = np.random.default_rng(3)
    exact = np.repeat([0.4, 0.5, 0.6], [20, 60, 20])[:, None]
    for scale in (1.0, 1e-6, 1e6):
        rounded = exact * scale * (1 + 1e-16 * rng.normal(size=exact.shape)) + scale * 1e-16 * rng.choice(
            [-1, 1], exact.shape
        )
        found = [
            intervals.percentile(
                intervals.Sample(np.array([0.5 * scale]), draws, np.array([True])), 0.05, 0.5 * scale
            )
            for draws in (exact * scale, rounded)
        ]
        assert found[0].p == pytest.approx(1.0)
        np.testing.assert_array_equal(found[1].p, found[0].p)


def test_p_values_of_few_pairs_do_not_depend_on_the_order_of_levels() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"chosen": [1.0, 0.0] * 9, "pair_id": np.arange(18) // 2, "a": rng.choice(list("xyz"), 18)}
    )
    frame["w"] = 0.1
    plain = bootstrap(mm, frame, "chosen ~ a", draws=400, seed=2, h0=0.5).frame.set_index("level")
    tenths = bootstrap(mm, frame, "chosen ~ a", draws=400, seed=2, h0=0.5, weights="w").frame.set_index(
        "level"
    )
    np.testing.assert_allclose(tenths["p"], plain["p"], rtol=1e-12)
