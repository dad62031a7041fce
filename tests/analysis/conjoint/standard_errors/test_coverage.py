"""Bias and coverage of every interval against the known truth of simulated judges, within Monte Carlo error.

Coverage of one coefficient is binomial over data sets. Coverages of the coefficients of one data set
depend on each other, so pooled figures take the data set as the unit.

Marked long, 70 data sets of a model (600 pairs) and 50 panels (120 respondents), 199 draws, 99 of them where
each needs its own errors; marked slow, 1,000 data sets (1,000 pairs) and 600 panels (200 respondents), 499
and 199 draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm
from conjury.analysis.conjoint.estimates import Estimates
from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import read_truth_table
from conjury.inference.simulation.conjoint.true_effects import true_values
from conjury.inference.study import Study, load_study

FORMULA = "chosen ~ slur + identity + topic + reply + curse + engagement"
WITHOUT_IDENTITY = "chosen ~ slur + topic + reply + curse + engagement"
ERROR_RATE = 1e-4
"""Chance that a right estimator fails one of these tests, were the data not the same each time."""
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@cache
def study() -> tuple[Study, pd.DataFrame]:
    found = load_study("moderation")
    return found, enumerate_profiles(found)


def draw(judge: str, seed: int, truth: bool = False, **size: int) -> Any:
    """Simulate one judge; repeated tasks are left out, as in an analysis of effects."""
    folder, profiles = study()
    prompts = {} if judge == "human" else {"prompts": ["baseline"]}
    return simulate(folder, seed, judges=[judge], profiles=profiles, truth=truth, **prompts, **size)


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


def drawn(method: str, draws: int, verb: Any = amce, formula: str = FORMULA, **options: Any) -> Verb:
    return lambda data, seed: bootstrap(verb, data, formula, method=method, draws=draws, seed=seed, **options)


def panel_verbs(draws: int, studentized: int) -> dict[str, tuple[str, Verb]]:
    each = {"percentile": draws, "bca": draws, "studentized": studentized}
    return {
        "normal": ("amce", lambda data, _: amce(data, FORMULA, "judge_id")),
        **{name: ("amce", drawn(name, n, unit="respondent")) for name, n in each.items()},
    }


def model_verbs(draws: int, studentized: int) -> dict[str, tuple[str, Verb]]:
    each = {"percentile": draws, "basic": draws, "bca": draws, "studentized": studentized}
    diffs, by, differences = amce_diffs, {"by": "identity"}, "amce_by_identity"
    return {
        "normal": ("amce", lambda data, _: amce(data, FORMULA, "pair_id")),
        "normal_mm": ("mm", lambda data, _: mm(data, FORMULA, "pair_id")),
        "normal_diffs": (differences, lambda data, _: diffs(data, WITHOUT_IDENTITY, id="pair_id", **by)),
        **{name: ("amce", drawn(name, n)) for name, n in each.items()},
        "percentile_mm": ("mm", drawn("percentile", draws, mm)),
        "percentile_diffs": (differences, drawn("percentile", draws, diffs, WITHOUT_IDENTITY, **by)),
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
def trials(judge: str, many: bool = False) -> dict[str, Trial]:
    draws = (MANY_DRAWS, DRAWS) if many else (DRAWS, STUDENTIZED)
    verbs = (model_verbs if judge == "gpt4o" else panel_verbs)(*draws)
    sets, size = {
        ("gpt4o", False): (70, {"pairs": 600}),
        ("human", False): (50, {"respondents": 120}),
        ("gpt4o", True): (1000, {"pairs": 1000}),
        ("human", True): (600, {"respondents": 200}),
    }[judge, many]
    return run(judge, verbs, sets, **size)


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
    ratio = half / 1.959964 / trial.estimate.std(axis=0, ddof=1)
    np.testing.assert_allclose(np.exp(np.log(ratio).mean()), 1, atol=0.04)


CASES = [("gpt4o", name) for name in model_verbs(2, 2)] + [("human", name) for name in panel_verbs(2, 2)]


def nominal(name: str, draws: int, studentized: int) -> float:
    """Coverage that 95% limits aim at: quantiles of few draws lie between order statistics."""
    n = studentized if name == "studentized" else draws
    return 0.95 if name.startswith("normal") else 0.95 * (n - 1) / (n + 1)


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "name"), CASES)
def test_estimates_are_unbiased_and_intervals_cover_at_their_nominal_rate(judge: str, name: str) -> None:
    trial = trials(judge)[name]
    assert_covers(trial, nominal(name, DRAWS, STUDENTIZED))
    if name.startswith("normal"):
        assert_unbiased(trial)
        assert_errors_match_spread(trial)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("judge", "name"), CASES)
def test_intervals_cover_in_many_data_sets(judge: str, name: str) -> None:
    trial = trials(judge, many=True)[name]
    assert_covers(trial, nominal(name, MANY_DRAWS, DRAWS), slack=0.005)
    assert_unbiased(trial)


# --- effects in the population of stimuli --------------------------------------------------------
SPREADS = [("text", "", 0.8), ("text:slur", "sexism", 3.0), ("user", "", 0.4)]
NOMINAL = 0.95


@cache
def setting() -> tuple[Study, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    study = load_study("moderation")
    table = pd.read_csv(study.folder / "truth.csv", dtype="string", keep_default_na=False)
    table = table[(table["judge"] == "gpt4o") & (table["prompt_id"] == "baseline")]
    rows = [
        {"judge": "gpt4o", "judge_kind": "model", "prompt_id": "baseline", "parameter": "stimulus_sd"}
        | {"feature": term, "level": level, "value": str(sd)}
        for term, level, sd in SPREADS
    ]
    raters = pd.concat([table, pd.DataFrame(rows, dtype="string")], ignore_index=True)
    raters["value"] = raters["value"].astype(float)
    truth = true_values(study, read_truth_table(raters, study))
    return study, enumerate_profiles(study), raters, truth[truth["analysis"] == "amce"]


def coverage(draws: int, pairs: int, **options: object) -> pd.Series:
    """Share of draws in which the interval holds the truth, by feature and level."""
    study, profiles, raters, truth = setting()
    true = truth.set_index(["feature", "level"])["estimate"]
    held = []
    for seed in range(draws):
        made = simulate(study, seed, pairs=pairs, raters=raters, profiles=profiles, truth=False)
        frame = amce(made.choices, FORMULA, **options).frame.dropna(subset="std_error")
        frame = frame.astype({"feature": "string", "level": "string"}).set_index(["feature", "level"])
        held.append(true.reindex(frame.index).between(frame["lower"], frame["upper"]))
    return pd.concat(held, axis=1).mean(axis=1)


CROSSED = {"id": ["pair_id", "text", "user"], "vcov": "CR1"}


def at_least(draws: int) -> float:
    return NOMINAL - 3 * float(np.sqrt(NOMINAL * (1 - NOMINAL) / draws))


@pytest.mark.slow
def test_intervals_by_pair_miss_effects_that_differ_between_texts() -> None:
    found = coverage(40, 6000, id="pair_id")
    assert found["topic"].mean() < 0.8
    assert found["slur", "sexism"] < 0.8


@pytest.mark.parametrize(
    ("draws", "pairs", "options"),
    [
        pytest.param(40, 6000, CROSSED, marks=pytest.mark.slow),
        pytest.param(300, 10_000, CROSSED, marks=pytest.mark.slow),
        pytest.param(300, 10_000, {"id": "text", "vcov": "CR2"}, marks=pytest.mark.slow),
    ],
)
def test_intervals_by_stimuli_cover(draws: int, pairs: int, options: dict) -> None:
    found = coverage(draws, pairs, **options)
    assert found["topic"].mean() > at_least(draws)
    assert found["slur", "sexism"] > at_least(draws)
