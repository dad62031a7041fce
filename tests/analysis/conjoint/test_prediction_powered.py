"""Effects among people from few people and many model answers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cases import refusals
from made_up.choices import FORMULA, bent_ratings, panel_and_model
from sklearn.isotonic import IsotonicRegression

from conjury.analysis.conjoint import RepeatsExcluded, amce, amce_diffs, contrast, interaction, mm_diffs
from conjury.inference.errors import InputError

NUMBERS = ["estimate", "std_error", "df", "lower", "upper"]


@pytest.fixture(scope="module")
def choices():
    return panel_and_model(1, people=60, rho=0.9)


def corrected(choices, **options):
    return amce(choices, FORMULA, id="judge_id", correct="ppi", **options)


def people_of(choices):
    return choices[choices["judge_kind"] == "human"]


def model_of(choices):
    return choices[choices["judge_kind"] == "model"]


def labelled_by(choices):
    """The model's answers in the place of people's, and those to the other tasks."""
    human, model = people_of(choices), model_of(choices)
    own = model.set_index(["pair_id", "position"])["chosen"]
    same = human.assign(chosen=own.reindex(human.set_index(["pair_id", "position"]).index).to_numpy())
    return same, model[~model["pair_id"].isin(human["pair_id"])]


def test_the_estimate_is_people_plus_weighted_difference_of_the_model(choices):
    found = corrected(choices, folds=1, vcov="CR0")
    same, other = labelled_by(choices)
    human, labelled, unlabelled = (
        amce(table, FORMULA, id=id, vcov="CR0").frame
        for table, id in ((people_of(choices), "judge_id"), (same, "judge_id"), (other, "pair_id"))
    )
    weight = found.gains["weight"].fillna(0)
    expected = human["estimate"] + weight * (unlabelled["estimate"] - labelled["estimate"])
    np.testing.assert_allclose(found.frame["estimate"], expected, atol=1e-12)
    np.testing.assert_allclose(found.human.frame["std_error"], human["std_error"], atol=1e-12)
    # variances: V - 2 w C + w^2 (W + U), with C from the variance of the difference of both outcomes
    difference = people_of(choices).assign(
        chosen=people_of(choices)["chosen"].to_numpy() - same["chosen"].to_numpy()
    )
    of_difference = amce(difference, FORMULA, id="judge_id", vcov="CR0").frame["std_error"] ** 2
    v, w, u = (table["std_error"] ** 2 for table in (human, labelled, unlabelled))
    c = (v + w - of_difference) / 2
    np.testing.assert_allclose(weight[v.notna()], (c / (w + u))[v.notna()], atol=1e-10)
    np.testing.assert_allclose(
        found.frame["std_error"] ** 2, v - 2 * weight * c + weight**2 * (w + u), atol=1e-12
    )
    np.testing.assert_allclose(found.gains["rho"], c / np.sqrt(v * w), atol=1e-10)
    gain = v / found.frame["std_error"] ** 2
    np.testing.assert_allclose(found.gains["gain"], gain, rtol=1e-9)
    np.testing.assert_allclose(found.gains["n_effective"], gain * 60, rtol=1e-9)


def test_a_map_of_a_bent_model_is_one_more_model_and_shortens_intervals():
    table = bent_ratings(1)
    is_model = table["judge_kind"] == "model"
    scores = table[is_model].set_index(["pair_id", "position"])["score"]
    people = table[~is_model]
    fitted = IsotonicRegression(out_of_bounds="clip").fit(
        scores.reindex(people.set_index(["pair_id", "position"]).index), people["score"]
    )
    mapped = table[is_model].assign(judge_id="map", score=fitted.predict(table["score"][is_model]))
    options = {"id": "judge_id", "correct": "ppi", "vcov": "CR0"}
    found = amce(table, "score ~ tone", calibration=True, folds=1, **options)
    both = amce(pd.concat([table, mapped]), "score ~ tone", folds=1, **options)
    np.testing.assert_allclose(found.frame["estimate"], both.frame["estimate"], atol=1e-9)
    weights = found.gains[["weight_gpt", "weight_gpt, calibrated"]]
    np.testing.assert_allclose(weights, both.gains[["weight_gpt", "weight_map"]], atol=1e-6)
    # Two weights cost two of 29 degrees of freedom, in the part of the variance that is people's.
    ratio = (found.frame["std_error"] / both.frame["std_error"]).dropna()
    assert ((ratio > 1) & (ratio < (29 / 27) ** 0.5)).all()
    with_map, alone = (amce(table, "score ~ tone", calibration=on, **options).frame for on in (True, False))
    assert with_map["std_error"][1] < 0.92 * alone["std_error"][1]


@pytest.mark.long
def test_rows_may_come_in_any_order_and_folds_follow_the_seed(choices):
    shuffled = choices.sample(frac=1, random_state=1)
    one, other = corrected(choices), corrected(shuffled)
    np.testing.assert_allclose(one.frame[NUMBERS], other.frame[NUMBERS], atol=1e-10)
    assert corrected(choices, seed=4).frame.equals(corrected(choices, seed=4).frame)
    assert not corrected(choices, seed=4).frame.equals(corrected(choices, seed=5).frame)


def test_refused_answers_are_kept_as_a_category(choices):
    rng = np.random.default_rng(2)
    pairs = choices["pair_id"].unique()
    refused = choices["pair_id"].isin(rng.choice(pairs, len(pairs) // 5)) & (choices["judge_kind"] == "model")
    some = choices.assign(chosen=choices["chosen"].mask(refused))
    found = corrected(some, folds=1)
    half = corrected(choices.assign(chosen=choices["chosen"].mask(refused, 0.5)), folds=1)
    np.testing.assert_allclose(found.frame[NUMBERS], half.frame[NUMBERS])
    assert f"gpt gave no usable answer in {int(refused.sum()):,} rows" in " ".join(found.notes)


def test_tasks_that_the_model_was_not_asked_about_still_count_for_people(choices):
    asked = choices[(choices["judge_kind"] == "human") | (choices["pair_id"] > "pair_00100")]
    found = corrected(asked)
    pd.testing.assert_frame_equal(found.human.frame, corrected(choices).human.frame)
    assert found.settings["n_labelled"] == len(people_of(choices))
    assert found.gains["rho"].notna().sum() == 6
    assert not found.frame.equals(corrected(choices).frame)


def test_differences_interactions_and_contrasts_are_corrected(choices):
    formula = "chosen ~ topic + author"
    for estimate in (amce_diffs, mm_diffs):
        found = estimate(choices, formula, by="tone", id="judge_id", correct="ppi")
        assert found.gains["gain"].median() > 1.1
        assert len(found.human.frame) == len(found.frame)
    both = interaction(choices, FORMULA, "tone", "topic", id="judge_id", correct="ppi")
    assert list(both.frame["statistic"].unique()) == ["acie"]
    assert both.kind == "prediction_powered"
    effects = corrected(choices)
    estimate = effects.frame.set_index("level")["estimate"]
    rows = contrast(effects, "author").frame
    made = [estimate[b] - estimate[a] for a, b in zip(rows["reference"], rows["level"], strict=True)]
    np.testing.assert_allclose(rows["estimate"], made)
    assert len(both.models) == len(both.frame)
    assert (both.models["statistic"] == "acie").all()
    with pytest.raises(InputError, match="model applies to correct='ppi'"):
        interaction(choices, FORMULA, "tone", "topic", id="judge_id", model="gpt")


def test_the_table_of_all_sources_and_notes(choices):
    found = corrected(choices)
    assert list(found.extra) == ["human", "models", "gains"]
    assert set(found.models["judge"]) == {"gpt"}
    chosen = {"model": ["gpt"], "human": ["human"], "vcov": "CR2", "folds": 5}
    assert chosen.items() <= found.settings.items()
    weak = panel_and_model(5, people=12, rho=0.0)
    assert "correlate less than 0.32" in corrected(weak).notes[0]


@pytest.mark.long
def test_people_who_waver_are_corrected_with_the_joint_covariance():
    choices = panel_and_model(3, people=60, repeats=True, tau=0.15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatsExcluded)
        plain = corrected(choices)
        both = amce(choices, FORMULA, id="judge_id", correct=["ppi", "reliability"])
        alone = amce(people_of(choices), FORMULA, id="judge_id", vcov="CR2", correct="reliability")
    tau = both.extra["tau"]["tau"].iloc[0]
    assert 0.1 < tau < 0.2
    np.testing.assert_allclose(both.frame["estimate"] * (1 - 2 * tau), plain.frame["estimate"], atol=1e-12)
    np.testing.assert_allclose(both.human.frame[NUMBERS], alone.frame[NUMBERS])
    scaled = plain.frame["std_error"] / (1 - 2 * tau)
    assert (both.frame["std_error"] / scaled).dropna().between(0.9, 1.3).all()
    assert not np.allclose(both.frame["std_error"].dropna(), scaled.dropna())


@pytest.mark.parametrize("people", [2, 3, 4])
def test_so_few_people_say_nothing_about_a_model_and_stay_alone(people):
    found = corrected(panel_and_model(3, people=people, rho=0.9))
    assert (found.gains["weight"].dropna() == 0).all()
    np.testing.assert_allclose(found.frame[NUMBERS], found.human.frame[NUMBERS], atol=1e-12)


def test_weights_of_tasks_apply_to_models_too(choices):
    by_task = choices.assign(w=np.where(choices["topic"] == "law", 3.0, 1.0))
    found = corrected(by_task, weights="w")
    alone = amce(model_of(by_task), FORMULA, id="pair_id", weights="w").frame["estimate"]
    np.testing.assert_allclose(found.models["estimate"], alone)
    people_alone = by_task.assign(w=by_task["w"].where(by_task["judge_kind"] == "human"))
    with pytest.raises(InputError, match="Weights 'w' differ between a person's tasks"):
        corrected(people_alone, weights="w")
    each = choices["judge_id"].map({name: 1.0 + k % 3 for k, name in enumerate(choices["judge_id"].unique())})
    of_people = choices.assign(w=each.where(choices["judge_kind"] == "human"))
    assert corrected(of_people, weights="w").settings["weights"] == "w"


def test_groups_of_people_are_compared_with_the_same_groups_of_models(choices):
    grouped = choices.assign(place=np.where(choices["pair_id"] < "pair_00300", "a", "b"))
    other = ~grouped["pair_id"].isin(people_of(choices)["pair_id"])
    grouped.loc[other, "place"] = np.where(grouped.loc[other, "pair_id"] < "pair_01000", "a", "c")
    with pytest.raises(InputError, match="answered no further task in some of the groups"):
        mm_diffs(grouped, FORMULA, by="place", id="judge_id", correct="ppi")


@pytest.mark.long
def test_tau_is_that_of_the_people_who_are_named():
    choices = panel_and_model(3, people=40, repeats=True, tau=0.15)
    half = sorted(people_of(choices)["judge_id"].unique())[:20]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = amce(choices, FORMULA, id="judge_id", correct=["ppi", "reliability"], human=half, model="gpt")
        alone = amce(
            choices[choices["judge_id"].isin(half)], FORMULA, id="judge_id", vcov="CR2", correct="reliability"
        )
    assert named.settings["human"] == half
    np.testing.assert_allclose(named.extra["tau"]["tau"], alone.tau["tau"])


def test_a_separated_logit_of_the_model_moves_nothing(choices):
    rude = (choices["tone"] == "rude") & (choices["judge_kind"] == "model")
    rude &= ~choices["pair_id"].isin(people_of(choices)["pair_id"])
    separated = choices.assign(chosen=choices["chosen"].mask(rude, 1.0))
    found = corrected(separated, family="quasibinomial")
    rows = found.frame["level"] == "rude"
    np.testing.assert_allclose(found.frame.loc[rows, "estimate"], found.human.frame.loc[rows, "estimate"])


def test_crossed_clusters_count_shared_texts(choices):
    rng = np.random.default_rng(4)
    texts = pd.Series(rng.integers(0, 12, choices["pair_id"].nunique()), index=choices["pair_id"].unique())
    table = choices.assign(text="text " + choices["pair_id"].map(texts).astype(str))
    found = amce(table, FORMULA, id=["judge_id", "text"], correct="ppi", folds=1)
    people = amce(people_of(table), FORMULA, id=["judge_id", "text"], vcov="CR1")
    np.testing.assert_allclose(found.human.frame["std_error"], people.frame["std_error"], rtol=1e-9)
    unique = table.assign(text="text " + table["pair_id"])
    both = amce(unique, FORMULA, id=["judge_id", "text"], correct="ppi", folds=1, vcov="CR0")
    one = amce(unique, FORMULA, id="judge_id", correct="ppi", folds=1, vcov="CR0")
    np.testing.assert_allclose(both.frame["std_error"], one.frame["std_error"], rtol=1e-9)


def sampled(choices, seed, share=0.15):
    """People answer tasks of the model, more often those where it prefers the second profile."""
    rng = np.random.default_rng(seed)
    first = model_of(choices)[lambda rows: rows["position"] == "A"].set_index("pair_id")["chosen"]
    probability = pd.Series(np.where(first == 1, 0.6, 1.4) * share, index=first.index)
    taken = probability.index[rng.random(len(probability)) < probability]
    human = people_of(choices)
    human = human[human["pair_id"].isin(taken)]
    human = human.assign(sampling_probability=human["pair_id"].map(probability))
    return pd.concat([human, model_of(choices)], ignore_index=True)


@pytest.mark.parametrize("correct", ["ppi", "dsl"])
def test_sampling_probabilities_are_used(correct):
    choices = sampled(panel_and_model(8, people=400, tasks=5, other=100), 1)
    found = amce(choices, FORMULA, id="judge_id", correct=correct)
    without = corrected(choices.drop(columns="sampling_probability"))
    assert found.settings["correct"] == correct
    assert not np.allclose(found.frame["estimate"], without.frame["estimate"])
    assert found.frame["std_error"].dropna().between(0.01, 0.2).all()
    lost = choices.assign(sampling_probability=choices["sampling_probability"].mask(choices.index == 3))
    with pytest.raises(
        InputError, match="'sampling_probability' has no number above 0 and up to 1 in 1 of people"
    ):
        amce(lost, FORMULA, id="judge_id", correct=correct)
    wrong = choices.assign(
        sampling_probability=choices["sampling_probability"].where(choices.index != 3, 1.5)
    )
    with pytest.raises(InputError, match="no number above 0 and up to 1"):
        amce(wrong, FORMULA, id="judge_id", correct=correct)


def test_dsl_without_sampling_probabilities_takes_a_simple_random_sample_and_says_so():
    choices = panel_and_model(8, people=60, tasks=5, other=300)
    found = amce(choices, FORMULA, id="judge_id", correct="dsl")
    of_people, of_models = people_of(choices), model_of(choices)
    share = of_people["pair_id"].nunique() / of_models["pair_id"].nunique()
    stated = choices.assign(sampling_probability=share)
    given = amce(stated, FORMULA, id="judge_id", correct="dsl")
    assert np.allclose(found.frame["estimate"], given.frame["estimate"])
    assert any("taken as a simple random sample" in note for note in found.notes)
    assert not any("taken as a simple random sample" in note for note in given.notes)
    few = amce(panel_and_model(3, people=6, tasks=4, other=20), FORMULA, id="judge_id", correct="dsl")
    wider = (few.gains["gain"] < 1).sum()
    assert any(f"In {wider} of" in note and "less precise than people alone" in note for note in few.notes)


def with_certainty(choices, seed=1):
    """The model's choices with probabilities: the second profile of a pair has the rest of the first's."""
    rng = np.random.default_rng(seed)
    p = pd.Series(rng.beta(0.7, 0.7, choices["pair_id"].nunique()), index=choices["pair_id"].unique())
    first = choices["pair_id"].map(p)
    probability = first.where(choices["position"] == "A", 1 - first)
    return choices.assign(probability=probability.where(choices["judge_kind"] == "model")), p


def test_tasks_chosen_by_the_models_certainty_need_their_probabilities():
    choices, p = with_certainty(panel_and_model(1, people=60))
    corrected(choices)
    doubt = np.sqrt(p * (1 - p))
    unsure = doubt.reindex(people_of(choices)["pair_id"]).to_numpy() > doubt.median()
    chosen = pd.concat([people_of(choices)[unsure], model_of(choices)], ignore_index=True)
    with pytest.raises(
        InputError, match="gpt is far less certain about the labelled tasks than about others"
    ):
        corrected(chosen)
    chance = np.where(chosen["tone"] == "rude", 0.2, 0.3)
    pair = pd.Series(chance).groupby(chosen["pair_id"]).transform("first").to_numpy()
    corrected(chosen.assign(sampling_probability=pair))


def only_shared(choices):
    return choices[choices["pair_id"].isin(people_of(choices)["pair_id"])]


def only_apart(choices):
    apart = ~choices["pair_id"].isin(people_of(choices)["pair_id"])
    return choices[apart | (choices["judge_kind"] == "human")]


@pytest.mark.parametrize(("match", "columns", "options"), refusals("conjoint", "correct=ppi"))
def test_what_cannot_be_corrected_is_refused(choices, match, columns, options):
    with pytest.raises(InputError, match=match):
        amce(choices, FORMULA, **{"id": "judge_id", "correct": "ppi", **options})


@pytest.mark.parametrize(
    ("sentence", "change"),
    [
        ("'position' has", lambda rows: rows.assign(position=rows["position"].map({"A": "1", "B": "2"}))),
        ("'pair_id' is missing", lambda rows: rows.assign(pair_id=rows["pair_id"].mask(rows.index == 5))),
        ("in one cluster", lambda rows: rows[rows["judge_id"].isin(["human_0001", "gpt"])]),
        ("answered none of the tasks that people answered.*--tasks panel", only_apart),
        ("it adds no precision; ask it about more tasks", only_shared),
        ("needs the column 'position'", lambda rows: rows.drop(columns="position")),
        (
            "'gpt' has no usable answer",
            lambda rows: rows.assign(chosen=rows["chosen"].where(rows["judge_kind"] == "human")),
        ),
    ],
)
def test_choices_that_cannot_be_corrected_are_refused(choices, sentence, change):
    with pytest.raises(InputError, match=sentence):
        corrected(change(choices))
