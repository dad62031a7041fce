"""Every door whose intervals were measured to cover too rarely says so, and says nothing of large tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from conjury.analysis.benchmark import calibration, passes, score
from conjury.analysis.benchmark import probabilities as scores_of
from conjury.analysis.conjoint import (
    amce,
    amce_diffs,
    bootstrap,
    bounds,
    cj,
    conditional_amce,
    mm,
    people_diffs,
    pmm,
    reliability,
    target_sensitivity,
)
from conjury.analysis.frames import passport
from conjury.analysis.frames.passport import (
    COVERAGE_NOTE_OPENING,
    PassportRow,
    Situation,
    may_fail,
    read_passport,
)
from conjury.analysis.instrument import drift
from conjury.analysis.raters import alt_test, biases, correlations, means
from conjury.analysis.results import Result
from conjury.analysis.trial import load_trial
from conjury.analysis.trial.draw_blocks import _bind_options, draw_data, seeded
from conjury.analysis.trial.passport import (
    choices,
    correction_situations,
    item_sample_situations,
    label_situations,
    preference_situations,
    probability_situations,
    rating_situations,
    repeat_situations,
)
from conjury.analysis.trial.trial_registry import Drawn, find, true_values
from conjury.inference.tables.files import PASSPORT, PASSPORT_TABLE

WITH_TRUTH = (
    choices,
    correction_situations,
    label_situations,
    preference_situations,
    probability_situations,
    rating_situations,
    repeat_situations,
)
DRAWS = 8  # tables of a situation until each of its intervals has a note
FEW = 10  # intervals of which a coverage says little

# by a part of the method's name: rows without a note, and why
WITHOUT_NOTES = {
    "vcov=HC": "These take rows as independent, and the function is given no clusters that it could count."
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
    bad = table[
        (table["coverage_upper"] < passport.LEAST_COVERAGE) & (table["draws"] * (1 - table["without"]) >= FEW)
    ]
    silent = bad["clusters"].gt(0) & bad["method"].str.contains("|".join(WITHOUT_NOTES))
    keys = ["trial", "method", "situation"]
    for _, own in bad[~silent].sort_values("coverage").groupby(keys, sort=False):
        trial, method, situation = own[keys].iloc[0].astype(str)
        yield Failing(trial, method, situation, frozenset(own["quantity"]), own["coverage"].min())


FAILING = list(failing())


def worst() -> list[Failing]:
    """The worst of each family of methods."""
    by_family: dict[str, Failing] = {}
    for one in FAILING:
        by_family.setdefault(one.family, one)
    return list(by_family.values())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """True values are zero, since those of the population take seconds and no note rests on them."""
    zeros = true_values(population=dict.fromkeys(pd.read_csv(PASSPORT_TABLE)["quantity"], 0.0))
    for module in (*WITH_TRUTH, item_sample_situations):
        if hasattr(module, "truth_of"):
            monkeypatch.setattr(module, "truth_of", lambda *given: zeros)


def not_noted(case: Failing, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Intervals of which no note tells where a function is given tables like those of a situation."""
    trial = load_trial(PASSPORT / f"{case.trial}.yaml")
    cell = next(one for one in trial.cells if one.label == case.situation)
    tried = next(one for one in trial.tried if one.label == case.method)
    noted: set[tuple[str, str]] = set()

    def note(label: str, rows: dict[str, PassportRow]) -> str:
        noted.update((label, one.quantity) for one in rows.values())
        return label

    monkeypatch.setattr(passport, "_note", note)
    left = set(case.quantities)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in range(DRAWS):
            data = draw_data(trial, cell, draw).data
            _bind_options(tried, trial)(data, seeded(trial.seed, cell.key, draw))
            left -= {quantity for label, quantity in noted if label == case.situation}
            if not left:
                break
    return left


@pytest.mark.parametrize("case", worst(), ids=str)
def test_the_worst_intervals_of_each_method_have_a_note(
    case: Failing, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_noted(case, monkeypatch) < case.quantities


@pytest.mark.slow
@pytest.mark.parametrize("case", FAILING, ids=str)
def test_every_interval_that_covers_too_rarely_has_a_note(
    case: Failing, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_noted(case, monkeypatch) == set()


def test_reasons_for_silence_are_about_methods_of_the_passport() -> None:
    methods = {method for method, _ in read_passport()}
    assert all(any(part in method for method in methods) for part in WITHOUT_NOTES)
    assert len(worst()) > 20


Frame = pd.DataFrame
F = choices.FORMULA
TARGETED = (F, preference_situations.TARGET)


def compared(frame: Frame) -> Any:
    of_people = frame.loc[frame["judge_kind"] == "human", "pair_id"]
    return people_diffs(frame[frame["pair_id"].isin(of_people)], F)


def drifted(frame: Frame) -> Any:
    frame = frame.assign(sample=frame["sample"] % 2).rename(columns={"prompt_id": "occasion"})
    return drift(frame, cluster="group")


def passed(frame: Frame) -> Any:
    items = frame[["item_id", "group"]].drop_duplicates()
    gold = pd.DataFrame({"item_id": items["item_id"], "label_set": "harm", "label": "yes"})
    judged = frame.drop(columns="prompt_id")
    return passes(score(judged, gold, classes=["yes", "no"], items=items), cluster="group", draws=50)


def scored(frame: Frame) -> Any:
    gold = pd.DataFrame({"item_id": frame["item_id"], "label_set": "harm", "label": frame["gold"]})
    return score(frame.drop(columns="gold"), gold, items=frame[["item_id", "group"]])


DOORS: dict[str, tuple[Callable[..., Drawn], Callable[[Any], Any]]] = {
    "amce": (choices.choices, lambda d: amce(d, F, id="pair_id")),
    "mm": (choices.choices, lambda d: mm(d, F, id="respondent")),
    "amce_diffs": (choices.choices, lambda d: amce_diffs(d, F, by="group", id="pair_id")),
    "cj": (choices.choices, lambda d: cj(d, F, estimate="mm", by="group", id="respondent")),
    "conditional_amce": (choices.choices, lambda d: conditional_amce(d, F, "author", "tone", id="pair_id")),
    "pmm": (choices.choices, lambda d: pmm(d, *TARGETED, opponent=False)),
    "target_sensitivity": (choices.choices, lambda d: target_sensitivity(d, *TARGETED, opponent=False)),
    "bootstrap": (choices.choices, lambda d: bootstrap(amce, d, F, unit="respondent", draws=20, seed=1)),
    "bounds": (choices.choices, lambda d: bounds(mm, d, F, id="respondent")),
    "people_diffs": (correction_situations.people_and_model, compared),
    "corrected": (correction_situations.people_and_model, lambda d: amce(d, F, id="judge_id", correct="ppi")),
    "reliability": (repeat_situations.repeated_tasks, lambda d: reliability(d, draws=50, seed=1)),
    "drift": (repeat_situations.samples, drifted),
    "passes": (repeat_situations.samples, passed),
    "probabilities": (probability_situations.probabilities, lambda d: calibration(scored(d), draws=50)),
    "means": (rating_situations.ratings, lambda d: means(d, cluster="group", draws=50)),
    "biases": (rating_situations.ratings, lambda d: biases(d, draws=50)),
    "correlations": (rating_situations.ratings, lambda d: correlations(d, cluster="group", draws=50)),
    "alt_test": (rating_situations.ratings, lambda d: alt_test(d, "a", cluster="group", draws=50)),
}
NOTED = yaml.safe_load((Path(__file__).resolve().parents[2] / "fixtures" / "passport_notes.yaml").read_text())


def notes_of(door: str, n: int, shape: dict[str, Any]) -> list[str]:
    """Notes about coverage of a table of this size and shape."""
    draw, call = DOORS[door]
    data = draw(np.random.default_rng(1), n=n, **shape).data
    table = rating_situations.judgments(data) if draw is rating_situations.ratings else data.frame
    return [note for note in call(table).notes if COVERAGE_NOTE_OPENING in note]


@pytest.mark.parametrize("door", DOORS)
def test_results_of_sparse_tables_have_the_note_and_of_large_ones_none(door: str, quick: None) -> None:
    case = NOTED[door]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes, none = notes_of(door, case["sparse"], case["few"]), notes_of(door, 2500, case["many"])
    failed = [one for one in read_passport()[case["method"], case["quantity"]] if one.fails]
    texts = [
        (f"{COVERAGE_NOTE_OPENING} ({one.label};", f"{case['words']} ({one.coverage:.0%})") for one in failed
    ]
    assert none == []
    assert not failed or any(note.startswith(start) and row in note for note in notes for start, row in texts)


@pytest.mark.filterwarnings("ignore")
def test_intervals_that_the_passport_did_not_measure_have_no_note(quick: None) -> None:
    case = NOTED["amce"]
    data = choices.choices(np.random.default_rng(1), n=case["sparse"], **case["few"]).data.frame
    for options, is_noted in (({}, True), ({"family": "quasibinomial"}, False), ({"alpha": 0.1}, False)):
        notes = amce(data, F, id="pair_id", **options).notes
        assert any(COVERAGE_NOTE_OPENING in note for note in notes) == is_noted


@pytest.mark.filterwarnings("ignore")
def test_probabilities_of_sparse_tables_have_the_note_and_of_large_ones_none(quick: None) -> None:
    for n in (30, 2500):
        data = probability_situations.probabilities(np.random.default_rng(1), n=n, prevalence=0.2).data
        notes = scores_of(scored(data.frame), draws=50).notes
        assert any(COVERAGE_NOTE_OPENING in note for note in notes) == (n == 30)


def test_the_replacement_test_is_asked_at_the_level_of_the_trial(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}
    names = ("winning_rate", "advantage_probability")
    row = {f"{name}{end}": 0.5 for name in names for end in ("", "_lower", "_upper")}

    def alt_test(table: pd.DataFrame, **options: object) -> Result:
        asked.update(options)
        return Result(pd.DataFrame([row]), "alt_test")

    monkeypatch.setattr("conjury.analysis.raters.alt_test", alt_test)
    data = rating_situations.ratings(np.random.default_rng(1), n=20, clusters=4).data
    found = find("method", "passport_alt_test")(data, alpha=0.1)
    assert asked == {"model": "a", "alpha": 0.1, "cluster": "group"}
    assert found["quantity"].tolist() == list(names)


@pytest.mark.parametrize("part", preference_situations.PARTS)
def test_every_part_of_the_preferences_is_measured(part: str, quick: None) -> None:
    sample = choices.choices(np.random.default_rng(1), n=300).data
    found = find("method", "passport_preference")(sample, part=part)
    assert found["quantity"].str.startswith(f"{part}: ").all()
    assert np.isfinite(found["estimate"]).all()
    if part.startswith("cj_"):
        groups = {name.removeprefix(f"{part}: ").split()[0] for name in found["quantity"]}
        assert groups == set(sample.frame["group"].astype(str))


def test_corrected_effects_and_means_are_measured(quick: None) -> None:
    sample = correction_situations.people_and_model(np.random.default_rng(1), n=100, clusters=20).data
    found = find("method", "passport_corrected_effects")(sample, correct="ppi")
    means = found["quantity"].str.startswith("mean ")
    assert found.loc[means, "estimate"].between(0, 1).all()
    assert (means.sum(), (~means).sum()) == (5, 3)  # of two and three levels


def test_models_answer_as_people_do_in_four_of_five_pairs(quick: None) -> None:
    frame = correction_situations.people_and_model(
        np.random.default_rng(1), n=20_000, clusters=200
    ).data.frame
    wide = frame[frame["position"] == "A"].pivot_table(index="pair_id", columns="judge_kind", values="chosen")
    both = wide.dropna()
    assert (both["human"] == both["model"]).mean() == pytest.approx(0.8, abs=0.01)


def test_rates_of_the_rare_class_and_passes_of_one_two_and_four_samples_are_measured(quick: None) -> None:
    items = find("process", "passport_audit")(np.random.default_rng(1), n=100).data
    rates = find("method", "passport_rates")(items)
    assert set(rates["quantity"].str.partition(": ")[2]) == {"rate of rare"}
    tasks = repeat_situations.samples(np.random.default_rng(1), n=40).data
    passed = set(find("method", "passport_passes")(replace(tasks, draws=20))["quantity"])
    assert {f"{rule} {k}" for rule in ("pass_at_k", "pass_all_k") for k in (1, 2, 4)} <= passed


def test_sequences_have_one_row_for_each_item_and_the_true_values_of_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["share_rare", *(f"with people: {name}" for name in ("percent", "cohen", "krippendorff", "gwet"))]
    known = pd.DataFrame({"quantity": names, "truth": np.arange(5) / 10})
    monkeypatch.setattr(label_situations, "truth_of", lambda *given: known)
    drawn = find("process", "passport_sequence")(np.random.default_rng(1), n=50)
    assert (len(drawn.data.frame), drawn.data.frame["item_id"].nunique()) == (50, 50)
    assert drawn.truth["truth"].tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]


def test_items_of_a_cluster_share_a_class_as_often_as_it_occurs(quick: None) -> None:
    frame = probability_situations.probabilities(
        np.random.default_rng(1), n=20_000, clusters=4_000, prevalence=0.2
    ).data.frame
    assert (frame["gold"] == frame["gold"].mode()[0]).mean() == pytest.approx(0.8, abs=0.015)


@pytest.mark.filterwarnings("ignore")
def test_levels_that_never_occur_leave_the_notes_as_they_are(quick: None) -> None:
    frame = choices.choices(np.random.default_rng(1), n=90, clusters=3).data.frame
    wide = frame.assign(tone=frame["tone"].cat.add_categories("never"))
    notes, same = (mm(data, F, id="respondent").notes for data in (frame, wide))
    assert any("tone=rude" in note for note in notes)
    assert [note for note in same if "tone=never" not in note] == list(notes)


def test_tables_far_from_all_measurements_are_left_before_anything_is_counted() -> None:
    failed = [one for (of, _), rows in read_passport().items() if of == "amce, vcov=survey" for one in rows]
    least = min(one.situation.n for one in failed if one.fails)
    assert may_fail("amce, vcov=survey", Situation(least))
    assert not may_fail("amce, vcov=survey", Situation(5000))
    assert not may_fail("no such method", Situation(least))
