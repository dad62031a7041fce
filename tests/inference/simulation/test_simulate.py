import shutil
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit

from conjury.inference.design.profiles import enumerate_profiles
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.simulation.conjoint.judges import COLUMNS, RaterModel, read_truth_table
from conjury.inference.simulation.conjoint.truth import true_values
from conjury.inference.study import load_study
from conjury.inference.tables import validate


@pytest.fixture(scope="module")
def study():
    return load_study("moderation")


@pytest.fixture(scope="module")
def profiles(study):
    return enumerate_profiles(study)


@pytest.fixture(scope="module")
def full(study, profiles):
    return simulate(study, seed=11, profiles=profiles)


def table(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype(str)


def by_level(rows: pd.DataFrame, feature: str) -> pd.Series:
    return rows.groupby(feature, observed=True)["chosen"].mean().astype(float)


def test_the_full_study_has_the_size_of_the_design(study, full):
    human = full.choices["judge_kind"] == "human"
    assert human.sum() == 1854 * 16 * 2
    assert (human & ~full.choices["repeat"]).sum() // 2 * 2 == 55_620
    assert (~human).sum() == 5 * 60_000
    assert full.choices["prompt_id"].dropna().unique().tolist() == list(study.prompt_labels)


def test_choices_and_tasks_keep_the_table_contract(full):
    assert validate(full.choices, "choices").equals(full.choices)
    validate(full.tasks, "tasks")
    assert set(full.choices["pair_id"]) == set(full.tasks["task_id"])


def test_every_prompt_sees_the_same_pairs(full):
    models = full.choices[full.choices["judge_kind"] == "model"]
    shown = [rows["profile_id"].to_numpy() for _, rows in models.groupby("prompt_id", sort=False)]
    assert all((one == next_one).all() for one, next_one in pairwise(shown))


def test_rows_carry_the_attributes_of_their_profile(full, study):
    some = full.choices.sample(2_000, random_state=1)
    looked_up = full.profiles.set_index("profile_id").loc[some["profile_id"].to_numpy(dtype=int)]
    for name in (*study.features, "text", "user"):
        assert (looked_up[name].astype(str).to_numpy() == some[name].astype(str).to_numpy()).all()


def test_a_seed_gives_the_same_choices_again(study, profiles):
    options = {"profiles": profiles, "pairs": 300, "respondents": 20, "truth": False}
    first, again, other = (simulate(study, seed, **options).choices for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(first, again)
    assert not first["chosen"].equals(other["chosen"])


def test_a_judge_answers_alike_whoever_else_is_simulated(study, profiles):
    options = {"profiles": profiles, "pairs": 300, "respondents": 20, "truth": False}
    everyone = simulate(study, 5, **options).choices
    for judges, prompts in ((["gpt4o"], ["face_only"]), (["human"], None)):
        alone = simulate(study, 5, judges=judges, prompts=prompts, **options).choices
        kind = alone["judge_kind"].iloc[0]
        same = everyone[(everyone["judge_kind"] == kind) & everyone["prompt_id"].isin(alone["prompt_id"])]
        pd.testing.assert_frame_equal(alone, same.reset_index(drop=True))


def test_repeated_tasks_are_swapped_and_agree_at_the_set_reliability(full):
    human = full.choices[full.choices["judge_kind"] == "human"]
    sides = human[human["task"].isin([1, 16])]["profile_id"].to_numpy(dtype=int).reshape(-1, 2, 2)
    np.testing.assert_array_equal(sides[:, 0], sides[:, 1, ::-1])
    picks = human[human["task"].isin([1, 16])]["chosen"].to_numpy(dtype=int).reshape(-1, 2, 2)
    agreement = (picks[:, 0, 0] == picks[:, 1, 1]).mean()
    truth = full.truth.query("statistic == 'reliability'")["estimate"].item()
    assert truth == 0.885
    assert abs(agreement - truth) < 4 * np.sqrt(truth * (1 - truth) / 1854)


def test_inattentive_respondents_explain_low_reliability(study, profiles):
    guessing = table(
        ("human", "human", "", "inattention", "", "", 0.4),
        ("human", "human", "", "reliability", "", "", 0.8),
        ("human", "human", "", "part_worth", "slur", "none", -40),
    )
    made = simulate(study, 3, profiles=profiles, respondents=3_000, raters=guessing, truth=False).choices
    decided = made[~made["repeat"]].assign(none=lambda rows: rows["slur"] == "none")
    lone = decided[decided.groupby("pair_id")["none"].transform("sum") == 1]
    wrong = lone.loc[lone["none"], "chosen"].groupby(lone.loc[lone["none"], "judge_id"]).agg(["sum", "size"])
    seen_often = wrong[wrong["size"] >= 3]
    assert abs((seen_often["sum"] > 0).mean() - 0.4 * (1 - 0.5 ** seen_often["size"]).mean()) < 0.05


def test_response_error_is_what_the_attentive_reliability_implies():
    panel = RaterModel("human", "human", "", {}, inattention=0.1, reliability=0.8)
    tau = panel.response_error
    assert 0.9 * ((1 - tau) ** 2 + tau**2) + 0.1 * 0.5 == pytest.approx(0.8)
    perfect = RaterModel("human", "human", "", {}, reliability=0.885)
    assert perfect.response_error == pytest.approx((1 - np.sqrt(1 - 2 * (1 - 0.885))) / 2)


def test_true_amces_and_means_lie_within_monte_carlo_error(study, full):
    choices = full.choices[~full.choices["repeat"].to_numpy(dtype=bool)]
    groups = choices.assign(prompt=choices["prompt_id"].fillna(""), judge=choices["judge_kind"])
    scores = []
    for (_, prompt), rows in groups.groupby(["judge", "prompt"], observed=True):
        truth = full.truth[full.truth["prompt"] == prompt]
        for feature in study.features:
            found, n = by_level(rows, feature), rows[feature].value_counts()
            amce = truth.query("statistic == 'amce' and feature == @feature").drop_duplicates("level")
            mean = truth.query("statistic == 'mm' and feature == @feature")
            error = np.sqrt(found * (1 - found) / n)
            if feature != "speech":
                scores += ((found - mean.set_index("level")["estimate"]) / error).tolist()
            effect = found - found.iloc[0] - amce.set_index("level")["estimate"]
            scores += (effect / np.hypot(error, error.iloc[0])).iloc[1:].tolist()
    z = np.array(scores)
    assert np.abs(z).max() < 4.5
    assert 0.6 < z.std() < 1.3


@pytest.mark.long
def test_true_differences_by_identity_lie_within_monte_carlo_error(study, profiles):
    made = simulate(study, 8, profiles=profiles, judges=["human"], respondents=8_000)
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


def test_random_part_worths_are_integrated_exactly(study):
    panel = RaterModel(
        "human", "human", "", {("curse", "curse"): 1.0}, heterogeneity_sd={("curse", "curse"): 1.2}
    )
    truth = true_values(study, [panel]).query("statistic == 'mm' and feature == 'curse' and level == 'curse'")
    wins = quad(lambda z: expit(1 + 1.2 * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), -12, 12)[0]
    posts = 210_000
    meets_plain = (posts / 2) / (posts - 1)
    expected = meets_plain * wins + (1 - meets_plain) * 0.5
    assert truth["estimate"].item() == pytest.approx(expected, abs=2e-7)


def test_position_bias_moves_the_share_of_a_and_no_effect_of_an_indifferent_model(study, profiles):
    biased = table(("m", "model", "baseline", "position_bias", "", "", -0.4))
    made = simulate(study, 2, profiles=profiles, pairs=20_000, raters=biased)
    share = made.choices.loc[made.choices["position"] == "A", "chosen"].mean()
    truth = made.truth.query("statistic == 'first_position'")["estimate"].item()
    assert truth == pytest.approx(expit(-0.4))
    assert abs(share - truth) < 4 * 0.5 / np.sqrt(20_000)
    np.testing.assert_allclose(made.truth.query("statistic == 'amce'")["estimate"], 0, atol=1e-12)


@pytest.mark.parametrize(("sd", "lowest", "highest"), [(0.0, 0.85, 1.15), (2.0, 2.0, 9.0)])
def test_respondents_vary_beyond_chance_only_with_random_part_worths(study, profiles, sd, lowest, highest):
    panel = table(
        ("human", "human", "", "part_worth", "curse", "curse", 0),
        ("human", "human", "", "heterogeneity_sd", "curse", "curse", sd),
    )
    made = simulate(study, 4, profiles=profiles, respondents=1_000, raters=panel, truth=False).choices
    curse = made[(made["curse"] == "curse") & ~made["repeat"]]
    alone = curse[curse.groupby("pair_id")["chosen"].transform("size") == 1]
    rates = alone.groupby("judge_id")["chosen"].agg(["mean", "size"]).query("size >= 4").astype(float)
    chance = 0.25 * (1 / rates["size"]).mean()
    assert lowest < rates["mean"].var() / chance < highest


def test_the_truth_resembles_the_printed_pattern(full):
    effect = full.truth.query("analysis == 'amce'")
    amce = effect.set_index(["judge", "prompt", "feature", "level"])["estimate"].sort_index()
    for judge, prompt in (("human", ""), ("gpt4o", "baseline")):
        effects = amce[judge, prompt, "slur"]
        assert effects.drop("generic").sort_values().index.tolist() == [
            *("none", "sexism", "reverse_racism", "reclaimed", "homophobia", "racism")
        ]
    assert amce["human", "", "slur", "racism"] == pytest.approx(0.533, abs=0.01)
    assert amce["gpt4o", "baseline", "slur", "racism"] == pytest.approx(0.70, abs=0.012)


def test_true_reference_levels_are_zero_and_sides_sum_to_one(full, study):
    first = {name: study.levels(name)[0] for name in study.features}
    amce = full.truth[full.truth["statistic"] == "amce"]
    assert (amce.loc[amce["level"] == amce["feature"].map(first), "estimate"] == 0).all()
    means = full.truth.query("statistic == 'mm' and feature == 'curse'").groupby(["judge", "prompt"])
    np.testing.assert_allclose(means["estimate"].mean(), 0.5, atol=1e-12)


def test_one_prompt_of_one_model_is_drawn_at_once(study, profiles):
    options = {"profiles": profiles, "judges": ["gpt4o"], "prompts": ["baseline"], "pairs": 2_000}
    seconds = []
    for seed in range(5):
        start = time.perf_counter()
        made = simulate(study, seed, truth=False, **options)
        seconds.append(time.perf_counter() - start)
    assert made.truth is None
    assert len(made.choices) == 4_000
    assert min(seconds) < 0.25


ROW = ("m", "model", "baseline", "part_worth", "slur", "racism", "1.0")
BAD = {
    "kind": ({1: "robot"}, "write human or model"),
    "prompt": ({2: "base_line"}, "did you mean 'baseline'"),
    "parameter": ({3: "part_wort"}, "did you mean 'part_worth'"),
    "wrong kind": ({3: "inattention", 4: "", 5: "", 6: "0.1"}, "belongs to a human"),
    "feature": ({4: "slurs"}, "did you mean 'slur'"),
    "level": ({5: "racisms"}, "did you mean 'racism'"),
    "interaction": ({4: "slur:identity"}, "one level for each feature"),
    "number": ({6: "much"}, "finite number"),
    "infinite": ({6: "inf"}, "finite number"),
    "scalar with level": ({3: "position_bias"}, "leave it empty"),
}


@pytest.mark.parametrize(("change", "remedy"), BAD.values(), ids=BAD)
def test_a_bad_truth_table_is_refused_with_its_row(study, tmp_path, change, remedy):
    bad = table(ROW, tuple(change.get(index, value) for index, value in enumerate(ROW)))
    with pytest.raises(InputError, match=rf"truth table, row 2: .*{remedy}"):
        read_truth_table(bad, study)


def test_a_bad_truth_file_is_refused_with_its_line(study, tmp_path_factory):
    path = tmp_path_factory.mktemp("truth") / "truth.csv"
    table(ROW, ROW).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"truth.csv:3: .*given twice for .*; keep one row"):
        read_truth_table(path, study)
    table(ROW).drop(columns="value").to_csv(path, index=False)
    with pytest.raises(InputError, match="column 'value' is missing; add it"):
        read_truth_table(path, study)
    path.write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        read_truth_table(path, study)


def test_a_study_without_truth_table_cannot_be_simulated(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("untold")
    shutil.copytree(study.folder, folder, dirs_exist_ok=True)
    (folder / "truth.csv").unlink()
    told = "'moderation' has no truth table, so its choices cannot be simulated; write .* judge, judge_kind"
    with pytest.raises(InputError, match=told):
        simulate(load_study(folder), seed=1)


def test_an_unreachable_reliability_is_refused(study):
    panel = table(
        ("human", "human", "", "inattention", "", "", 0.5), ("human", "human", "", "reliability", "", "", 0.9)
    )
    with pytest.raises(InputError, match=r"reliability of 0.9 cannot be reached with 50.0% inattentive"):
        read_truth_table(panel, study)


def test_unknown_judges_and_prompts_are_refused(study, profiles):
    with pytest.raises(InputError, match="did you mean 'gpt4o'"):
        simulate(study, 1, judges=["gpt4"], profiles=profiles)
    with pytest.raises(InputError, match="did you mean 'face_only'"):
        simulate(study, 1, prompts=["faceonly"], profiles=profiles)


def test_simulated_choices_are_marked_and_name_their_panel(study, full):
    assert (full.choices["origin"] == "simulated").all()
    human = full.choices["judge_kind"] == "human"
    assert (full.choices.loc[human, "panel"] == "human").all()
    assert full.choices.loc[~human, "panel"].isna().all()
