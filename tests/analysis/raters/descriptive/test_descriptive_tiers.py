"""Order of tiers: scores and chance by enumeration, ties in each way, a person beside the panel."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjury.analysis.raters import tier_accuracy
from conjury.analysis.raters.descriptive.scores import item_scores, with_ties
from conjury.analysis.raters.descriptive.tier_accuracy import score_order
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
TIERS = ["high", "mid", "low"]
TOTALS = (3, 4, 7)  # of three ratings: as means, their sum depends on their order
OF_TOPICS = {"column": "response_type", "within": "topic_id"}


def test_scores_by_hand() -> None:
    made = score_order(np.array([[[3, 2, 1], [3, 3, 1], [2, 2, 2], [1, 2, 3]]], dtype=float))
    assert made.order.tolist() == [[1, 0, 0, 0], [1, 0.5, pytest.approx(1 / 6), 0], [1, 1, 1, 0]]
    assert made.pairs == pytest.approx(np.array([[1, 2 / 3, 0, 0], [1, 5 / 6, 0.5, 0], [1, 1, 1, 0]]))
    assert made.tied == pytest.approx([0, 1 / 3, 1, 0])


def test_chance_is_the_mean_over_all_assignments_of_ratings_to_tiers() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (1, 50, 4)).astype(float)
    shuffled = [score_order(values[:, :, list(order)]) for order in permutations(range(4))]
    made = score_order(values)
    assert made.order_chance == pytest.approx(np.mean([one.order for one in shuffled], axis=0))
    assert made.pairs_chance == pytest.approx(np.mean([one.pairs for one in shuffled], axis=0))


def test_judges_of_a_table_are_scored_topic_by_topic(tables: Tables) -> None:
    made = tier_accuracy(*tables, **OF_TOPICS, levels=TIERS, dimension="funniness", draws=20).frame
    assert list(made["judge"].cat.categories) == ["human", "one person", "gpt", "gemini", "claude"]
    judgments, items = tables
    gpt = judgments[(judgments["judge_id"] == "gpt") & (judgments["dimension"] == "funniness")]
    wide = gpt.merge(items).pivot(index="topic_id", columns="response_type", values="value")
    strict = ((wide["high"] > wide["mid"]) & (wide["mid"] > wide["low"])).mean()
    row = made[(made["judge"] == "gpt") & (made["quantity"] == "complete_order") & (made["ties"] == "wrong")]
    assert row["estimate"].iloc[0] == pytest.approx(strict)
    assert row["n_topics"].iloc[0] == 24
    assert row["excess"].iloc[0] == pytest.approx(strict - row["chance"].iloc[0])


def test_the_panel_orders_better_than_one_of_its_people(tables: Tables) -> None:
    made = tier_accuracy(*tables, **OF_TOPICS, levels=TIERS, dimension="funniness", draws=20).frame
    split = made[(made["quantity"] == "ordered_pairs") & (made["ties"] == "split")].set_index("judge")
    assert split.loc["human", "estimate"] > split.loc["one person", "estimate"] + 0.03
    assert (split["chance"] == 0.5).all()


def test_one_person_is_the_mean_over_people_where_each_order_can_be_listed() -> None:
    rows = [("ann", "a", 3), ("bob", "a", 1), ("cy", "b", 2), ("dan", "b", 1)]
    table = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"]).assign(
        judge_kind="human", topic_id="t", tier=lambda x: x["item_id"].map({"a": "best", "b": "worst"})
    )
    made = tier_accuracy(table, column="tier", within="topic_id", levels=["best", "worst"], draws=3).frame
    one = made[(made["judge"] == "one person") & (made["quantity"] == "ordered_pairs")].set_index("ties")
    assert one.loc["split", "estimate"] == pytest.approx((1 + 1 + 0 + 0.5) / 4, abs=0.08)
    assert one.loc["split", "estimate"] == pytest.approx(
        (one.loc["wrong", "estimate"] + one.loc["right", "estimate"]) / 2
    )


def ordered_topics(in_order: int, topics: int = 20) -> pd.DataFrame:
    """One rating of three tiers a topic, the first topics in order, the others not."""
    return pd.DataFrame(
        [
            ("gpt", "model", f"t{t}_{tier}", f"t{t}", tier, value)
            for t in range(topics)
            for tier, value in zip(TIERS, (3, 2, 1) if t < in_order else (2, 3, 1), strict=True)
        ],
        columns=["judge_id", "judge_kind", "item_id", "topic_id", "tier", "value"],
    )


@pytest.mark.parametrize("in_order", [0, 4, 20])
def test_p_is_that_of_shuffling_tiers_within_topics(in_order: int) -> None:
    made = tier_accuracy(ordered_topics(in_order), column="tier", levels=TIERS, within="topic_id", draws=50)
    row = made.frame[made.frame["quantity"] == "complete_order"].iloc[0]
    tails = stats.binom.cdf(in_order, 20, 1 / 6), stats.binom.sf(in_order - 1, 20, 1 / 6)
    assert row["p"] == pytest.approx(max(min(2 * min(tails), 1), 1e-4), rel=0.05, abs=2e-5)


def test_limits_of_shares_stay_between_none_and_all_and_hold_the_estimate() -> None:
    for in_order in (0, 1, 20):
        made = tier_accuracy(
            ordered_topics(in_order), column="tier", levels=TIERS, within="topic_id", draws=200
        ).frame
        assert (made["lower"] >= 0).all()
        assert (made["upper"] <= 1).all()
        assert (made["upper"] - made["lower"] > 0.05).all()
        assert made["estimate"].between(made["lower"], made["upper"]).all()
        assert made["excess"].between(made["excess_lower"], made["excess_upper"]).all()


def test_samples_that_count_from_zero_are_scored(tables: Tables) -> None:
    judgments, items = tables
    options = {"levels": TIERS, "column": "response_type", "within": "topic_id", "dimension": "novelty"}
    zero = tier_accuracy(judgments.assign(sample=0), items, draws=5, **options).frame
    pd.testing.assert_frame_equal(zero, tier_accuracy(judgments, items, draws=5, **options).frame)


def test_topics_without_a_tier_are_left_out_and_told(tables: Tables) -> None:
    judgments, items = tables
    made = tier_accuracy(
        judgments[judgments["item_id"] != "t3_mid"],
        items,
        **OF_TOPICS,
        levels=TIERS,
        dimension="novelty",
        draws=5,
    )
    assert (made.frame["n_topics"] == 23).all()
    assert any("single ratings" in note for note in made.notes)
    assert "1 of 24 topics lack a tier and are excluded." in made.notes


def test_two_responses_of_one_tier_and_unknown_tiers_are_refused(tables: Tables) -> None:
    judgments, items = tables
    doubled = items.assign(response_type=items["response_type"].replace("serious", "mid"))
    with pytest.raises(InputError, match="both 'mid' of the same topic"):
        tier_accuracy(judgments, doubled, **OF_TOPICS, levels=TIERS, dimension="novelty")
    with pytest.raises(InputError, match="no judged item has 'best'"):
        tier_accuracy(judgments, items, **OF_TOPICS, levels=["best", "low"], dimension="novelty")
    with pytest.raises(InputError, match="at least two tiers"):
        tier_accuracy(judgments, items, **OF_TOPICS, levels=["high"], dimension="novelty")


def test_random_ratings_are_at_chance() -> None:
    rng = np.random.default_rng(4)
    made = score_order(rng.integers(0, 5, (1, 20000, 3)).astype(float))
    gap = np.stack([made.order.mean(axis=1) - made.order_chance.mean(axis=1), made.pairs.mean(axis=1)
                    - made.pairs_chance.mean(axis=1)])  # fmt: skip
    assert np.abs(gap).max() < 0.012


def test_ties_of_means_do_not_hang_on_the_order_of_ratings() -> None:
    """Judges with three samples have means in thirds, whose sums differ by rounding with their order."""
    sums = {"high": TOTALS, "mid": TOTALS[::-1], "low": (*TOTALS[1:], TOTALS[0])}
    rows = [
        (judge, kind, f"t{topic}_{tier}", sample, value)
        for topic in range(3)
        for tier, totals in sums.items()
        for kind in ("human", "model")
        for judge, total in zip(["ann", "bob", "cem"] if kind == "human" else ["gpt"], totals, strict=False)
        for sample, value in enumerate([total // 3, (total + 1) // 3, (total + 2) // 3], 1)
    ]
    judgments = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "sample", "value"])
    items = judgments[["item_id"]].drop_duplicates()
    items = items.assign(
        topic_id=items["item_id"].str.split("_").str[0], response_type=items["item_id"].str.split("_").str[1]
    )
    made = item_scores(judgments.assign(dimension="funny"), items)
    assert np.ptp(made.of("funny", "human")) == 0
    assert with_ties(np.array([np.nan, 0.3, 0.1 + 0.2, 0.4, -0.3])).tolist()[1:] == [0.3, 0.3, 0.4, -0.3]
