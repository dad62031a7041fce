"""Standard errors, detectable effects and reliability of every judge of a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.figures import example
from scipy.stats import t as student

from conjury.analysis.conjoint import power
from conjury.analysis.figures import draw
from conjury.analysis.pipeline.manifest import NO_ERRORS, NO_REPEATS
from conjury.analysis.pipeline.robustness_steps import _widest, robustness
from conjury.analysis.results import Result
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def choices(study):
    prompts = ["context_aware", "baseline"]
    return simulate(
        study, 5, respondents=80, pairs=300, judges=["human", "gpt4o"], prompts=prompts, truth=False
    ).choices


@pytest.fixture(scope="module")
def found(study, choices):
    steps: list[str] = []
    made = robustness(study, choices, draws=19, progress=steps.append)
    assert sorted(steps) == ["Reliability", "Standard errors of gpt4o baseline", "Standard errors of human"]
    return made


@pytest.mark.slow
def test_every_judge_is_estimated_under_the_first_prompt_by_its_own_clusters(found) -> None:
    for name in ("errors", "power"):
        keys = found.tables[name][["judge", "prompt"]].drop_duplicates()
        assert sorted(map(tuple, keys.to_numpy())) == [("gpt4o", "baseline"), ("human", "")]
    survey = found.tables["errors"].query("method == 'survey'")
    assert set(zip(survey["judge"], survey["clusters"], strict=True)) == {
        ("human", "judge_id"), ("gpt4o", "pair_id"),
    }  # fmt: skip


def test_detectable_effects_are_those_of_power_and_of_the_widest_clustered_error(found, study) -> None:
    table = found.tables["power"].query("judge == 'gpt4o'").reset_index(drop=True)
    planned = power(study, pairs=300, power=0.8).frame.astype({"feature": str, "level": str})
    effects = planned.set_index(["feature", "level"])["effect"]
    expected = effects.loc[list(zip(table["feature"], table["level"], strict=True))].tolist()
    assert table["effect_design"].tolist() == expected
    people = found.tables["power"].query("judge == 'human'").iloc[0]
    own = power(study, respondents=80, tasks=15, power=0.8).frame.iloc[0]
    assert (people["respondents"], people["pairs"]) == (80, 1200)
    assert people["effect_design"] == own["effect"]
    errors = found.tables["errors"].query("judge == 'gpt4o' and choice == 'pair + text + user (CR1)'")
    assert set(table["errors"]) == {"pair + text + user (CR1)"}
    scale = student.ppf(0.975, errors["df"]) + student.ppf(0.8, errors["df"])
    np.testing.assert_allclose(table["effect_found"], scale * errors["std_error"].to_numpy())


def test_repeated_tasks_give_reliability_and_corrected_effects(found, study, choices) -> None:
    assert list(found.tables["reliability"]["judge"]) == ["human"]
    assert len(found.tables["position"]) == 1
    corrected = found.tables["corrected"]
    assert list(corrected.columns[:3]) == ["judge", "prompt", "source"]
    keys, tested = ["feature", "level"], corrected[corrected["std_error"].notna()]
    wide = tested.pivot(index=keys, columns="source", values="estimate")
    assert (wide["corrected"].abs() > wide["observed"].abs()).all()


def test_without_repeated_tasks_and_for_a_judge_of_one_pair_notes_give_the_reason(study, choices) -> None:
    models = choices[choices["judge_kind"] == "model"]
    few = pd.concat([choices[choices["judge_kind"] == "human"], models.head(2)])
    alone = study.model_copy(update={"stimuli": []})  # whose errors take seconds
    found = robustness(alone, few[~few["repeat"]], draws=19)
    assert set(found.tables) == {"errors", "power"}
    assert [note.kind for note in found.notes if note.kind] == [NO_ERRORS, NO_REPEATS]
    assert any(note.startswith("Reliability was not estimated: ") for note in found.notes)
    assert set(found.tables["errors"]["judge"]) == {"human"}
    assert any("gpt4o" in note and "were not computed" in note for note in found.notes)
    silent = choices.assign(chosen=pd.array([pd.NA] * len(choices), dtype="Int8"))
    with pytest.raises(InputError, match="No judge has an answer"):
        robustness(study, silent)


def test_the_figure_is_of_one_judge() -> None:
    one = example("detectable").result.frame.assign(prompt="")
    with pytest.raises(InputError, match="one judge and prompt at a time"):
        draw(Result(pd.concat([one.assign(judge=name) for name in "ab"]), "detectable"))


def test_effects_of_a_judge_who_follows_the_position_are_not_corrected(study) -> None:
    one = {"judges": ["gpt4o"], "prompts": ["baseline"], "truth": False}
    made = simulate(study, 5, pairs=200, swapped_share=0.5, **one).choices
    always_a = (made["position"].astype("string") == "A").astype("Int8")
    found = robustness(study, made.assign(chosen=always_a), seed=2)
    assert {"reliability", "position"} <= set(found.tables)
    assert "corrected" not in found.tables
    assert any("gpt4o baseline, effects were not corrected. Below chance" in note for note in found.notes)


def test_a_bootstrap_by_judges_is_named_where_a_model_is_a_single_one(study, choices) -> None:
    by_judge = study.bootstrap.model_copy(update={"unit": "judge_id"})
    alone = study.model_copy(update={"bootstrap": by_judge, "stimuli": []})
    made = robustness(alone, choices[choices["judge_kind"] == "model"], draws=19)
    assert any(
        "name a column with two or more values as `unit` of `bootstrap`" in note for note in made.notes
    )


def test_the_widest_errors_are_the_last_with_most_columns_of_clusters() -> None:
    errors = pd.DataFrame(
        {
            "choice": ["a", "b", "b", "c", "c", "d"],
            "method": ["CR1", "CR1", "CR1", "CR2", "CR2", "HC1"],
            "clusters": ["text", "text, user", "text, user", "text, user", "text, user", "a, b, c"],
            "std_error": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        }
    )
    assert _widest(errors)["std_error"].tolist() == [0.4, 0.5]
