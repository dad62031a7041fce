"""Checks of choices as a survey export gives them: few profiles, every presentation with a number."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_folder import SHARED

from conjury.analysis.checks.design.attribute_independence import attribute_independence
from conjury.analysis.checks.design.design_draws import infer_draw
from conjury.analysis.checks.design.design_probabilities import design_probabilities
from conjury.analysis.checks.design.impossible_profiles import SAME, impossible_profiles
from conjury.analysis.checks.judged import split
from conjury.inference.humans import Survey, draft_study, read_qualtrics
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study import Study, load_study
from conjury.inference.tables import write_table

EXPORT = SHARED / "peers" / "projoint_example1_qualtrics.csv.gz"
LEVELS = {"price": ["low", "high"], "colour": ["red", "blue", "green"]}
TASKS = 4


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    rows = [(name, level) for name, levels in LEVELS.items() for level in levels]
    labels = pd.DataFrame(rows, columns=["attribute", "level"])
    labels = labels.assign(attribute_id=labels["attribute"], level_id=labels["level"])
    survey = Survey(pd.DataFrame(), labels, 150, TASKS, False, ())
    path = tmp_path_factory.mktemp("survey") / "survey.yaml"
    path.write_text(draft_study(survey, "survey", "export.csv"), encoding="utf-8")
    return load_study(path)


def presented(profiles: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Choices at random between profiles in the order A, B, A, B, ..., each with a number of its own."""
    n = len(profiles)
    first = np.random.default_rng(seed).integers(0, 2, n // 2)
    task = np.arange(n) // 2
    return profiles.assign(
        judge_id=pd.array([f"r{number}" for number in task // TASKS], dtype="string"),
        judge_kind="human",
        prompt_id=pd.array([pd.NA] * n, dtype="string"),
        pair_id=pd.array([f"p{number}" for number in task], dtype="string"),
        task=task % TASKS + 1,
        position=pd.Categorical(["A", "B"] * (n // 2)),
        profile_id=np.arange(1, n + 1),
        chosen=pd.array(np.column_stack([first, 1 - first]).ravel(), dtype="Int8"),
        status="ok",
        repeat=False,
    )


def drawn_independently(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {name: pd.Categorical(rng.choice(levels, n), levels) for name, levels in LEVELS.items()}
    )


def drawn_in_rounds(rounds: int) -> pd.DataFrame:
    every = pd.DataFrame(list(product(*LEVELS.values())), columns=list(LEVELS))
    table = pd.concat([every] * rounds, ignore_index=True)
    return table.astype({name: pd.CategoricalDtype(levels) for name, levels in LEVELS.items()})


def test_profiles_are_told_apart_by_content_where_every_presentation_has_a_number(study: Study) -> None:
    assert infer_draw(study, presented(drawn_independently(1200))).population is None
    rounds = drawn_in_rounds(200)
    assert infer_draw(study, presented(rounds)).population == 6
    assert infer_draw(study, presented(rounds).iloc[:-3]).population == 6
    lacking = rounds[~((rounds["price"] == "low") & (rounds["colour"] == "red"))]
    assert infer_draw(study, presented(lacking)).population is None


@pytest.mark.long
def test_independent_draws_with_numbered_presentations_pass(study: Study) -> None:
    for seed in range(5):
        judged = split(study, presented(drawn_independently(1200, seed)))
        probabilities = design_probabilities(study, judged, 0.001, 1)
        assert probabilities.verdict == "pass"
        assert "drawn independently" in probabilities.finding
        assert attribute_independence(study, judged, 0.001, 1).verdict == "pass"


def test_a_pair_of_the_same_profile_is_no_error_where_chance_gives_as_many(study: Study) -> None:
    found = impossible_profiles(study, split(study, presented(drawn_independently(1200))), 0.05)
    row = found.table.set_index("rule").loc[SAME]
    assert row["expected"] == pytest.approx(600 / 6)
    assert row["n"] > 50
    assert (found.verdict, found.remedy) == ("pass", "")
    assert "the same profile twice" in found.finding
    profiles = drawn_independently(1200)
    doubled = profiles.iloc[np.where(np.arange(1200) % 10 == 1, np.arange(1200) - 1, np.arange(1200))]
    too_many = impossible_profiles(study, split(study, presented(doubled.reset_index(drop=True))), 0.05)
    assert too_many.verdict == "error"
    assert "more frequent than under independent draws" in too_many.remedy


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not EXPORT.is_file(), reason="no reference tables of peers")
def test_a_public_export_with_random_profiles_shows_no_dependence(tmp_path: Path) -> None:
    survey = read_qualtrics(EXPORT)
    path = tmp_path / "export.yaml"
    path.write_text(draft_study(survey, "export", "export.csv"), encoding="utf-8")
    study = load_study(path)
    write_table(survey.choices, tmp_path / "choices.parquet")
    judged = split(study, load_choices(study, tmp_path / "choices.parquet"))
    assert "drawn independently" in design_probabilities(study, judged, 0.05, 1).finding
    assert attribute_independence(study, judged, 0.05, 1).verdict == "pass"
    assert impossible_profiles(study, judged, 0.05).verdict == "pass"
