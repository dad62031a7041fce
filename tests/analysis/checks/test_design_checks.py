"""Checks of the design fire where it is broken and keep still where it is not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import gamma

from conjury.analysis.checks.design.attribute_independence import attribute_independence
from conjury.analysis.checks.design.clusters import clusters
from conjury.analysis.checks.design.design_card import design_card
from conjury.analysis.checks.design.design_draws import (
    Draw,
    compare_with_draws,
    draw_counts,
    infer_draw,
    misfit,
)
from conjury.analysis.checks.design.design_probabilities import design_probabilities, fit_of_levels
from conjury.analysis.checks.design.effective_numbers import effective_number
from conjury.analysis.checks.design.impossible_profiles import impossible_profiles
from conjury.analysis.checks.design.position_balance import marginal_homogeneity, position_balance
from conjury.analysis.checks.design.respondent_balance import respondent_balance, spread_over_units
from conjury.analysis.checks.design.stimuli import stimuli
from conjury.analysis.checks.judged import designs, split
from conjury.analysis.figures.note_labels import note_text
from conjury.inference.simulation import simulate
from conjury.inference.study import Study
from conjury.inference.study.study_fields import Combination


@pytest.fixture(scope="module")
def model(study: Study) -> pd.DataFrame:
    return simulate(study, 5, judges=["gpt4o"], prompts=["baseline"], pairs=1500, truth=False).choices


@pytest.fixture(scope="module")
def people(study: Study) -> pd.DataFrame:
    return simulate(study, 5, judges=["human"], respondents=120, truth=False).choices


def swap_sides_where(choices: pd.DataFrame, wanted: np.ndarray) -> pd.DataFrame:
    """Exchange positions A and B in some pairs; choices are in the order A, B, A, B, ..."""
    order = np.arange(len(choices)).reshape(-1, 2)
    order[wanted] = order[wanted, ::-1]
    swapped = choices.iloc[order.ravel()].reset_index(drop=True)
    return swapped.assign(position=choices["position"].to_numpy())


def test_sides_that_depend_on_a_level_are_found(study: Study, model: pd.DataFrame) -> None:
    assert position_balance(split(study, model), 0.05).verdict == "pass"
    curse = (model["curse"] == "curse").to_numpy().reshape(-1, 2)
    some = np.random.default_rng(1).random(len(curse)) < 0.4
    broken = swap_sides_where(model, (curse[:, 1] & ~curse[:, 0]) & some)
    found = position_balance(split(study, broken), 0.05)
    assert found.verdict == "error"
    assert "curse" in found.finding
    assert found.remedy
    assert set(found.table.loc[found.table["p_adjusted"] < 0.05, "feature"]) == {"curse"}


def test_marginal_homogeneity_is_mcnemars_exact_test_for_two_levels() -> None:
    first = np.array([0] * 9 + [1] + [0] * 20)
    second = np.array([1] * 9 + [0] + [0] * 20)
    assert marginal_homogeneity(first, second, 2).p == pytest.approx(2 * 11 / 2**10)


def test_marginal_homogeneity_is_the_stuart_maxwell_statistic() -> None:
    table = np.array([[20, 10, 5], [3, 30, 15], [0, 5, 40]])
    first, second = (np.repeat(index.ravel(), table.ravel()) for index in np.indices((3, 3)))
    difference = table.sum(1) - table.sum(0)
    covariance = np.diag(table.sum(1) + table.sum(0)) - table - table.T
    expected = difference[:2] @ np.linalg.solve(covariance[:2, :2], difference[:2])
    found = marginal_homogeneity(first, second, 3)
    assert (found.statistic, found.df) == (pytest.approx(expected), 2)


def test_blocks_of_respondents_are_found(study: Study, people: pd.DataFrame, model: pd.DataFrame) -> None:
    assert respondent_balance(split(study, model), 0.05).verdict == "not_applicable"
    assert respondent_balance(split(study, people), 0.05).verdict == "pass"
    respondent = pd.factorize(people["judge_id"])[0]
    blocked = (respondent % 4 == 0) & (people["reply"] != "agree").to_numpy()
    reply = people["reply"].astype(str).mask(blocked & (np.arange(len(people)) % 3 > 0), "agree")
    broken = people.assign(reply=pd.Categorical(reply, people["reply"].cat.categories))
    found = respondent_balance(split(study, broken), 0.05)
    assert found.verdict == "error"
    assert "reply" in found.finding


@pytest.mark.long
def test_permutation_moments_of_a_sparse_table_are_right() -> None:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(9), [3, 5, 8, 2, 9, 10, 4, 4, 12])
    level = rng.choice(3, len(unit), p=[0.6, 0.3, 0.1])
    found = [spread_over_units(unit, rng.permutation(level)) for _ in range(800)]
    statistics = np.array([each.statistic for each in found])
    assert statistics.mean() == pytest.approx(found[0].expected, rel=0.04)
    assert np.mean([each.p < 0.1 for each in found]) == pytest.approx(0.1, abs=0.035)


@pytest.mark.long
def test_levels_off_their_probability_are_found(study: Study, model: pd.DataFrame) -> None:
    assert design_probabilities(study, split(study, model), 0.05, 1).verdict == "pass"
    kept = np.random.default_rng(2).random(len(model) // 2) < 0.7
    dropped = (model["engagement"] == "high").to_numpy().reshape(-1, 2).all(axis=1) & kept
    broken = model[~np.repeat(dropped, 2)]
    found = design_probabilities(study, split(study, broken), 0.05, 1)
    assert found.verdict == "error"
    assert "engagement" in found.finding


def test_levels_that_fit_too_well_want_a_look(study: Study, model: pd.DataFrame) -> None:
    levels = study.levels("topic")
    quota = pd.Categorical(np.resize(levels, len(model)), levels)
    broken = model.assign(topic=quota, text=[f"{name}_00" for name in quota])
    found = design_probabilities(study, split(study, broken), 0.05, 1)
    assert found.verdict == "warning"
    assert "more closely than expected from random draws" in found.finding


@pytest.mark.long
def test_sampling_without_replacement_is_no_misfit(study: Study) -> None:
    shown = simulate(study, 2, judges=["gpt4o"], prompts=["baseline"], pairs=80_000, truth=False).choices
    draw = infer_draw(study, shown)
    assert draw == Draw(160_000, 210_000)
    found = design_probabilities(study, split(study, shown), 0.05, 1)
    assert found.verdict == "pass"
    assert found.table["without_replacement"].all()
    counts = shown["slur"].value_counts().to_numpy()
    naive = fit_of_levels(counts, np.full(7, 1 / 7), Draw(160_000, None), np.random.default_rng(1))
    aware = fit_of_levels(counts, np.full(7, 1 / 7), draw, np.random.default_rng(1))
    assert naive.expected > 3 * aware.expected


def test_draws_have_the_variance_of_their_scheme() -> None:
    rng = np.random.default_rng(4)
    fair = np.full(4, 0.25)
    for draw in (Draw(300, None), Draw(300, 400), Draw(700, 400)):
        drawn = misfit(draw_counts(fair, draw, 4000, rng), fair)
        assert drawn.mean() == pytest.approx(3 * draw.variance_factor, rel=0.08)


def test_profiles_drawn_with_replacement_are_told_apart(study: Study, model: pd.DataFrame) -> None:
    assert infer_draw(study, model).population == 210_000
    again = pd.concat([model, model.iloc[:1]])
    assert infer_draw(study, again).population is None


@pytest.mark.long
def test_attributes_that_hang_together_are_found(study: Study, model: pd.DataFrame) -> None:
    assert attribute_independence(study, split(study, model), 0.05, 1).verdict == "pass"
    tied = (np.arange(len(model)) % 5 == 0) & (model["curse"] == "curse").to_numpy()
    engagement = model["engagement"].astype(str).mask(tied, "high")
    broken = model.assign(engagement=pd.Categorical(engagement, model["engagement"].cat.categories))
    found = attribute_independence(study, split(study, broken), 0.05, 1)
    assert found.verdict == "error"
    assert "curse and engagement" in found.finding
    assert "program that drew the profiles" in found.remedy
    restricted = ~((model["curse"] == "curse") & (model["engagement"] == "low")).to_numpy().reshape(-1, 2)
    without = attribute_independence(
        study, split(study, model[np.repeat(restricted.all(axis=1), 2)]), 0.05, 1
    )
    entry = "{levels: {curse: [curse], engagement: [low]}, because: never shown}"
    assert f"write `restrictions: [{entry}]` under `design`" in without.remedy
    assert "and curse * engagement in formulas" in without.remedy
    assert "Never shown together: curse=curse with engagement=low." in without.finding
    labels = {("curse", "curse"): "with a curse", ("engagement", "low"): "few likes"}
    words = note_text(without.finding, labels)
    assert "Never shown together: Curse: with a curse with Engagement: few likes." in words


@pytest.mark.long
def test_all_combinations_that_never_occur_are_named_and_the_remedy_passes(
    study: Study, model: pd.DataFrame
) -> None:
    shown = ((model["curse"] == "curse") & (model["engagement"] == "low")) | (
        (model["reply"] == "agree") & model["topic"].isin(["politics", "work"])
    )
    rows = model[np.repeat(~shown.to_numpy().reshape(-1, 2).any(axis=1), 2)]
    found = attribute_independence(study, split(study, rows), 0.05, 1)
    shares = design_probabilities(study, split(study, rows), 0.05, 1)
    assert found.verdict == shares.verdict == "error"
    assert found.remedy == shares.remedy
    written = yaml.safe_load(found.remedy.split("`")[1])["restrictions"]
    assert [part["levels"] for part in written] == [
        {"topic": ["politics"], "reply": ["agree"]},
        {"topic": ["work"], "reply": ["agree"]},
        {"curse": ["curse"], "engagement": ["low"]},
    ]
    restrictions = [Combination.model_validate(part) for part in written]
    mended = study.model_copy(
        update={"design": study.design.model_copy(update={"restrictions": restrictions})}
    )
    for check in (attribute_independence, design_probabilities):
        assert check(mended, split(mended, rows), 0.05, 1).verdict == "pass"


def test_impossible_profiles_are_counted(study: Study, model: pd.DataFrame) -> None:
    for sound in (model, model.drop(columns="profile_id")):
        assert impossible_profiles(study, split(study, sound), 0.05).verdict == "pass"
    shown = model.copy()
    columns = [*(a.id for a in study.attributes), "text", "user", "profile_id"]
    shown.loc[1, columns] = shown.loc[0, columns]
    found = impossible_profiles(study, split(study, shown), 0.05)
    assert found.verdict == "warning"
    assert found.table.set_index("rule").loc["identical profiles in a pair", "n"] == 1
    foreign = model.assign(text="sport_03")
    mismatched = impossible_profiles(study, split(study, foreign), 0.05)
    assert mismatched.verdict == "error"
    assert "join of texts and authors" in mismatched.remedy
    assert "draw" not in mismatched.remedy


def test_judges_of_the_same_pairs_share_a_design(study: Study) -> None:
    made = simulate(study, 1, judges=["gpt4o", "human"], pairs=50, respondents=3, truth=False).choices
    found = designs(split(study, made))
    assert sorted(len(members) for members in found) == [1, made["prompt_id"].nunique()]


@pytest.mark.long
def test_few_stimuli_want_a_look_and_very_few_fail(study: Study, model: pd.DataFrame) -> None:
    ten = stimuli(study, split(study, model))
    assert ten.verdict == "warning"
    assert "fewer than about 20" in ten.finding
    number = np.random.default_rng(1).integers(0, 40, len(model)).astype(str)
    many = model.assign(
        text=model["topic"].astype(str) + "_" + number, user=model["identity"].astype(str) + "_" + number
    )
    assert stimuli(study, split(study, many)).verdict == "pass"
    few = model.assign(text=model["topic"].astype(str) + "_" + pd.Series(number).str[0])
    one = few.assign(text=model["topic"].astype(str) + "_1")
    assert stimuli(study, split(study, one)).verdict == "error"


def test_an_error_that_stimuli_share_shows_in_the_design_effect(study: Study, model: pd.DataFrame) -> None:
    favourite = model["text"].astype(str).str[-2:].isin(["00", "01", "02"]).to_numpy().reshape(-1, 2)
    decided = favourite[:, 0] != favourite[:, 1]
    chosen = model["chosen"].to_numpy(dtype=int).reshape(-1, 2)
    chosen[decided] = favourite[decided]
    shared = model.assign(chosen=pd.array(chosen.ravel(), dtype="Int8"))
    ratio = {}
    for name, choices in (("plain", model), ("shared", shared)):
        table = stimuli(study, split(study, choices)).table
        ratio[name] = table[(table["feature"] == "topic") & (table["stimulus"] == "text")]["estimate"].mean()
    assert ratio["shared"] > 2 * ratio["plain"]


def test_effective_number_is_that_of_equal_shares() -> None:
    assert effective_number(np.array([5, 5, 0, 5])) == pytest.approx(3)
    assert effective_number(np.array([98, 1, 1])) == pytest.approx(1 / (0.98**2 + 2 * 0.01**2))


def test_few_clusters_want_a_look(study: Study, people: pd.DataFrame) -> None:
    assert clusters(split(study, people)).verdict == "pass"
    for size, verdict in ((12, "warning"), (3, "error")):
        few = people[people["judge_id"].isin(people["judge_id"].unique()[:size])]
        assert clusters(split(study, few)).verdict == verdict


def test_design_card_counts_rows_and_finds_levels_that_never_occur(study: Study, model: pd.DataFrame) -> None:
    card = design_card(study, split(study, model))
    assert card.verdict == "pass"
    assert "2,100 combinations" in card.finding
    assert card.table.groupby("feature")["rows"].sum().eq(len(model)).all()
    none = (model["reply"] == "agree").to_numpy().reshape(-1, 2).any(axis=1)
    without = design_card(study, split(study, model[~np.repeat(none, 2)]))
    assert without.verdict == "error"
    assert without.finding.values["part2"].values["level"] == ["reply", "agree"]
    assert "reply=agree never occurs" in without.finding


@pytest.mark.long
def test_effective_rows_fall_where_clusters_repeat_themselves(study: Study, model: pd.DataFrame) -> None:
    again = pd.concat([model.assign(sample=k) for k in range(3)], ignore_index=True)
    once = design_card(study, split(study, model)).table
    thrice = design_card(study, split(study, again)).table
    assert thrice["rows"].sum() == 3 * once["rows"].sum()
    assert thrice["estimate"].sum() == pytest.approx(once["estimate"].sum(), rel=0.02)


def test_p_values_count_the_draws_that_are_as_extreme_on_the_nearer_side() -> None:
    drawn = np.arange(1.0, 1000.0)
    assert compare_with_draws(900, drawn, 5, 1.0).p == pytest.approx(2 * 101 / 1000)
    assert compare_with_draws(100, drawn, 5, 1.0).p == pytest.approx(2 * 101 / 1000)
    assert compare_with_draws(990, drawn, 5, 1.0).p == pytest.approx(2 * 11 / 1000)  # ten draws are enough
    assert compare_with_draws(991, drawn, 5, 1.0).p < 1e-9  # nine leave p to the chi-square distribution


def test_variation_between_respondents_has_the_moments_of_all_orders_of_levels() -> None:
    unit = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    statistics = []
    for places in combinations(range(len(unit)), 4):
        level = np.isin(np.arange(len(unit)), places).astype(int)
        table = np.bincount(unit * 2 + level, minlength=6).reshape(3, 2)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(unit)
        statistics.append(((table - expected) ** 2 / expected).sum())
    level = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0])
    for few in (
        (0 * unit, level),
        (unit, 0 * level),
        (unit[2:5], level[2:5]),
    ):  # one unit, one level, three rows
        assert np.isnan(spread_over_units(*few).p)
    spread = spread_over_units(unit, level)
    mean, variance = np.mean(statistics), np.var(statistics)
    law = gamma(mean**2 / variance, scale=variance / mean)
    assert spread.expected == pytest.approx(mean)
    assert spread.p == pytest.approx(law.sf(spread.statistic))
    assert (spread.lower, spread.upper) == pytest.approx(tuple(law.ppf([0.025, 0.975]) / mean))
