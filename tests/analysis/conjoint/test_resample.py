"""The bootstrap against naive refits on copied rows, and its intervals against scipy and the textbook."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from cases import calls, refusals
from scipy.special import ndtr, ndtri

from conjury.analysis import conjoint
from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, cj_props, mm
from conjury.analysis.conjoint.standard_errors import resample
from conjury.analysis.conjoint.standard_errors.resample import draw_weights
from conjury.analysis.numerics import intervals
from conjury.analysis.numerics.bootstrap import ResamplingUnits, cross, pigeonhole_weights
from conjury.analysis.numerics.rating_panel import RowClusters
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
CALLS = calls("bootstrap")


def drawn(estimator: Any = amce, data: Any = DATA, formula: str = FORMULA, **options: Any):
    return bootstrap(estimator, data, formula, **{"draws": 20, "seed": 1, **options})


def drawn_counts(unit: str, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each unit in each draw, and the unit of each row."""
    codes = np.arange(len(DATA)) if unit == "row" else np.unique(DATA[unit], return_inverse=True)[1]
    units = cross([RowClusters(codes, int(codes.max()) + 1)])
    return np.vstack([block() for block in draw_weights(units, draws, seed)]), codes


def test_units_are_drawn_once_for_all_estimators_and_give_the_same_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing: list[int] = []

    def counting(units: ResamplingUnits, draws: int, random: np.random.Generator) -> np.ndarray:
        drawing.append(units.n)
        return pigeonhole_weights(units, draws, random)

    monkeypatch.setattr(resample, "pigeonhole_weights", counting)
    resample._kept_counts.cache_clear()
    first = drawn(seed=11, draws=120)
    assert len(drawing) == 3
    drawn(mm, seed=11, draws=120)
    again = drawn(seed=11, draws=120)
    assert len(drawing) == 3
    pd.testing.assert_frame_equal(first.frame, again.frame, check_exact=True)


@pytest.mark.parametrize(
    "unit", ["pair_id", *(pytest.param(unit, marks=pytest.mark.long) for unit in ("row", "respondent"))]
)
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
    np.testing.assert_array_equal(drawn().replicates, drawn(unit="pair_id").replicates)
    answers = DATA.assign(chosen=DATA["chosen"].astype(str))
    whole, rows = (
        drawn(cj_props, answers, "~ chosen", draws=50, **o).replicates for o in ({}, {"unit": "row"})
    )
    np.testing.assert_allclose(whole, 0.5)
    assert rows.std() > 0.01
    renamed = DATA.rename(columns={"pair_id": "pair", "respondent": "judge_id"})
    for unit, column in (("pair", "pair_id"), ("respondent", "respondent")):
        found = drawn(data=renamed, unit=unit).replicates
        np.testing.assert_array_equal(found, drawn(unit=column).replicates)


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
def test_a_seed_gives_the_same_numbers_with_any_number_of_processors(method: Any, monkeypatch) -> None:
    tables = []
    seen: list[int] = []
    for processors in (1, 2, 7):
        monkeypatch.setattr(resample, "processors", lambda found=processors: found)
        tables.append(drawn(draws=120, method=method, progress=seen.append).frame)
    for other in tables[1:]:
        pd.testing.assert_frame_equal(other, tables[0], check_exact=True)
    assert sum(seen) == 3 * 120
    assert (drawn(draws=120, seed=4, method=method).frame["lower"] != tables[0]["lower"]).any()


RARE = DATA.assign(a=DATA["a"].cat.add_categories("rare"))
RARE.loc[[0, 1], "a"] = "rare"


@pytest.mark.parametrize("draws", [51, 200])
@pytest.mark.parametrize("estimator", [amce, mm])
def test_draws_that_lose_a_level_are_missing_for_it_and_left_out(estimator: Any, draws: int) -> None:
    found = drawn(estimator, RARE, unit="row", draws=draws, seed=6)
    lost = drawn_counts("row", draws, 6)[0][:, :2].sum(axis=1) == 0
    position = found.frame.index[found.frame["level"] == "rare"][0]
    np.testing.assert_array_equal(np.isnan(found.replicates[:, position]), lost)
    assert 0 < lost.sum() < draws
    assert not np.isnan(np.delete(found.replicates, position, axis=1)).any()
    kept = found.replicates[~lost, position]
    np.testing.assert_allclose(found.frame.loc[position, "std_error"], kept.std(ddof=1))
    np.testing.assert_allclose(found.frame.loc[position, "lower"], np.quantile(kept, 0.025))
    if estimator is amce:  # and without the reference there are no effects
        found = drawn(estimator, RARE, unit="row", draws=draws, seed=6, reference={"a": "rare"})
        of_a = (found.frame["feature"] == "a").to_numpy() & found.frame["lower"].notna().to_numpy()
        assert np.isnan(found.replicates[lost][:, of_a]).all()
        assert not np.isnan(found.replicates[~lost]).any()


@pytest.mark.long
def test_the_last_lone_draw_of_a_block_is_not_taken_for_zero() -> None:
    lone = 0
    for seed in range(40):
        replicates = drawn(mm, RARE, "chosen ~ a", unit="row", draws=51, seed=seed).replicates[-1]
        lost = drawn_counts("row", 51, seed)[0][-1, :2].sum() == 0
        assert np.isnan(replicates[3]) == lost
        lone += lost
    assert lone > 0


# --- intervals -----------------------------------------------------------------------------------


def test_percentile_and_basic_intervals_are_quantiles() -> None:
    found, basic = (drawn(draws=300, seed=8, method=m, alpha=0.1) for m in METHODS[:2])
    tested = found.frame["lower"].notna().to_numpy()
    replicates, frame, basic = found.replicates[:, tested], found.frame[tested], basic.frame[tested]
    low, high = np.quantile(replicates, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(frame[["lower", "upper"]], np.stack([low, high], axis=1), rtol=1e-12)
    np.testing.assert_allclose(basic["lower"], 2 * basic["estimate"] - high)
    np.testing.assert_allclose(basic["upper"], 2 * basic["estimate"] - low)
    np.testing.assert_allclose(frame["std_error"], replicates.std(axis=0, ddof=1))
    np.testing.assert_allclose(found.vcov, np.cov(replicates.T), rtol=1e-10)


def test_bca_intervals_follow_efron() -> None:
    found = drawn(mm, unit="respondent", weights="w", draws=400, seed=8, method="bca")
    z, y, w = ndtri(0.975), DATA["chosen"].to_numpy(), DATA["w"].to_numpy()
    for (_, row), replicates in zip(found.frame.iterrows(), found.replicates.T, strict=True):
        weight = w * (DATA[str(row["feature"])] == row["level"]).to_numpy()
        influence = weight * (y - np.average(y, weights=weight)) / weight.sum()
        u = pd.Series(influence).groupby(DATA["respondent"].to_numpy()).sum()
        a = (u**3).sum() / (6 * (u**2).sum() ** 1.5)
        bias = ndtri(((replicates < row["estimate"]).sum() + 0.5) / (len(replicates) + 1))
        levels = [ndtr(bias + (bias + s * z) / (1 - a * (bias + s * z))) for s in (-1, 1)]
        np.testing.assert_allclose([row["lower"], row["upper"]], np.quantile(replicates, levels), rtol=1e-9)


def test_studentized_intervals_follow_the_textbook() -> None:
    found = drawn(mm, unit="respondent", draws=200, seed=8, method="studentized")
    counts, codes = drawn_counts("respondent", 200, 8)
    y = DATA["chosen"].to_numpy()
    for (_, row), replicates in zip(found.frame.iterrows(), found.replicates.T, strict=True):
        inside = (DATA[str(row["feature"])] == row["level"]).to_numpy()

        def mean_and_error(count: np.ndarray, inside: np.ndarray = inside) -> tuple[float, float]:
            rows = np.repeat(np.arange(len(DATA)), (count[codes] * inside).astype(int))
            mean = y[rows].mean()
            per_unit = np.bincount(codes[inside], (y[inside] - mean), len(count)) / len(rows)
            return float(mean), float(np.sqrt((count * per_unit**2).sum()))

        estimate, error = mean_and_error(np.ones(counts.shape[1]))
        means, errors = np.array([mean_and_error(count) for count in counts]).T
        low, high = np.quantile((means - estimate) / errors, [0.025, 0.975])
        expected = [estimate - high * error, estimate - low * error]
        np.testing.assert_allclose([row["lower"], row["upper"]], expected, rtol=1e-9)
        np.testing.assert_allclose(replicates, means)


@pytest.mark.parametrize("acceleration", [-0.1, 0.0, 0.1])
def test_a_null_at_the_limit_has_p_of_alpha_whatever_the_acceleration(acceleration: float) -> None:
    replicates = np.random.default_rng(3).gamma(9, size=(20_001, 1))
    sample = intervals.BootstrapSample(np.array([8.8]), replicates, np.array([True]))
    moments = intervals.InfluenceMoments(np.ones(1), np.array([6 * acceleration]))
    found = intervals.bca(sample, moments, 0.1)
    for null in (found.lower[0], found.upper[0]):
        np.testing.assert_allclose(intervals.bca(sample, moments, 0.1, null).p, 0.1, atol=0.002)


@pytest.mark.parametrize(
    ("null", "p"), [(8.0, 2 * 190.5 / 1001), (12.5, 2 * 0.5 / 1001), (12.0, 2 * 1.0 / 1001)]
)
def test_p_of_a_basic_interval_counts_draws_beyond_the_reflected_null(null: float, p: float) -> None:
    """A thousand skewed draws around 10: 8 is reflected at 12, above which there are 190, 12.5 at 7.5."""
    replicates = np.r_[np.linspace(8.0, 11.9, 810), np.linspace(12.1, 20.0, 190)][:, None]
    found = intervals.basic(
        intervals.BootstrapSample(np.array([10.0]), replicates, np.array([True])), 0.05, null
    )
    assert found.p[0] == pytest.approx(p, rel=1e-9)


def test_the_table_has_the_columns_of_the_estimator() -> None:
    plain, found = amce_diffs(DATA, FORMULA, "g", "pair_id"), drawn(amce_diffs, by="g", draws=9, seed=None)
    assert list(found.frame) == list(plain.frame)
    pd.testing.assert_series_equal(found.frame["estimate"], plain.frame["estimate"])
    assert found.provenance.interval == "percentile"
    extra = {"unit": "pair", "n_units": 150, "draws": 9, "seed": None, "method": "percentile"}
    assert found.provenance.extra == extra
    assert len(bootstrap(mm, DATA, "chosen ~ a", seed=1).replicates) == 1000


def test_an_estimate_that_never_varies_has_no_interval() -> None:
    for method in METHODS:
        with pytest.warns(UserWarning, match="No interval for"):
            frame = drawn(data=DATA.assign(chosen=0.1), method=method).frame
        assert frame[["lower", "upper", "p"]].isna().all(axis=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn()


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "bootstrap"))
def test_what_cannot_be_drawn_is_refused(match, columns, options) -> None:
    estimator = getattr(conjoint, options.get("estimator", "amce"))
    with pytest.raises(InputError, match=match):
        drawn(**{"data": DATA.assign(**columns), **options, "estimator": estimator})


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("'pair' or 'pair_id'", lambda: drawn(data=DATA.drop(columns="pair_id"))),
        ("or 'judge_id'", lambda: drawn(mm, DATA[["chosen", "a"]], "chosen ~ a", unit="respondent")),
        ("empty in row 1", lambda: drawn(data=DATA.assign(k=[None] + [1] * 299), unit="k")),
        ("cannot be bootstrapped", lambda: drawn(np.mean)),
        ("A table is given as", lambda: drawn(data=[1])),
    ],
)
def test_data_that_cannot_be_drawn_are_refused(says: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=says):
        call()


def test_ties_with_the_null_are_ties_whatever_rounding_does() -> None:
    rng = np.random.default_rng(3)
    exact = np.repeat([0.4, 0.5, 0.6], [20, 60, 20])[:, None]

    def p(draws: np.ndarray, scale: float) -> np.ndarray:
        sample = intervals.BootstrapSample(np.array([0.5 * scale]), draws, np.array([True]))
        return intervals.percentile(sample, 0.05, 0.5 * scale).p

    for scale in (1.0, 1e-6, 1e6):
        noise = scale * 1e-16 * rng.choice([-1, 1], exact.shape)
        rounded = exact * scale * (1 + 1e-16 * rng.normal(size=exact.shape)) + noise
        assert p(exact * scale, scale) == pytest.approx(1.0)
        np.testing.assert_array_equal(p(rounded, scale), p(exact * scale, scale))
    frame = pd.DataFrame({"chosen": [1.0, 0.0] * 9, "pair_id": np.arange(18) // 2, "w": 0.1})
    frame["a"] = np.random.default_rng(1).choice(list("xyz"), 18)
    plain, tenths = (
        drawn(mm, frame, "chosen ~ a", draws=400, h0=0.5, **o).frame for o in ({}, {"weights": "w"})
    )
    np.testing.assert_allclose(tenths["p"], plain["p"], rtol=1e-12)


@pytest.mark.parametrize(("family", "n"), [("quasibinomial", 120), ("quasibinomial", 117), ("gaussian", 120)])
def test_draws_without_a_finite_logit_are_counted_where_there_are_any(family: str, n: int) -> None:
    data = pd.DataFrame({"a": ["x", "y"] * 60, "y": np.random.default_rng(1).integers(0, 2, 120)})
    data.loc[[5, 117, 119], "a"], data.loc[[5, 117, 119], "y"] = "z", [0, 1, 1]
    data = data[:n].replace({"a": {"z": "z" if n == 120 else "x"}})
    with warnings.catch_warnings(record=True) as caught:
        found = bootstrap(amce, data, "y ~ a", unit="row", draws=60, seed=1, family=family)
    lost = np.isnan(found.replicates).sum(axis=0).max() * (family == "quasibinomial")
    sentences = [f"In {lost} of 60 draws there is no finite logit for a=z"] if lost else []
    assert [str(one.message).split(".")[0] for one in caught if "logit" in str(one.message)] == sentences
    assert (lost > 0) == (family == "quasibinomial" and n == 120)
