"""Models compared with people: differences, the covariance of shared pairs, what a study gets unasked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from fits import fit_study
from made_up.choices import forced_choices
from snapshots import shown

from conjury.analysis.conjoint import amce, amce_diffs, mm, people_diffs
from conjury.analysis.pipeline.conjoint_steps import people_analyses
from conjury.analysis.pipeline.engine_comparison import compare_engines
from conjury.analysis.pipeline.manifest import entries_of
from conjury.analysis.pipeline.results_folder import ResultsFolder
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.pipeline.steps.group_fits import groups
from conjury.analysis.report import Report
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.study.checks_conjoint import conjoint_problems

FORMULA = "chosen ~ tone + author"
LEVELS = {"tone": ["calm", "rude", "sharp"], "author": ["nobody", "woman"]}
PARTS = {"human": [0.0, 0.5, 0.9, 0.0, 0.4], "model": [0.0, 0.9, 0.7, 0.0, -0.3]}


def world(
    seed: int, *, pairs: int = 120, respondents: int = 60, tasks: int = 10, shared: bool = True
) -> pd.DataFrame:
    """Choices of people and of one model; in shared pairs both see what no attribute says of a profile."""
    random = np.random.default_rng(seed)
    n = respondents * tasks
    drawn = random.integers([3, 2], size=(pairs if shared else pairs + n, 2, 2))
    quality = random.normal(size=drawn.shape[:2])
    seen = pairs + np.arange(n)
    if shared:
        seen = np.concatenate([random.choice(pairs, tasks, replace=False) for _ in range(respondents)])
    taste = 0.5 * random.normal(size=(respondents, 2))
    tables = []
    for kind, pair in (("model", np.arange(pairs)), ("human", seen)):
        tone, author = drawn[pair, :, 0], drawn[pair, :, 1]
        part = np.array(PARTS[kind])
        utility = part[:3][tone] + part[3:][author] + quality[pair]
        who = np.full(len(pair), "gpt", dtype=object)
        if kind == "human":
            number = np.repeat(np.arange(respondents), tasks)
            utility = utility + taste[number, :1] * (tone == 1) + taste[number, 1:] * author
            who = np.array([f"person_{k}" for k in number], dtype=object)
        first = utility[:, 0] - utility[:, 1] + random.logistic(size=len(pair)) > 0
        described = {"judge_kind": kind, "pair_id": np.repeat([f"pair_{k}" for k in pair], 2)}
        codes = {"tone": tone, "author": author}
        tables.append(forced_choices(LEVELS, codes, first, judge_id=np.repeat(who, 2), **described))
    return pd.concat(tables, ignore_index=True)


def by_hand(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Differences in AMCEs and their errors, from scores summed by respondent and by pair, in plain numpy."""
    coefs, scores = [], []
    for kind in ("human", "model"):
        rows = data[data["judge_kind"] == kind]
        design = pd.get_dummies(rows[["tone", "author"]], drop_first=True).to_numpy(float)
        design = np.column_stack([np.ones(len(rows)), design])
        bread = np.linalg.inv(design.T @ design)
        coefs.append(bread @ design.T @ rows["chosen"].to_numpy(float))
        own = design * (rows["chosen"].to_numpy(float) - design @ coefs[-1])[:, None] @ bread
        scores.append(pd.DataFrame(own, index=pd.MultiIndex.from_frame(rows[["judge_id", "pair_id"]])))

    def scaled(sums: pd.DataFrame) -> pd.DataFrame:
        return sums * np.sqrt(len(sums) / (len(sums) - 1))

    human, model = scores
    by_judge, by_both = (scaled(human.groupby(by).sum()) for by in ("judge_id", ["judge_id", "pair_id"]))
    by_pair, of_model = (scaled(each.groupby("pair_id").sum()) for each in scores)
    both = by_pair.index.intersection(of_model.index)
    cross = by_pair.loc[both].to_numpy().T @ of_model.loc[both].to_numpy()
    judge, pair, each, model = (sums.to_numpy() for sums in (by_judge, by_pair, by_both, of_model))
    vcov = judge.T @ judge + pair.T @ pair - each.T @ each + model.T @ model - cross - cross.T
    return (coefs[1] - coefs[0])[1:], np.sqrt(np.diag(vcov))[1:]


def is_person(data: pd.DataFrame) -> pd.Series:
    return data["judge_kind"] == "human"


@pytest.mark.parametrize("seed", [1, 2])
def test_shared_pairs_give_the_errors_of_scores_summed_by_respondent_and_by_pair(seed: int) -> None:
    data = world(seed)
    found = people_diffs(data, FORMULA)
    estimate, error = by_hand(data)
    np.testing.assert_allclose(found.frame["estimate"], estimate, atol=1e-12)
    np.testing.assert_allclose(found.frame["std_error"], error, rtol=1e-9)
    counts = found.provenance.extra["pairs"]
    assert (counts.model, counts.shared) == (120, counts.people)
    by_kind = amce_diffs(data, FORMULA, "judge_kind", "pair_id").frame
    np.testing.assert_allclose(found.frame["estimate"], by_kind["estimate"], atol=1e-12)
    assert (found.frame["p_adjusted"] >= found.frame["p"]).all()
    assert found.frame["by"].unique().tolist() == ["gpt - people"]
    rows = np.arange(len(data))
    swapped = data.iloc[np.where(is_person(data), rows ^ 1, rows)].reset_index(drop=True)
    same = people_diffs(swapped, FORMULA)
    assert same.provenance.extra["pairs"] == counts
    np.testing.assert_allclose(same.frame["std_error"], found.frame["std_error"], rtol=1e-9)


def test_coverage_that_was_measured_of_normal_intervals_is_not_said_of_those_after_student() -> None:
    data = world(1, respondents=5, tasks=20)
    normal, student = (" ".join(people_diffs(data, FORMULA, vcov=vcov).notes) for vcov in ("survey", "CR1"))
    assert "of studies; give vcov='CR1', or compare" in normal
    assert ["In simulated tables" in notes for notes in (normal, student)] == [True, False]


@pytest.mark.parametrize(("estimate", "verb"), [("amce", amce), ("mm", mm)])
def test_without_shared_pairs_both_errors_add_up_and_equal_ids_alone_change_nothing(estimate, verb) -> None:
    data = world(3, shared=False)
    person, number = is_person(data), pd.Series(np.arange(len(data)) // 2)
    people = verb(data[person], FORMULA, "judge_id").frame
    model = verb(data[~person], FORMULA, "pair_id").frame
    kept = model["std_error"].notna().to_numpy()
    added = np.hypot(people["std_error"], model["std_error"])[kept]
    own = data.assign(pair_id=data["pair_id"].mask(person, "task " + number.astype(str)))
    for table in (data, own):
        found = people_diffs(table, FORMULA, estimate=estimate).frame
        difference = (model["estimate"] - people["estimate"])[kept]
        np.testing.assert_allclose(found["estimate"], difference, atol=1e-12)
        np.testing.assert_allclose(found["std_error"], added, rtol=1e-9)
        np.testing.assert_allclose(found["people"], people["estimate"][kept], atol=1e-12)
        np.testing.assert_allclose(found["model"], model["estimate"][kept], atol=1e-12)
    accident = data["pair_id"].mask(person, "pair_" + (number % 120).astype(str))
    with_profiles = data.assign(pair_id=accident, profile_id=np.arange(len(data)))
    found = people_diffs(with_profiles, FORMULA, estimate=estimate, profile=["profile_id"])
    assert found.provenance.extra["pairs"].shared == 0
    np.testing.assert_allclose(found.frame["std_error"], added, rtol=1e-9)


def test_differences_of_differences_are_those_of_least_squares_with_interactions_by_statsmodels() -> None:
    data = world(3, shared=False, pairs=80, respondents=30)
    estimate = variance = 0.0
    for kind, unit, sign in (("human", "judge_id", -1), ("model", "pair_id", 1)):
        rows = data[data["judge_kind"] == kind].astype({"tone": str, "author": str})
        units = {"groups": pd.factorize(rows[unit])[0], "use_correction": False}
        fit = smf.ols("chosen ~ tone * author", rows).fit(cov_type="cluster", cov_kwds=units)
        estimate, n = estimate + sign * fit.params.to_numpy()[-2:], rows[unit].nunique()
        variance = variance + np.diag(fit.cov_params())[-2:] * n / (n - 1)
    ours = people_diffs(data, "chosen ~ tone", by="author").frame
    for name, expected in (("estimate", estimate), ("std_error", np.sqrt(variance))):
        np.testing.assert_allclose(ours[name], expected, atol=1e-10)
    np.testing.assert_allclose(ours["model"] - ours["people"], estimate, atol=1e-12)


def test_columns_that_both_name_cross_and_others_stay_with_their_group() -> None:
    data = world(6)
    data["text"] = [f"text_{k % 7}" for k in range(len(data))]
    options = {"model": ["pair_id", "text"]}
    found = people_diffs(data, FORMULA, vcov="CR1", **options).provenance
    assert list(found.extra["clusters"]) == ["judge_id or pair_id", "shared pair", "shared text"]
    person = is_person(data)
    apart = data.assign(pair_id=data["pair_id"].mask(person, "people_" + data["pair_id"] + data["judge_id"]))
    one = amce(apart[person], FORMULA, "judge_id").frame["std_error"]
    two = amce(apart[~person], FORMULA, ["pair_id", "text"]).frame["std_error"]
    both = people_diffs(apart, FORMULA, **options).frame["std_error"]
    np.testing.assert_allclose(both, np.hypot(one, two).dropna(), rtol=1e-9)


def test_shared_pairs_restrict_covariances_and_engines() -> None:
    shared, apart = world(7), world(8, shared=False)
    with pytest.warns(UserWarning, match="share pairs, for which CR2 is not defined"):
        assert people_diffs(shared, FORMULA, vcov="CR2").provenance.vcov == "CR1"
    assert people_diffs(apart, FORMULA, vcov="CR2").provenance.vcov == "CR2"
    native, other = (people_diffs(apart, FORMULA, engine=name) for name in ("native", "statsmodels"))
    assert other.provenance.engine == "statsmodels"
    np.testing.assert_allclose(native.frame["std_error"], other.frame["std_error"], rtol=1e-8)
    assert people_diffs(shared, FORMULA, engine="statsmodels").provenance.engine == "native"


NINE = world(9)
PERSON = is_person(NINE)
TWO = pd.concat([NINE, NINE[~PERSON].assign(judge_id="other", chosen=0)])


def test_one_of_several_models_is_named() -> None:
    pd.testing.assert_frame_equal(people_diffs(TWO, FORMULA, "gpt").frame, people_diffs(NINE, FORMULA).frame)


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (NINE[~PERSON], {}, "nobody human"),
        (NINE[PERSON], {}, "names no model"),
        (TWO, {}, "several models or prompts"),
        (NINE, {"judge": "gtp"}, "no judge 'gtp'"),
        (NINE.drop(columns="judge_kind"), {}, "no column 'judge_kind'"),
        (NINE, {"estimate": "cj"}, "give 'amce' or 'mm'"),
        (NINE, {"human": "site"}, "no column 'site'"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused_in_a_sentence(data, options, told: str) -> None:
    with pytest.raises(InputError, match=told):
        people_diffs(data, FORMULA, **options)


# --- in a study ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    study = load_study("moderation")
    return study.model_copy(update={"analyses": [study.analysis("amce"), study.analysis("mm")]})


@pytest.fixture(scope="module")
def choices(study) -> pd.DataFrame:
    made = simulate(study, 1, judges=["human", "gpt4o"], respondents=100, pairs=800, truth=False).choices
    return made[made["prompt_id"].isna() | made["prompt_id"].isin(["baseline", "context_aware"])]


def fit(study, choices: pd.DataFrame):
    return fit_study(study, {"": choices}, FitOptions(draws=0))


@pytest.fixture(scope="module")
def fitted(study, choices):
    return fit(study, choices)


@pytest.fixture(scope="module")
def alone(study, choices):
    """A fit of the models without the people."""
    return fit(study, choices[choices["judge_kind"] == "model"])


@pytest.mark.long
def test_models_are_compared_with_people_without_asking(fitted, alone) -> None:
    frame = fitted.tables["amce_people"]
    compared = frame[["judge", "prompt"]].drop_duplicates().to_numpy().tolist()
    assert compared == [["gpt4o", "baseline"], ["gpt4o", "context_aware"]]
    effects = fitted.tables["amce"].set_index(["judge", "prompt", "feature", "level"])
    one, two = effects.loc[("gpt4o", "baseline")], effects.loc[("human", "")]
    own = frame[frame["prompt"] == "baseline"].set_index(["feature", "level"])
    expected = (one["estimate"] - two["estimate"]).loc[own.index]
    np.testing.assert_allclose(own["estimate"], expected, atol=1e-12)
    added = np.hypot(one["std_error"], two["std_error"]).loc[own.index]
    np.testing.assert_allclose(own["std_error"], added, rtol=1e-9)
    assert set(fitted.tables["mm_people"]["statistic"]) == {"mm_difference"}
    prompts = fitted.tables["amce_prompts"].set_index(["feature", "level"])
    assert set(prompts["prompt"]) == {"context_aware"}
    change = effects.loc[("gpt4o", "context_aware"), "estimate"] - one["estimate"]
    np.testing.assert_allclose(prompts["estimate"], change.loc[prompts.index], atol=1e-12)
    assert (prompts["p_adjusted"] >= prompts["p"]).all()
    result = fitted.by_name["amce_people"]
    assert (result.kind, len(result.settings["groups"])) == ("people", 2)
    assert not any("people" in name for name in alone.tables)
    assert alone.notes == []


@pytest.mark.long
def test_several_panels_count_as_one_group_and_a_note_says_so(study, choices, fitted) -> None:
    respondents = choices["judge_id"].where(choices["judge_kind"] == "human")
    students = respondents.isin(respondents.dropna().unique()[:50])
    made = fit(study, choices.assign(panel=choices["panel"].mask(students, "students")))
    assert [note for note in made.notes if "panels" in note] == [
        "The panels students, human are pooled as one group of people for the comparison with models."
    ]
    once, twice = (each.tables["amce_people"]["std_error"] for each in (fitted, made))
    np.testing.assert_allclose(twice, once, rtol=1e-9)


@pytest.mark.long
def test_a_study_may_ask_for_its_own_comparison(study, choices) -> None:
    changes = {"name": "apart", "verb": "amce_diffs", "formula": "chosen ~ slur", "by": ["judge_id"]}
    own = study.analyses[0].model_copy(update=changes)
    asked = study.model_copy(update={"analyses": [study.analyses[0], own]})
    assert list(conjoint_problems(asked)) == []
    assert [part.name for part in people_analyses(asked)] == ["apart"]
    made = fit(asked, choices)
    assert set(made.tables) == {"amce", "amce_prompts", "apart"}
    assert set(made.tables["apart"]["feature"]) == {"slur"}
    assert simulate(asked, 1, judges=["gpt4o"], prompts=["baseline"], pairs=10).truth is not None
    with pytest.raises(InputError, match="'apart' compares models with people"):
        compare_engines(asked, own, next(groups({"": choices})), ["native"])
    only = fit(asked, choices[choices["judge_kind"] == "model"])
    assert only.notes == ["apart: excluded, since choices of both people and models are needed."]
    wrong = study.analyses[0].model_copy(update={"by": ["judge_id"]})
    problem = next(conjoint_problems(study.model_copy(update={"analyses": [wrong]})), None)
    assert "'judge_id' is unknown here" in problem.sentence


def told(folder, study, fitted) -> str:
    """The comparison with people, as the report of these results tells of it."""
    labels = {
        name: getattr(study, f"{name[:-1]}_labels") for name in ("features", "levels", "judges", "prompts")
    }
    tables = {"format": 2, "labels": labels, "results": entries_of(fitted.results)}
    ResultsFolder(folder).write(fitted.tables, tables)
    return shown(Report(folder), "people")
