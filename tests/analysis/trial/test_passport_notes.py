"""Every door whose intervals were measured to cover too rarely says so, and says nothing of large tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.frames import passport
from conjury.analysis.frames.passport import Situation, may_fail
from conjury.analysis.trial import load_trial
from conjury.analysis.trial.drawing import _call, draw_data, seeded
from conjury.analysis.trial.passport.corrections import people_and_model
from conjury.inference.tables.files import PASSPORT, PASSPORT_TABLE

# methods with an interval that covers too rarely whose results have no note yet
SILENT = {
    "biases",
    "bootstrap",
    "bounds of AMCEs",
    "choices, part=conditional_amce",
    "choices, part=target_sensitivity",
    "corrected effects",
    "passes",
    "replacement test",
}


@dataclass(frozen=True)
class Failing:
    """The worst row of a family of methods."""

    trial: str
    method: str
    situation: str


def family(method: str) -> str:
    """A method without its kind of standard error, interval or correction."""
    return method if "part=" in method else method.split(", ")[0]


@cache
def failing() -> dict[str, Failing]:
    table = pd.read_csv(PASSPORT_TABLE)
    table = table[table["coverage_upper"] < passport.RULE].sort_values("coverage", kind="stable")
    table["family"] = table["method"].map(family)
    worst = table.groupby("family").head(1)
    return {row.family: Failing(row.trial, row.method, row.situation) for row in worst.itertuples()}


def noted(case: Failing, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Situations named by notes where a door is given a table like that of a row."""
    trial = load_trial(PASSPORT / f"{case.trial}.yaml")
    cell = next(one for one in trial.cells if one.label == case.situation)
    tried = next(one for one in trial.tried if one.label == case.method)
    given: list[str] = []
    monkeypatch.setattr(passport, "_note", lambda label, rows: given.append(label) or label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in range(3):
            drawn = draw_data(trial, cell, draw)
            _call(tried, trial)(drawn.data, seeded(trial.seed, cell.key, draw))
            if given:
                break
    return given


def test_every_method_that_covers_too_rarely_has_a_note_or_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(failing()) >= SILENT
    assert len(failing()) > len(SILENT) + 15


@pytest.mark.parametrize("name", sorted(set(failing()) - SILENT))
def test_a_sparse_table_has_the_note(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = failing()[name]
    assert case.situation in noted(case, monkeypatch)


def choices(n: int, **options: object) -> pd.DataFrame:
    from conjury.analysis.trial.passport.choices import choices as drawn

    return drawn(np.random.default_rng(1), n=n, **options).data.frame


def amce_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import amce

    return amce(choices(n, prevalence=0.1), "chosen ~ tone + author", id="pair_id").notes


def mm_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import mm

    shape = {"clusters": 3} if n < 1000 else {"clusters": 500}
    return mm(choices(n, **shape), "chosen ~ tone + author", id="respondent").notes


def pmm_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import pmm

    target = {"author": {"ada": 0.2, "ben": 0.2, "cem": 0.6}}
    return pmm(choices(n, prevalence=0.1), "chosen ~ tone + author", target, opponent=False).notes


def people_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import people_diffs

    frame = people_and_model(np.random.default_rng(1), n=n, clusters=5 if n < 1000 else 300).data.frame
    human = frame["judge_kind"] == "human"
    return people_diffs(
        frame[frame["pair_id"].isin(frame.loc[human, "pair_id"])], "chosen ~ tone + author"
    ).notes


def reliability_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.conjoint import reliability
    from conjury.analysis.trial.passport.repeats import repeated_tasks

    frame = repeated_tasks(np.random.default_rng(1), n=n, clusters=n // 4).data.frame
    return reliability(frame, draws=50, seed=1).notes


def calibration_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.benchmark import calibration, probabilities, score
    from conjury.analysis.trial.passport.probabilities import probabilities as drawn

    frame = drawn(np.random.default_rng(1), n=n, prevalence=0.2).data.frame
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    scored = score(frame.drop(columns="gold"), gold, items=frame[["item_id", "group"]])
    return (*calibration(scored, draws=50).notes, *probabilities(scored, draws=50).notes)


def means_notes(n: int) -> tuple[str, ...]:
    from conjury.analysis.raters import means
    from conjury.analysis.trial.passport.ratings import judgments, ratings

    sample = ratings(np.random.default_rng(1), n=n, clusters=20 if n < 1000 else 500).data
    long = judgments(sample)
    items = long.drop_duplicates("item_id")[["item_id", "group"]]
    return means(long.drop(columns="group"), items, cluster="group", draws=50).notes


@pytest.mark.parametrize(
    ("door", "sparse", "quantity"),
    [
        (amce_notes, 30, "author=cem (84%)"),
        (mm_notes, 90, "tone=rude (78%)"),
        (pmm_notes, 100, "tone=rude (73%)"),
        (people_notes, 100, "author=cem (85%)"),
        (reliability_notes, 40, "tau (83%)"),
        (calibration_notes, 30, "reliability (55%)"),
        (means_notes, 200, "mean of human (85%)"),
    ],
)
def test_results_of_sparse_tables_have_the_note_and_of_large_ones_none(
    door: Callable[[int], tuple[str, ...]], sparse: int, quantity: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert any("In simulated tables like this one" in note and quantity in note for note in door(sparse))
        assert not any("In simulated tables" in note for note in door(2500))


def test_tables_far_from_all_measurements_are_left_before_anything_is_counted() -> None:
    assert may_fail("amce, vcov=survey", Situation(30))
    assert not may_fail("amce, vcov=survey", Situation(5000))
    assert not may_fail("no such method", Situation(30))
