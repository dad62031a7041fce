"""Preferences that study files list: their tables are those of the functions, and reports show each judge."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from made_up.choices import model_and_people
from made_up.results import write_items
from snapshots import shown

from conjury.analysis import conjoint
from conjury.analysis.conjoint.preferences.by_formula import PREFERENCES
from conjury.analysis.figures import draw
from conjury.analysis.pipeline.conjoint_steps import plan_conjoint
from conjury.analysis.pipeline.engine_comparison import compare_engines
from conjury.analysis.pipeline.runner import FitOptions, FittedResults, run
from conjury.analysis.pipeline.steps.group_fits import groups
from conjury.analysis.report import Report
from conjury.inference.errors import InputError
from conjury.inference.study import Study, load_study
from conjury.inference.study.checks_conjoint import ATTRIBUTE_ALONE, _preferences
from conjury.inference.study.study_fields import Analysis, Preference

OPTIONS = FitOptions(draws=0)
EFFECTS = "chosen ~ slur + identity + topic + reply + curse + engagement"
PAIR = ("none", "generic")


def listing(verb: str, **fields: object) -> Analysis:
    formula = "chosen ~ slur" if verb in ATTRIBUTE_ALONE else EFFECTS
    given = {"name": f"{verb}_listed", "verb": verb, "title": verb, "formula": formula, **fields}
    return Analysis.model_validate(given)


@pytest.fixture(scope="module")
def study() -> Study:
    listed = [listing(verb) for verb in PREFERENCES]
    return load_study("moderation").model_copy(update={"analyses": listed})


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    return pd.concat(model_and_people(300, 20, 15), ignore_index=True)


@pytest.fixture(scope="module")
def fitted(study: Study, choices: pd.DataFrame) -> FittedResults:
    return run(plan_conjoint(study, list(groups({"": choices})), OPTIONS).steps)


def test_study_files_list_the_preferences_that_have_functions() -> None:
    assert set(get_args(Preference)) == set(PREFERENCES)


@pytest.mark.long
def test_tables_are_those_of_the_functions(
    study: Study, choices: pd.DataFrame, fitted: FittedResults
) -> None:
    rows = next(group for group in groups({"": choices}) if group.kind == "model")
    how = {"id": ["pair_id"], "vcov": study.clusters.vcov}
    effects = conjoint.amce(rows.choices, EFFECTS, **how)
    expected = {
        "choice_level": conjoint.choice_level(rows.choices, "chosen ~ slur", **how),
        "afcp": conjoint.afcp(rows.choices, "chosen ~ slur", **how),
        "preference_cycles": conjoint.preference_cycles(rows.choices, "chosen ~ slur", **how),
        "importance": conjoint.importance(effects),
        "share_preferring": conjoint.share_preferring(effects),
    }
    for verb, one in expected.items():
        found = fitted.by_name[f"{verb}_listed"]
        own = found.frame[found.frame["judge"] == rows.judge].reset_index(drop=True)
        pd.testing.assert_frame_equal(own[one.frame.columns], one.frame, check_categorical=False)
        assert found.kind == verb
        assert found.frame["judge"].nunique() == len(found.settings["groups"]) == 2
        assert set(found.extra) == set(one.extra)


def test_comparisons_are_those_of_the_study(study: Study, choices: pd.DataFrame) -> None:
    one = study.model_copy(update={"analyses": [listing("choice_level", comparisons=[PAIR])]})
    steps = plan_conjoint(one, list(groups({"": choices})), OPTIONS).steps
    assert set(run(steps).by_name["choice_level_listed"].frame["level"]) == {"none against generic"}


@pytest.mark.parametrize(
    "verb",
    [*list(PREFERENCES)[:1], *(pytest.param(verb, marks=pytest.mark.long) for verb in list(PREFERENCES)[1:])],
)
def test_reports_show_each_judge(verb: str, fitted: FittedResults, tmp_path: Path) -> None:
    result = fitted.by_name[f"{verb}_listed"]
    text = shown(Report(write_items(tmp_path, {verb: result})), verb)
    label = verb.replace("_", "-")
    for mark in ("", "-2"):
        assert f"{{#fig-{label}{mark}" in text
        assert f"{{#tbl-{label}{mark}" in text
    assert "nan" not in text.lower().replace("dominan", "")


def test_figures_of_several_judges_are_refused(fitted: FittedResults) -> None:
    with pytest.raises(InputError, match="of several judges, prompts or variants"):
        draw(fitted.by_name["afcp_listed"])


def test_engines_are_not_compared(study: Study, choices: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="by the engine native only"):
        compare_engines(study, listing("afcp"), next(groups({"": choices})), ["native"])


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (listing("afcp", by=["topic"]), "afcp has no groups; remove by"),
        (listing("afcp", formula=EFFECTS), "afcp is about one attribute; name only one"),
        (listing("importance", comparisons=[PAIR]), "only choice_level has comparisons"),
    ],
)
def test_what_does_not_fit_is_refused(part: Analysis, sentence: str, study: Study) -> None:
    assert any(sentence in problem.sentence for problem in _preferences(part, ("analyses", 0)))
