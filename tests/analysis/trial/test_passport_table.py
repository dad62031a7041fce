"""The passport of intervals: no printed quantity lacks a row; rows are what they say, also measured again."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.benchmark.pass_at_k import RULES
from conjury.analysis.conjoint.estimands import PLANS
from conjury.analysis.conjoint.request import VCOVS
from conjury.analysis.correction import rates
from conjury.analysis.frames.kinds import kinds
from conjury.analysis.frames.passport import read_passport
from conjury.analysis.numerics.intervals import METHODS
from conjury.analysis.numerics.metrics.label_metrics import OF_A_CLASS, OVERALL
from conjury.analysis.numerics.metrics.probability_metrics import PROBABILITY_METRICS
from conjury.analysis.raters.agreement.comparisons import CATEGORICAL, NUMERIC
from conjury.analysis.raters.agreement.rater_pairs import KINDS
from conjury.analysis.raters.validation import compare_runs, judge
from conjury.analysis.trial.passport import passport, passport_trials, run_passport
from conjury.inference.tables.files import PASSPORT


@cache
def rows() -> pd.DataFrame:
    return passport().frame


def quantities(method: str) -> set[str]:
    """Quantities of the methods whose label begins so."""
    return set(rows().loc[rows()["method"].str.startswith(method), "quantity"])


def test_every_kind_of_result_that_claims_something_is_measured_or_says_why_not() -> None:
    for name, kind in kinds().items():
        assert bool(kind.passport) + bool(kind.unmeasured) == (kind.claims is not None), name
        assert not kind.passport or quantities(kind.passport), name


def test_every_metric_of_scores_has_rows() -> None:
    named = {*OVERALL, *(f"{kind}_rare" for kind in OF_A_CLASS)}
    assert named <= quantities("scores")
    assert {f"difference of {name}" for name in named - {"missing_rate"}} <= quantities("differences")
    assert {name.split()[0] for name in quantities("passes")} == set(RULES)
    assert {metric.name for metric in PROBABILITY_METRICS} <= quantities("probabilities") | quantities(
        "calibration"
    )


def test_every_coefficient_of_agreement_has_rows() -> None:
    coefficients = {
        name.split(": ")[1].split(",")[0].split()[0] for name in quantities("agreement") if ": " in name
    }
    assert {*CATEGORICAL, *NUMERIC} <= coefficients
    assert {f"with people: {name}" for name in KINDS} <= quantities("agreement")


def test_every_standard_error_interval_and_verb_of_choices_has_rows() -> None:
    methods = set(rows()["method"])
    for vcov in VCOVS:
        assert {f"amce, vcov={vcov}", f"mm, vcov={vcov}"} <= methods
    assert {f"bootstrap, interval={name}" for name in METHODS} <= methods
    assert all(kinds()[verb].passport for verb in PLANS)


def test_every_method_of_rates_has_rows() -> None:
    table = pd.DataFrame({"label": ["a", "b"] * 10 + [None] * 20, "judged": ["a", "b"] * 20})
    methods = set(rates(table).frame["method"].astype(str))
    assert {f"{name}: rate of rare" for name in methods} <= quantities("rates")


@cache
def items(scale: str) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    quality = rng.integers(0, 2 if scale == "nominal" else 5, 40)
    columns = {name: np.where(rng.random(40) < 0.8, quality, quality[::-1]) for name in "abpqr"}
    frame = pd.DataFrame(columns).astype(float)
    frame.loc[30:, "r"] = np.nan
    return frame.assign(id=range(40))


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_every_row_of_judge_with_an_interval_is_measured(scale: str) -> None:
    result = judge(items(scale), "a", ["p", "q", "r"], scale=scale).frame
    measured = {plain(name.split(": ")[-1].removeprefix("people's ")) for name in quantities("judge")}
    bounded = result[result["lower"].notna() & (scale == "nominal" or result["class"].fillna("").eq(""))]
    assert {plain(name) for name in bounded["name"].astype(str)} <= measured


def test_every_row_of_compare_runs_with_an_interval_is_measured() -> None:
    one, other = items("nominal")[["id", "a", "p"]], items("nominal")[["id", "b", "p"]]
    result = compare_runs(one, other, ("a", "b"), "p", id="id").frame
    measured = {plain(name) for name in quantities("compare-runs")}
    names = result.loc[result["lower"].notna(), "name"].astype(str)
    assert {f"runs: {plain(name).replace('answered', 'rate')}" for name in names} <= measured  # also a rate


def plain(name: str) -> str:
    """The name of a measure without its class."""
    return name.split("[")[0]


def test_every_trial_of_the_passport_has_rows_of_all_its_situations() -> None:
    from conjury.analysis.trial import load_trial

    for name in passport_trials():
        trial = load_trial(PASSPORT / f"{name}.yaml")
        assert {cell.label for cell in trial.cells} == set(rows().loc[rows()["trial"] == name, "situation"])
        assert trial.alpha == 0.05


def test_a_row_counts_draws_that_miss_and_those_without_an_interval_or_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nan = np.nan
    draws = pd.DataFrame(
        [
            *[(0.5, 0.4, 0.7)] * 4,  # contain the true value
            *[(0.3, 0.2, 0.4), (0.8, 0.6, 0.9)],  # end below it, or begin above
            *[(0.5, 0.5, 0.5), (0.5, 0.5 + 1e-13, np.inf)],  # no width, or no end; rounding is no miss
            *[(0.5, nan, nan), (nan, nan, nan)],  # no interval, or no estimate
        ],
        columns=["estimate", "lower", "upper"],
    ).assign(truth=0.5, std_error=0.1, p=0.5, estimand="population", quantity="a b")
    block = SimpleNamespace(cell=1, method=0, frame=draws)
    monkeypatch.setattr(f"{run_passport.__module__}.draws_of_trial", lambda *_: ([block], []))
    (row,) = run_passport(only=["dimensions"]).to_dict("records")
    low, high = proportion_confint(6, 8, 0.05, method="wilson")
    expected = {
        "draws": 9,
        "coverage": 6 / 8,
        "below": 1 / 8,
        "above": 1 / 8,
        "without": 1 / 9,
        "point": 1 / 8,
    }
    expected |= {"width": (4 * 0.3 + 0.2 + 0.3) / 7, "coverage_lower": low, "coverage_upper": high}
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["n"], row["prevalence"], row["situation"]) == (100, 0.05, "100 items, best rating of 5%")


def test_shares_of_a_row_add_up() -> None:
    measured_rows = rows()[rows()["coverage"].notna()]
    assert np.allclose(
        measured_rows["coverage"] + measured_rows["below"] + measured_rows["above"], 1, atol=2e-4
    )
    assert (measured_rows["coverage_lower"] <= measured_rows["coverage"]).all()
    assert (measured_rows["draws"] >= 2).all()


def test_the_shipped_table_is_read_by_method_and_quantity() -> None:
    result = read_passport()
    assert len(result) > 400
    assert ("scores", "accuracy") in result


def test_corrections_of_choices_are_measured() -> None:
    from conjury.analysis.correction.correction_methods import COVARIATE, DSL, PPI

    named = {f"corrected effects, correct={name}" for name in (PPI, DSL, COVARIATE)}
    assert named <= set(rows()["method"])


DRAWS = 20  # of each situation
KEYS = ["trial", "method", "quantity", "situation"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", passport_trials())
def test_intervals_cover_and_are_as_wide_as_the_shipped_passport_says(name: str) -> None:
    again, shipped = run_passport(draws=DRAWS, only=[name]), passport().frame
    both = again.merge(shipped, on=KEYS, suffixes=("", "_shipped"), validate="1:1")
    # What hardly ever has an interval may have none in so few draws.
    assert 0.95 * (shipped["trial"] == name).sum() <= len(both) == len(again)
    assert (both["width"] / both["width_shipped"]).groupby(both["method"]).median().between(0.9, 1.1).all()
    known = both[both["coverage"].notna() & both["coverage_shipped"].notna()]
    for method, rows in known.groupby("method"):
        n = rows["draws"] * (1 - rows["without"])
        rate = (1 - rows["coverage_shipped"]).clip(0.02, 0.98)
        # Quantities of one draw may err together: the variance of a sum is at most that of as many copies.
        spread = np.sqrt(rows["quantity"].nunique() * (n * rate * (1 - rate)).sum())
        missed = (n * (rows["coverage_shipped"] - rows["coverage"])).sum()
        assert abs(missed) < 4 * spread, method
