"""True values of the processes that ship, against estimates from large draws; methods and known results."""

from __future__ import annotations

import sys
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from scipy import stats

from conjury.analysis.conjoint import amce
from conjury.analysis.trial.processes.profile_pairs import all_profiles, effects
from conjury.analysis.trial.trial_registry import PARTS, Drawn, find
from conjury.inference.errors import MissingDependency

FORMULA = "chosen ~ tone + topic + author"


def drawn(name: str, seed: int = 1, **parameters: Any) -> Drawn:
    return find("process", name)(np.random.default_rng(seed), **parameters)


def true(one: Drawn, estimand: str) -> pd.Series:
    rows = one.truth[one.truth["estimand"] == estimand]
    return rows.set_index("quantity")["truth"]


def estimated(data: pd.DataFrame, unit: str = "pair_id", formula: str = FORMULA) -> pd.DataFrame:
    rows = amce(data, formula, id=unit).frame.dropna(subset=["std_error"])
    return rows.set_index(rows["feature"].astype(str) + "=" + rows["level"].astype(str))


def assert_close(data: pd.DataFrame, truth: pd.Series, **options: str) -> None:
    """Every estimate is within four standard errors of its true value."""
    found = estimated(data, **options).reindex(truth.index)
    assert found["estimate"].notna().all()
    assert (np.abs(found["estimate"] - truth) < 4 * found["std_error"]).all()
    assert found["std_error"].max() < 0.02


@pytest.mark.long
@pytest.mark.parametrize(("name", "parameters", "estimand"), cases(__file__, "processes_with_true_values"))
def test_true_values_of_choices_are_what_many_pairs_estimate(
    name: str, parameters: dict[str, Any], estimand: str
) -> None:
    one = drawn(name, **parameters)
    assert_close(one.data, true(one, estimand), unit="text" if estimand == "all_texts" else "pair_id")


def test_true_values_for_these_and_all_texts_are_not_the_same() -> None:
    one = drawn("texts", texts=4, text_sd=0.6)
    many = drawn("texts", pairs=4_000)
    assert estimated(many.data).loc["tone=rude", "estimate"] == pytest.approx(
        true(many, "all_texts")["tone=rude"], abs=0.06
    )
    gap = (true(one, "these_texts") - true(one, "all_texts")).abs()
    assert gap["topic=law"] > 0.02
    assert gap["tone=rude"] < 0.02


def test_true_differences_between_prompts_are_what_many_pairs_estimate() -> None:
    one = drawn("prompts", pairs=40_000, prompts=2, prompt_sd=0.5, effect=0.2)
    parts = [estimated(rows) for _, rows in one.data.groupby("prompt_id")]
    truth = true(one, "differences")
    found = (parts[1]["estimate"] - parts[0]["estimate"]).reindex(truth.index)
    errors = np.hypot(parts[0]["std_error"], parts[1]["std_error"]).reindex(truth.index)
    assert (np.abs(found - truth) < 4 * errors).all()
    assert abs(truth["tone=rude"]) > 0.02


@pytest.mark.slow
def test_true_values_of_a_fixed_model_are_those_of_all_its_answers() -> None:
    one = drawn("deterministic", pairs=30_000, prompts=3)
    assert_close(one.data, true(one, "these_prompts"))
    many = [
        true(drawn("deterministic", seed=seed, pairs=2, prompts=300), "these_prompts") for seed in range(3)
    ]
    every = [
        true(drawn("deterministic", seed=seed, pairs=2, prompts=300), "all_prompts") for seed in range(3)
    ]
    assert np.abs(np.array(many) - np.array(every)).max() < 0.02


def test_a_fixed_model_answers_a_pair_always_the_same_way() -> None:
    one = drawn("deterministic", pairs=3_000, prompts=2)
    data, truth = one.data, true(one, "these_prompts")["tone=rude"]
    assert estimated(data).loc["tone=rude", "estimate"] == pytest.approx(truth, abs=0.05)
    first = data[::2].reset_index(drop=True)
    second = data[1::2].reset_index(drop=True)
    keys = [first[name].astype(str) + "/" + second[name].astype(str) for name in ("tone", "topic", "author")]
    answers = first.assign(key=keys[0] + keys[1] + keys[2]).groupby(["prompt_id", "key"])["chosen"].nunique()
    assert (answers == 1).all()
    assert len(answers) < len(first)
    assert data["prompt_id"].unique().tolist() == ["prompt_1", "prompt_2"]


@pytest.mark.long
def test_true_values_among_people_hold_for_stable_picks_and_for_people_beside_a_model() -> None:
    one = drawn("swapping_errors", people=4_000, reliability=1.0)
    first = one.data[~one.data["repeat"]]
    assert_close(first, true(one, "stable_picks"), unit="judge_id")
    apart = first[first.groupby("pair_id")["tone"].transform("nunique") == 2]
    found = estimated(apart, "judge_id", "chosen ~ tone").loc["tone=rude"]
    assert abs(found["estimate"] - true(one, "where_levels_differ")["tone=rude"]) < 4 * found["std_error"]
    differing = drawn("swapping_errors", people=1_000, reliability=1.0, taste=3.0)
    assert_close(differing.data[~differing.data["repeat"]], true(differing, "stable_picks"), unit="judge_id")
    both = drawn("people_and_model", people=4_000, other=10)
    assert_close(both.data.query("judge_kind == 'human'"), true(both, "people"), unit="judge_id")


def test_tastes_differ_by_default_with_a_standard_deviation_of_three_tenths() -> None:
    one, other = (
        true(drawn("swapping_errors", people=2, **own), "stable_picks") for own in ({}, {"taste": 0.3})
    )
    assert one.equals(other)


@pytest.mark.parametrize("reliability", [0.77, 0.88])
def test_repeats_agree_as_often_as_the_reliability_says(reliability: float) -> None:
    data = drawn("swapping_errors", people=20_000, reliability=reliability).data
    again = data[data["repeat"]].iloc[::2]
    first = data.iloc[again["repeat_of"].to_numpy() * 2]
    agree = (first["chosen"].to_numpy() == again["chosen"].to_numpy()).mean()
    assert agree == pytest.approx(reliability, abs=0.012)


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_models_answer_as_people_do_more_often_the_higher_the_correlation(rho: float) -> None:
    data = drawn("people_and_model", people=400, other=10, rho=rho).data
    wide = data[data["position"] == "A"].pivot_table(index="pair_id", columns="judge_kind", values="chosen")
    same = (wide["human"] == wide["model"]).loc[wide["human"].notna()].mean()
    assert same > 0.75 if rho else same < 0.62
    first = drawn("people_and_model", people=2, other=40_000, rho=rho).data.query("position == 'A'")
    assert (first["judge_kind"] == "human").sum() == 2 * 10
    share = first.loc[first["judge_kind"] == "model", "chosen"].mean()
    assert share == pytest.approx(0.6103, abs=0.01)  # of probits of 0.3 and 0.7 times the difference


def test_labels_and_refusals_are_drawn_as_stated() -> None:
    labels = drawn("imperfect_labels", units=60_000, labelled=30_000, rate=0.2, calibration_rate=0.5).data
    people = labels["label"].notna()
    assert (labels["label"][people] == "harmful").mean() == pytest.approx(0.5, abs=0.02)
    assert (labels["judged"][~people] == "harmful").mean() == pytest.approx(0.2 * 0.85 + 0.8 * 0.1, abs=0.02)
    for mechanism in ("random", "attribute", "answer"):
        data = drawn("missing_answers", pairs=30_000, share=0.1, mechanism=mechanism).data
        assert data["chosen"].isna().mean() == pytest.approx(0.1, abs=0.01), mechanism
        refused = data.groupby("pair_id")["chosen"].transform("count") == 0
        rude = (data["tone"] == "rude").groupby(data["pair_id"]).sum()[refused[::2].to_numpy()]
        expected = {"random": (0.75, 0.5), "attribute": (6 / 7, 4 / 7), "answer": (1.0, 1.0)}[mechanism]
        assert ((rude > 0).mean(), (rude == 1).mean()) == pytest.approx(expected, abs=0.03), mechanism
    assert drawn("missing_answers", pairs=30_000).data["chosen"].isna().mean() == pytest.approx(0.2, abs=0.01)


def test_ratings_by_prompt_have_the_stated_components_of_variance() -> None:
    one = drawn("passport_facets", n=200, levels=200)
    cells = one.data.frame.groupby(["item_id", "prompt_id"])["value"].agg(["mean", "var"])
    mean, residual = cells["mean"].unstack(), cells["var"].mean()
    items, prompts = mean.mean(axis=1), mean.mean(axis=0)
    rest = mean.sub(items, axis=0).sub(prompts, axis=1).to_numpy() + mean.to_numpy().mean()
    both = (rest**2).sum() / 199**2
    found = [items.var() - both / 200, prompts.var() - both / 200, both - residual / 2, residual]
    stated = {"object": 1.0, "prompt_id": 0.2, "object:prompt_id": 0.3, "residual": 0.5}
    assert found == pytest.approx([*stated.values()], rel=0.3)  # of 200 normal effects
    assert true(one, "population").to_dict() == {f"variance of {name}": v for name, v in stated.items()}


def test_few_clusters_have_unequal_sizes_and_their_effects_the_stated_mean() -> None:
    one = drawn("unequal_clusters", clusters=10, rows=1000, unequal=2.0)
    sizes = one.data.groupby("cluster").size()
    assert sizes.max() / sizes.min() == pytest.approx(np.exp(2.0 * 9 / 10), rel=0.05)
    many = drawn("unequal_clusters", clusters=4_000, rows=40_000, effect_sd=0.5)
    found = amce(many.data, "y ~ tone + group", id="cluster").frame.dropna(subset=["std_error"])
    assert (np.abs(found["estimate"] - [0.2, 0.0]) < 4 * found["std_error"]).all()
    calm = many.data[many.data["tone"] == "kind"].groupby("cluster")["y"].agg(["mean", "size"])
    level = calm["mean"].var() - 0.9 * (1 / calm["size"]).mean()  # the intraclass correlation is 0.1
    assert (calm["mean"].mean(), level) == pytest.approx((0.0, 0.1), abs=0.02)


def test_effects_over_all_pairs_are_means_of_choices_by_hand() -> None:
    worths = {"a": {"x": 0.0, "y": 0.0}}
    chance = np.array([[0.5, 0.2], [0.8, 0.5]])  # the first profile is x in row 0: y beats x in 80%
    assert effects(chance, all_profiles(worths), worths) == {"a=y": pytest.approx(0.65 - 0.35)}
    assert effects(chance, all_profiles(worths), worths, differing=True) == {"a=y": pytest.approx(0.6)}


def test_cyclic_preferences_are_true_where_two_levels_meet_and_direct_without_a_cycle() -> None:
    truth = true(drawn("cyclic_topics", cycle=0.8), "all_pairs")
    assert truth["law over art"] < 0.4
    assert truth["sport over art"] > 0.7
    assert truth["sport over law"] < 0.3
    assert truth["direct minus indirect"] > 0.4
    plain = true(drawn("cyclic_topics", cycle=0.0), "all_pairs")
    assert abs(plain["direct minus indirect"]) < 0.01  # of a probit, not of a linear scale
    one = drawn("cyclic_topics", pairs=40_000, cycle=0.8)
    found = find("method", "afcp")(one.data, feature="topic").set_index("quantity")
    known = true(one, "all_pairs")
    assert (np.abs(found["estimate"] - known.reindex(found.index)) < 4 * found["std_error"]).all()


METHODS: list[dict[str, Any]] = [
    {
        "name": vcov.lower(),
        "method": "amce",
        "options": {"formula": "y ~ tone", "id": "cluster", "vcov": vcov},
    }
    for vcov in ("CR0", "CR2", "CV3")
]
METHODS.append(
    {"name": "statsmodels", "method": "statsmodels", "options": {"formula": "y ~ tone", "id": "cluster"}}
)


@pytest.mark.cregg
def test_cregg_is_a_method_where_it_is_installed() -> None:
    data = drawn("texts", pairs=200).data
    theirs, ours = (
        find("method", name)(data, id="pair_id").set_index("quantity") for name in ("cregg", "amce")
    )
    assert np.allclose(theirs["estimate"], ours["estimate"].reindex(theirs.index), atol=1e-8)
    assert np.allclose(theirs["std_error"], ours["std_error"].reindex(theirs.index), atol=1e-8)


@pytest.mark.parametrize(("alpha", "seen"), [(1 - 1e-9, 100), (1e-9, 300)])
def test_looks_stop_at_the_first_significant_one_or_the_last(alpha: float, seen: int) -> None:
    data = drawn("texts", pairs=300).data
    options = {"rule": "first_significant", "looks": (100, 200, 300), "formula": "chosen ~ tone"}
    found = find("method", "sequential_look")(data, **options, alpha=alpha)
    expected = estimated(data[pd.factorize(data["pair_id"])[0] < seen], formula="chosen ~ tone")
    assert found["estimate"].tolist() == [expected["estimate"].iloc[0]]


@pytest.mark.parametrize(("rule", "times"), [("first", 1), ("smallest_p", 1), ("bonferroni", 3)])
def test_the_prompt_that_is_reported_is_the_first_or_that_of_the_smallest_p(rule: str, times: int) -> None:
    data = drawn("prompts", 4, pairs=150, prompts=3).data
    tables = [estimated(part) for _, part in data.groupby("prompt_id")]
    smallest = min(tables, key=lambda table: table.loc["tone=rude", "p"])
    assert smallest is not tables[0]
    expected = tables[0] if rule == "first" else smallest
    found = find("method", "reported_prompt")(data, rule=rule).set_index("quantity")
    assert found["estimate"].tolist() == expected["estimate"].tolist()
    assert found["p"].tolist() == pytest.approx(np.minimum(times * expected["p"], 1.0).tolist())
    ratio = stats.norm.ppf(1 - 0.025 / times) / stats.norm.ppf(0.975)
    width = (expected["upper"] - expected["lower"]) * ratio
    assert (found["upper"] - found["lower"]).tolist() == pytest.approx(width.tolist(), rel=0.01)
    assert (times * expected["p"] > 1).any() == (rule == "bonferroni")


def test_intervals_of_methods_are_those_of_95_percent_by_default() -> None:
    defaults = {
        name: signature(function).parameters["alpha"].default
        for name, function in PARTS["method"].items()
        if "alpha" in signature(function).parameters
    }
    assert len(defaults) > 20
    assert {name: value for name, value in defaults.items() if value != 0.05} == {}


def test_peers_that_are_installed_give_the_same_effects() -> None:
    data = drawn("unequal_clusters", clusters=8).data
    options = {"formula": "y ~ tone + group", "id": "cluster"}
    theirs, ours = (
        find("method", name)(data, **options, **more).set_index("quantity")
        for name, more in (("statsmodels", {}), ("amce", {"vcov": "CR1S"}))
    )
    assert np.allclose(theirs["estimate"].reindex(ours.index), ours["estimate"])
    assert np.allclose(theirs["std_error"].reindex(ours.index), ours["std_error"])


@pytest.mark.parametrize(("name", "package"), [("pyfixest", "pyfixest"), ("ppi_py", "ppi-python")])
def test_peers_that_are_absent_are_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependency, match=f"pip install {package}"):
        find("method", name)(
            drawn("unequal_clusters").data, **({"id": "cluster"} if name == "pyfixest" else {})
        )
