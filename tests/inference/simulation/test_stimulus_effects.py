"""Stimuli with effects of their own, and models that are asked again: against brute force and known truth."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import cases
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import COLUMNS, RaterModel
from conjury.inference.simulation.conjoint.stimulus_effects import stimulus_effects
from conjury.inference.simulation.conjoint.true_effects import true_values
from conjury.inference.study import Study, load_study

EFFECTS = {("text", ""): 1.0, ("text:slur", ""): 0.8, ("user", ""): 0.5}
WORTHY = ("slur", "topic")
WORTH = {("slur", "mild"): 0.5, ("slur", "harsh"): 1.5, ("topic", "sport"): -0.7}
MODEL = RaterModel("m", "model", "base", WORTH, stimulus_sd=EFFECTS)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "study.yaml"
    return load_study(Path(shutil.copy(Path(__file__).with_name("small_study.yaml"), path)))


@pytest.fixture(scope="module")
def population_truth(study):
    return amces(true_values(study, [MODEL]))


def judge(*who: str, stimuli: bool = False, **parameters: float) -> pd.DataFrame:
    """Truth table of a judge, by default the model, with effects of stimuli on demand."""
    rows = [("part_worth", *key, value) for key, value in WORTH.items()]
    rows += [("stimulus_sd", *key, value) for key, value in EFFECTS.items() if stimuli]
    rows += [(name, "", "", value) for name, value in parameters.items()]
    cells = who or ("m", "model", "base")
    return pd.DataFrame([(*cells, *row) for row in rows], columns=COLUMNS).astype(str)


def brute_force(study: Study, rater: RaterModel, seed: int) -> pd.Series:
    """AMCEs from every pair of profiles, one at a time, with the effects looked up by name."""
    profiles = enumerate_profiles(study)
    effects = stimulus_effects(study, [rater], seed).set_index(["id", "feature", "level"])["effect"]
    utility = np.array(
        [
            sum(rater.part_worth.get((name, getattr(row, name)), 0.0) for name in WORTHY)
            + effects[row.text, "", ""]
            + effects[row.text, "slur", row.slur]
            + effects[row.user, "", ""]
            for row in profiles.itertuples()
        ]
    )
    first = expit(utility[:, None] - utility + rater.position_bias)
    second = expit(utility[:, None] - utility - rater.position_bias)
    weight = np.outer(profiles["probability"], profiles["probability"])
    np.fill_diagonal(weight, 0)
    return effects_of(profiles, weight, (first + second) / 2)


def population(study: Study, rater: RaterModel) -> pd.Series:
    """AMCEs from every pair of profiles, integrated over the stimuli that they do not share."""
    profiles = enumerate_profiles(study)
    worth = [
        profiles[name].map(lambda level, n=name: rater.part_worth.get((n, level), 0.0)) for name in WORTHY
    ]
    utility = sum(part.astype(float).to_numpy() for part in worth)
    text, user, slur = (profiles[name].to_numpy()[:, None] for name in ("text", "user", "slur"))
    slope = np.where(profiles["slur"] == "none", 0.0, rater.stimulus_sd["text:slur", ""]) ** 2
    variance = (
        2 * rater.stimulus_sd["text", ""] ** 2 * (text != text.T)
        + (slope[:, None] + slope) * ((text != text.T) | (slur != slur.T))
        + 2 * rater.stimulus_sd["user", ""] ** 2 * (user != user.T)
    )
    nodes, shares = hermegauss(60)
    z, advantage = nodes[:, None, None], utility[:, None] - utility
    chance = np.average(expit(advantage + np.sqrt(variance) * z), axis=0, weights=shares)
    weight = np.outer(profiles["probability"], profiles["probability"])
    np.fill_diagonal(weight, 0)
    return effects_of(profiles, weight, chance)


def effects_of(profiles: pd.DataFrame, weight: np.ndarray, chance: np.ndarray) -> pd.Series:
    chosen = (weight * chance).sum(axis=1) / weight.sum(axis=1)
    means = {name: pd.Series(chosen).groupby(profiles[name], observed=True).mean() for name in WORTHY}
    return pd.concat({name: mean - mean.iloc[0] for name, mean in means.items()})


def amces(truth: pd.DataFrame, column: str = "estimate") -> pd.Series:
    return truth[truth["statistic"] == "amce"].set_index(["feature", "level"])[column]


def harsh_effect(choices: pd.DataFrame) -> float:
    found = choices.groupby("slur", observed=True)["chosen"].mean().astype(float)
    return float(found["harsh"] - found["none"])


def agreement(first: pd.DataFrame, again: pd.DataFrame) -> float:
    """Share of pairs with the same profile chosen, matched by the profiles shown."""
    pick, second = (
        rows[rows["chosen"] == 1]
        .assign(pair=rows["pair_id"].str.removesuffix("_swapped"))
        .set_index("pair")["profile_id"]
        .astype(int)
        for rows in (first, again)
    )
    return float((pick.loc[second.index] == second).mean())


# --- stimuli --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 0.6])
def test_values_for_the_stimuli_at_hand_are_those_of_all_pairs_of_profiles(study, bias):
    rater = replace(MODEL, position_bias=bias)
    found = amces(true_values(study, [rater], stimulus_seed=4), "estimate_at_hand")
    np.testing.assert_allclose(found, brute_force(study, rater, 4).loc[found.index], atol=1e-9)


def test_population_values_integrate_over_stimuli_and_shrink_effects(study, population_truth):
    expected = population(study, MODEL).loc[population_truth.index]
    np.testing.assert_allclose(population_truth, expected, atol=1e-6)
    plain = amces(true_values(study, [replace(MODEL, stimulus_sd={})]))
    assert 0 < population_truth["slur", "harsh"] < plain["slur", "harsh"]


@pytest.mark.long
def test_choices_of_models_and_panels_follow_the_same_stimuli_at_hand(study):
    raters = pd.concat([judge(stimuli=True), judge("panel", "human", "", stimuli=True)])
    made = simulate(study, 6, pairs=30_000, respondents=4_000, raters=raters)
    effects = made.stimuli.set_index(["judge", "id", "feature", "level"])["effect"]
    pd.testing.assert_series_equal(effects["m"], effects["panel"])
    choices = made.choices[~made.choices["repeat"]]
    for name, kind, n in (("m", "model", 20_000), ("panel", "human", 13_000)):
        told = made.truth[made.truth["judge"] == name]
        truth = amces(told, "estimate_at_hand")["slur", "harsh"]
        found = harsh_effect(choices[choices["judge_kind"] == kind])
        assert abs(found - truth) < 4 * 0.5 * np.sqrt(2 / n)
        assert abs(truth - amces(told)["slur", "harsh"]) > 0.02


def test_random_part_worths_leave_only_the_population_value(study):
    panel = RaterModel("panel", "human", "", WORTH, {("slur", "harsh"): 1.0}, EFFECTS)
    truth = true_values(study, [panel], stimulus_seed=1)
    assert truth["estimate"].notna().all()
    assert truth["estimate_at_hand"].isna().all()


def test_stimuli_stay_while_choices_are_drawn_anew(study):
    raters = judge(stimuli=True)
    first, second = (simulate(study, seed, stimulus_seed=9, raters=raters) for seed in (1, 2))
    pd.testing.assert_frame_equal(first.stimuli, second.stimuli)
    assert not first.choices["chosen"].equals(second.choices["chosen"])
    assert not first.stimuli.equals(simulate(study, 1, raters=raters).stimuli)
    without = simulate(study, 1, stimulus_seed=9, raters=judge()).choices
    assert not first.choices["chosen"].equals(without["chosen"])


def test_a_slope_for_one_level_leaves_the_others_fixed(study):
    one = replace(MODEL, stimulus_sd={("text:slur", "mild"): 2.0})
    effects = stimulus_effects(study, [one], 1).set_index(["id", "level"])["effect"].unstack()
    assert (effects["mild"] != 0).all()
    assert (effects[["none", "harsh"]] == 0).all(axis=None)
    assert len(effects) == 6


# --- repeats --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "bias"), [(0.0, 0.0), (0.0, 0.8), (0.1, 0.8), (0.15, 1.5)])
def test_repeats_agree_as_noise_implies_and_swapped_ones_as_position_bias_does_too(study, noise, bias):
    raters = judge(noise=noise, position_bias=bias)
    made = simulate(study, 3, pairs=20_000, swapped_share=0.5, samples=2, raters=raters)
    one, two = (made.choices[made.choices["sample"] == number] for number in (1, 2))
    main = one[~one["repeat"]]
    same = (1 - noise) ** 2 + noise**2
    assert abs(agreement(main, two[~two["repeat"]]) - same) < 4 * 0.5 / np.sqrt(20_000)
    truth = made.truth.query("statistic == 'reliability'")["estimate"].item()
    assert abs(agreement(main, one[one["repeat"]]) - truth) < 4 * 0.5 / np.sqrt(10_000)
    assert (truth == 1) == (noise == bias == 0)


def test_noise_shrinks_true_effects_by_twice_its_share(study):
    sure, noisy = (amces(true_values(study, [replace(MODEL, noise=tau)])) for tau in (0.0, 0.2))
    np.testing.assert_allclose(noisy, 0.6 * sure, atol=1e-12)


def test_position_bias_of_a_panel_lowers_its_reliability_as_stated(study):
    panel = judge("panel", "human", "", position_bias=1.0, reliability=0.9).query("parameter != 'part_worth'")
    made = simulate(study, 3, respondents=8_000, raters=panel)
    truth = made.truth.query("statistic == 'reliability'")["estimate"].item()
    picks = made.choices[made.choices["task"].isin([1, 6]) & (made.choices["position"] == "A")]
    answers = picks["chosen"].to_numpy(dtype=int).reshape(-1, 2)
    assert abs((answers[:, 0] != answers[:, 1]).mean() - truth) < 4 * 0.5 / np.sqrt(8_000)
    assert truth == pytest.approx(0.9 - 0.8 * (expit(1.0) - expit(-1.0)))


def test_tasks_of_models_and_of_a_panel_are_rows_of_one_table(study):
    raters = pd.concat([judge(), judge("panel", "human", "")])
    tasks = simulate(study, 1, pairs=5, respondents=2, raters=raters, truth=False).tasks
    assert tasks.index.tolist() == list(range(5 * 2 + 2 * 6 * 2))


def test_noise_given_by_hand_replaces_that_of_the_table(study):
    by_hand = simulate(study, 3, raters=judge(), noise=0.2)
    pd.testing.assert_frame_equal(by_hand.choices, simulate(study, 3, raters=judge(noise=0.2)).choices)


@pytest.mark.parametrize(("options", "remedy"), cases(__file__, "refused"))
def test_unknown_names_and_values_out_of_range_are_refused(study, options, remedy):
    with pytest.raises(InputError, match=remedy):
        simulate(study, 1, raters=judge(), **options)
