"""Plans of people with a model: optima in closed form, limits, the loss by tuning, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from conjury.analysis.correction import correction_precision, label_plan
from conjury.analysis.results import Result

RHO = np.array([0.3, 0.6, 0.9])


def table(rho: Any = (0.6,), sd: float = 0.4) -> pd.DataFrame:
    return pd.DataFrame(
        {"feature": "price", "level": [f"l{k}" for k in range(len(rho))], "rho": rho, "sd": sd}
    )


@pytest.mark.parametrize("task", [0.0005, 0.003, 0.02])
def test_the_best_split_is_that_of_the_closed_form_where_tuning_costs_nothing(task: float) -> None:
    costs = correction_precision.UnitCosts(person=4.0, task=task, tasks=10.0)
    found = correction_precision.split_budget(RHO, 1e5, costs, together=False)
    share = found.people * 10 / (found.people * 10 + found.other)
    best = np.minimum(np.sqrt(task / 0.4 * (1 - RHO**2) / RHO**2), 1.0)  # Angelopoulos et al. (2025)
    pays = task / 0.4 < correction_precision.largest_ratio(
        RHO
    )  # elsewhere people alone beat the optimum of the closed form
    assert share == pytest.approx(np.where(pays, best, 1.0), rel=0.02)
    least = (RHO * np.sqrt(task) + np.sqrt((1 - RHO**2) * 0.4)) ** 2 / 0.4
    assert found.ratio == pytest.approx(np.where(pays, least, 1.0), rel=3e-3)
    asked = found.other > 0
    spent = found.people * (4 + np.where(asked, task * 10, 0)) + found.other * task
    assert (spent <= 1e5 + 1e-6).all()


def test_a_model_is_asked_where_its_price_is_below_the_limit_alone() -> None:
    for rho in RHO:
        limit = 0.4 * float(correction_precision.largest_ratio(np.array([rho]))[0])
        for factor, is_asked in ((0.9, True), (1.1, False)):
            found = correction_precision.split_budget(
                np.array([rho]), 1e5, correction_precision.UnitCosts(4.0, factor * limit, 10.0)
            )
            assert (found.other[0] > 0) == is_asked
            assert found.ratio[0] <= 1
            assert is_asked or found.people[0] == 25_000


def test_one_split_for_all_rows_is_that_of_their_mean_explained_share() -> None:
    costs = correction_precision.UnitCosts(4.0, 0.003, 10.0)
    both = correction_precision.split_budget(RHO, 1e5, costs, together=True)
    mean = correction_precision.split_budget(np.sqrt([(RHO**2).mean()]), 1e5, costs)
    assert both.people == pytest.approx(mean.people[0], rel=0.01)
    assert both.ratio == pytest.approx(mean.ratio[0], rel=1e-3)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.6, 1.0])
def test_the_loss_by_tuning_is_that_of_simulated_weights(rho: float, share: float) -> None:
    rng, people, draws = np.random.default_rng(1), 30, 8000
    model = rng.normal(size=(draws, 24))  # of the other four of five folds
    human = rho * model + np.sqrt(1 - rho**2) * rng.normal(size=model.shape)
    rest = (1 / share - 1) * 24
    var = (model**2).sum(axis=1) + rest
    cov = (human * model).sum(axis=1)
    weight = cov / var
    squared = weight * cov / (human**2).sum(axis=1)
    weight = weight * np.clip(1 - (1 - squared) / (22 * squared), 0, None)
    realised = np.mean(1 - 2 * weight * rho + weight**2 / share)
    other = people * 10 * share / (1 - share) if share < 1 else np.inf
    expected = correction_precision.precision(np.array([rho]), np.array([people]), 10, other).ratio[0]
    assert expected == pytest.approx(realised, abs=0.015)
    assert realised > 1 - rho**2 * share  # what a known weight gives


def test_no_plan_passes_the_limit_of_the_correlation() -> None:
    plan = label_plan(table(RHO), [20, 200, 2000], tasks=10, other=np.inf, effect=0.05)
    frame, needed = plan.frame, plan.extra["needed"]
    assert (frame["width"] >= frame["width_limit"] * (1 - 1e-9)).all()
    assert (frame["std_error"] < frame["std_error_human"]).all()
    assert frame["power"].gt(frame["power_human"]).all()
    limit = plan.extra["rows"]["saving_limit"]
    assert limit.tolist() == pytest.approx(1 / (1 - RHO**2))
    assert (needed["people_human"] / needed["people"] <= limit + 0.1).all()
    assert (needed["people_human"] / needed["people"] >= 0.9 * limit).all()


@pytest.mark.long
def test_the_people_needed_are_the_fewest_with_the_power() -> None:
    needed = label_plan(table(), tasks=10, other=3000, effect=[0.05, 0.1]).extra["needed"]
    for row in needed.to_dict("records"):
        for column, power in (("people", "power"), ("people_human", "power_human")):
            sizes = [int(row[column]) - 1, int(row[column])]
            plan = label_plan(table(), sizes, tasks=10, other=3000, effect=row["effect"]).frame
            below, reached = plan[power]
            assert below < 0.8 <= reached


def test_costs_count_people_and_all_tasks_of_the_model() -> None:
    plan = label_plan(
        table(), [100], tasks=10, other=500, effect=0.1, cost_person=4, cost_task=0.01, budget=400
    )
    assert plan.frame[["cost_human", "cost"]].values.tolist() == [[400.0, 415.0]]
    split = plan.extra["split"]
    assert (split["cost"] <= 400 + 1e-9).all()
    assert split["people_alone"].eq(100).all()
    own = split[~split["overall"].astype(bool)].iloc[0]
    at = label_plan(table(), [int(own["people"])], tasks=10, other=own["other"]).frame.iloc[0]
    assert own["std_error"] == pytest.approx(at["std_error"])
    alone = plan.frame["std_error_human"].iloc[0]  # of the 100 people who could be paid
    assert own["gain"] == pytest.approx((alone / own["std_error"]) ** 2)


@pytest.mark.parametrize("rho", [0.0, 1.0, -1.0])
def test_useless_and_perfect_models_have_finite_plans(rho: float) -> None:
    for other in (10.0, np.inf):
        plan = label_plan(table([rho]), [2, 5, 50], tasks=10, other=other, effect=0.1)
        assert np.isfinite(plan.frame["std_error"]).all()
        assert plan.frame["power"].between(0.0, 1.0).all()
        assert (plan.frame["std_error"] > 0).all()
    free = label_plan(table([0.5]), [10], tasks=5, other=9, cost_person=1, cost_task=0, budget=50)
    assert np.isinf(free.extra["split"]["other"]).all()


def measured(people: int, rho: float = 0.5) -> Result:
    """Made-up numbers of the kind that ``correct="ppi"`` gives, with a reference level."""
    keys = pd.DataFrame({"outcome": "chosen", "statistic": "amce", "feature": "a", "level": ["l0", "l1"]})
    gains = keys.assign(rho=[np.nan, rho], weight=0.5, gain=[np.nan, 1.3], n_effective=[np.nan, 1.3 * people])
    human = keys.assign(estimate=0.1, std_error=[np.nan, 0.06], df=[np.nan, people - 2.0], z=1.0)
    made = {"model": ["gpt"], "n_people": people, "n_labelled": 20 * people, "n_other": 3000}
    return Result(human, "prediction_powered", settings=made, extra={"gains": gains, "human": human})


def test_a_result_gives_correlation_spread_tasks_and_degrees_of_freedom() -> None:
    plan = label_plan(measured(60), [60, 120])
    assert plan.settings["tasks"] == 10
    assert plan.settings["other"] == 1500
    assert plan.frame["level"].tolist() == ["l1", "l1"]
    assert plan.frame["std_error_human"].tolist() == pytest.approx([0.06, 0.06 / np.sqrt(2)])
    # 58 degrees of freedom of 60 people are 116 of 120
    half = 0.06 * t.ppf(0.975, [58, 116]) / np.sqrt([1, 2])
    assert plan.frame["width_human"].tolist() == pytest.approx((2 * half).tolist())
    assert plan.notes == ()
    rows = plan.extra["rows"].iloc[0]
    assert 0.28 < rows["rho_lower"] < rows["rho_adjusted"] < rows["rho"] == 0.5 < rows["rho_upper"] < 0.67
    unshared = 1 - rows["rho_adjusted"] ** 2
    limits = [1 / unshared, (1 - np.sqrt(unshared)) ** 2 / (1 - unshared)]
    assert rows[["saving_limit", "price_limit"]].tolist() == pytest.approx(limits)


def test_without_degrees_of_freedom_there_are_those_of_the_number_of_people() -> None:
    stated, missing = measured(60), measured(60)
    stated.extra["human"]["df"] = 59.0
    del missing.extra["human"]["df"]
    pd.testing.assert_frame_equal(label_plan(missing, [30, 60]).frame, label_plan(stated, [30, 60]).frame)


def test_chance_correlations_of_few_people_promise_nothing_and_are_named() -> None:
    plan = label_plan(measured(5), [100])
    assert plan.extra["rows"]["rho_adjusted"].tolist() == [0.0]
    assert plan.frame["std_error"].iloc[0] >= plan.frame["std_error_human"].iloc[0]
    assert any("estimated from 5 people" in note for note in plan.notes)
    assert any("correlate less than" in note for note in plan.notes)
    three = label_plan(measured(3), [100]).extra["rows"].iloc[0]
    assert (three["rho_lower"], three["rho_upper"]) == (-1.0, 1.0)


def test_adjusted_correlations_are_unbiased_squared_where_nothing_correlates() -> None:
    rng = np.random.default_rng(2)
    human, model = rng.normal(size=(2, 4000, 12))
    centred = [part - part.mean(axis=1, keepdims=True) for part in (human, model)]
    rho = (centred[0] * centred[1]).sum(1) / np.sqrt((centred[0] ** 2).sum(1) * (centred[1] ** 2).sum(1))
    assert (rho**2).mean() == pytest.approx(1 / 11, rel=0.1)
    assert (correction_precision.adjusted(rho, 12) == 0).mean() > 0.6


@pytest.mark.parametrize("people", [2, 4])
def test_so_few_people_give_a_model_no_weight_and_intervals_stay(people: int) -> None:
    found = label_plan(table((0.5, 0.9)), [people], tasks=5, other=50).frame
    np.testing.assert_allclose(found["width"], found["width_human"])
