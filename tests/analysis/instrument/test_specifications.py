"""Specification curves: estimates and covariance of amce, simultaneous bands, joint tests, turns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import crossed_choices
from scipy.special import ndtri

from conjury.analysis.conjoint import amce, amce_diffs
from conjury.analysis.instrument import specifications
from conjury.analysis.instrument.specifications import _null_ratios
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + length"


def test_every_cell_has_the_amce_of_its_rows() -> None:
    data = crossed_choices(200, by_prompt=0.5)
    frame = specifications(data, FORMULA, draws=200).frame
    assert len(frame) == 4 * 2
    for (prompt, order), rows in data.groupby(["prompt_id", "option_order"]):
        fitted = amce(rows, FORMULA, id="pair_id").frame.dropna(subset="std_error").set_index("level")
        own = frame[(frame["prompt_id"] == prompt) & (frame["option_order"] == order)].set_index("level")
        for level in ("kind", "long"):
            assert own.loc[level, "estimate"] == pytest.approx(fitted.loc[level, "estimate"])
            assert own.loc[level, "std_error"] == pytest.approx(fitted.loc[level, "std_error"])


def test_the_test_of_equality_has_the_covariance_of_shared_pairs() -> None:
    data = crossed_choices(300, by_prompt=1.0, samples=2).query("option_order == 'given'")
    summary = specifications(data, "chosen ~ tone", draws=200).extra["summary"].iloc[0]
    data = data.assign(prompt_id=data["prompt_id"].astype("category"))
    difference = amce_diffs(data, "chosen ~ tone", by="prompt_id", id="pair_id").frame.iloc[0]
    from scipy.stats import f

    assert summary["p_equal"] == pytest.approx(f.sf(difference["z"] ** 2, 1, 299), rel=1e-6)
    assert summary["p_equal"] < 0.05


def test_bands_are_wider_than_intervals_and_narrower_than_bonferroni() -> None:
    data = crossed_choices(300, prompts=("a", "b", "c"))
    found = specifications(data, FORMULA, draws=20_000)
    critical = found.extra["summary"]["critical"]
    assert (critical > ndtri(0.975)).all()
    assert (critical < ndtri(1 - 0.025 / 6) + 0.05).all()
    assert (found.frame["p_adjusted"] >= found.frame["p"]).all()


def test_critical_values_of_independent_cells_are_those_of_sidak() -> None:
    ratios = _null_ratios(np.eye(5), 1_000_000, 200_000, 1)
    critical = np.quantile(np.abs(ratios).max(axis=1), 0.95)
    assert critical == pytest.approx(ndtri((1 + 0.95**0.2) / 2), abs=0.01)


def test_signs_and_conclusions_that_turn_are_counted_against_the_reference() -> None:
    data = crossed_choices(600, effect=1.5, by_prompt=-3.0, seed=2)
    found = specifications(data, "chosen ~ tone", draws=200)
    summary = found.extra["summary"].iloc[0]
    assert summary["sign_turns"] == pytest.approx(2 / 3)
    assert summary["conclusion_turns"] == pytest.approx(2 / 3)
    assert summary["p_equal"] < 1e-6
    other = specifications(data, "chosen ~ tone", reference={"prompt_id": "long"}, draws=200)
    assert other.frame[other.frame["reference"]]["prompt_id"].tolist() == ["long"]
    assert other.frame[other.frame["reference"]]["conclusion"].tolist() == ["negative"]


def test_an_effect_of_zero_in_every_cell_is_not_rejected() -> None:
    data = crossed_choices(400, effect=1.0, seed=5)
    summary = specifications(data, FORMULA, draws=200).extra["summary"].set_index("level")
    assert summary.loc["long", "p_zero"] > 0.01
    assert summary.loc["kind", "p_zero"] < 1e-6
    assert summary.loc["long", "lower"] < 0 < summary.loc["long", "upper"]


def test_data_without_facets_and_unknown_references_are_refused() -> None:
    data = crossed_choices(30)
    with pytest.raises(InputError, match="there is one specification"):
        specifications(data.query("option_order == 'given' and prompt_id == 'plain'"), FORMULA)
    with pytest.raises(InputError, match="which has plain, long"):
        specifications(data, FORMULA, reference={"prompt_id": "short"})
    with pytest.raises(InputError, match="which is not a facet"):
        specifications(data, FORMULA, reference={"parser": "strict"})
    with pytest.raises(InputError, match="Specifications are of AMCEs"):
        specifications(data.drop(columns="position"), FORMULA)


@pytest.mark.slow
def test_simultaneous_bands_cover_all_cells_at_their_level() -> None:
    n, hits = 300, 0
    for seed in range(n):
        data = crossed_choices(120, effect=0.0, prompts=("a", "b", "c"), seed=seed)
        frame = specifications(data, "chosen ~ tone", draws=2_000, seed=seed).frame
        hits += bool(((frame["band_lower"] <= 0) & (frame["band_upper"] >= 0)).all())
    assert 0.915 <= hits / n <= 0.985


@pytest.mark.long
def test_few_clusters_are_noted_and_judges_have_curves_of_their_own() -> None:
    few = specifications(crossed_choices(12), "chosen ~ tone", draws=100)
    assert any("with 12 clusters intervals and bands are too narrow" in note for note in few.notes)
    both = pd.concat([crossed_choices(60), crossed_choices(60, seed=2).assign(judge_id="other")])
    many = specifications(both, FORMULA, draws=100)
    assert not any("too narrow" in note for note in many.notes)
    assert many.frame.groupby("judge").size().to_dict() == {"gpt": 8, "other": 8}
