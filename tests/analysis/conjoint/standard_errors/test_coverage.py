"""Bias and coverage of every interval against the known truth of simulated judges, within Monte Carlo error.

Coverage of one coefficient is binomial over data sets. Coverages of the coefficients of one data set
depend on each other, so pooled figures take the data set as the unit.

By default 70 data sets of a model (600 pairs) and 50 panels (120 respondents), 199 draws, 99 of them where
each needs its own errors; marked slow, 1,000 data sets (1,000 pairs) and 600 panels (200 respondents), 499
and 199 draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm
from conjury.analysis.conjoint.estimates import Estimates
from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

pytestmark = pytest.mark.long

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
WITHOUT_IDENTITY = "chosen ~ slur + topic + reply + curse + engagement"
ERROR_RATE = 1e-4
"""Chance that a right estimator fails one of these tests, were the data not the same each time."""


@cache
def study() -> tuple[Study, pd.DataFrame]:
    found = load_study("moderation")
    return found, enumerate_profiles(found)


def draw(judge: str, seed: int, truth: bool = False, **size: int) -> Any:
    """Simulate one judge; repeated tasks are left out, as in an analysis of effects."""
    folder, profiles = study()
    prompts = {} if judge == "human" else {"prompts": ["baseline"]}
    return simulate(folder, seed, judges=[judge], profiles=profiles, truth=truth, **prompts, **size)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Trial:
    """Estimates and limits of m coefficients in D data sets, each array (D, m), and the truth (m,)."""

    truth: np.ndarray
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def covered(self) -> np.ndarray:
        return np.asarray((self.lower <= self.truth) & (self.truth <= self.upper))


Verb = Callable[[pd.DataFrame, int], Estimates]


def drawn(unit: str, method: str, draws: int) -> Verb:
    def verb(data: pd.DataFrame, seed: int) -> Estimates:
        return bootstrap(amce, data, FORMULA, unit=unit, method=method, draws=draws, seed=seed)  # type: ignore[arg-type]

    return verb


def panel_verbs(draws: int, studentized: int) -> dict[str, tuple[str, Verb]]:
    return {
        "normal": ("amce", lambda data, _: amce(data, FORMULA, "judge_id")),
        **{name: ("amce", drawn("respondent", name, draws)) for name in ("percentile", "bca")},
        "studentized": ("amce", drawn("respondent", "studentized", studentized)),
    }


def model_verbs(draws: int, studentized: int) -> dict[str, tuple[str, Verb]]:
    return {
        "normal": ("amce", lambda data, _: amce(data, FORMULA, "pair_id")),
        "normal_mm": ("mm", lambda data, _: mm(data, FORMULA, "pair_id")),
        "normal_diffs": (
            "amce_by_identity",
            lambda data, _: amce_diffs(data, WITHOUT_IDENTITY, "identity", "pair_id"),
        ),
        **{name: ("amce", drawn("pair", name, draws)) for name in ("percentile", "basic", "bca")},
        "percentile_mm": ("mm", lambda data, seed: bootstrap(mm, data, FORMULA, draws=draws, seed=seed)),
        "percentile_diffs": (
            "amce_by_identity",
            lambda data, seed: bootstrap(
                amce_diffs, data, WITHOUT_IDENTITY, by="identity", draws=draws, seed=seed
            ),
        ),
        "studentized": ("amce", drawn("pair", "studentized", studentized)),
    }


def run(judge: str, verbs: dict[str, tuple[str, Verb]], sets: int, **size: int) -> dict[str, Trial]:
    truth = draw(judge, 0, truth=True, **size).truth
    values = truth.fillna("").set_index(["analysis", "by", "feature", "level"])["estimate"]
    found: dict[str, list[np.ndarray]] = {name: [] for name in verbs}
    targets: dict[str, np.ndarray] = {}
    for seed in range(1, sets + 1):
        choices = draw(judge, seed, **size).choices
        choices = choices[~choices["repeat"]]
        for name, (analysis, verb) in verbs.items():
            frame = verb(choices, seed).frame.dropna(subset=["lower"])
            found[name].append(frame[["estimate", "lower", "upper"]].to_numpy())
            by = frame["by"] if "by" in frame else [""] * len(frame)
            keys = zip([analysis] * len(frame), by, frame["feature"], frame["level"], strict=True)
            targets[name] = np.array([values[key] for key in keys])
    arrays = {name: np.stack(each) for name, each in found.items()}
    return {name: Trial(targets[name], *np.moveaxis(each, 2, 0)) for name, each in arrays.items()}


DRAWS, STUDENTIZED = 199, 99
MANY_DRAWS = 499


@cache
def models() -> dict[str, Trial]:
    return run("gpt4o", model_verbs(DRAWS, STUDENTIZED), 70, pairs=600)


@cache
def panels() -> dict[str, Trial]:
    return run("human", panel_verbs(DRAWS, STUDENTIZED), 50, respondents=120)


@cache
def many_models() -> dict[str, Trial]:
    return run("gpt4o", model_verbs(MANY_DRAWS, DRAWS), 1000, pairs=1000)


@cache
def many_panels() -> dict[str, Trial]:
    return run("human", panel_verbs(MANY_DRAWS, DRAWS), 600, respondents=200)


def with_draws(draws: int) -> float:
    """Coverage that 95% quantiles of so many draws aim at: the ends lie between order statistics."""
    return 0.95 * (draws - 1) / (draws + 1)


def assert_unbiased(trial: Trial) -> None:
    gap = trial.estimate - trial.truth
    sets, m = gap.shape
    z = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(sets))
    assert np.abs(z).max() < scipy.stats.t.ppf(1 - ERROR_RATE / (2 * m), sets - 1)
    values, vectors = np.linalg.eigh(np.cov(gap.T))
    free = values > 1e-10 * values.max()
    k = int(free.sum())
    along = vectors[:, free].T @ gap.mean(axis=0)
    hotelling = sets * (along**2 / values[free]).sum() * (sets - k) / (k * (sets - 1))
    assert scipy.stats.f.sf(hotelling, k, sets - k) > ERROR_RATE


def assert_covers(trial: Trial, target: float, slack: float = 0.01) -> None:
    """Each coefficient within its binomial bound, their mean within 4 errors over data sets."""
    sets, m = trial.covered.shape
    counts = trial.covered.sum(axis=0)
    low = scipy.stats.binom.ppf(ERROR_RATE / m, sets, target - slack)
    high = scipy.stats.binom.ppf(1 - ERROR_RATE / m, sets, target + slack)
    assert counts.min() >= low
    assert counts.max() <= high
    share = trial.covered.mean(axis=1)
    error = share.std(ddof=1) / np.sqrt(sets)
    assert abs(share.mean() - target) < slack + 4 * error


def assert_errors_match_spread(trial: Trial) -> None:
    half = (trial.upper - trial.lower).mean(axis=0) / 2
    spread = trial.estimate.std(axis=0, ddof=1)
    ratio = half / 1.959964 / spread
    np.testing.assert_allclose(np.exp(np.log(ratio).mean()), 1, atol=0.04)


NORMAL = ["normal", "normal_mm", "normal_diffs"]
PANEL = ["normal", "percentile", "bca", "studentized"]
MODEL = [*NORMAL, "percentile", "percentile_mm", "percentile_diffs", "basic", "bca", "studentized"]


def nominal(name: str, draws: int, studentized: int) -> float:
    if name in NORMAL:
        return 0.95
    return with_draws(studentized if name == "studentized" else draws)


@pytest.mark.parametrize("name", NORMAL)
def test_estimates_from_a_model_are_unbiased(name: str) -> None:
    assert_unbiased(models()[name])


@pytest.mark.parametrize("name", MODEL)
def test_intervals_for_a_model_cover_at_their_nominal_rate(name: str) -> None:
    assert_covers(models()[name], nominal(name, DRAWS, STUDENTIZED))


def test_effects_from_a_panel_are_unbiased() -> None:
    assert_unbiased(panels()["normal"])


@pytest.mark.parametrize("name", PANEL)
def test_intervals_for_a_panel_clustered_by_respondent_cover_at_their_nominal_rate(name: str) -> None:
    assert_covers(panels()[name], nominal(name, DRAWS, STUDENTIZED))


@pytest.mark.parametrize("name", NORMAL)
def test_errors_for_a_model_are_the_spread_of_the_estimates(name: str) -> None:
    assert_errors_match_spread(models()[name])


def test_errors_for_a_panel_are_the_spread_of_the_estimates() -> None:
    assert_errors_match_spread(panels()["normal"])


def test_the_checks_notice_errors_that_are_15_percent_too_small() -> None:
    trial = models()["normal"]
    narrow = partial(Trial, trial.truth, trial.estimate)
    half = 0.85 * (trial.upper - trial.lower) / 2
    with pytest.raises(AssertionError):
        assert_covers(narrow(trial.estimate - half, trial.estimate + half), 0.95)


def test_the_checks_notice_a_shift_of_half_an_error() -> None:
    trial = models()["normal"]
    shift = 0.5 * trial.estimate.std(axis=0)
    with pytest.raises(AssertionError):
        assert_unbiased(Trial(trial.truth + shift, trial.estimate, trial.lower, trial.upper))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", MODEL)
def test_intervals_for_a_model_cover_in_a_thousand_data_sets(name: str) -> None:
    trial = many_models()[name]
    assert_covers(trial, nominal(name, MANY_DRAWS, DRAWS), slack=0.005)
    assert_unbiased(trial)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PANEL)
def test_intervals_for_a_panel_cover_in_six_hundred_data_sets(name: str) -> None:
    trial = many_panels()[name]
    assert_covers(trial, nominal(name, MANY_DRAWS, DRAWS), slack=0.005)
    assert_unbiased(trial)
