"""Restrictions leave combinations out of everything that follows from a design, and nothing else."""

from __future__ import annotations

import shutil
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.analysis.checks.design.attribute_independence import attribute_independence
from conjury.analysis.checks.design.design_card import design_card
from conjury.analysis.checks.design.design_draws import infer_draw
from conjury.analysis.checks.design.design_probabilities import design_probabilities
from conjury.analysis.checks.design.impossible_profiles import EXCLUDED, impossible_profiles
from conjury.analysis.checks.judged import split
from conjury.analysis.conjoint import amce, pamce, power
from conjury.inference.collecting.run_folder import RunFolder
from conjury.inference.design.profiles import (
    attribute_cells,
    draw_panel,
    enumerate_profiles,
    level_probabilities,
)
from conjury.inference.design.run_design import draw_design
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import RaterModel
from conjury.inference.simulation.conjoint.stimulus_effects import cell_choice, choice_at_hand
from conjury.inference.simulation.conjoint.true_effects import level_effects, true_values
from conjury.inference.study import Study, load_study
from conjury.inference.study.restrictions import (
    advice,
    chance,
    count_cells,
    count_removed,
    joint_shares,
    tied_attributes,
)
from conjury.inference.study.study_fields import Combination, Design

HERE = Path(__file__).parent
NEVER = {"school": ["degree"], "job": ["cook", "clerk"]}
SCHOOLS = {"none": 0.5, "college": 0.3, "degree": 0.2}
JOBS = ("cook", "clerk", "doctor")


def content(**design: Any) -> dict[str, Any]:
    """Return a study of applicants; ``design`` adds fields to its design."""
    study: dict[str, Any] = yaml.safe_load((HERE / "applicants.yaml").read_text(encoding="utf-8"))
    study["design"] |= design
    return study


def analyses(formula: str) -> list[dict[str, str]]:
    return [content()["analyses"][0] | {"formula": f"chosen ~ {formula}"}]


@pytest.fixture
def make(tmp_path):
    """Write a study file with some restrictions and read it."""

    def made(*restrictions: dict[str, list[str]], **changes: Any) -> Study:
        study = content(restrictions=[{"levels": levels} for levels in restrictions]) | changes
        (tmp_path / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
        shutil.copy(HERE / "applicants_truth.csv", tmp_path / "truth.csv")
        return load_study(tmp_path)

    return made


def forbidden(table: pd.DataFrame) -> pd.Series[bool]:
    return (table["school"] == "degree") & table["job"].isin(["cook", "clerk"])


def test_what_is_left_has_the_probabilities_of_draws_that_are_repeated_where_forbidden(make):
    study = make(NEVER)
    drawn = {(school, job): share / 3 for (school, share), job in product(SCHOOLS.items(), JOBS)}
    left = {key: p for key, p in drawn.items() if key not in {("degree", "cook"), ("degree", "clerk")}}
    total = sum(left.values())
    cells = attribute_cells(study)
    found = cells.groupby(["school", "job"], observed=True)["probability"].sum()
    assert found.to_dict() == pytest.approx({key: p / total for key, p in left.items()})
    shown = level_probabilities(study).set_index(["feature", "level"])["probability"]
    assert shown["school", "degree"] == pytest.approx(0.2 / 3 / total)
    assert shown["job", "doctor"] == pytest.approx(1 / 3 / total)
    assert shown["learned", "some"] == pytest.approx((0.3 + 0.2 / 3) / total)
    assert shown["tone"].tolist() == [0.5, 0.5]
    assert count_cells(study) == (14, 18)
    assert count_removed(study, study.design.restrictions[0]) == (4, pytest.approx(1 - total))
    assert chance(study, Combination(levels=NEVER)) == 0
    rng, n = np.random.default_rng(4), 200_000  # the same shares by rejected draws
    schools = rng.choice(list(SCHOOLS), n, p=list(SCHOOLS.values()))
    table = pd.DataFrame({"school": schools, "job": rng.choice(JOBS, n)})
    kept = table[~forbidden(table)]
    found = pd.crosstab(kept["job"], kept["school"], normalize=True).loc[list(JOBS), list(SCHOOLS)]
    joint = joint_shares(study, ["job", "school"])
    np.testing.assert_allclose(joint, found, atol=4 * np.sqrt(0.25 / len(kept)))


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    named=st.lists(
        st.dictionaries(
            st.sampled_from(["school", "job", "tone", "learned"]),
            st.integers(0, 1).map(lambda k: [k]),
            min_size=2,
        ),
        max_size=3,
    )
)
def test_shares_of_levels_are_sums_over_the_cells_that_are_left(named):
    study = Study.model_validate(content())
    rules = [
        Combination(levels={name: [study.levels(name)[k] for k in codes] for name, codes in part.items()})
        for part in named
    ]
    free = attribute_cells(study)
    gone = np.zeros(len(free), dtype=bool)
    for rule in rules:
        gone |= np.logical_and.reduce([free[name].isin(levels) for name, levels in rule.levels.items()])
    if gone.all():
        return
    design = Design(pairs=1, respondents=1, tasks=1, restrictions=rules)
    restricted = study.model_copy(update={"design": design})
    left = free[~gone].assign(probability=lambda cells: cells["probability"] / cells["probability"].sum())
    pd.testing.assert_frame_equal(attribute_cells(restricted), left.reset_index(drop=True))
    shares = level_probabilities(restricted).set_index(["feature", "level"])["probability"]
    for (feature, level), share in shares.items():
        assert share == pytest.approx(left.loc[left[feature] == level, "probability"].sum())
    assert count_cells(restricted) == (len(left), len(free))
    assert all(chance(restricted, rule) == pytest.approx(0) for rule in rules)


def test_no_draw_shows_what_is_forbidden_and_profiles_keep_their_numbers(make):
    free, study = enumerate_profiles(make()), make(NEVER)
    profiles = enumerate_profiles(study)
    assert len(profiles) == len(free) - int(forbidden(free).sum()) == 14 * 3
    same = free[~forbidden(free)].reset_index(drop=True)
    pd.testing.assert_frame_equal(profiles.drop(columns="probability"), same.drop(columns="probability"))
    assert profiles["probability"].sum() == pytest.approx(1)
    rows = draw_panel(profiles["probability"].to_numpy(), 300, 5, np.random.default_rng(1))
    assert not forbidden(profiles.iloc[rows.ravel()]).any()
    design = draw_design(study, 100, 0.1, seed=2)
    assert not forbidden(design.profiles).any()
    assert set(design.tasks["profile_id"]) == set(design.profiles["profile_id"])
    assert not forbidden(simulate(study, 1, truth=False).choices).any()


def test_derived_attributes_stand_for_the_levels_that_imply_them(make):
    by_source = make({"school": ["college", "degree"], "job": ["cook"]})
    derived = make({"learned": ["some"], "job": ["cook"]})
    pd.testing.assert_frame_equal(attribute_cells(by_source), attribute_cells(derived))
    assert tied_attributes(by_source) == [("school", "job")]


@pytest.mark.parametrize(("levels", "told"), cases(__file__, "combinations"))
@pytest.mark.parametrize("field", ["restrictions", "implausible"])
def test_combinations_without_a_meaning_are_refused_by_line(tmp_path, levels, told, field):
    possible = {"levels": {"tone": ["loud"], "job": ["clerk"]}, "because": "Clerks are calm."}
    text = yaml.safe_dump(content(**{field: [possible, {"levels": levels}]}), sort_keys=False)
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    if field == "implausible" and ("never occurs" in told or "no combination" in told):
        assert load_study(tmp_path).design.implausible[1].levels == levels
        return
    with pytest.raises(InputError) as refused:
        load_study(tmp_path)
    assert (field + told if told[0] in ":," else told) in str(refused.value)
    line = int(str(refused.value).split(":")[1])
    lines = text.splitlines()
    assert lines.index(f"  {field}:") + 1 < line <= lines.index("prompts:")


def test_the_restriction_that_takes_the_last_of_a_level_is_named(make, tmp_path):
    both = ({"school": ["none"], "job": ["cook", "clerk"]}, {"school": ["none"], "job": ["doctor"]})
    with pytest.raises(InputError, match="school = none never occurs") as refused:
        make(*both)
    lines = (tmp_path / "study.yaml").read_text().splitlines()
    line = int(str(refused.value).split(":")[1])
    assert lines[line - 1].strip().startswith("- levels")
    assert line > lines.index("  restrictions:") + 2


def test_formulas_that_leave_a_tie_out_are_named(make):
    def told(formula: str, *more: dict[str, list[str]]) -> list[str]:
        return advice(make(NEVER, *more, analyses=analyses(formula)))

    assert told("school + job + tone") == [
        "Analysis amce: restrictions tie school with job, and effects without their interaction mix them; "
        "write school * job in the formula."
    ]
    assert "learned * job" in told("learned + job")[0]
    assert told("job * school + tone") == told("school + tone") == advice(make()) == []
    importance = [{**one, "verb": "importance"} for one in analyses("school + job + tone")]
    assert advice(make(NEVER, analyses=importance)) == told("school + job + tone")
    both = told("school + job + tone", {"job": ["doctor"], "tone": ["loud"]})
    assert "make one attribute of their combinations" in both[0]


def test_preferences_are_about_one_attribute(make):
    one = {**analyses("job")[0], "verb": "afcp"}
    assert make(analyses=[one]).analyses[0].features == ["job"]
    with pytest.raises(InputError, match="afcp is about one attribute; name only one"):
        make(analyses=[{**one, "formula": "chosen ~ job + tone"}])


def test_true_effects_are_those_of_the_estimator(make):
    study = make(NEVER)
    worth = {("job", "doctor"): 1.0, ("school", "degree"): 0.5}
    cells = attribute_cells(study)
    choice = cell_choice(study, cells, RaterModel("judge", "model", "plain", part_worth=worth))
    data = cells.assign(chosen=choice.chosen, weight=choice.weight)
    for joined, formula in (([], "school + job"), ([("school", "job")], "school * job")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            estimated = amce(data, f"chosen ~ tone + {formula}", weights="weight").frame
        true = level_effects(cells, choice, ["school", "job", "tone"], joined)
        for name, values in true.items():
            rows = estimated[estimated["feature"] == name].set_index("level")["estimate"]
            np.testing.assert_allclose(values, rows.reindex(study.levels(name)).astype(float), atol=1e-10)


def test_true_values_of_restricted_studies_hold_for_the_stimuli_at_hand_too(make):
    study = make(NEVER, analyses=analyses("school * job + tone"))
    rater = RaterModel("judge", "model", "plain", {("job", "doctor"): 1.0}, stimulus_sd={("photo", ""): 0.7})
    assert choice_at_hand(study, rater, seed=3).weight.shape == (14,)
    found = true_values(study, [rater], stimulus_seed=3).set_index(["feature", "level"])
    doctor = found.loc[("job", "doctor")]
    assert doctor["estimate"].item() == pytest.approx(doctor["estimate_at_hand"].item(), abs=0.1)
    assert found["estimate"].notna().all()


def test_population_effects_and_power_are_those_of_the_cells(make):
    study = make(NEVER)
    cells = attribute_cells(study)
    doctor, loud = cells["job"] == "doctor", cells["tone"] == "loud"
    data = cells.assign(chosen=0.3 + 0.1 * doctor + 0.2 * loud * doctor)
    data = data.loc[np.repeat(data.index, np.rint(cells["probability"] * 1560).astype(int))]
    doctors = {"job": {"doctor": 1.0}}
    with pytest.warns(UserWarning, match="No standard error"):
        found = pamce(data, "chosen ~ tone + job", doctors, opponent=False, design=cells).frame
    assert found.set_index("level").loc["loud", "estimate"] == pytest.approx(0.2)
    by_study, by_cells, free = (power(part, amce=0.1, pairs=900).frame for part in (study, cells, make()))
    pd.testing.assert_frame_equal(by_study, by_cells)
    errors = [table.set_index(["feature", "level"])["std_error"] for table in (by_study, free)]
    worse = errors[0] / errors[1]
    assert worse["school", "degree"] > 1.5
    assert worse["tone", "loud"] == pytest.approx(1)


@pytest.mark.long
def test_diagnostics_know_the_restrictions(make):
    unaware, study = make(), make(NEVER)
    made, free = (
        simulate(each, 2, judges=["people"], respondents=400, truth=False).choices
        for each in (study, unaware)
    )
    judged = split(study, made)
    impossible = impossible_profiles(study, judged, 0.05)
    assert impossible.verdict == "pass"
    assert EXCLUDED in set(impossible.table["rule"])
    assert attribute_independence(study, judged, 0.05, 1).verdict == "pass"
    assert design_probabilities(study, judged, 0.05, 1).verdict == "pass"
    assert "restrictions exclude 4." in design_card(study, judged).finding
    assert attribute_independence(unaware, split(unaware, made), 0.05, 1).verdict == "error"
    assert impossible_profiles(study, split(study, free), 0.05).verdict == "error"
    assert design_probabilities(study, split(study, free), 0.05, 1).verdict == "error"


def test_diagnostics_recognise_draws_without_replacement_among_what_is_left(make):
    even = content()["attributes"]
    for level in even[0]["levels"]:
        del level["probability"]
    study = make({"job": ["cook"], "tone": ["loud"]}, attributes=even)
    design = draw_design(study, 40, 0, seed=1)
    shown = design.tasks.merge(design.profiles, on="profile_id")
    assert infer_draw(study, shown).population == 15 * 3


def test_a_design_drawn_under_other_restrictions_is_refused(make, tmp_path):
    def draw(study: Study, pairs: int | None = None, folder: str = "run") -> dict[str, Any]:
        return RunFolder(tmp_path / folder).draw(study, pairs, None, None).drawn

    draw(make(NEVER))
    assert draw(make(NEVER))["restrictions"] == [NEVER]
    for changed in (make(), make({"school": ["degree"], "job": ["cook"]})):
        with pytest.raises(InputError, match="restrictions of the study file have changed"):
            draw(changed)
        with pytest.raises(InputError, match="restrictions of the study file have changed"):
            RunFolder(tmp_path / "run").content(changed)
    with pytest.raises(InputError, match=r"another design \(pairs 40, swapped_share 0.0, seed 1\)"):
        draw(make(NEVER), 7)
    assert "restrictions" not in draw(make(), folder="free")
