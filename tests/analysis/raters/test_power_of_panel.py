"""Power of the replacement test with a panel, and the curve over epsilon."""

from __future__ import annotations

import made_up_ratings as made
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.figures import draw as figure_of
from conjury.analysis.figures import parts as further_figures
from conjury.analysis.raters import alt_test, read_ratings
from conjury.analysis.raters.replacement.epsilon_curve import epsilons, with_curve
from conjury.analysis.raters.replacement.panel import panel_of
from conjury.analysis.raters.replacement.power_of_panel import at_hand, cut_correlation, panel_power
from conjury.inference.errors import InputError


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    """Ratings of 60 items by four people and a model that agree."""
    rng = np.random.default_rng(1)
    quality = rng.normal(2, 1, 60)
    rows = [
        (judge, kind, item, float(np.clip(np.round(value + rng.normal(0, 0.6)), 0, 4)))
        for judge, kind in (*((name, "human") for name in "abcd"), ("gpt_4_1", "model"))
        for item, value in enumerate(quality)
    ]
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])


def test_the_panel_at_hand_is_measured(panel: pd.DataFrame) -> None:
    ratings = read_ratings(panel)
    found = at_hand(panel_of(ratings, ["gpt_4_1"]), len(ratings.categories), ratings.numeric)
    assert (found.kind, found.annotators, found.per_item, found.instances) == ("ratings", 4, 4, 60)
    assert found.agreement == pytest.approx(1 / 1.36, abs=0.1)


def test_cut_values_correlate_as_simulated_ones_do() -> None:
    from scipy.special import ndtri

    cut_at = np.array([0.1, 0.3, 0.4, 0.2])
    draws = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 100_000)
    cut = np.searchsorted(ndtri(np.cumsum(cut_at)[:-1]), draws)
    found = cut_correlation(np.array([0.6]), cut_at).item()
    assert found == pytest.approx(np.corrcoef(cut.T)[0, 1], abs=0.01)


def test_power_of_a_panel_grows_with_items_and_spares_models_behind(panel: pd.DataFrame) -> None:
    power = panel_power(panel, epsilon=0.2, simulations=100)
    assert sorted(power.frame["instances"].unique()) == [15, 30, 60, 120]
    best = power.frame[power.frame["model_agreement"] == power.frame["model_agreement"].max()]
    assert best["pass_rate"].iloc[-1] > best["pass_rate"].iloc[0]
    behind = power.frame[power.frame["scenario"] == "at the margin"]
    assert (behind["pass_rate"] <= 0.2).all()


def test_power_is_refused_where_people_do_not_agree(panel: pd.DataFrame) -> None:
    flat = panel.assign(value=[k % 2 for k in range(len(panel))])
    flat.loc[flat["judge_id"].isin(["a", "c"]), "value"] = 1 - flat["value"]
    with pytest.raises(InputError, match="no better than by chance"):
        panel_power(flat)


def test_the_curve_reaches_where_models_begin_to_pass(panel: pd.DataFrame) -> None:
    found = with_curve(alt_test(panel, draws=0))
    assert set(found.extra["epsilon"].columns) >= {"epsilon", "winning_rate", "passes"}
    assert "epsilon" in further_figures(found)
    assert figure_of(found, part="epsilon").axes[0].get_xlim()[1] >= 0.3
    assert epsilons(made.alt_test())[-1] == pytest.approx(0.6)
