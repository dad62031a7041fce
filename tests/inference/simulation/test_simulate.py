"""Simulated choices: sizes and contract, random streams, and true values that samples find."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit

from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import COLUMNS, RaterModel
from conjury.inference.simulation.conjoint.true_effects import true_values
from conjury.inference.tables import validate


@pytest.fixture(scope="module")
def full(moderation, profiles):
    return simulate(moderation, seed=11, profiles=profiles)


def panel(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Truth table of a panel, from rows of parameter, feature, level and value."""
    return pd.DataFrame([("human", "human", "", *row) for row in rows], columns=COLUMNS).astype(str)


def truth_of(made, statistic: str) -> float:
    return made.truth.query("statistic == @statistic")["estimate"].item()


def test_choices_and_tasks_keep_the_contract(moderation, profiles):
    made = simulate(
        moderation,
        seed=11,
        profiles=profiles,
        pairs=60,
        respondents=15,
        judges=["human", "gpt4o"],
        truth=False,
    )
    choices = made.choices
    assert validate(choices, "choices").equals(choices)
    validate(made.tasks, "tasks")
    assert set(choices["pair_id"]) == set(made.tasks["task_id"])
    human = choices["judge_kind"] == "human"
    assert human.sum() == 15 * 16 * 2
    assert (choices["origin"] == "simulated").all()
    assert (choices.loc[human, "panel"] == "human").all()
    assert choices.loc[~human, "panel"].isna().all()
    assert choices["prompt_id"].dropna().unique().tolist() == list(moderation.prompt_labels)
    shown = [rows["profile_id"].to_numpy() for _, rows in choices[~human].groupby("prompt_id", sort=False)]
    assert all((one == next_one).all() for one, next_one in pairwise(shown)), "all prompts see the same pairs"
    posts = made.profiles.set_index("profile_id").loc[choices["profile_id"].to_numpy(dtype=int)]
    for name in (*moderation.features, "text", "user"):
        assert (posts[name].astype(str).to_numpy() == choices[name].astype(str).to_numpy()).all()


@pytest.mark.long
def test_a_seed_gives_the_same_choices_whoever_else_is_simulated(moderation, profiles):
    options = {"profiles": profiles, "pairs": 300, "respondents": 20, "truth": False}
    everyone, again, other = (simulate(moderation, seed, **options).choices for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(everyone, again)
    assert not everyone["chosen"].equals(other["chosen"])
    for judges, prompts in ((["gpt4o"], ["face_only"]), (["human"], None)):
        alone = simulate(moderation, 5, judges=judges, prompts=prompts, **options).choices
        same = (everyone["judge_kind"] == alone["judge_kind"].iloc[0]) & (
            everyone["prompt_id"].isin(alone["prompt_id"])
        )
        pd.testing.assert_frame_equal(alone, everyone[same].reset_index(drop=True))


@pytest.mark.long
def test_repeated_tasks_are_swapped_and_agree_at_the_set_reliability(full):
    human = full.choices[full.choices["judge_kind"] == "human"]
    repeated = human[human["task"].isin([1, 16])]
    sides = repeated["profile_id"].to_numpy(dtype=int).reshape(-1, 2, 2)
    np.testing.assert_array_equal(sides[:, 0], sides[:, 1, ::-1])
    picks = repeated["chosen"].to_numpy(dtype=int).reshape(-1, 2, 2)
    truth = truth_of(full, "reliability")
    assert truth == 0.885
    agreement = (picks[:, 0, 0] == picks[:, 1, 1]).mean()
    assert abs(agreement - truth) < 4 * np.sqrt(truth * (1 - truth) / 1854)


def test_inattentive_respondents_explain_low_reliability(moderation, profiles):
    guessing = panel(
        ("inattention", "", "", 0.4), ("reliability", "", "", 0.8), ("part_worth", "slur", "none", -40)
    )
    made = simulate(moderation, 3, profiles=profiles, respondents=3_000, raters=guessing, truth=False).choices
    decided = made[~made["repeat"]].assign(none=lambda rows: rows["slur"] == "none")
    lone = decided[decided.groupby("pair_id")["none"].transform("sum") == 1]
    wrong = lone[lone["none"]].groupby("judge_id")["chosen"].agg(["sum", "size"]).query("size >= 3")
    assert abs((wrong["sum"] > 0).mean() - 0.4 * (1 - 0.5 ** wrong["size"]).mean()) < 0.05


def test_response_error_is_what_the_attentive_reliability_implies():
    tau = RaterModel("human", "human", "", {}, inattention=0.1, reliability=0.8).response_error
    assert 0.9 * ((1 - tau) ** 2 + tau**2) + 0.1 * 0.5 == pytest.approx(0.8)
    perfect = RaterModel("human", "human", "", {}, reliability=0.885)
    assert perfect.response_error == pytest.approx((1 - np.sqrt(1 - 2 * (1 - 0.885))) / 2)


@pytest.mark.long
def test_true_amces_and_means_lie_within_monte_carlo_error(moderation, full):
    choices = full.choices[~full.choices["repeat"].to_numpy(dtype=bool)]
    scores = []
    for _, rows in choices.groupby(["judge_kind", choices["prompt_id"].fillna("")], observed=True):
        truth = full.truth[full.truth["prompt"] == rows["prompt_id"].fillna("").iloc[0]]
        for feature in (part.id for part in moderation.attributes):
            found = rows.groupby(feature, observed=True)["chosen"].mean().astype(float)
            error = np.sqrt(found * (1 - found) / rows[feature].value_counts())
            mean = truth.query("statistic == 'mm' and feature == @feature").set_index("level")
            scores += ((found - mean["estimate"]) / error).tolist()
            amce = truth.query("statistic == 'amce' and feature == @feature").drop_duplicates("level")
            effect = found - found.iloc[0] - amce.set_index("level")["estimate"]
            scores += (effect / np.hypot(error, error.iloc[0])).iloc[1:].tolist()
    assert np.abs(scores).max() < 4.5
    assert 0.6 < np.std(scores) < 1.3


@pytest.mark.long
def test_true_differences_by_identity_lie_within_monte_carlo_error(moderation, profiles):
    made = simulate(moderation, 8, profiles=profiles, judges=["human"], respondents=8_000)
    truth = made.truth.query("analysis == 'amce_by_identity' and feature == 'slur'")
    rows = made.choices[~made.choices["repeat"].to_numpy(dtype=bool)]
    means = rows.groupby(["identity", "slur"], observed=True)["chosen"].mean().astype(float).unstack()
    effects = means.sub(means["generic"], axis=0)
    for row in truth.itertuples():
        group, reference = str(row.by).split(" - ")
        found = effects.loc[group, row.level] - effects.loc[reference, row.level]
        assert abs(found - row.estimate) < 4 * 0.5 * np.sqrt(4 * 35 / len(rows))
    reclaimed = truth.query("level == 'reclaimed' and by == 'black_male - anonymous'")["estimate"].item()
    assert reclaimed < -0.05


@pytest.mark.long
def test_random_part_worths_are_integrated_exactly(moderation):
    curse = ("curse", "curse")
    rater = RaterModel("human", "human", "", {curse: 1.0}, heterogeneity_sd={curse: 1.2})
    truth = true_values(moderation, [rater]).query(
        "statistic == 'mm' and feature == 'curse' and level == 'curse'"
    )
    wins = quad(lambda z: expit(1 + 1.2 * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), -12, 12)[0]
    posts = 210_000
    meets_plain = (posts / 2) / (posts - 1)
    expected = meets_plain * wins + (1 - meets_plain) * 0.5
    assert truth["estimate"].item() == pytest.approx(expected, abs=2e-7)


@pytest.mark.long
def test_position_bias_moves_the_share_of_a_and_no_effect_of_an_indifferent_model(moderation, profiles):
    biased = panel(("position_bias", "", "", -0.4)).assign(judge_kind="model", prompt_id="baseline")
    made = simulate(moderation, 2, profiles=profiles, pairs=20_000, raters=biased)
    truth = truth_of(made, "first_position")
    assert truth == pytest.approx(expit(-0.4))
    share = made.choices.loc[made.choices["position"] == "A", "chosen"].mean()
    assert abs(share - truth) < 4 * 0.5 / np.sqrt(20_000)
    np.testing.assert_allclose(made.truth.query("statistic == 'amce'")["estimate"], 0, atol=1e-12)


@pytest.mark.parametrize(("sd", "lowest", "highest"), [(0.0, 0.85, 1.15), (2.0, 2.0, 9.0)])
def test_respondents_vary_beyond_chance_only_with_random_part_worths(
    moderation, profiles, sd, lowest, highest
):
    raters = panel(("part_worth", "curse", "curse", 0), ("heterogeneity_sd", "curse", "curse", sd))
    made = simulate(moderation, 4, profiles=profiles, respondents=1_000, raters=raters, truth=False).choices
    curse = made[(made["curse"] == "curse") & ~made["repeat"]]
    alone = curse[curse.groupby("pair_id")["chosen"].transform("size") == 1]
    rates = alone.groupby("judge_id")["chosen"].agg(["mean", "size"]).query("size >= 4").astype(float)
    assert lowest < rates["mean"].var() / (0.25 * (1 / rates["size"]).mean()) < highest


@pytest.mark.long
def test_the_truth_resembles_the_published_pattern_with_reference_levels_at_zero(full, moderation):
    amce = full.truth[full.truth["statistic"] == "amce"]
    references = {name: moderation.levels(name)[0] for name in moderation.features}
    assert (amce.loc[amce["level"] == amce["feature"].map(references), "estimate"] == 0).all()
    keys = ["judge", "prompt", "feature", "level"]
    effects = amce.query("analysis == 'amce'").set_index(keys)["estimate"].sort_index()
    for (judge, prompt), racism, error in (
        (("human", ""), 0.533, 0.01),
        (("gpt4o", "baseline"), 0.70, 0.012),
    ):
        slur = effects[judge, prompt, "slur"]
        rising = ["none", "sexism", "reverse_racism", "reclaimed", "homophobia", "racism"]
        assert slur.drop("generic").sort_values().index.tolist() == rising
        assert slur["racism"] == pytest.approx(racism, abs=error)
    means = full.truth.query("statistic == 'mm' and feature == 'curse'").groupby(["judge", "prompt"])
    np.testing.assert_allclose(means["estimate"].mean(), 0.5, atol=1e-12)
