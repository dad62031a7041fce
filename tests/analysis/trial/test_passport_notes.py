"""Every door whose intervals were measured to cover too rarely says so, and says nothing of large tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.frames import passport
from conjury.analysis.frames.passport import LIKE_THIS, Measurement, Situation, may_fail, measurements
from conjury.analysis.trial import load_trial
from conjury.analysis.trial.drawing import _call, draw_data, seeded
from conjury.analysis.trial.parts import true_values
from conjury.analysis.trial.passport import (
    choices,
    corrections,
    further,
    labels,
    preferences,
    probabilities,
    ratings,
    repeats,
)
from conjury.inference.tables.files import PASSPORT, PASSPORT_TABLE

WITH_TRUTH = (choices, corrections, labels, preferences, probabilities, ratings, repeats)
DRAWS = 8  # tables of a situation until each of its intervals has a note
FEW = 10  # intervals of which a coverage says little

# by a part of the method's name: rows without a note, and why
WITHOUT_NOTES = {
    "vcov=HC": "These take rows as independent, and the function is given no clusters that it could count.",
}


@dataclass(frozen=True)
class Failing:
    """Intervals of a method that cover too rarely in a situation."""

    trial: str
    method: str
    situation: str
    quantities: frozenset[str]
    coverage: float  # the least

    @property
    def family(self) -> str:
        """The method without its kind of standard error, interval or correction."""
        return self.method if "part=" in self.method else self.method.split(", ")[0]

    def __str__(self) -> str:
        return f"{self.method}: {self.situation}"


def failing() -> Iterator[Failing]:
    """What the shipped passport has of intervals that cover too rarely, the worst first."""
    table = pd.read_csv(PASSPORT_TABLE)
    bad = table[(table["coverage_upper"] < passport.RULE) & (table["draws"] * (1 - table["without"]) >= FEW)]
    silent = bad["clusters"].gt(0) & bad["method"].str.contains("|".join(WITHOUT_NOTES))
    keys = ["trial", "method", "situation"]
    for _, own in bad[~silent].sort_values("coverage").groupby(keys, sort=False):
        trial, method, situation = own[keys].iloc[0].astype(str)
        yield Failing(trial, method, situation, frozenset(own["quantity"]), own["coverage"].min())


def worst() -> list[Failing]:
    """The worst of each family of methods."""
    by_family: dict[str, Failing] = {}
    for one in failing():
        by_family.setdefault(one.family, one)
    return list(by_family.values())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """True values are zero, since those of the population take seconds and no note rests on them."""
    zeros = true_values(population=dict.fromkeys(pd.read_csv(PASSPORT_TABLE)["quantity"], 0.0))
    for module in (*WITH_TRUTH, further):
        if hasattr(module, "truth_of"):
            monkeypatch.setattr(module, "truth_of", lambda *given: zeros)


def not_noted(case: Failing, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Intervals of which no note tells where a function is given tables like those of a situation."""
    trial = load_trial(PASSPORT / f"{case.trial}.yaml")
    cell = next(one for one in trial.cells if one.label == case.situation)
    tried = next(one for one in trial.tried if one.label == case.method)
    noted: set[tuple[str, str]] = set()

    def note(label: str, rows: dict[str, Measurement]) -> str:
        noted.update((label, one.quantity) for one in rows.values())
        return label

    monkeypatch.setattr(passport, "_note", note)
    left = set(case.quantities)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in range(DRAWS):
            data = draw_data(trial, cell, draw).data
            _call(tried, trial)(data, seeded(trial.seed, cell.key, draw))
            left -= {quantity for label, quantity in noted if label == case.situation}
            if not left:
                break
    return left


@pytest.mark.parametrize("case", worst(), ids=str)
def test_the_worst_intervals_of_each_method_have_a_note(
    case: Failing, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_noted(case, monkeypatch) < case.quantities


@pytest.mark.long
@pytest.mark.parametrize("case", list(failing()), ids=str)
def test_every_interval_that_covers_too_rarely_has_a_note(
    case: Failing, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_noted(case, monkeypatch) == set()


def test_reasons_for_silence_are_about_methods_of_the_passport() -> None:
    methods = {method for method, _ in measurements()}
    assert all(any(part in method for method in methods) for part in WITHOUT_NOTES)
    assert len(worst()) > 20


def drawn(n: int, **shape: Any) -> pd.DataFrame:
    frame: pd.DataFrame = choices.choices(np.random.default_rng(1), n=n, **shape).data.frame
    return frame


def of_amce(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import amce

    return amce(drawn(n, prevalence=0.1), choices.FORMULA, id="pair_id").notes


def of_mm(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import mm

    return mm(drawn(n, clusters=3 if n < 1000 else 500), choices.FORMULA, id="respondent").notes


def of_diffs(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import amce_diffs

    frame = drawn(n, prevalence=0.02 if n < 1000 else 0.3)
    return amce_diffs(frame, choices.FORMULA, by="group", id="pair_id").notes


def of_cj(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import cj

    shape: dict[str, Any] = {"clusters": 20 if n < 1000 else 500, "shape": "zipf" if n < 1000 else "equal"}
    return cj(drawn(n, **shape), choices.FORMULA, estimate="mm", by="group", id="respondent").notes


def of_conditional(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import conditional_amce

    frame = drawn(n, prevalence=0.1)
    return conditional_amce(frame, choices.FORMULA, "author", "tone", id="pair_id").notes


def of_target(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import pmm

    frame = drawn(n, prevalence=0.1)
    return pmm(frame, choices.FORMULA, preferences.TARGET, opponent=False).notes


def of_target_sensitivity(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import target_sensitivity

    frame = drawn(n, prevalence=0.1)
    return target_sensitivity(frame, choices.FORMULA, preferences.TARGET, opponent=False).notes


def of_bootstrap(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import amce, bootstrap

    frame = drawn(n, prevalence=0.1, clusters=10 if n < 1000 else 500)
    return bootstrap(amce, frame, choices.FORMULA, unit="respondent", draws=20, seed=1).notes


def of_bounds(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import bounds, mm

    frame = drawn(n, clusters=30 if n < 1000 else 500, shape="zipf" if n < 1000 else "equal")
    return bounds(mm, frame, choices.FORMULA, id="respondent").notes


def of_people_diffs(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import people_diffs

    shape: dict[str, Any] = {
        "clusters": 30 if n < 1000 else 300,
        "shape": "dominating" if n < 1000 else "equal",
    }
    frame = corrections.people_and_model(np.random.default_rng(1), n=n, **shape).data.frame
    of_people = frame.loc[frame["judge_kind"] == "human", "pair_id"]
    return people_diffs(frame[frame["pair_id"].isin(of_people)], choices.FORMULA).notes


def of_corrected(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import amce

    clusters = 5 if n < 1000 else 300
    frame = corrections.people_and_model(np.random.default_rng(1), n=n, clusters=clusters).data.frame
    return amce(frame, choices.FORMULA, id="judge_id", correct="ppi").notes


def of_reliability(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import reliability

    frame = repeats.repeated_tasks(np.random.default_rng(1), n=n, clusters=n // 4).data.frame
    return reliability(frame, draws=50, seed=1).notes


def of_drift(n: int) -> tuple[str, ...]:
    from conjury.analysis.instrument import drift

    shape: dict[str, Any] = {"clusters": 15, "shape": "dominating"} if n < 1000 else {}
    frame = repeats.samples(np.random.default_rng(1), n=n, **shape).data.frame
    frame = frame.assign(sample=frame["sample"] % 2).rename(columns={"prompt_id": "occasion"})
    return drift(frame, cluster="group").notes


def of_passes(n: int) -> tuple[str, ...]:
    from conjury.analysis.benchmark import passes, score

    shape: dict[str, Any] = {"clusters": 15, "shape": "dominating"} if n < 1000 else {}
    frame = repeats.samples(np.random.default_rng(1), n=n, **shape).data.frame.drop(columns="prompt_id")
    items = frame[["item_id", "group"]].drop_duplicates()
    gold = pd.DataFrame({"item_id": items["item_id"], "label_set": "harm", "label": "yes"})
    return passes(score(frame, gold, classes=["yes", "no"], items=items), cluster="group", draws=50).notes


def of_probabilities(n: int) -> tuple[str, ...]:
    from conjury.analysis.benchmark import calibration, score
    from conjury.analysis.benchmark import probabilities as scores_of

    frame = probabilities.probabilities(np.random.default_rng(1), n=n, prevalence=0.2).data.frame
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    scored = score(frame.drop(columns="gold"), gold, items=frame[["item_id", "group"]])
    return (*calibration(scored, draws=50).notes, *scores_of(scored, draws=50).notes)


def rated(n: int, **shape: Any) -> pd.DataFrame:
    return ratings.judgments(ratings.ratings(np.random.default_rng(1), n=n, **shape).data)


def of_means(n: int) -> tuple[str, ...]:
    from conjury.analysis.raters import means

    shape: dict[str, Any] = {"clusters": 15, "shape": "dominating"} if n < 1000 else {}
    return means(rated(n, **shape), cluster="group", draws=50).notes


def of_biases(n: int) -> tuple[str, ...]:
    from conjury.analysis.raters import biases

    return biases(rated(n), draws=50).notes


def of_correlations(n: int) -> tuple[str, ...]:
    from conjury.analysis.raters import correlations

    shape: dict[str, Any] = {"clusters": 15, "shape": "dominating"} if n < 1000 else {}
    return correlations(rated(n, **shape), cluster="group", draws=50).notes


def of_alt_test(n: int) -> tuple[str, ...]:
    from conjury.analysis.raters import alt_test

    return alt_test(rated(n, clusters=20 if n < 1000 else 0), "a", cluster="group", draws=50).notes


DOORS: dict[Callable[[int], tuple[str, ...]], tuple[int, str, str, str]] = {
    of_amce: (30, "amce, vcov=survey", "author=cem", "author=cem"),
    of_mm: (90, "mm, vcov=survey", "mean tone=rude", "tone=rude"),
    of_diffs: (300, "differences of groups, vcov=survey", "difference author=cem", "author=cem"),
    of_cj: (300, "choices, part=cj_mm", "cj_mm: x author cem", "x: author=cem"),
    of_conditional: (
        100,
        "choices, part=conditional_amce",
        "conditional_amce: author cem rude",
        "rude: author=cem",
    ),
    of_target: (100, "choices, part=pmm", "pmm: tone rude", "tone=rude"),
    of_target_sensitivity: (
        100,
        "choices, part=target_sensitivity",
        "target_sensitivity: tone rude",
        "tone=rude",
    ),
    of_bootstrap: (200, "bootstrap, interval=percentile", "author=cem", "author=cem"),
    of_bounds: (300, "bounds of AMCEs", "mean tone=kind", "tone=kind"),
    of_people_diffs: (300, "people and a model", "model minus people: author=cem", "author=cem"),
    of_corrected: (100, "corrected effects, correct=ppi", "author=cem", "author=cem"),
    of_reliability: (40, "reliability", "tau", "tau"),
    of_drift: (200, "drift", "drift", "judge"),
    of_passes: (200, "passes", "pass_at_k 1", "pass_at_k of 1"),
    of_probabilities: (30, "calibration", "reliability", "reliability"),
    of_means: (200, "means", "mean of a", "mean of a"),
    of_biases: (10, "biases", "quality a range scale_used", "scale_used of a"),
    of_correlations: (200, "correlations", "quality a pearson", "pearson of a"),
    of_alt_test: (200, "replacement test", "winning_rate", "winning_rate"),
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_results_of_sparse_tables_have_the_note_and_of_large_ones_none(
    door: Callable[[int], tuple[str, ...]], quick: None
) -> None:
    sparse, method, quantity, words = DOORS[door]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = [note for note in door(sparse) if LIKE_THIS in note]
        none = [note for note in door(2500) if LIKE_THIS in note]
    failed = [one for one in measurements()[method, quantity] if one.fails]
    texts = [(f"{LIKE_THIS} ({one.label};", f"{words} ({one.coverage:.0%})") for one in failed]
    assert none == []
    assert not failed or any(note.startswith(start) and row in note for note in notes for start, row in texts)


def test_tables_far_from_all_measurements_are_left_before_anything_is_counted() -> None:
    failed = [one for (of, _), rows in measurements().items() if of == "amce, vcov=survey" for one in rows]
    least = min(one.situation.n for one in failed if one.fails)
    assert may_fail("amce, vcov=survey", Situation(least))
    assert not may_fail("amce, vcov=survey", Situation(5000))
    assert not may_fail("no such method", Situation(least))
