"""Stimuli with effects of their own, and models that are asked again: against brute force and known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.simulation import Simulation, simulate
from conjury.inference.simulation.conjoint.judges import COLUMNS, RaterModel, read_truth_table
from conjury.inference.simulation.conjoint.stimuli import stimulus_effects
from conjury.inference.simulation.conjoint.truth import true_values
from conjury.inference.study import Study, load_study
from conjury.inference.tables import validate

STUDY = """
name: small
title: A small study
kind: conjoint
question: Which post should be reviewed first?
attributes:
  - id: slur
    label: Slur
    levels: [{id: none, label: None}, {id: mild, label: Mild}, {id: harsh, label: Harsh}]
  - {id: topic, label: Topic, levels: [{id: work, label: Work}, {id: sport, label: Sport}]}
stimuli:
  - {id: text, label: Text, attribute: topic, count: 3}
  - {id: user, label: Author, attribute: slur, count: 2}
design: {pairs: 400, respondents: 30, tasks: 5, repeat_first: true}
prompts: [{id: base, label: Base}]
judges: [{id: m, label: M, kind: model}, {id: panel, label: Panel, kind: human}]
clusters: {human: judge_id, model: pair_id}
bootstrap: {unit: pair_id}
analyses: [{name: amce, verb: amce, title: Effects, formula: chosen ~ slur + topic}]
"""

EFFECTS = {("text", ""): 1.0, ("text:slur", ""): 0.8, ("user", ""): 0.5}
WORTHY = ("slur", "topic")
WORTH = {("slur", "mild"): 0.5, ("slur", "harsh"): 1.5, ("topic", "sport"): -0.7}
MODEL = RaterModel("m", "model", "base", WORTH, stimulus_sd=EFFECTS)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return load_study(path)


def table(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(str)


def model(**parameters: float) -> pd.DataFrame:
    worth = [("m", "model", "base", "part_worth", *key, value) for key, value in WORTH.items()]
    return table(*worth, *[("m", "model", "base", name, "", "", value) for name, value in parameters.items()])


def with_stimuli(kind: str = "model") -> pd.DataFrame:
    who = ("m", "model", "base") if kind == "model" else ("panel", "human", "")
    parts = [(*who, "part_worth", *key, value) for key, value in WORTH.items()]
    return table(*parts, *[(*who, "stimulus_sd", *key, value) for key, value in EFFECTS.items()])


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


def amces(truth: pd.DataFrame, column: str) -> pd.Series:
    rows = truth[truth["statistic"] == "amce"]
    return rows.set_index(["feature", "level"])[column]


def agreement(first: pd.DataFrame, again: pd.DataFrame) -> float:
    """Share of pairs with the same profile chosen, matched by the profiles shown."""
    pick, second = (
        rows[rows["chosen"] == 1].set_index("origin_pair")["profile_id"].astype(int)
        for rows in (
            rows.assign(origin_pair=rows["pair_id"].str.removesuffix("_swapped")) for rows in (first, again)
        )
    )
    return float((pick.loc[second.index] == second).mean())


# --- stimuli --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 0.6])
def test_values_for_the_stimuli_at_hand_are_those_of_all_pairs_of_profiles(study, bias):
    rater = replace(MODEL, position_bias=bias)
    found = amces(true_values(study, [rater], stimulus_seed=4), "estimate_at_hand")
    expected = brute_force(study, rater, 4)
    np.testing.assert_allclose(found, expected.loc[found.index], atol=1e-9)


def test_population_values_integrate_over_what_two_profiles_do_not_share(study):
    found = amces(true_values(study, [MODEL]), "estimate")
    np.testing.assert_allclose(found, population(study, MODEL).loc[found.index], atol=1e-6)


def test_population_values_are_the_mean_over_sets_of_stimuli(study):
    draws = np.array([brute_force(study, MODEL, seed).to_numpy() for seed in range(60)])
    truth = amces(true_values(study, [MODEL]), "estimate")
    order = brute_force(study, MODEL, 0).index
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - truth.loc[order]) / np.where(error > 0, error, 1)
    assert error.max() > 0.01, "the stimuli matter"
    assert np.abs(z).max() < 3.5


def test_stimuli_shrink_effects_as_independent_noise_would(study):
    plain, noisy = (
        amces(true_values(study, [r]), "estimate") for r in (replace(MODEL, stimulus_sd={}), MODEL)
    )
    assert 0 < noisy["slur", "harsh"] < plain["slur", "harsh"]


def test_choices_follow_the_stimuli_at_hand(study):
    made = simulate(study, 6, pairs=30_000, raters=with_stimuli())
    found = made.choices.groupby("slur", observed=True)["chosen"].mean().astype(float)
    truth = amces(made.truth, "estimate_at_hand")["slur"]
    assert abs(found["harsh"] - found["none"] - truth["harsh"]) < 4 * 0.5 * np.sqrt(2 / 20_000)
    assert abs(truth["harsh"] - amces(made.truth, "estimate")["slur", "harsh"]) > 0.02


def test_a_panel_meets_the_same_stimuli_as_a_model(study):
    raters = pd.concat([with_stimuli(), with_stimuli("human")])
    made = simulate(study, 6, respondents=4_000, raters=raters)
    effects = made.stimuli.set_index(["judge", "id", "feature", "level"])["effect"]
    pd.testing.assert_series_equal(effects["m"], effects["panel"])
    panel = made.choices[(made.choices["judge_kind"] == "human") & ~made.choices["repeat"]]
    found = panel.groupby("slur", observed=True)["chosen"].mean().astype(float)
    truth = amces(made.truth[made.truth["judge"] == "panel"], "estimate_at_hand")["slur", "harsh"]
    assert abs(found["harsh"] - found["none"] - truth) < 4 * 0.5 * np.sqrt(2 / 13_000)


def test_random_part_worths_leave_only_the_population_value(study):
    panel = RaterModel("panel", "human", "", WORTH, {("slur", "harsh"): 1.0}, EFFECTS)
    truth = true_values(study, [panel], stimulus_seed=1)
    assert truth["estimate"].notna().all()
    assert truth["estimate_at_hand"].isna().all()


def test_stimuli_stay_while_choices_are_drawn_anew(study):
    first, second = (simulate(study, seed, stimulus_seed=9, raters=with_stimuli()) for seed in (1, 2))
    pd.testing.assert_frame_equal(first.stimuli, second.stimuli)
    assert not first.choices["chosen"].equals(second.choices["chosen"])
    assert not first.stimuli.equals(simulate(study, 1, raters=with_stimuli()).stimuli)


def test_a_slope_for_one_level_leaves_the_others_fixed(study):
    one = replace(MODEL, stimulus_sd={("text:slur", "mild"): 2.0})
    effects = stimulus_effects(study, [one], 1).set_index(["id", "level"])["effect"].unstack()
    assert (effects["mild"] != 0).all()
    assert (effects[["none", "harsh"]] == 0).all(axis=None)
    assert len(effects) == 6


@pytest.mark.parametrize(
    ("feature", "level", "remedy"),
    [
        ("txt", "", "did you mean 'text'"),
        ("text", "mild", "the intercept of 'text' has no level"),
        ("text:slurs", "", "did you mean 'slur'"),
        ("text:slur", "mildd", "did you mean 'mild'"),
    ],
)
def test_a_wrong_stimulus_effect_is_refused(study, feature, level, remedy):
    bad = table(("m", "model", "base", "stimulus_sd", feature, level, 1))
    with pytest.raises(InputError, match=f"truth table, row 1: .*{remedy}"):
        read_truth_table(bad, study)


# --- repeats --------------------------------------------------------------------------------------


def repeated(study: Study, **options: float) -> Simulation:
    return simulate(study, 3, pairs=20_000, swapped_share=0.5, samples=2, raters=model(**options))


def test_repeats_keep_the_contract_and_swap_the_sides(study):
    made = simulate(study, 3, pairs=40, swapped_share=0.25, samples=3, raters=model())
    assert len(made.choices) == (40 + 10) * 3 * 2
    assert validate(made.choices, "choices").equals(made.choices)
    assert made.choices["sample"].unique().tolist() == [1, 2, 3]
    assert set(made.choices["pair_id"]) == set(made.tasks["task_id"])
    sides = made.tasks.assign(pair=made.tasks["task_id"].str.removesuffix("_swapped"))
    shown = sides.set_index(["pair", "repeat", "position"])["profile_id"].unstack()
    again = shown.xs(True, level="repeat")
    before = shown.xs(False, level="repeat").loc[again.index]
    assert (again["A"] == before["B"]).all()
    assert (again["B"] == before["A"]).all()


def test_asking_again_leaves_the_first_answers_as_they_were(study):
    once = simulate(study, 3, pairs=300, raters=model(noise=0.2)).choices
    more = simulate(study, 3, pairs=300, swapped_share=0.3, samples=2, raters=model(noise=0.2)).choices
    first = more[~more["repeat"] & (more["sample"] == 1)].drop(columns="sample").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, once)
    assert "sample" not in once


def test_samples_agree_as_the_noise_says_whatever_the_position_bias(study):
    for bias in (0.0, 1.5):
        main = repeated(study, noise=0.15, position_bias=bias).choices.query("not repeat")
        one, two = (main[main["sample"] == number] for number in (1, 2))
        assert abs(agreement(one, two) - (0.85**2 + 0.15**2)) < 4 * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize(("noise", "bias"), [(0.0, 0.0), (0.0, 0.8), (0.1, 0.8)])
def test_swapped_repeats_agree_as_noise_and_position_bias_imply(study, noise, bias):
    made = repeated(study, noise=noise, position_bias=bias)
    one = made.choices[made.choices["sample"] == 1]
    truth = made.truth.query("statistic == 'reliability'")["estimate"].item()
    found = agreement(one[~one["repeat"]], one[one["repeat"]])
    assert abs(found - truth) < 4 * 0.5 / np.sqrt(10_000)
    assert (truth == 1) == (noise == bias == 0)


def test_noise_shrinks_true_effects_by_twice_its_share(study):
    sure, noisy = (amces(true_values(study, [replace(MODEL, noise=tau)]), "estimate") for tau in (0.0, 0.2))
    np.testing.assert_allclose(noisy, 0.6 * sure, atol=1e-12)


def test_position_bias_of_a_panel_lowers_its_reliability_as_stated(study):
    panel = table(
        ("panel", "human", "", "position_bias", "", "", 1.0),
        ("panel", "human", "", "reliability", "", "", 0.9),
    )
    made = simulate(study, 3, respondents=8_000, raters=panel)
    truth = made.truth.query("statistic == 'reliability'")["estimate"].item()
    picks = made.choices[made.choices["task"].isin([1, 6]) & (made.choices["position"] == "A")]
    answers = picks["chosen"].to_numpy(dtype=int).reshape(-1, 2)
    assert abs((answers[:, 0] != answers[:, 1]).mean() - truth) < 4 * 0.5 / np.sqrt(8_000)
    assert truth == pytest.approx(0.9 - 0.8 * (expit(1.0) - expit(-1.0)))


def test_noise_given_by_hand_replaces_that_of_the_table(study):
    by_hand = simulate(study, 3, raters=model(), noise=0.2)
    pd.testing.assert_frame_equal(by_hand.choices, simulate(study, 3, raters=model(noise=0.2)).choices)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"swapped_share": 1.5}, "from 0 to 1"),
        ({"samples": 0}, "at least once"),
        ({"noise": 0.7}, "0 to 0.5"),
    ],
)
def test_shares_and_counts_out_of_range_are_refused(study, options, remedy):
    with pytest.raises(InputError, match=remedy):
        simulate(study, 1, raters=model(), **options)
