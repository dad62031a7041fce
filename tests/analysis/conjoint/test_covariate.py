"""Models' answers as covariates of people's answers: the regression they stand for, limits, coverage."""

import itertools

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from made_up.choices import FORMULA, LEVELS, panel_and_model

from conjury.analysis.conjoint import amce, amce_diffs, interaction, mm
from conjury.analysis.conjoint.prediction_powered.correction_tasks import tasks_of
from conjury.analysis.conjoint.prediction_powered.covariate import covariates
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.correction import CovariateAdjustment, label_plan
from conjury.inference.errors import InputError

NUMBERS = ["estimate", "std_error", "df", "lower", "upper"]


def adjusted(choices, estimate=amce, **options):
    return estimate(choices, FORMULA, id="judge_id", correct="covariate", **options)


def dummies(table):
    columns = [table[name].eq(level) for name, levels in LEVELS.items() for level in levels[1:]]
    return np.column_stack(columns).astype(float)


def other_profile(table):
    """Dummies of the other profile in the pair of each row; rows alternate between positions."""
    shown = dummies(table)
    return shown.reshape(-1, 2, shown.shape[1])[:, ::-1].reshape(shown.shape)


def regression_with_covariate(choices, interacted):
    """Least squares on the profile and on what the model predicts from the other one, written out."""
    human, model = (choices[choices["judge_kind"] == kind] for kind in ("human", "model"))
    ones = np.ones((len(model), 1))
    both = np.hstack([ones, dummies(model), other_profile(model)])
    slopes = np.linalg.lstsq(both, model["chosen"], rcond=None)[0][1 + dummies(model).shape[1] :]
    covariate = other_profile(human) @ slopes
    covariate -= covariate.mean()
    shown = np.column_stack([np.ones(len(human)), dummies(human)])
    added = shown * covariate[:, None] if interacted else covariate[:, None]
    return np.linalg.lstsq(np.hstack([shown, added]), human["chosen"], rcond=None)[0][1 : shown.shape[1]]


@pytest.mark.parametrize(("people", "slopes"), [(14, "by level"), (13, "common")])
def test_effects_are_those_of_the_regression_with_the_covariate(people, slopes):
    choices = panel_and_model(1, people=people, other=50)
    found = adjusted(choices)
    assert found.settings["slopes"] == slopes
    expected = regression_with_covariate(choices, slopes == "by level")
    np.testing.assert_allclose(
        found.frame["estimate"][found.frame["std_error"].notna()], expected, atol=1e-12
    )


def test_people_alone_models_alone_and_gains_come_with_it_in_all_verbs():
    choices = panel_and_model(1, people=60, other=0)
    for found in (
        adjusted(choices),
        adjusted(choices, mm),
        amce_diffs(choices, "chosen ~ topic + author", by="tone", id="judge_id", correct="covariate"),
        interaction(choices, FORMULA, "tone", "topic", id="judge_id", correct="covariate"),
    ):
        assert found.kind == "prediction_powered"
        assert list(found.extra) == ["human", "models", "gains"]
        assert len(found.human.frame) == len(found.frame) == len(found.gains) == len(found.models)
        assert found.gains["gain"].median() > 1.02
    people = amce(choices[choices["judge_kind"] == "human"], FORMULA, id="judge_id", vcov="CR2")
    np.testing.assert_allclose(adjusted(choices).human.frame[NUMBERS], people.frame[NUMBERS], atol=1e-12)


def test_a_model_that_was_asked_about_other_tasks_alone_is_a_covariate_too():
    choices = panel_and_model(1, people=40, other=400)
    of_people = choices.loc[choices["judge_kind"] == "human", "pair_id"]
    apart = choices[(choices["judge_kind"] == "human") | ~choices["pair_id"].isin(of_people)]
    assert adjusted(apart).gains["gain"].median() > 1.02


def every_pair():
    """All ordered pairs of different profiles, answered by people and a model."""
    profiles = list(itertools.product(*LEVELS.values()))
    pairs = list(itertools.permutations(profiles, 2))
    rng = np.random.default_rng(3)
    utility = [0.8 * (tone == "rude") + 0.3 * (topic == "law") for tone, topic, _ in profiles]
    value = dict(zip(profiles, utility, strict=True))
    tables = []
    for kind, judges in (("human", 24), ("model", 1)):
        first = [value[a] - value[b] + rng.normal() > 0 for a, b in pairs]
        table = pd.DataFrame([shown for pair in pairs for shown in pair], columns=list(LEVELS))
        tables.append(
            table.assign(
                chosen=np.column_stack([first, np.logical_not(first)]).ravel().astype(float),
                pair_id=np.repeat([f"p{number}" for number in range(len(pairs))], 2),
                position=np.tile(["A", "B"], len(pairs)),
                judge_id=[f"{kind}_{number // 2 % judges}" for number in range(len(table))],
                judge_kind=kind,
            )
        )
    return pd.concat(tables, ignore_index=True)


def test_the_covariate_has_expectation_zero_where_pairs_never_show_equal_profiles():
    found = adjusted(every_pair())
    np.testing.assert_allclose(found.frame["estimate"], found.human.frame["estimate"], atol=1e-12)
    covariate, *_ = covariates(*people_and_tasks(every_pair()))
    assert np.ptp(covariate) > 0.1


def apart(choices, name="topic"):
    """The choices between profiles with different levels of an attribute."""
    code = choices[name].cat.codes.to_numpy().reshape(-1, 2)
    return choices[np.repeat(code[:, 0] != code[:, 1], 2)].reset_index(drop=True)


def test_an_attribute_whose_levels_always_differ_has_no_part_in_the_covariate():
    choices = apart(panel_and_model(1, people=10, tasks=15, other=0))
    covariate, _, left_out = covariates(*people_and_tasks(choices))
    assert left_out == ("topic",)
    human = choices[choices["judge_kind"] == "human"]
    shown = human.groupby(["tone", "author"], observed=True).ngroup().to_numpy().reshape(-1, 2)[:, ::-1]
    spread = pd.Series(covariate[0]).groupby(shown.ravel()).agg(np.ptp)
    assert spread.max() < 1e-9
    assert "same level of 'topic' in both profiles" in " ".join(adjusted(choices).notes)


@pytest.mark.parametrize("kinds", [("human", "model"), ("human",)])
def test_pairs_that_lack_a_level_have_no_covariate_and_change_no_other(kinds):
    choices = apart(panel_and_model(1, people=10, tasks=15, other=0))
    lacks = (choices["pair_id"].str[-1] == "3").to_numpy()
    mask = lacks & choices["judge_kind"].isin(kinds).to_numpy()
    covariate, _, left_out = covariates(*people_and_tasks(choices.assign(topic=choices["topic"].mask(mask))))
    lacks_of_people = lacks[(choices["judge_kind"] == "human").to_numpy()]
    assert left_out == ("topic",)
    assert not covariate[0, lacks_of_people].any()
    if len(kinds) == 2:
        expected, _, _ = covariates(*people_and_tasks(choices[~lacks].reset_index(drop=True)))
        np.testing.assert_allclose(covariate[:, ~lacks_of_people], expected, atol=1e-12)


def test_a_design_whose_only_attribute_always_differs_is_refused():
    with pytest.raises(InputError, match="same level of 'topic' in both profiles"):
        mm(apart(panel_and_model(1, other=0)), "chosen ~ topic", id="judge_id", correct="covariate")


@pytest.mark.parametrize(("people", "tasks"), [(2, 1), (5, 2), (5, 6)])
@pytest.mark.filterwarnings("ignore:No standard error", "ignore:No estimate")
def test_degrees_of_freedom_are_those_of_people(people, tasks):
    found = adjusted(panel_and_model(3, people=people, tasks=tasks, other=0), mm)
    pd.testing.assert_series_equal(found.frame["df"], found.human.frame["df"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("pairs", "refused"), [(13, False), (14, True)])
def test_pairs_that_differ_by_chance_leave_people_alone_below_seven_expected_equal_ones(pairs, refused):
    every = apart(panel_and_model(3, people=10, tasks=6, other=0), "tone")
    choices = every[every["pair_id"].isin(every["pair_id"].drop_duplicates().head(pairs))]
    if refused:
        with pytest.raises(InputError, match="same level of 'tone' in both profiles"):
            mm(choices, "chosen ~ tone", id="judge_id", correct="covariate")
    else:
        found = mm(choices, "chosen ~ tone", id="judge_id", correct="covariate")
        pd.testing.assert_frame_equal(found.frame[NUMBERS], found.human.frame[NUMBERS])


@pytest.mark.long
def test_designs_drawn_apart_are_not_refused_and_designs_that_depend_are():
    for people, tasks in ((5, 3), (5, 6), (10, 10)):
        for seed in range(12):
            covariates(*people_and_tasks(panel_and_model(seed, people=people, tasks=tasks, other=0)))
    refused = 0
    for seed in range(8):
        choices = panel_and_model(seed, people=30, other=0)
        rare = choices["pair_id"].str[-1].eq("0").to_numpy()[::2]
        code = choices["topic"].cat.codes.to_numpy().reshape(-1, 2)
        few = choices[np.repeat((code[:, 0] != code[:, 1]) | rare, 2)].reset_index(drop=True)
        try:
            covariates(*people_and_tasks(few))
        except InputError:
            refused += 1
    assert refused == 8


def people_and_tasks(choices):
    """What covariates are computed from: the request, tasks, and equal weights."""
    request = make_request("amce", FORMULA, id="judge_id")
    tasks = tasks_of(request, choices, CovariateAdjustment())
    return request, tasks, np.ones(len(tasks.human))


def differing(choices):
    """The same choices, as if the profiles of four in five pairs had different tones."""
    other = {"kind": "rude", "rude": "kind"}
    second = (choices["position"] == "B").to_numpy() & (choices["pair_id"].str[-1] > "1").to_numpy()
    tone = choices["tone"].astype(str).to_numpy(object)
    tone[second] = [other[name] for name in tone[np.flatnonzero(second) - 1]]
    return choices.assign(tone=tone)


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "correct=covariate"))
def test_what_cannot_be_adjusted_is_refused(match, columns, options) -> None:
    with pytest.raises(InputError, match=match):
        amce(
            panel_and_model(1, other=20).assign(**columns),
            FORMULA,
            **{"id": "judge_id", "correct": "covariate", **options},
        )


def test_designs_in_which_profiles_depend_on_each_other_are_refused():
    with pytest.raises(InputError, match="attributes of a profile depend on those of the other profile"):
        adjusted(differing(panel_and_model(1, other=20)))


def test_a_plan_needs_further_tasks_of_the_model():
    with pytest.raises(InputError, match="give one with correct='ppi'"):
        label_plan(adjusted(panel_and_model(1, other=0)))


def test_few_people_and_missing_answers_of_a_model_are_adjusted():
    choices = panel_and_model(2, people=5, tasks=6, other=0)
    silent = (choices["judge_kind"] == "model") & (choices["pair_id"] < "pair_00010")
    found = adjusted(choices.assign(chosen=choices["chosen"].mask(silent)))
    assert np.isfinite(found.frame["estimate"]).all()
    assert found.settings["slopes"] == "common"
    assert "gpt gave no usable answer in 20 rows" in " ".join(found.notes)


def test_unequal_sampling_is_weighted():
    choices = panel_and_model(4, people=60, other=100)
    chance = np.where(choices["topic"] == "law", 0.2, 0.5)
    pair = pd.Series(chance).groupby(choices["pair_id"]).transform("first")
    found = adjusted(choices.assign(sampling_probability=pair.to_numpy()))
    plain = adjusted(choices)
    assert not np.allclose(found.frame["estimate"], plain.frame["estimate"])
    assert found.frame["std_error"].dropna().between(0.01, 0.2).all()
