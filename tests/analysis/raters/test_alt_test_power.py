"""Power of the alternative annotator test: simulated worlds have the agreement they say, and tests agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import alt_test, alt_test_power
from conjury.analysis.raters.replacement.power import Kind, World, answers, margins, meet, studies
from conjury.inference.errors import InputError


def world(kind: Kind = "labels", *, human: float = 0.7, per_item: int = 4) -> World:
    scoring = "accuracy" if kind == "labels" else "neg_rmse"
    return World(kind, np.array([0.5, 0.3, 0.2]), human, 4, per_item, scoring)


def test_labels_agree_beyond_chance_to_the_product_of_loadings() -> None:
    rng, n, made = np.random.default_rng(1), 200_000, world()
    truth = rng.random(n)
    one, two = (answers(made, truth, rng.random(n), rng.random(n), loading) for loading in (0.8, 0.5))
    np.testing.assert_allclose(np.bincount(one) / n, made.shares, atol=0.005)
    chance = (made.shares**2).sum()
    assert ((one == two).mean() - chance) / (1 - chance) == pytest.approx(0.4, abs=0.01)


def test_ratings_correlate_to_the_product_of_loadings() -> None:
    rng, n = np.random.default_rng(1), 100_000
    fine = World("ratings", np.full(200, 1 / 200), 0.8, 2, 2, "neg_rmse")
    truth = rng.random(n)
    one, two = (answers(fine, truth, rng.random(n), rng.random(n), loading) for loading in (0.8, 0.5))
    spearman = pd.Series(one).corr(pd.Series(two), method="spearman")
    assert 2 * np.sin(np.pi * spearman / 6) == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(("kind", "per_item"), [("labels", 4), ("ratings", 4), ("labels", 3)])
def test_simulated_studies_are_compared_as_alt_test_compares_tables(kind: Kind, per_item: int) -> None:
    n, made = 80, world(kind, per_item=per_item)
    drawn = studies(made, 1, n, np.random.default_rng(6))
    found = meet(made, drawn, 0.6)
    people, machine = drawn.people[0], answers(made, drawn.truth, drawn.luck, drawn.drawn, 0.6)[0]
    used = found.used[0]
    assert (used.sum(axis=1) == per_item).all()
    rows = [(f"p{j}", "human", f"i{i}", float(people[i, j])) for i, j in zip(*np.nonzero(used), strict=True)]
    rows += [("gpt", "model", f"i{i}", float(value)) for i, value in enumerate(machine)]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    each = alt_test(table, scoring=made.scoring, min_instances=5).extra["annotators"].set_index("annotator")
    for person in range(4):
        share = found.model_wins[0, :, person].sum() / used[:, person].sum()
        assert each.loc[f"p{person}", "rho_model"] == pytest.approx(share, abs=1e-12)


def test_power_rises_with_items_and_epsilon_and_with_a_better_model() -> None:
    found = alt_test_power(instances=[40, 80, 160], epsilon=[0.1, 0.2], model_agreement=[0.4, 0.6],
                           simulations=300, margin=False).frame  # fmt: skip
    by_items = found.sort_values("instances").groupby(["epsilon", "model_agreement"])["pass_rate"]
    assert (by_items.diff().dropna() > -0.02).all()
    wide = found.pivot(index=["instances", "model_agreement"], columns="epsilon", values="pass_rate")
    assert (wide[0.2] >= wide[0.1]).all()
    assert (wide[0.2] > wide[0.1] + 0.3).any()
    better = found.pivot(index=["instances", "epsilon"], columns="model_agreement", values="pass_rate")
    assert (better[0.6] > better[0.4] + 0.1).all()


@pytest.mark.parametrize("kind", ["labels", "ratings"])
def test_a_model_at_the_margin_is_behind_by_epsilon_and_passes_rarely(kind: Kind) -> None:
    found = alt_test_power(annotators=[3, 5], instances=100, epsilon=[0.1, 0.2], kind=kind, simulations=300)
    margin = found.frame[found.frame["scenario"] == "at the margin"]
    assert len(margin) == 4
    np.testing.assert_allclose(margin["difference"], margin["epsilon"], atol=0.015)
    assert (margin["pass_rate"] <= 0.05).all()
    stated = found.frame[found.frame["scenario"] == "as stated"]
    np.testing.assert_allclose(stated["difference"], 0, atol=0.015)


def test_a_model_like_people_is_at_the_margin_of_epsilon_zero() -> None:
    made = world(human=0.7, per_item=4)
    assert margins(made, [0.0], seed=1)[0] == pytest.approx(0.7, abs=0.02)


def test_where_guessing_is_not_behind_by_epsilon_there_is_no_margin() -> None:
    found = alt_test_power(instances=50, epsilon=0.5, human_agreement=0.1, simulations=50)
    assert found.frame["scenario"].unique().tolist() == ["as stated"]
    assert any("answers at random is not worse" in note for note in found.notes)


def test_items_needed_are_the_fewest_that_reach_the_target() -> None:
    found = alt_test_power(
        instances=[30, 60, 120, 240], epsilon=[0.02, 0.2], simulations=200, target=0.7, margin=False
    )
    stated = found.frame[(found.frame["scenario"] == "as stated") & (found.frame["epsilon"] == 0.2)]
    fewest = stated.loc[stated["pass_rate"] >= 0.7, "instances"].min()
    needed = found.extra["needed"].set_index("epsilon")["instances"]
    assert needed[0.2] == fewest
    assert pd.isna(needed[0.02])


def test_the_same_seed_gives_the_same_power_and_bounds_hold_it() -> None:
    one, same = (alt_test_power(instances=50, simulations=100, seed=3).frame for _ in range(2))
    pd.testing.assert_frame_equal(one, same)
    assert ((one["lower"] <= one["pass_rate"]) & (one["pass_rate"] <= one["upper"])).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"annotators": 1}, "annotators is 1"),
        ({"instances": [1, 50]}, "instances is 1"),
        ({"instances": []}, "instances is empty"),
        ({"human_agreement": 0}, "human_agreement is 0"),
        ({"human_agreement": 0.25, "model_agreement": 0.6}, "would agree with each to 0.50"),
        ({"kind": "words"}, "kind is 'words'"),
        ({"scoring": "neg_rmse"}, "simulated labels take accuracy"),
        ({"categories": 1}, "categories is 1"),
        ({"categories": [0.5, 0.6]}, "add up to 1"),
        ({"per_item": 1}, "per_item is 1"),
        ({"epsilon": 3}, "epsilon is a difference"),
        ({"target": 1}, "target is 1"),
        ({"simulations": 1}, "simulations is 1"),
        ({"multiplicity": "sidak"}, "multiplicity is 'sidak'"),
    ],
)
def test_worlds_that_cannot_be_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        alt_test_power(**options)
