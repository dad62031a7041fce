"""Biases: by hand; self-preference keeps its null although human means are noisy, and finds what is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from conjury.analysis.numerics.bootstrap import Draws
from conjury.analysis.raters import Result, biases
from conjury.analysis.raters.descriptive.self_preference import adjusted_differences, one_person, quality_of
from conjury.inference.errors import InputError

Tables = tuple[pd.DataFrame, pd.DataFrame]
Simulate = Callable[..., Tables]
OPTIONS = {
    "generator": "generator",
    "unrelated": ("response_type", "unrelated"),
    "set_aside": {"response_type": ["serious"]},
}
UNRELIABLE: dict[str, object] = {
    "dimensions": ["wit"],
    "models": ["gpt"],
    "raters": 3,
    "agreement": 1.0,
    "lift": 0.0,
    "noise": 1.5,
    "whole": False,
}


def run(tables: Tables, draws: int = 100) -> Result:
    return biases(*tables, cluster="topic_id", draws=draws, **OPTIONS)  # type: ignore[arg-type]


def values_of(made: Result, quantity: str) -> pd.DataFrame:
    return made.frame[made.frame["quantity"] == quantity].set_index("judge")


def test_positivity_and_range_by_hand(tables: Tables) -> None:
    made = biases(*tables, dimensions=["empathy"], by=("response_type",), draws=10).frame
    judgments, items = tables
    kept = judgments[judgments["dimension"] == "empathy"]
    people = kept[kept["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    gpt = kept[kept["judge_id"] == "gpt"].set_index("item_id")["value"]
    ours = made[made["judge"] == "gpt"].set_index(["quantity", "response_type"])["estimate"]
    apart = gpt - people
    low = items.set_index("item_id")["response_type"] == "low"
    assert ours["difference", "overall"] == pytest.approx(apart.mean())
    assert ours["difference", "low"] == pytest.approx(apart[low[low].index].mean())
    assert ours["sd_ratio", "overall"] == pytest.approx(gpt.std() / people.std())
    single = kept[kept["judge_kind"] == "human"]["value"].std(ddof=0)
    assert ours["sd_ratio_one_person", "overall"] == pytest.approx(gpt.std(ddof=0) / single)
    share = gpt.value_counts(normalize=True)
    assert ours["scale_used", "overall"] == pytest.approx(np.exp(-(share * np.log(share)).sum()) / 5)


def test_neglect_of_context_by_hand(tables: Tables) -> None:
    made = values_of(run(tables, 10), "unrelated_net")
    judgments, items = tables
    kept = judgments[judgments["dimension"] == "funniness"]
    people = kept[kept["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    claude = kept[kept["judge_id"] == "claude"].set_index("item_id")["value"]
    kind = items.set_index("item_id")["response_type"]
    off, on = kind == "unrelated", kind.isin(["high", "mid", "low"])
    expected = (claude - people)[off].mean() - (claude - people)[on].mean()
    ours = made[made["dimension"] == "funniness"].loc["claude", "estimate"]
    assert ours == pytest.approx(expected)


def test_comparison_at_equal_quality_by_hand() -> None:
    """Reference on the line y = 1 + 0.5 q with human means of known noise; own items 1 above the line."""
    x = np.array([0.0, 2, 4, 1.0, 3.0])
    y = np.array([1.0, 2, 3, 2.5, 3.5])
    error = np.full(5, 8 / 3 / 4)  # a quarter of the variance of the reference means
    quality = quality_of(x, y, error * 4, np.full(5, 4))
    reference = np.array([1, 1, 1, 0, 0], dtype=bool)
    draws = Draws(np.ones((1, 5)), np.arange(5))
    found, reliability = adjusted_differences(quality, reference, ~reference, draws)
    assert reliability[0] == pytest.approx(0.75)
    assert found[0] == pytest.approx([1.0, 1.0, 1.0])
    better = quality_of(x + ~reference, y, error * 4, np.full(5, 4))
    moved, _ = adjusted_differences(better, reference, ~reference, draws)
    assert moved[0] == pytest.approx([1.0, 1 - 0.5, 1 - 0.5 / 0.75])


def test_one_person_against_the_others_is_averaged_over_people() -> None:
    values = np.array([[0.0, 2, 4, 3], [1, 1, 2, 0]])
    made = one_person(values.sum(axis=1), (values**2).sum(axis=1), np.full(2, 4.0))
    others = (values.sum(axis=1, keepdims=True) - values) / 3
    assert made.x == pytest.approx(others.mean(axis=1))
    assert made.xx == pytest.approx((others**2).mean(axis=1))
    assert made.xy == pytest.approx((others * values).mean(axis=1))
    assert made.error == pytest.approx(values.var(axis=1, ddof=1) / 3)


def test_without_self_preference_the_corrected_comparison_keeps_its_null(simulate: Simulate) -> None:
    """People's means are noisy (3 raters), so that matching on them fakes a preference against models."""
    naive, corrected = [], []
    for seed in range(8):
        tables = simulate(60, **UNRELIABLE, seed=seed)
        shown = run(tables, 30).extra["adjustments"]
        shown = shown[(shown["judge"] == "gpt") & (shown["quantity"] == "own")].set_index("adjustment")
        naive.append(shown.loc["human mean", "estimate"])
        corrected.append(shown.loc["corrected", "estimate"])
    error = np.std(corrected, ddof=1) / np.sqrt(len(corrected))
    assert abs(np.mean(corrected)) < 3 * error
    assert np.mean(naive) < -3 * np.std(naive, ddof=1) / np.sqrt(len(naive))


def test_self_preference_is_found_and_is_not_taken_for_a_liking_of_models(simulate: Simulate) -> None:
    tables = simulate(150, dimensions=["wit"], prefer=0.5, whole=False, seed=2)
    made = run(tables)
    own, other, both = (values_of(made, name) for name in ("own", "other_models", "own_minus_other"))
    assert own["estimate"].to_numpy() == pytest.approx(np.full(3, 0.5), abs=0.2)
    assert (other["lower"] < 0).all()
    assert (both["lower"] > 0).all()
    authors = made.extra["generators"].set_index(["judge", "generator"])["estimate"]
    assert authors["gpt", "gpt"] == pytest.approx(own.loc["gpt", "estimate"])


def test_a_person_shows_what_matching_at_observed_means_fakes(simulate: Simulate) -> None:
    shown = run(simulate(150, dimensions=["wit"], noise=1.5)).extra["adjustments"]
    person = shown[shown["judge"] == "one person"].set_index("adjustment")
    assert list(person.index) == ["none", "human mean"]
    assert person.loc["human mean", "upper"] < 0


def test_a_person_who_rates_again_counts_once(simulate: Simulate) -> None:
    """Repeats say nothing of how people differ: with them as raters the correction would be too small."""
    judgments, items = simulate(60, **UNRELIABLE)
    people = judgments[judgments["judge_kind"] == "human"]
    again = pd.concat([judgments.assign(sample=1), people.assign(sample=2)])
    once, twice = run((judgments, items), 20), run((again, items), 20)
    pd.testing.assert_frame_equal(once.extra["adjustments"], twice.extra["adjustments"])
    lowest = people[people["judge_id"] == people["judge_id"].iloc[0]].assign(sample=2, value=-9.0)
    worse = run((pd.concat([judgments.assign(sample=1), lowest]), items), 20)
    shown, same = (values_of(made, "sd_ratio_one_person")["estimate"] for made in (once, worse))
    assert same.to_numpy() == pytest.approx(shown.to_numpy())


def test_p_values_of_biases_are_adjusted_over_the_table(tables: Tables) -> None:
    made = run(tables).frame
    known = made["p"].notna()
    assert made.loc[known, "p_holm"].to_numpy() == pytest.approx(
        multipletests(made.loc[known, "p"], method="holm")[1]
    )
    assert made.loc[~known, "p_holm"].isna().all()


def test_one_rater_an_item_gives_no_reliability_and_this_is_told(simulate: Simulate) -> None:
    made = run(simulate(30, dimensions=["wit"], raters=1), 20)
    assert values_of(made, "own")["estimate"].isna().all()
    assert any("items need two raters" in note for note in made.notes)


def test_a_model_at_the_end_of_the_scale_is_told(simulate: Simulate) -> None:
    made = run(simulate(20, dimensions=["wit"], lift=2.5), 10)
    assert any("assume a straight line" in note and "gpt on wit" in note for note in made.notes)
    assert not any("straight" in note for note in run(simulate(20, dimensions=["wit"]), 10).notes)


def test_unknown_authors_and_levels_are_refused(tables: Tables) -> None:
    with pytest.raises(InputError, match="no judged item has 'people' in column 'generator'"):
        biases(*tables, generator="generator", author="people")
    with pytest.raises(InputError, match="no judged item has 'off' in column 'response_type'"):
        biases(*tables, unrelated=("response_type", "off"))


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_corrected_self_preference_rejects_a_true_null_at_the_nominal_rate(
    simulate: Simulate, whole: bool
) -> None:
    rejected = []
    for seed in range(150):
        tables = simulate(
            60, dimensions=["wit"], raters=4, agreement=0.8, lift=0.0, noise=1.0, whole=whole, seed=seed
        )
        rejected.append((values_of(run(tables, 200), "own")["p"] < 0.05).to_numpy())
    assert 0.02 < np.mean(rejected) < 0.09
