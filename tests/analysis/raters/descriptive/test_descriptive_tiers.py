"""Order of tiers: scores and chance by enumeration, ties in each way, a person beside the panel."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from scipy import stats

from conjury.analysis.raters import Result, tier_accuracy
from conjury.analysis.raters.descriptive.mean_ratings import item_scores, with_ties
from conjury.analysis.raters.descriptive.tier_accuracy import difference_limits, score_order
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
TIERS = ["high", "mid", "low"]
NOVELTY = {"column": "response_type", "within": "topic_id", "levels": TIERS, "dimension": "novelty"}


def of_types(judgments: pd.DataFrame, items: pd.DataFrame, **options: Any) -> Result:
    return tier_accuracy(judgments, items, **{**NOVELTY, "draws": 5, **options})


def test_scores_by_hand_and_chance_as_the_mean_over_all_assignments_of_ratings_to_tiers() -> None:
    made = score_order(np.array([[[3, 2, 1], [3, 3, 1], [2, 2, 2], [1, 2, 3]]], dtype=float))
    assert made.order.tolist() == [[1, 0, 0, 0], [1, 0.5, pytest.approx(1 / 6), 0], [1, 1, 1, 0]]
    assert made.pairs == pytest.approx(np.array([[1, 2 / 3, 0, 0], [1, 5 / 6, 0.5, 0], [1, 1, 1, 0]]))
    assert made.tied == pytest.approx([0, 1 / 3, 1, 0])
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (1, 50, 4)).astype(float)
    shuffled = [score_order(values[:, :, list(order)]) for order in permutations(range(4))]
    made = score_order(values)
    assert made.order_chance == pytest.approx(np.mean([one.order for one in shuffled], axis=0))
    assert made.pairs_chance == pytest.approx(np.mean([one.pairs for one in shuffled], axis=0))
    random = score_order(rng.integers(0, 5, (1, 20000, 3)).astype(float))
    assert random.order.mean(axis=1) == pytest.approx(random.order_chance.mean(axis=1), abs=0.012)
    assert random.pairs.mean(axis=1) == pytest.approx(random.pairs_chance.mean(axis=1), abs=0.012)


@pytest.mark.long
def test_judges_of_a_table_are_scored_topic_by_topic_and_the_panel_better_than_a_person(
    tables: Tables,
) -> None:
    made = of_types(*tables, dimension="funniness", draws=20).frame
    assert list(made["judge"].cat.categories) == ["human", "one person", "gpt", "gemini", "claude"]
    judgments, items = tables
    gpt = judgments[(judgments["judge_id"] == "gpt") & (judgments["dimension"] == "funniness")]
    wide = gpt.merge(items).pivot(index="topic_id", columns="response_type", values="value")
    strict = ((wide["high"] > wide["mid"]) & (wide["mid"] > wide["low"])).mean()
    row = made.set_index(["judge", "quantity", "ties"]).loc[("gpt", "complete_order", "wrong")]
    assert row[["estimate", "n_topics"]].tolist() == [pytest.approx(strict), 24]
    assert row["excess"] == pytest.approx(strict - row["chance"])
    split = made[(made["quantity"] == "ordered_pairs") & (made["ties"] == "split")].set_index("judge")
    assert split.loc["human", "estimate"] > split.loc["one person", "estimate"] + 0.03
    assert (split["chance"] == 0.5).all()


def test_one_person_is_the_mean_over_people_where_each_order_can_be_listed() -> None:
    judges = {"judge_id": ["ann", "bob", "cy", "dan"], "judge_kind": "human", "topic_id": "t"}
    table = pd.DataFrame(judges).assign(item_id=list("aabb"), tier=["best"] * 2 + ["worst"] * 2)
    options = {"column": "tier", "within": "topic_id", "levels": ["best", "worst"], "draws": 3}
    made = tier_accuracy(table.assign(value=[3, 1, 2, 1]), **options).frame  # type: ignore[arg-type]
    one = made[(made["judge"] == "one person") & (made["quantity"] == "ordered_pairs")]
    split, wrong, right = one.set_index("ties")["estimate"][["split", "wrong", "right"]]
    assert split == pytest.approx((1 + 1 + 0 + 0.5) / 4, abs=0.08)
    assert split == pytest.approx((wrong + right) / 2)


def of_one_judge(topics: list[tuple[int, ...]]) -> pd.DataFrame:
    """Orders by a model that rates the three tiers of each topic so."""
    table = by_judge({"gpt": np.ravel(topics)})
    table = table.assign(topic_id=np.repeat(np.arange(len(topics)), 3), tier=TIERS * len(topics))
    return tier_accuracy(table, column="tier", levels=TIERS, within="topic_id", draws=200).frame


@pytest.mark.parametrize("in_order", [0, 1, 4, 20])
def test_p_is_that_of_shuffling_tiers_and_limits_stay_between_none_and_all(in_order: int) -> None:
    """One rating of three tiers per topic: the first topics are in order, the others not."""
    made = of_one_judge([(3, 2, 1) if topic < in_order else (2, 3, 1) for topic in range(20)])
    row = made[made["quantity"] == "complete_order"].iloc[0]
    tails = stats.binom.cdf(in_order, 20, 1 / 6), stats.binom.sf(in_order - 1, 20, 1 / 6)
    assert row["p"] == pytest.approx(max(min(2 * min(tails), 1), 1e-4), rel=0.05, abs=2e-5)
    assert made[["lower", "upper"]].stack().between(0, 1).all()
    assert (made["upper"] - made["lower"] > 0.05).all()
    assert made["estimate"].between(made["lower"], made["upper"]).all()
    assert made["excess"].between(made["excess_lower"], made["excess_upper"]).all()


def test_a_share_of_none_is_not_far_above_chance_where_ties_vary_between_topics() -> None:
    """No topic is in order when ties count as wrong, while chance depends on the ties of a topic."""
    made = of_one_judge([(2, 3, 1) if topic % 7 == 0 else (2, 2, 1) for topic in range(60)])
    row = made[(made["quantity"] == "complete_order") & (made["ties"] == "wrong")].iloc[0]
    assert row["estimate"] == 0
    assert row["upper"] == pytest.approx(0.0602, abs=1e-4)
    assert row["excess_lower"] < row["excess"] < row["excess_upper"] < row["upper"]
    assert (made["excess_upper"] - made["excess_lower"] < 0.5).all()


def test_limits_of_an_excess_combine_both_distances_with_their_correlation() -> None:
    one, other = ([np.array([end]) for end in ends] for ends in ((0.6, 0.5, 0.75), (0.3, 0.1, 0.4)))
    low, high = difference_limits(tuple(one), tuple(other), np.array([0.5]))
    reached = np.sqrt([0.01 - 0.01 + 0.01, 0.0225 - 0.03 + 0.04])  # a^2 - 2 r a b + b^2 of the distances
    assert [low[0], high[0]] == pytest.approx([0.3 - reached[0], 0.3 + reached[1]])


@pytest.mark.long
def test_samples_may_count_from_zero_and_topics_without_a_tier_are_left_out_and_told(tables: Tables) -> None:
    judgments, items = tables
    zero = of_types(judgments.assign(sample=0), items).frame
    pd.testing.assert_frame_equal(zero, of_types(judgments, items).frame)
    made = of_types(judgments[judgments["item_id"] != "t3_mid"], items)
    assert (made.frame["n_topics"] == 23).all()
    assert any("single ratings" in note for note in made.notes)
    assert "1 of 24 topics lack a tier and are excluded." in made.notes
    doubled = items.assign(response_type=items["response_type"].replace("serious", "mid"))
    for rows, levels, message in (
        (doubled, TIERS, "both 'mid' of the same topic"),
        (items, ["best", "low"], "no judged item has 'best'"),
        (items, ["high"], "at least two tiers"),
    ):
        with pytest.raises(InputError, match=message):
            of_types(judgments, rows, levels=levels)


def test_ties_of_means_do_not_hang_on_the_order_of_ratings() -> None:
    """Judges with three samples have means in thirds, whose sums differ by rounding with their order."""
    judges = [("ann", "human"), ("bob", "human"), ("cem", "human"), ("gpt", "model")]
    rows = [
        (judge, kind, f"t0_{tier}", sample, (total + sample) // 3)
        for tier, totals in {"high": (3, 4, 7), "mid": (7, 4, 3), "low": (4, 7, 3)}.items()
        for (judge, kind), total in zip(judges, (*totals, totals[0]), strict=True)
        for sample in range(3)
    ]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "sample", "value"])
    items = pd.DataFrame({"item_id": [f"t0_{tier}" for tier in TIERS], "topic_id": "t0"})
    made = item_scores(table.assign(dimension="funny"), items.assign(response_type=TIERS))
    assert np.ptp(made.of("funny", "human")) == 0
    assert np.isnan(with_ties(np.array([np.nan, np.nan]))).all()
    assert with_ties(np.array([np.nan, 0.3, 0.1 + 0.2, 0.4, -0.3])).tolist()[1:] == [0.3, 0.3, 0.4, -0.3]
