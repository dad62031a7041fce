"""Variance components: an analysis of variance by hand, lme4, simulations with known variances."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up.choices import crossed_choices
from made_up.ratings import crossed_ratings

from conjury.analysis.instrument import decision_study, variance_components
from conjury.analysis.numerics.variance_components import (
    expected_mean_squares,
    layout,
    precision,
    restricted_variances,
    terms_of,
)
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "instrument"
HAND = pd.DataFrame({"item_id": list("aabbcc"), "prompt_id": ["p", "q"] * 3, "value": [1, 2, 4, 5, 6, 9]})
HAND = HAND.assign(judge_id="m", judge_kind="model")


def estimates(found) -> dict[str, float]:
    return dict(zip(found.frame["component"], found.frame["estimate"], strict=True))


def test_one_facet_is_the_analysis_of_variance_by_hand_with_phi_and_generalisability() -> None:
    made = variance_components(HAND, draws=100)
    found = made.frame.set_index("component")
    # Sums of squares 36, 25/6 and 4/3 on 2, 1 and 2 degrees of freedom.
    np.testing.assert_allclose(found["mean_square"], [18, 25 / 6, 2 / 3])
    np.testing.assert_allclose(found["estimate"], [26 / 3, 7 / 6, 2 / 3])
    np.testing.assert_allclose(found["share"].sum(), 1)
    rows = made.extra["coefficients"].set_index(["design", "coefficient"])
    expected = {
        ("one answer", "phi"): 26 / 3 / (26 / 3 + 7 / 6 + 2 / 3),
        ("one answer", "generalisability"): 26 / 3 / (26 / 3 + 2 / 3),
        ("as observed", "phi"): 26 / 3 / (26 / 3 + 7 / 12 + 1 / 3),
    }
    for key, value in expected.items():
        assert rows.loc[key, "estimate"] == pytest.approx(value)
        assert rows.loc[key, "lower"] < rows.loc[key, "upper"]


@pytest.mark.long
def test_estimates_of_a_replicated_design_equal_restricted_likelihood_where_all_are_positive() -> None:
    data = crossed_ratings(30, 4, 3, repeats=2, seed=1, spread=(1.0, 0.8, 0.5, 0.7, 0.6, 0.5, 0.6, 0.5))
    balanced, restricted = (
        variance_components(data, draws=50),
        variance_components(data, method="reml", draws=50),
    )
    assert (balanced.frame["estimate"] > 0).all()
    np.testing.assert_allclose(balanced.frame["estimate"], restricted.frame["estimate"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("table", [pytest.param("", marks=pytest.mark.long), "_sparse"])
def test_unbalanced_designs_give_the_variances_of_lme4(table: str) -> None:
    data = pd.read_csv(FIXTURES / f"ratings{table}.csv").assign(judge_id="m", judge_kind="model")
    reference = pd.read_csv(FIXTURES / f"lme4{table}.csv").set_index("component")["variance"]
    for name, variance in estimates(variance_components(data, draws=10)).items():
        theirs = name.replace("object", "item_id").replace("residual", "Residual")
        assert variance == pytest.approx(reference[theirs], rel=2e-3, abs=1e-5)


@pytest.mark.slow
def test_small_variances_are_not_set_to_zero_where_the_likelihood_is_larger_above() -> None:
    data = pd.read_csv(FIXTURES / "three_facets.csv")
    reference = pd.read_csv(FIXTURES / "lme4_three_facets.csv").set_index("component")["variance"]
    names = ["item_id", "prompt_id", "wording", "option_order"]
    codes = np.stack([pd.factorize(data[name], sort=True)[0] for name in names], axis=1)
    terms = [term for term in terms_of(4, replicated=False) if len(term) < 3]
    labels = [*(":".join(names[k] for k in term) for term in terms), "Residual"]
    variances = restricted_variances(codes, [8, 3, 4, 2], data["value"].to_numpy(), terms)
    np.testing.assert_allclose(variances, reference[labels], rtol=1e-4, atol=1e-6)


def two_prompts(rng: np.random.Generator, missing: int) -> pd.DataFrame:
    """Fifteen items under two prompts, each asked twice; prompts have variance 0.49."""
    item, prompt = np.repeat(np.arange(15), 4), np.tile([0, 0, 1, 1], 15)
    cross = rng.normal(0, 0.4, (15, 2))
    value = rng.normal(0, 1, 15)[item] + rng.normal(0, 0.7, 2)[prompt] + cross[item, prompt]
    table = pd.DataFrame({"item_id": item, "prompt_id": prompt, "value": value + rng.normal(0, 0.6, 60)})
    table = table.assign(sample=np.tile([1, 2], 30), judge_id="m", judge_kind="model")
    return table.drop(rng.choice(60, missing, replace=False))


def limits_of_prompts(data: pd.DataFrame) -> pd.Series:
    return (
        variance_components(data, facets=["prompt_id"], draws=1_000)
        .frame.set_index("component")
        .loc["prompt_id"]
    )


def test_a_missing_answer_does_not_shorten_the_interval_of_a_variance_of_two_levels() -> None:
    data = two_prompts(np.random.default_rng(6), 0)
    full, less = limits_of_prompts(data), limits_of_prompts(data.drop(7))
    assert full["df"] == less["df"] == 1
    assert less["upper"] == pytest.approx(full["upper"], rel=0.2)
    assert less["upper"] > 100 * less["estimate"]


def test_expected_mean_squares_of_a_two_facet_design_are_those_of_textbooks() -> None:
    assert terms_of(3, replicated=False) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    # Objects x prompts x orders of sizes 5, 3, 2: E(MS of objects) = e + 2 (op) + 3 (oo) + 6 (o).
    terms, codes = terms_of(3, replicated=False), np.array(list(product(range(5), range(3), range(2))))
    lies = layout(codes, [5, 3, 2], terms)
    matrix = expected_mean_squares(terms, lies.per_level)
    np.testing.assert_allclose(matrix[0], [6, 0, 0, 2, 3, 0, 1])
    np.testing.assert_allclose(matrix[1], [0, 10, 0, 2, 0, 5, 1])
    np.testing.assert_allclose(lies.df, [4, 2, 1, 8, 4, 2, 8])


def test_variances_that_are_zero_in_truth_are_not_found() -> None:
    data = crossed_ratings(200, 3, 2, seed=5, spread=(1.0, 0, 0, 0, 0, 0, 0, 0.5))
    found = estimates(variance_components(data, draws=50))
    assert found["object"] == pytest.approx(1, abs=0.25)
    assert max(found[name] for name in found if name not in ("object", "residual")) < 0.02


def test_the_order_of_options_moves_its_own_component_and_not_that_of_the_pair() -> None:
    biased = estimates(variance_components(crossed_choices(300, lean=1.5, effect=0.0, samples=2), draws=10))
    fair = estimates(variance_components(crossed_choices(300, lean=0.0, effect=2.0, samples=2), draws=10))
    assert biased["option_order"] > 0.1 > 10 * biased["object"]
    assert fair["object"] > 0.05 > 10 * fair["option_order"]


def test_all_orders_are_no_source_of_error_once_all_are_asked() -> None:
    variances, terms = np.array([[4.0, 9.0, 2.0, 1.0]]), [(0,), (1,), (0, 1)]
    both = precision(variances, terms, [2, 1], [2])
    assert both.universe[0] == 4 + 2 / 2
    assert both.absolute[0] == both.relative[0] == 1 / 2
    one = precision(variances, terms, [1, 1], [2])
    assert one.relative[0] == 2 - 2 / 2 + 1
    assert one.absolute[0] == one.relative[0] + 9 - 9 / 2
    many = precision(variances, terms, [2, 1], [np.inf])
    assert many.absolute[0] == 9 / 2 + 2 / 2 + 1 / 2


def test_a_plan_is_worth_as_many_repeats_as_have_its_error_variance() -> None:
    data = crossed_ratings(50, 3, 2, repeats=3, seed=4, spread=(1.0, 0.02, 0, 0.1, 0, 0, 0, 1.5))
    result = variance_components(data, draws=200)
    found = decision_study(result, [{"prompt_id": 3, "option_order": 2}]).frame.iloc[0]
    worth = found["worth_repeats"]
    assert worth > 6
    repeated = decision_study(
        result, [{"repeats": int(np.floor(worth))}, {"repeats": int(np.ceil(worth))}]
    ).frame
    assert repeated["absolute_error"].iloc[0] >= found["absolute_error"] >= repeated["absolute_error"].iloc[1]
    assert found["requests"] == 6


def test_the_cheapest_plan_reaches_phi_and_nothing_cheaper_does() -> None:
    data = crossed_ratings(60, 3, 2, repeats=2, seed=6, spread=(1.0, 0.4, 0.2, 0.6, 0, 0, 0, 1.0))
    result = variance_components(data, draws=100)
    most = {"prompt_id": 8, "option_order": 2, "repeats": 6}
    frame = decision_study(result, [{}], wanted=0.8, cost=0.5, most=most).frame
    row = frame[frame["cheapest"]].iloc[0]
    assert row["phi"] >= 0.8
    assert row["cost"] == row["requests"] / 2
    every = product(range(1, 9), (1, 2), range(1, 7))
    cheaper = [plan for plan in every if np.prod(plan) < row["requests"]]
    plans = [dict(zip(("prompt_id", "option_order", "repeats"), plan, strict=True)) for plan in cheaper]
    assert decision_study(result, plans).frame["phi"].max() < 0.8
    with pytest.raises(InputError, match="no facet of the result"):
        decision_study(result, [{"orders": 2}])
    with pytest.raises(InputError, match=r"reaches a Phi of 0\.999"):
        decision_study(result, [{}], wanted=0.999, most={"prompt_id": 2, "repeats": 2})


@pytest.mark.long
def test_fractions_leave_out_what_they_cannot_separate() -> None:
    data = crossed_ratings(60, 4, 2, repeats=2, seed=3, spread=(1.0, 0.8, 0.5, 0.6, 0, 0, 0, 0.5))
    half = data[data["prompt_id"].isin(["p0", "p1"]) == (data["option_order"] == "o0")]
    found = variance_components(half, draws=50)
    assert found.frame["component"].tolist() == ["object", "prompt_id", "option_order", "residual"]
    assert "cannot separate" in found.notes[0]
    assert found.frame["estimate"].iloc[0] == pytest.approx(1, abs=0.5)
    third = data.drop(data[(data["prompt_id"] == "p3") & (data["option_order"] == "o1")].index)
    assert "object:prompt_id" in set(variance_components(third, draws=50).frame["component"])


def test_judges_have_rows_of_their_own_or_are_a_facet() -> None:
    one = crossed_ratings(20, 3, 1, seed=1)
    both = pd.concat([one, crossed_ratings(20, 3, 1, seed=2).assign(judge_id="n")])
    assert set(variance_components(both, draws=10).frame["judge"]) == {"m", "n"}
    crossed = variance_components(both, facets=["judge_id", "prompt_id"], draws=10)
    assert set(crossed.frame["judge"]) == {"all"}
    assert "object:judge_id" in set(crossed.frame["component"])


@pytest.mark.parametrize(
    ("data", "how", "message"),
    [
        (HAND.assign(value=1), {}, "all answers are the same"),
        (HAND.assign(item_id="a"), {}, "fewer than two objects"),
        (HAND.drop_duplicates("item_id"), {}, "no variance components can be separated"),
        (HAND.assign(value=list("xyxyxy")), {}, "Labels have no variance"),
        (HAND.iloc[:5], {"method": "anova"}, "unbalanced"),
    ],
)
def test_designs_that_say_nothing_are_refused(data, how, message) -> None:
    with pytest.raises(InputError, match=message):
        variance_components(data, **how)


def test_components_that_did_not_vary_have_no_interval_of_width_zero() -> None:
    table = HAND.assign(value=[3, 3, 4, 4, 2, 2])
    result = variance_components(table, draws=200)
    found = result.frame.set_index("component")
    assert found.loc["object", "lower"] < found.loc["object", "estimate"] < found.loc["object", "upper"]
    assert found.loc[["prompt_id", "residual"], ["lower", "upper"]].isna().all(axis=None)
    assert found[["share_lower", "share_upper"]].isna().all(axis=None)
    assert result.extra["coefficients"][["lower", "upper"]].isna().all(axis=None)
    assert any("no interval of" in note for note in result.notes)
    plan = decision_study(result, [{"prompt_id": 2}]).frame
    assert plan[["lower", "upper"]].isna().all(axis=None)
    assert result.plot() is not None
