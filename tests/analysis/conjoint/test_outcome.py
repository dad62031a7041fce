"""Outcomes: the null value of forced choices, and probabilities in place of choices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fits import fit_study

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, cj, mm, mm_diffs
from conjury.analysis.frames.cells import chance_of
from conjury.analysis.pipeline.runner import FitOptions
from conjury.inference.readers.prepare import load_choices, with_outcome
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study

FORMULA = "chosen ~ tone"
BY_R = [pytest.param("survey", marks=pytest.mark.r), pytest.param("cregg", marks=pytest.mark.cregg)]


def choices(options: int = 2, n: int = 60, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    chosen = np.zeros((n, options), dtype=int)
    chosen[np.arange(n), random.integers(options, size=n)] = 1
    return pd.DataFrame(
        {
            "chosen": chosen.ravel(),
            "pair_id": np.repeat(np.arange(n), options),
            "tone": random.choice(["rude", "kind", "sharp"], n * options),
            "who": np.repeat(random.choice(["a", "b"], n), options),
        }
    )


def null(data: pd.DataFrame, id: str | None = "pair_id", verb=mm, **options) -> float:
    return verb(data, FORMULA, id=id, **options).provenance.null


@pytest.mark.parametrize("options", [2, 3])
@pytest.mark.parametrize("engine", ["native", "statsmodels", *BY_R])
def test_means_of_forced_choices_are_tested_against_chance(options: int, engine: str) -> None:
    data = choices(options).astype({"tone": "category"})
    made, told = mm(data, FORMULA, "pair_id", engine=engine), mm(data, FORMULA, "pair_id", h0=1 / options)
    assert made.provenance.null == pytest.approx(1 / options)
    np.testing.assert_allclose(made.frame["p"], told.frame["p"], rtol=1e-8)
    assert made.frame["p"].min() > 1e-4


def test_groups_bootstraps_logits_and_files_have_the_null_value_of_the_choices(tmp_path) -> None:
    data, path = choices(), tmp_path / "choices.parquet"
    frame = mm(data, FORMULA, "pair_id", h0=0.0).frame
    np.testing.assert_allclose(frame["z"], frame["estimate"] / frame["std_error"])
    assert null(data, verb=cj, estimate="mm", by="who") == 0.5
    assert null(data, verb=mm_diffs, by="who") == 0
    assert bootstrap(mm, data, FORMULA, unit="pair_id", draws=200, seed=1).frame["p"].min() > 0.001
    assert null(data, family="quasibinomial") == 0
    assert null(choices(3), family="quasibinomial") == pytest.approx(np.log(0.5))
    by_respondent = data.assign(who=lambda d: d["pair_id"] // 10, pair=lambda d: d["pair_id"] % 10)
    assert null(by_respondent.drop(columns="pair_id"), "who") == 0.5
    with pytest.warns(UserWarning, match="In 59 of 60 choices exactly one profile is chosen"):
        assert null(data.assign(chosen=[0, 0] + [0, 1] * 59)) == 0
    data.to_parquet(path)
    assert null(path) == 0.5
    for verb in (mm, amce):
        pd.testing.assert_frame_equal(verb(path, FORMULA).frame, verb(data, FORMULA).frame)


ONE, TWO = (choices(seed=seed).assign(judge_id=name) for seed, name in ((1, "a"), (2, "b")))
REFUSED = choices().assign(chosen=[0, 0] + [0, 1] * 59, status=["refused"] * 2 + ["ok"] * 118)
CASES = {
    "pairs": (choices(), (), 0.5),
    "three options": (choices(3), (), 1 / 3),
    "cluster is the choice": (choices().rename(columns={"pair_id": "k"}), ("k",), 0.5),
    "no column of choices": (choices().drop(columns="pair_id"), (), 0.0),
    "cluster is the respondent": (choices().drop(columns="pair_id").assign(k=1), ("k",), 0.0),
    "ratings": (choices().assign(chosen=lambda d: d["chosen"] * 3 + 1), (), 0.0),
    "approval of each profile": (choices().assign(chosen=[1, 1] + [0, 1] * 59), (), 0.0),
    "none may be chosen": (choices().assign(chosen=[0, 0] + [0, 1] * 59), (), 0.0),
    "probabilities": (choices().assign(chosen=np.tile([0.3, 0.7], 60)), (), 0.5),
    "profiles excluded": (choices().query("tone != 'kind'"), (), 0.5),
    "missing answers": (choices().assign(chosen=[None, None] + [0, 1] * 59), (), 0.5),
    "refusals that count as not chosen": (REFUSED, (), 0.5),
    "judges share pairs": (pd.concat([ONE, TWO]), (), 0.5),
    "tasks of respondents": (ONE.rename(columns={"pair_id": "task"}), ("judge_id",), 0.5),
}


@pytest.mark.parametrize("name", CASES)
def test_forced_choices_are_recognised_by_their_sums(name: str) -> None:
    data, clusters, null = CASES[name]
    data = data.assign(chosen=data["chosen"].astype(float))
    assert chance_of(data, "chosen", clusters) == pytest.approx(null)


def test_a_study_without_a_null_value_tests_against_one_half() -> None:
    study = load_study("moderation")
    (means,) = [part for part in study.analyses if part.verb == "mm"]
    study = study.model_copy(update={"analyses": [means.model_copy(update={"h0": None})]})
    made = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=200, truth=False).choices
    found = fit_study(study, {"": made}, FitOptions(draws=0))
    assert found.results[0].result.settings["h0"] == 0.5
    assert found.tables["mm"]["p"].median() > 0.001


# --- probabilities -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("moderation")


@pytest.fixture(scope="module")
def rows(study: Study) -> pd.DataFrame:
    """A model with the probabilities that its choices were drawn from."""
    found = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=300, truth=False).choices
    random = np.random.default_rng(4)
    likely = 1 / (1 + np.exp(-random.normal((found["curse"] == "curse").to_numpy()[::2] - 0.5, 1.0)))
    first = random.random(len(likely)) < likely
    chosen = pd.array(np.column_stack([first, ~first]).ravel().astype(int), dtype="Int8")
    return found.assign(chosen=chosen, probability=np.column_stack([likely, 1 - likely]).ravel())


@pytest.mark.cregg
@pytest.mark.parametrize(
    "options", [{}, {"level_order": "descending", "feature_order": ["identity", "slur"]}]
)
def test_differences_by_cregg_come_in_the_order_of_all_engines(rows, options) -> None:
    native, cregg = (
        amce_diffs(rows, "chosen ~ slur + identity", "curse", "pair_id", engine=name, **options).frame
        for name in ("native", "cregg")
    )
    keys = ["by", "feature", "level"]
    assert native[keys].astype(str).to_numpy().tolist() == cregg[keys].astype(str).to_numpy().tolist()


def test_a_study_about_probabilities_changes_left_sides_and_leaves_out_judges_without_them(
    study, rows
) -> None:
    about = with_outcome(study, "probability")
    for part, own in zip(about.analyses, study.analyses, strict=True):
        assert part.formula == "probability ~" + own.formula.partition("~")[2]
    assert (about.argument, about.analyses[1].h0) == (study.argument, 0.5)
    silent = rows.assign(judge_id="silent", probability=np.nan).astype({"judge_id": "string"})
    few = about.model_copy(update={"analyses": about.analyses[:2]})
    found = fit_study(few, {"": pd.concat([rows, silent], ignore_index=True)}, FitOptions(draws=0))
    assert set(found.tables["amce"]["judge"]) == {"gpt4o"}
    assert set(found.tables["amce"]["outcome"].astype(str)) == {"probability"}
    assert found.notes == ["silent baseline: excluded, since no answer has a probability."]
    means = found.tables["mm"]
    np.testing.assert_allclose(means["z"], (means["estimate"] - 0.5) / means["std_error"])


@pytest.mark.parametrize(("refusal", "expected"), [("missing", None), ("not_chosen", 0.0)])
def test_answers_without_a_choice_follow_the_refusal_policy(study, rows, tmp_path, refusal, expected) -> None:
    unread = rows.head(4).astype({"status": "string"})
    unread.loc[unread.index[:2], "status"] = "unparsed"
    unread.to_parquet(tmp_path / "c.parquet")
    found = load_choices(study.model_copy(update={"refusal": refusal}), tmp_path / "c.parquet")
    first = found["probability"].head(2)
    assert first.isna().all() if expected is None else (first == expected).all()
    assert found["probability"].tail(2).sum() == pytest.approx(1)
