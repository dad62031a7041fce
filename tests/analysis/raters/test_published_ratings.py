"""Published numbers of the Oogiri paper: beside recomputed ones, and consistent with each other or not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge
from scipy.stats import pearsonr

from conjury.analysis.audit.arithmetic import mean_is_possible, mean_sd_is_possible
from conjury.analysis.audit.oogiri import (
    _p_values,
    most_in_order,
    printed,
    published_checks,
    published_correlations,
    published_means,
)
from conjury.analysis.raters import correlations, distributions, means
from conjury.inference.errors import InputError
from conjury.inference.tables.files import PUBLISHED


@pytest.fixture(scope="module")
def judged() -> tuple[pd.DataFrame, pd.DataFrame]:
    kinds = {"modality": ["text", "image"] * 20, "response_type": ["high"] * 20 + ["low"] * 20}
    items = pd.DataFrame({"item_id": [f"i{k}" for k in range(40)], **kinds})
    items["topic_id"] = [f"t{k % 20}" for k in range(40)]
    values = np.random.default_rng(0).integers(0, 5, (3, 40))
    return by_judge(dict(zip(("ann", "bob", "gpt_4_1"), values, strict=True)), dimension="funniness"), items


@pytest.fixture(scope="module")
def checks() -> pd.DataFrame:
    return published_checks().set_index("check")


@pytest.mark.long
def test_every_printed_number_stands_beside_ours(judged: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    judgments, items = judged
    made = published_means(means(*judged, by="response_type", cluster="topic_id", draws=20))
    assert set(made["table"]) == {1, 4}
    row = made[(made["group"] == "human") & (made["response_type"] == "high")].iloc[0]
    assert (row["printed"], row["sd_printed"]) == (2.563, 0.648)
    assert row["difference"] == pytest.approx(row["estimate"] - 2.563)
    split = published_means(means(*judged, by=("modality", "response_type"), cluster="topic_id", draws=20))
    assert set(split["table"]) == {10, 11, 12, 13}
    made = published_correlations(correlations(*judged, by="response_type", cluster="topic_id", draws=20))
    row = made[(made["response_type"] == "overall") & (made["coefficient"] == "spearman")].iloc[0]
    assert (row["table"], row["printed"], row["star"]) == (7, 0.224, True)
    for result, message in (
        (distributions(*judged), "give means by response_type"),
        (means(*judged, by=("modality",), draws=5), "has no column 'response_type'"),
        (means(judgments.assign(dimension="wit"), items, by="response_type", draws=5), "no published number"),
    ):
        with pytest.raises(InputError, match=message):
            published_means(result)


def test_printed_tables_have_every_number() -> None:
    assert len(printed("oogiri_means.csv")) == 4 * 3 * 8 * 6
    assert len(printed("oogiri_correlations.csv")) == 3 * 9 * 6 * 2


def test_printed_numbers_of_models_are_of_399_topics_not_200_with_the_divisor_n_minus_1() -> None:
    table = pd.read_csv(PUBLISHED / "oogiri_means.csv", dtype=str).query("rater != 'human'")
    rows = list(table[["mean", "sd", "modality"]].itertuples(index=False, name=None))
    stated, found = {"all": 200, "text": 100, "image": 100}, {"all": 399, "text": 200, "image": 199}
    means_off = [
        sum(not mean_is_possible(mean, sizes[modality], [0, 4]) for mean, _, modality in rows)
        for sizes in (stated, found)
    ]
    deviations_off = [
        sum(
            not mean_sd_is_possible(mean, sd, found[kind], [0, 4], divisor=divisor) for mean, sd, kind in rows
        )
        for divisor in ("n-1", "n")
    ]
    assert (len(rows), means_off, deviations_off) == (432, [309, 0], [0, 362])


@pytest.mark.parametrize("n", [5, 12, 60])
def test_p_values_of_printed_correlations_are_those_of_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    wanted = pearsonr(rng.normal(size=n), rng.normal(size=n))
    assert _p_values(np.array([wanted.statistic]), np.array([n]))[0] == pytest.approx(wanted.pvalue)


def test_printed_stars_fit_399_topics_but_for_one(checks: pd.DataFrame) -> None:
    stars = checks.loc["stars of correlations"]
    assert stars["n_off"] == 1
    assert "table 8, Gemini 2.5 Pro" in stars["finding"]
    assert "236 of 288 correlations" in stars["finding"]


def test_text_is_preferred_for_seven_of_eight_response_types(checks: pd.DataFrame) -> None:
    text = checks.loc["text preferred by Claude Sonnet 4"]
    assert text["n_off"] == 1
    assert text["finding"].endswith("7 of 8 response types (not: unrelated).")


def test_printed_accuracies_cannot_be_complete_orders_without_ties(checks: pd.DataFrame) -> None:
    rows = checks[checks.index.str.startswith("accuracy")]
    assert rows["n_off"].tolist() == [1, 1, 1]
    for pattern, numbers in (
        (r"^([\d.]+)% cannot", [50.9, 51.9, 54.1]),
        (r"give at most ([\d.]+)%", [43.5, 37.4, 43.4]),
        (r"is a whole number of 399 topics \((\d+)\)", [203, 207, 216]),
    ):
        assert rows["finding"].str.extract(pattern)[0].astype(float).tolist() == numbers


def test_models_hardly_prefer_their_own_responses_to_those_of_other_models(checks: pd.DataFrame) -> None:
    rows = checks[checks.index.str.startswith("own responses")]
    stated = r"own responses ([+-][\d.]+) compared with .* difference is ([+-][\d.]+)\."
    gaps = rows["finding"].str.extract(stated)
    assert gaps.astype(float).to_numpy().T.tolist() == [[0.025, 0.167, -0.038], [-0.032, 0.240, -0.208]]
    assert rows["n_off"].tolist() == [0, 0, 1]


def test_the_bound_on_strict_orders_holds_and_is_reached() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        best, worst = rng.integers(0, 5, (2, 400))
        bound = most_in_order(float((best - worst).mean()), float(best.std() + worst.std()), 2)
        assert (best - worst >= 2).mean() <= bound + 1e-12
    gap = np.repeat([2.0, -2.0], 200)
    assert most_in_order(float(gap.mean()), float(gap.std()), 2) == pytest.approx(0.5)
