"""Shares of strata among people's tasks: Neyman's, few tasks, costs, and draws that have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import FORMULA, panel_and_model

from conjury.analysis.conjoint import amce
from conjury.analysis.correction import label_plan
from conjury.analysis.correction.labelling_strata import PRIOR, precision_gain, strata_plan
from conjury.inference.design.sampling import draw_sample, inclusion_probabilities, planned_sizes
from conjury.inference.errors import InputError

PLAN = ("chosen", ["human"], ["gpt"])


@pytest.fixture(scope="module")
def choices() -> pd.DataFrame:
    """People agree with the model on all tasks about kind profiles alone, elsewhere at random."""
    table = panel_and_model(1, people=40, other=600)
    kind = (table["tone"] == "kind").groupby(table["pair_id"]).transform("all")
    model = table[table["judge_kind"] == "model"].set_index(["pair_id", "position"])["chosen"]
    same = model.reindex(pd.MultiIndex.from_frame(table[["pair_id", "position"]])).to_numpy()
    return table.assign(chosen=table["chosen"].where(~kind, same))


def test_shares_are_those_of_neyman(choices: pd.DataFrame) -> None:
    found = strata_plan(choices, "tone", *PLAN, people=[20], tasks=10)
    assert found["stratum"].tolist() == ["kind | kind", "kind | rude", "rude | rude"]
    human, model = (choices[choices["judge_kind"] == kind] for kind in ("human", "model"))
    answers = model.set_index(["pair_id", "position"])["chosen"]
    answer = answers.reindex(pd.MultiIndex.from_frame(human[["pair_id", "position"]])).to_numpy()
    design = np.column_stack([np.ones(len(human)), answer])
    residual = human["chosen"] - design @ np.linalg.lstsq(design, human["chosen"], rcond=None)[0]
    rude = (human["tone"] == "rude").groupby(human["pair_id"]).transform("sum")
    both = (model["tone"] == "rude").groupby(model["pair_id"]).sum()
    expected = []
    for number in range(3):
        own = (residual[rude == number] ** 2).to_numpy()
        tasks = len(own) / 2
        spread = np.sqrt((tasks * own.mean() + PRIOR * (residual**2).mean()) / (tasks + PRIOR))
        expected.append((both == number).sum() * spread)
    np.testing.assert_allclose(found["share"], np.array(expected) / sum(expected))
    np.testing.assert_allclose(found["tasks"], 200 * found["share"])
    assert found["residual_sd"].iloc[0] < 0.8 * found["residual_sd"].iloc[2]


def test_a_stratum_gets_no_more_tasks_than_it_has_and_a_dear_one_fewer(choices: pd.DataFrame) -> None:
    all_of_it = strata_plan(choices, "tone", *PLAN, people=[10_000], tasks=10)
    assert (all_of_it["tasks"] <= all_of_it["tasks_model"] + 1e-9).all()
    assert all_of_it["tasks"].sum() == pytest.approx(1000)
    costs = {"kind | kind": 1.0, "kind | rude": 1.0, "rude | rude": 4.0}
    dear = strata_plan(choices, "tone", *PLAN, people=[20], tasks=10, costs=costs)
    plain = strata_plan(choices, "tone", *PLAN, people=[20], tasks=10)
    odds = (dear["share"] / plain["share"]).to_numpy()
    np.testing.assert_allclose(odds[2] / odds[0], 0.5)


def test_strata_without_tasks_of_people_have_the_residual_of_all(choices: pd.DataFrame) -> None:
    human = (choices["judge_kind"] == "human").to_numpy()
    rude = (choices["tone"] == "rude").groupby(choices["pair_id"]).transform("all").to_numpy()
    found = strata_plan(choices[~(human & rude)], "tone", *PLAN, people=[20], tasks=10)
    row = found.set_index("stratum").loc["rude | rude"]
    assert row["tasks_both"] == 0
    weights = found["tasks_both"] / found["tasks_both"].sum()
    assert row["residual_sd"] == pytest.approx(np.sqrt((weights * found["residual_sd"] ** 2).sum()), rel=0.05)


def test_a_perfect_model_shares_tasks_out_in_proportion() -> None:
    table = panel_and_model(1, people=5, tasks=6, other=100)
    model = table[table["judge_kind"] == "model"].set_index(["pair_id", "position"])["chosen"]
    same = model.reindex(pd.MultiIndex.from_frame(table[["pair_id", "position"]])).to_numpy()
    found = strata_plan(table.assign(chosen=same), "tone", *PLAN, people=[5], tasks=6)
    np.testing.assert_allclose(found["share"], found["tasks_model"] / found["tasks_model"].sum(), rtol=1e-6)


def test_a_label_plan_has_strata_for_each_number_of_people(choices: pd.DataFrame) -> None:
    measured = amce(choices, FORMULA, id="judge_id", correct="ppi")
    plan = label_plan(measured, [20, 40], choices=choices, strata="tone")
    strata = plan.extra["strata"]
    assert strata.groupby("people")["tasks"].sum().tolist() == pytest.approx([200, 400])
    assert any("is as precise as 1." in note for note in plan.notes)
    with pytest.raises(InputError, match="strata are planned from answers"):
        label_plan(measured, strata="tone")
    with pytest.raises(InputError, match="no column 'mood'"):
        label_plan(measured, choices=choices, strata="mood")
    with pytest.raises(InputError, match="no cost of"):
        label_plan(measured, choices=choices, strata="tone", cost_strata={"kind | kind": 1.0})


def test_draws_have_the_planned_shares() -> None:
    strata = np.array(["a | a"] * 30 + ["a | b"] * 50 + ["b | b"] * 20, dtype=object)
    table = pd.DataFrame({"stratum": ["a | a", "a | b", "b | b"], "share": [0.2, 0.3, 0.5]})
    probability = inclusion_probabilities(planned_sizes(strata, table, "plan.csv"), 20)
    np.testing.assert_allclose(pd.Series(probability).groupby(strata).sum(), [4, 6, 10])
    code = np.unique(strata.astype(str), return_inverse=True)[1]
    drawn = draw_sample(probability, np.random.default_rng(1), code)
    assert np.bincount(code[drawn]).tolist() == [4, 6, 10]
    with pytest.raises(InputError, match=r"stratum 'b \| b' of the pairs has no share above 0"):
        planned_sizes(strata, table.iloc[:2], "plan.csv")
    with pytest.raises(InputError, match="column 'share' is missing"):
        planned_sizes(strata, table[["stratum"]], "plan.csv")


def test_the_gain_of_a_plan_is_at_equal_cost(choices: pd.DataFrame) -> None:
    costs = {"kind | kind": 1.0, "kind | rude": 9.0, "rude | rude": 25.0}
    plan = strata_plan(choices, "tone", *PLAN, people=[20], tasks=10, costs=costs)
    size = plan["tasks_model"] / plan["tasks_model"].sum()

    def variance(share: pd.Series) -> float:  # of the mean residual, for one unit of cost
        return float((size**2 * plan["residual_sd"] ** 2 / share).sum() * (share * plan["cost"]).sum())

    assert precision_gain(plan) == pytest.approx(variance(size) / variance(plan["share"]))
    assert precision_gain(plan) > 1.05
