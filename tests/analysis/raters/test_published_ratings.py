"""Printed numbers of the Oogiri paper: beside recomputed ones, and consistent with each other or not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.audit.oogiri import (
    fits_deviation,
    most_in_order,
    printed,
    published_checks,
    published_correlations,
    published_means,
    whole_counts,
)
from conjury.analysis.raters import correlations, distributions, means
from conjury.inference.errors import InputError


def judged() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    items = pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in range(40)],
            "topic_id": [f"t{k % 20}" for k in range(40)],
            "modality": ["text", "image"] * 20,
            "response_type": ["high"] * 20 + ["low"] * 20,
        }
    )
    judges = [("ann", "human"), ("bob", "human"), ("gpt_4_1", "model")]
    rows = [
        (name, kind, item, "funniness", rng.integers(0, 5))
        for name, kind in judges
        for item in items["item_id"]
    ]
    columns = ["judge_id", "judge_kind", "item_id", "dimension", "value"]
    return pd.DataFrame(rows, columns=columns), items


def test_every_printed_mean_stands_beside_ours() -> None:
    made = published_means(means(*judged(), by="response_type", cluster="topic_id", draws=20))
    assert set(made["table"]) == {1, 4}
    row = made[(made["group"] == "human") & (made["response_type"] == "high")].iloc[0]
    assert (row["printed"], row["sd_printed"]) == (2.563, 0.648)
    assert row["difference"] == pytest.approx(row["estimate"] - 2.563)
    split = published_means(means(*judged(), by=("modality", "response_type"), cluster="topic_id", draws=20))
    assert set(split["table"]) == {10, 11, 12, 13}


def test_every_printed_correlation_stands_beside_ours() -> None:
    made = published_correlations(correlations(*judged(), by="response_type", cluster="topic_id", draws=20))
    row = made[(made["response_type"] == "overall") & (made["coefficient"] == "spearman")].iloc[0]
    assert (row["table"], row["printed"], row["star"]) == (7, 0.224, True)


def test_results_without_printed_numbers_are_refused() -> None:
    judgments, items = judged()
    with pytest.raises(InputError, match="give means by response_type"):
        published_means(distributions(judgments, items))
    with pytest.raises(InputError, match="has no column 'response_type'"):
        published_means(means(judgments, items, by=("modality",), draws=5))
    with pytest.raises(InputError, match="no published number"):
        published_means(means(judgments.assign(dimension="wit"), items, by="response_type", draws=5))


def test_printed_tables_have_every_number() -> None:
    assert len(printed("oogiri_means.csv")) == 4 * 3 * 8 * 6
    assert len(printed("oogiri_correlations.csv")) == 3 * 9 * 6 * 2


def test_printed_means_are_of_399_topics_and_agree_with_their_parts() -> None:
    found = published_checks().set_index("check")["n_off"]
    assert found["whole ratings of 399 topics"] == 0
    assert found["whole ratings of 200 topics"] == 309
    assert found["standard deviations of whole ratings"] == 0
    assert found["tables 1, 4-6 from text and image parts"] == 0
    assert found["stars of correlations"] == 1
    told = published_checks().set_index("check")["finding"]
    assert told["standard deviations of whole ratings"].endswith("with n, 362.")
    assert "the largest gap is 0.0007" in told["tables 1, 4-6 from text and image parts"]
    assert "table 8, Gemini 2.5 Pro" in told["stars of correlations"]
    assert "236 of 288 correlations" in told["stars of correlations"]


def test_printed_accuracies_cannot_be_complete_orders_without_ties() -> None:
    found = published_checks()
    rows = found[found["check"].str.startswith("accuracy")]
    assert (rows["n_off"] == 1).all()
    printed_share = rows["finding"].str.extract(r"^([\d.]+)% cannot")[0].astype(float)
    most = rows["finding"].str.extract(r"give at most ([\d.]+)%")[0].astype(float)
    of_399 = rows["finding"].str.extract(r"is a whole number of 399 topics \((\d+)\)")[0].astype(int)
    assert printed_share.tolist() == [50.9, 51.9, 54.1]
    assert most.tolist() == [43.5, 37.4, 43.4]
    assert of_399.tolist() == [203, 207, 216]


def test_models_hardly_prefer_their_own_responses_to_those_of_other_models() -> None:
    found = published_checks()
    rows = found[found["check"].str.startswith("own responses")]
    gaps = rows["finding"].str.extract(r"own responses ([+-][\d.]+) against .* difference is ([+-][\d.]+)\.")
    assert gaps[0].astype(float).tolist() == [0.025, 0.167, -0.038]
    assert gaps[1].astype(float).tolist() == [-0.032, 0.240, -0.208]
    assert rows["n_off"].tolist() == [0, 0, 1]


def test_text_topics_are_not_rated_higher_throughout() -> None:
    found = published_checks().set_index("check").loc["text preferred by Claude Sonnet 4"]
    assert found["n_off"] == 1
    assert found["finding"].endswith("7 of 8 response types (not: unrelated).")


def test_the_bound_on_strict_orders_holds_and_is_reached() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        best, worst = rng.integers(0, 5, (2, 400))
        bound = most_in_order(float((best - worst).mean()), float(best.std() + worst.std()), 2)
        assert (best - worst >= 2).mean() <= bound + 1e-12
    gap = np.repeat([2.0, -2.0], 200)
    assert most_in_order(float(gap.mean()), float(gap.std()), 2) == pytest.approx(0.5)


def test_means_and_deviations_of_whole_numbers_fit_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.integers(0, 5, (200, 40))
    mean, sd = ratings.mean(axis=1).round(3), ratings.std(axis=1, ddof=1).round(3)
    assert whole_counts(mean, 40).all()
    assert fits_deviation(mean, sd, 40, 39).all()
    assert fits_deviation(mean, sd + 0.004, 40, 39).mean() < 0.3
    assert whole_counts(mean + 0.004, 40).mean() < 0.1
