"""Biases: by hand; self-preference keeps its null although human means are noisy, and finds what is there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from conjury.analysis.numerics.bootstrap import ItemWeightings
from conjury.analysis.raters import Result, biases
from conjury.analysis.raters.descriptive.self_preference import adjusted_differences, one_person, quality_of

from .conftest import Tables
from .conftest import simulated as simulate_all

pytestmark = pytest.mark.long

OPTIONS = {
    "generator": "generator",
    "unrelated": ("response_type", "unrelated"),
    "set_aside": {"response_type": ["serious"]},
}
UNRELIABLE: dict[str, object] = {"models": ["gpt"], "raters": 3, "agreement": 1.0, "lift": 0.0, "noise": 1.5}


def simulated(n: int, **options: object) -> Tables:
    return simulate_all(n, dimensions=["wit"], **options)  # type: ignore[arg-type]


def run(tables: Tables, draws: int = 100) -> Result:
    return biases(*tables, cluster="topic_id", draws=draws, **OPTIONS)  # type: ignore[arg-type]


def values_of(made: Result, quantity: str) -> pd.DataFrame:
    return made.frame[made.frame["quantity"] == quantity].set_index("judge")


def item_means(tables: Tables, dimension: str, judge: str) -> tuple[pd.Series, pd.Series, pd.DataFrame]:  # type: ignore[type-arg]
    """Ratings by a model and means of people, by item; the table of people's ratings."""
    kept = tables[0][tables[0]["dimension"] == dimension]
    people = kept[kept["judge_kind"] == "human"]
    model = kept[kept["judge_id"] == judge].set_index("item_id")["value"]
    return model, people.groupby("item_id")["value"].mean(), people


def test_biases_have_a_thousand_draws_unless_another_number_is_stated(tables: Tables) -> None:
    assert biases(*tables, dimensions=["empathy"]).settings["draws"] == 1000


def test_positivity_and_range_by_hand(tables: Tables) -> None:
    made = biases(*tables, dimensions=["empathy"], by=("response_type",), draws=10).frame
    gpt, people, ratings = item_means(tables, "empathy", "gpt")
    ours = made[made["judge"] == "gpt"].set_index(["quantity", "response_type"])["estimate"]
    low = tables[1].loc[tables[1]["response_type"] == "low", "item_id"]
    share = gpt.value_counts(normalize=True)
    expected = {
        ("difference", "overall"): (gpt - people).mean(),
        ("difference", "low"): (gpt - people)[low].mean(),
        ("sd_ratio", "overall"): gpt.std() / people.std(),
        ("sd_ratio_one_person", "overall"): gpt.std(ddof=0) / ratings["value"].std(ddof=0),
        ("scale_used", "overall"): np.exp(-(share * np.log(share)).sum()) / 5,
    }
    assert ours[list(expected)].tolist() == pytest.approx(list(expected.values()))


def test_neglect_of_context_by_hand_and_p_values_adjusted_over_the_table(tables: Tables) -> None:
    made = run(tables)
    claude, people, _ = item_means(tables, "funniness", "claude")
    kind = tables[1].set_index("item_id")["response_type"]
    off, on = ((claude - people)[kind.isin(types)] for types in (["unrelated"], ["high", "mid", "low"]))
    net = values_of(made, "unrelated_net")
    ours = net[net["dimension"] == "funniness"].loc["claude", "estimate"]
    assert ours == pytest.approx(off.mean() - on.mean())
    p, holm = made.frame["p"], made.frame["p_holm"]
    assert holm[p.notna()].tolist() == pytest.approx(multipletests(p.dropna(), method="holm")[1])
    assert holm[p.isna()].isna().all()


def test_comparison_at_equal_quality_by_hand() -> None:
    """Reference on the line y = 1 + 0.5 q with human means of known noise; own items 1 above the line."""
    x = np.array([0.0, 2, 4, 1.0, 3.0])
    y = np.array([1.0, 2, 3, 2.5, 3.5])
    error = np.full(5, 8 / 3 / 4)  # a quarter of the variance of the reference means
    quality = quality_of(x, y, error * 4, np.full(5, 4))
    reference = np.array([1, 1, 1, 0, 0], dtype=bool)
    draws = ItemWeightings(np.ones((1, 5)), np.arange(5))
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


def test_self_preference_is_found_and_is_not_taken_for_a_liking_of_models() -> None:
    tables = simulated(150, prefer=0.5, whole=False, seed=2)
    made = run(tables)
    own, other, both = (values_of(made, name) for name in ("own", "other_models", "own_minus_other"))
    assert own["estimate"].to_numpy() == pytest.approx(np.full(3, 0.5), abs=0.2)
    assert (other["lower"] < 0).all()
    assert (both["lower"] > 0).all()
    authors = made.extra["generators"].set_index(["judge", "generator"])["estimate"]
    assert authors["gpt", "gpt"] == pytest.approx(own.loc["gpt", "estimate"])


def test_a_person_shows_what_matching_at_observed_means_fakes() -> None:
    shown = run(simulated(150, noise=1.5)).extra["adjustments"]
    person = shown[shown["judge"] == "one person"].set_index("adjustment")
    assert list(person.index) == ["none", "human mean"]
    assert person.loc["human mean", "upper"] < 0


def test_a_person_who_rates_again_counts_once() -> None:
    """Repeats say nothing of how people differ: with them as raters the correction would be too small."""
    judgments, items = simulated(60, **UNRELIABLE, whole=False)
    people = judgments[judgments["judge_kind"] == "human"]
    again = pd.concat([judgments.assign(sample=1), people.assign(sample=2)])
    once, twice = run((judgments, items), 20), run((again, items), 20)
    pd.testing.assert_frame_equal(once.extra["adjustments"], twice.extra["adjustments"])
    lowest = people[people["judge_id"] == people["judge_id"].iloc[0]].assign(sample=2, value=-9.0)
    worse = run((pd.concat([judgments.assign(sample=1), lowest]), items), 20)
    shown, same = (values_of(made, "sd_ratio_one_person")["estimate"] for made in (once, worse))
    assert same.to_numpy() == pytest.approx(shown.to_numpy())


def test_one_rater_an_item_and_a_model_at_the_end_of_the_scale_are_told() -> None:
    made = run(simulated(30, raters=1), 20)
    assert values_of(made, "own")["estimate"].isna().all()
    assert any("items need two raters" in note for note in made.notes)
    end, inside = (run(simulated(20, lift=lift), 10).notes for lift in (2.5, 1.0))
    assert any("assume a straight line" in note and "gpt on wit" in note for note in end)
    assert not any("straight" in note for note in inside)
