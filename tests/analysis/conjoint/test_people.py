"""Models compared with people: differences, the covariance of shared pairs, what a study gets unasked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fits import fit_study
from snapshots import shown

from conjury.analysis.conjoint import amce, amce_diffs, mm, people_diffs
from conjury.analysis.pipeline.conjoint import groups, people_analyses
from conjury.analysis.pipeline.engines import compare_engines
from conjury.analysis.pipeline.manifest import entries_of
from conjury.analysis.pipeline.results_folder import ResultsFolder
from conjury.analysis.pipeline.run import FitOptions
from conjury.analysis.report import Report
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.study.checks_conjoint import first_problem

FORMULA = "chosen ~ tone + author"
LEVELS = {"tone": ["calm", "rude", "sharp"], "author": ["nobody", "woman"]}
PARTS = {"human": [0.0, 0.5, 0.9, 0.0, 0.4], "model": [0.0, 0.9, 0.7, 0.0, -0.3]}


def world(
    seed: int,
    *,
    pairs: int = 120,
    respondents: int = 60,
    tasks: int = 10,
    shared: bool = True,
    noise: float = 1.0,
    unmodelled: float = 1.0,
) -> pd.DataFrame:
    """Choices of people and of one model; in shared pairs both see what no attribute says of a profile."""
    random = np.random.default_rng(seed)
    n = respondents * tasks
    drawn = random.integers([3, 2], size=(pairs if shared else pairs + n, 2, 2))
    quality = unmodelled * random.normal(size=drawn.shape[:2])
    seen = random.integers(pairs, size=n) if shared else pairs + np.arange(n)
    if shared:
        seen = np.concatenate([random.choice(pairs, tasks, replace=False) for _ in range(respondents)])
    taste = 0.5 * random.normal(size=(respondents, 2))
    tables = []
    for kind, pair in (("model", np.arange(pairs)), ("human", seen)):
        tone, author = drawn[pair, :, 0], drawn[pair, :, 1]
        part = PARTS[kind]
        utility = np.array(part[:3])[tone] + np.array(part[3:])[author] + quality[pair]
        who = np.array(["gpt"] * len(pair))
        if kind == "human":
            number = np.repeat(np.arange(respondents), tasks)
            utility = utility + taste[number, :1] * (tone == 1) + taste[number, 1:] * author
            who = np.array([f"person_{k}" for k in number])
        first = utility[:, 0] - utility[:, 1] + noise * random.logistic(size=len(pair)) > 0
        tables.append(
            pd.DataFrame(
                {
                    "judge_id": np.repeat(who, 2),
                    "judge_kind": kind,
                    "pair_id": np.repeat([f"pair_{k}" for k in pair], 2),
                    "position": ["A", "B"] * len(pair),
                    "chosen": np.column_stack([first, ~first]).ravel().astype(int),
                    "tone": pd.Categorical.from_codes(tone.ravel(), pd.Index(LEVELS["tone"])),
                    "author": pd.Categorical.from_codes(author.ravel(), pd.Index(LEVELS["author"])),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def by_hand(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Differences in AMCEs and their errors, from scores summed by respondent and by pair, in plain numpy."""
    parts = {}
    for kind in ("human", "model"):
        rows = data[data["judge_kind"] == kind]
        design = pd.get_dummies(rows[["tone", "author"]], drop_first=True).to_numpy(float)
        design = np.column_stack([np.ones(len(rows)), design])
        bread = np.linalg.inv(design.T @ design)
        coef = bread @ design.T @ rows["chosen"].to_numpy(float)
        scores = design * (rows["chosen"].to_numpy(float) - design @ coef)[:, None] @ bread
        parts[kind] = (
            coef,
            pd.DataFrame(scores, index=pd.MultiIndex.from_frame(rows[["judge_id", "pair_id"]])),
        )

    def factor(sums: pd.DataFrame) -> float:
        return len(sums) / (len(sums) - 1)

    def variance(sums: pd.DataFrame) -> np.ndarray:
        return factor(sums) * (sums.to_numpy().T @ sums.to_numpy())

    (people, human), (coef, model) = parts["human"], parts["model"]
    by_pair, of_model = human.groupby("pair_id").sum(), model.groupby("pair_id").sum()
    v_people = (
        variance(human.groupby("judge_id").sum())
        + variance(by_pair)
        - variance(human.groupby(["judge_id", "pair_id"]).sum())
    )
    both = by_pair.index.intersection(of_model.index)
    cross = np.sqrt(factor(by_pair) * factor(of_model)) * (
        by_pair.loc[both].to_numpy().T @ of_model.loc[both].to_numpy()
    )
    vcov = v_people + variance(of_model) - cross - cross.T
    return (coef - people)[1:], np.sqrt(np.diag(vcov))[1:]


@pytest.mark.parametrize("seed", [1, 2])
def test_shared_pairs_give_the_errors_of_scores_summed_by_respondent_and_by_pair(seed: int) -> None:
    data = world(seed)
    found = people_diffs(data, FORMULA)
    estimate, error = by_hand(data)
    np.testing.assert_allclose(found.frame["estimate"], estimate, atol=1e-12)
    np.testing.assert_allclose(found.frame["std_error"], error, rtol=1e-9)
    counts = found.provenance.extra["pairs"]
    assert (counts.model, counts.shared) == (120, counts.people)


@pytest.mark.parametrize(("estimate", "verb"), [("amce", amce), ("mm", mm)])
def test_without_shared_pairs_both_errors_add_up_and_equal_ids_alone_change_nothing(estimate, verb) -> None:
    data = world(3, shared=False)
    person = data["judge_kind"] == "human"
    accident = data["pair_id"].mask(
        person, "pair_" + (np.arange(len(data)) // 2 % 120).astype(str).astype(object)
    )
    people, model = (
        verb(data[person], FORMULA, "judge_id").frame,
        verb(data[~person], FORMULA, "pair_id").frame,
    )
    kept = model["std_error"].notna().to_numpy()
    added = np.hypot(people["std_error"], model["std_error"])[kept]
    for table in (
        data,
        data.assign(
            pair_id=[
                f"task {i // 2}" if p else k
                for i, (p, k) in enumerate(zip(person, data["pair_id"], strict=True))
            ]
        ),
    ):
        found = people_diffs(table, FORMULA, estimate=estimate).frame
        np.testing.assert_allclose(
            found["estimate"], (model["estimate"] - people["estimate"])[kept], atol=1e-12
        )
        np.testing.assert_allclose(found["std_error"], added, rtol=1e-9)
        np.testing.assert_allclose(found["people"], people["estimate"][kept], atol=1e-12)
        np.testing.assert_allclose(found["model"], model["estimate"][kept], atol=1e-12)
    with_profiles = data.assign(pair_id=accident, profile_id=np.arange(len(data)))
    found = people_diffs(with_profiles, FORMULA, estimate=estimate, profile=["profile_id"])
    assert found.provenance.extra["pairs"].shared == 0
    np.testing.assert_allclose(found.frame["std_error"], added, rtol=1e-9)


def test_estimates_are_those_of_amce_diffs_by_kind_and_levels_are_tested_together() -> None:
    data = world(4)
    found = people_diffs(data, FORMULA).frame
    by_kind = amce_diffs(data, FORMULA, "judge_kind", "pair_id").frame
    np.testing.assert_allclose(found["estimate"], by_kind["estimate"], atol=1e-12)
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["by"].unique().tolist() == ["gpt - people"]


def test_swapped_sides_are_the_same_pair() -> None:
    data = world(5)
    person = (data["judge_kind"] == "human").to_numpy()
    rows = np.arange(len(data))
    swapped = data.iloc[np.where(person, rows ^ 1, rows)].reset_index(drop=True)
    for one, other in ((data, swapped),):
        first, second = people_diffs(one, FORMULA), people_diffs(other, FORMULA)
        assert first.provenance.extra["pairs"] == second.provenance.extra["pairs"]
        np.testing.assert_allclose(first.frame["std_error"], second.frame["std_error"], rtol=1e-9)


@pytest.mark.long
def test_intervals_cover_the_difference_at_the_nominal_rate_where_pairs_are_shared() -> None:
    many = [people_diffs(world(10_000 + k, pairs=3000, respondents=300), FORMULA).frame for k in range(8)]
    truth = np.mean([frame["estimate"] for frame in many], axis=0)
    inside, kept, added, estimates = [], [], [], []
    for seed in range(250):
        data = world(seed)
        frame = people_diffs(data, FORMULA, vcov="CR1").frame
        inside.append((frame["lower"] <= truth) & (truth <= frame["upper"]))
        estimates.append(frame["estimate"])
        kept.append(frame["std_error"])
        person = data["judge_kind"] == "human"
        one, two = (
            amce(data[rows], FORMULA, unit).frame["std_error"].dropna()
            for rows, unit in ((person, "judge_id"), (~person, "pair_id"))
        )
        added.append(np.hypot(one, two))
    spread = np.std(estimates, axis=0, ddof=1)
    assert 0.92 < np.mean(inside) < 0.975
    assert (np.abs(np.mean(kept, axis=0) / spread - 1) < 0.12).all()
    assert (np.mean(added, axis=0) > 1.08 * np.mean(kept, axis=0)).all()


def test_columns_that_both_name_cross_and_others_stay_with_their_group() -> None:
    data = world(6)
    text = [f"text_{k % 7}" for k in range(len(data))]
    site = [f"site_{k % 3}" for k in range(len(data))]
    data = data.assign(text=text, site=site)
    found = people_diffs(data, FORMULA, model=["pair_id", "text"], vcov="CR1").provenance
    assert list(found.extra["clusters"]) == ["judge_id or pair_id", "shared pair", "shared text"]
    person = data["judge_kind"] == "human"
    apart = data.assign(
        pair_id=np.where(person, "people_" + data["pair_id"] + data["judge_id"], data["pair_id"])
    )
    one = amce(apart[person], FORMULA, "judge_id").frame["std_error"]
    two = amce(apart[~person], FORMULA, ["pair_id", "text"]).frame["std_error"]
    both = people_diffs(apart, FORMULA, model=["pair_id", "text"]).frame["std_error"]
    np.testing.assert_allclose(both, np.hypot(one, two).dropna(), rtol=1e-9)


def test_cr2_gives_way_to_cr1_only_where_pairs_are_shared() -> None:
    with pytest.warns(UserWarning, match="share pairs, for which CR2 is not defined"):
        assert people_diffs(world(7), FORMULA, vcov="CR2").provenance.vcov == "CR1"
    assert people_diffs(world(7, shared=False), FORMULA, vcov="CR2").provenance.vcov == "CR2"


def test_engines_agree_where_no_pair_is_shared() -> None:
    native, other = (
        people_diffs(world(8, shared=False), FORMULA, engine=name) for name in ("native", "statsmodels")
    )
    assert other.provenance.engine == "statsmodels"
    np.testing.assert_allclose(native.frame["std_error"], other.frame["std_error"], rtol=1e-8)
    assert people_diffs(world(8), FORMULA, engine="statsmodels").provenance.engine == "native"


REFUSED = {
    "nobody": (lambda d: d[d["judge_kind"] == "model"], {}, "nobody human"),
    "no model": (lambda d: d[d["judge_kind"] == "human"], {}, "names no model"),
    "two models": (
        lambda d: pd.concat([d, d[d["judge_kind"] == "model"].assign(judge_id="other")]),
        {},
        "several models or prompts",
    ),
    "unknown model": (lambda d: d, {"judge": "gtp"}, "no judge 'gtp'"),
    "no kind": (lambda d: d.drop(columns="judge_kind"), {}, "no column 'judge_kind'"),
    "unknown estimate": (lambda d: d, {"estimate": "cj"}, "give 'amce' or 'mm'"),
    "unknown cluster": (lambda d: d, {"human": "site"}, "no column 'site'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_comparison_that_cannot_be_made_is_refused_in_a_sentence(name: str) -> None:
    change, options, told = REFUSED[name]
    with pytest.raises(InputError, match=told):
        people_diffs(change(world(9)), FORMULA, **options)


def test_one_of_several_models_is_named() -> None:
    data = world(9)
    two = pd.concat([data, data[data["judge_kind"] == "model"].assign(judge_id="other", chosen=0)])
    pd.testing.assert_frame_equal(people_diffs(two, FORMULA, "gpt").frame, people_diffs(data, FORMULA).frame)


# --- in a study ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    study = load_study("moderation")
    return study.model_copy(update={"analyses": [study.analysis("amce"), study.analysis("mm")]})


@pytest.fixture(scope="module")
def choices(study) -> pd.DataFrame:
    made = simulate(study, 1, judges=["human", "gpt4o"], respondents=100, pairs=800, truth=False).choices
    return made[made["prompt_id"].isna() | made["prompt_id"].isin(["baseline", "context_aware"])]


@pytest.fixture(scope="module")
def fitted(study, choices):
    return fit_study(study, {"": choices}, FitOptions(draws=0))


def test_models_are_compared_with_people_without_asking(study, choices, fitted) -> None:
    frame = fitted.tables["amce_people"]
    assert frame[["judge", "prompt"]].drop_duplicates().to_numpy().tolist() == [
        ["gpt4o", "baseline"],
        ["gpt4o", "context_aware"],
    ]
    effects = fitted.tables["amce"].set_index(["judge", "prompt", "feature", "level"])
    one, two = effects.loc[("gpt4o", "baseline")], effects.loc[("human", "")]
    own = frame[frame["prompt"] == "baseline"].set_index(["feature", "level"])
    expected = (one["estimate"] - two["estimate"]).loc[own.index]
    np.testing.assert_allclose(own["estimate"], expected, atol=1e-12)
    added = np.hypot(one["std_error"], two["std_error"]).loc[own.index]
    np.testing.assert_allclose(own["std_error"], added, rtol=1e-9)
    assert set(fitted.tables["mm_people"]["statistic"]) == {"mm_difference"}
    compared = fitted.by_name["amce_people"]
    assert (compared.kind, len(compared.settings["groups"])) == ("people", 2)


def test_several_panels_count_as_one_group_and_a_note_says_so(study, choices) -> None:
    respondents = choices["judge_id"].where(choices["judge_kind"] == "human")
    students = respondents.isin(respondents.dropna().unique()[:50])
    two = choices.assign(panel=choices["panel"].mask(students, "students"))
    made = fit_study(study, {"": two}, FitOptions(draws=0))
    assert [note for note in made.notes if "panels" in note] == [
        "The panels students, human count as one group of people with which models are compared."
    ]
    once = fit_study(study, {"": choices}, FitOptions(draws=0)).tables["amce_people"]
    np.testing.assert_allclose(made.tables["amce_people"]["std_error"], once["std_error"], rtol=1e-9)


def test_without_people_nothing_is_compared(study, choices) -> None:
    made = fit_study(study, {"": choices[choices["judge_kind"] == "model"]}, FitOptions(draws=0))
    assert not any("people" in name for name in made.tables)
    assert made.notes == []


def test_a_study_may_ask_for_its_own_comparison(study, choices) -> None:
    own = study.analyses[0].model_copy(
        update={"name": "apart", "verb": "amce_diffs", "formula": "chosen ~ slur", "by": ["judge_id"]}
    )
    asked = study.model_copy(update={"analyses": [study.analyses[0], own]})
    assert first_problem(asked, lambda _: 0) is None
    assert [part.name for part in people_analyses(asked)] == ["apart"]
    made = fit_study(asked, {"": choices}, FitOptions(draws=0))
    assert set(made.tables) == {"amce", "apart"}
    assert set(made.tables["apart"]["feature"]) == {"slur"}
    assert simulate(asked, 1, judges=["gpt4o"], prompts=["baseline"], pairs=10).truth is not None
    with pytest.raises(InputError, match="'apart' compares models with people"):
        compare_engines(asked, own, next(groups({"": choices})), ["native"])
    only = fit_study(asked, {"": choices[choices["judge_kind"] == "model"]}, FitOptions(draws=0))
    assert only.notes == ["apart: excluded, the choices are not by people and by models."]


def test_groups_by_judge_belong_to_differences(study) -> None:
    wrong = study.analyses[0].model_copy(update={"by": ["judge_id"]})
    problem = first_problem(study.model_copy(update={"analyses": [wrong]}), lambda _: 0)
    assert problem is not None
    assert "'judge_id' is unknown here" in problem.sentence


def write(folder, study, fitted):
    labels = {
        "features": study.feature_labels,
        "levels": study.level_labels,
        "judges": study.judge_labels,
        "prompts": study.prompt_labels,
    }
    ResultsFolder(folder).write(
        fitted.tables, {"format": 2, "labels": labels, "results": entries_of(fitted.results)}
    )
    return Report(folder)


def test_the_report_opens_the_comparison_with_numbers(tmp_path, monkeypatch, study, fitted) -> None:
    monkeypatch.chdir(tmp_path)
    report = write(tmp_path / "results", study, fitted)
    told = shown(report, "people")
    frame = fitted.tables["amce_people"].query("prompt == 'baseline'")
    count = int((frame["p_adjusted"] < 0.05).sum())
    assert told.startswith(f"GPT-4o differs from people in {count} of 18 AMCEs")
    assert "of 24 marginal means" in told
    assert "judged different pairs" in told
    assert told.count("::: {#fig-") == told.count("::: {#tbl-") == 1
    assert "gpt4o" not in told.split("::: {#fig")[0]
    figure = dict(report.figures())["amce_people"]()
    assert figure.axes[0].get_title(loc="left") == "Insult"
    assert "model minus people" in figure.get_supxlabel()
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    methods = report.methods()
    assert "each model minus all people" in methods
    assert "by `judge_id` for people and by `pair_id` for models." in methods
    assert "Holm" in methods


def test_a_report_without_people_has_no_such_section(tmp_path, study, choices, capsys) -> None:
    models = choices[choices["judge_kind"] == "model"]
    report = write(tmp_path / "results", study, fit_study(study, {"": models}, FitOptions(draws=0)))
    report.show("people")
    assert capsys.readouterr().out.strip() == ""


def test_several_models_and_shared_pairs_are_counted_in_words(tmp_path, monkeypatch, study, choices) -> None:
    monkeypatch.chdir(tmp_path)
    models = choices[(choices["judge_kind"] == "model") & (choices["prompt_id"] == "baseline")]
    other = models.assign(judge_id="gemma3_4b", chosen=1 - models["chosen"])
    first = models[~models["repeat"].astype(bool)]
    seen = pd.concat(
        [
            first.iloc[200 * k : 200 * (k + 1)].assign(
                judge_id=f"person_{k}", judge_kind="human", prompt_id=None
            )
            for k in range(4)
        ]
    )
    made = fit_study(study, {"": pd.concat([seen, models, other], ignore_index=True)}, FitOptions(draws=0))
    told = shown(write(tmp_path / "results", study, made), "people")
    assert "2 of 2 models differ from people in AMCEs" in told
    assert "People judged 400 pairs, 400 of which a model judged as well" in told
    assert made.by_name["amce_people"].settings["groups"][0]["pairs"] == {
        "people": 400,
        "model": 800,
        "shared": 400,
    }
