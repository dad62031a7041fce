"""What marginal means are tested against where nothing is said: chance in forced choices, else 0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fits import fit_study

from conjury.analysis.conjoint import amce, bootstrap, cj, mm, mm_diffs
from conjury.analysis.frames.cells import chance_of
from conjury.analysis.pipeline.run import FitOptions
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

FORMULA = "chosen ~ tone"


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


@pytest.mark.parametrize("options", [2, 3])
@pytest.mark.parametrize("engine", ["native", "statsmodels", pytest.param("survey", marks=pytest.mark.r)])
def test_means_of_forced_choices_are_tested_against_chance(options: int, engine: str) -> None:
    made = mm(choices(options), FORMULA, "pair_id", engine=engine)
    told = mm(choices(options), FORMULA, "pair_id", h0=1 / options)
    assert made.provenance.null == pytest.approx(1 / options)
    np.testing.assert_allclose(made.frame["p"], told.frame["p"], rtol=1e-8)
    assert made.frame["p"].min() > 1e-4


@pytest.mark.cregg
def test_cregg_gets_the_same_null_value() -> None:
    data = choices().astype({"tone": "category"})
    ours, theirs = (mm(data, FORMULA, "pair_id", engine=name) for name in ("native", "cregg"))
    assert theirs.provenance.null == 0.5
    np.testing.assert_allclose(ours.frame["p"], theirs.frame["p"], rtol=1e-8)


def test_a_null_value_that_is_given_stays() -> None:
    frame = mm(choices(), FORMULA, "pair_id", h0=0.0).frame
    np.testing.assert_allclose(frame["z"], frame["estimate"] / frame["std_error"])


def test_groups_and_bootstraps_test_against_the_same() -> None:
    grouped = cj(choices(), FORMULA, "pair_id", estimate="mm", by="who")
    assert grouped.provenance.null == 0.5
    drawn = bootstrap(mm, choices(), FORMULA, unit="pair_id", draws=200, seed=1).frame
    assert drawn["p"].min() > 0.001
    assert mm_diffs(choices(), FORMULA, "who", "pair_id").provenance.null == 0


def test_a_file_is_tested_as_its_frame(tmp_path) -> None:
    path = tmp_path / "choices.parquet"
    choices().to_parquet(path)
    pd.testing.assert_frame_equal(mm(path, FORMULA).frame, mm(choices(), FORMULA).frame)
    assert mm(path, FORMULA).provenance.null == 0.5


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
    "refusals that count as not chosen": (
        choices().assign(chosen=[0, 0] + [0, 1] * 59, status=["refused"] * 2 + ["ok"] * 118),
        (),
        0.5,
    ),
    "judges share pairs": (
        pd.concat([choices().assign(judge_id="a"), choices(seed=2).assign(judge_id="b")]),
        (),
        0.5,
    ),
    "tasks of respondents": (
        choices().rename(columns={"pair_id": "task"}).assign(judge_id="one"),
        ("judge_id",),
        0.5,
    ),
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


def test_logits_are_tested_against_the_logit_of_chance() -> None:
    assert mm(choices(), FORMULA, "pair_id", family="quasibinomial").provenance.null == 0
    three = mm(choices(3), FORMULA, "pair_id", family="quasibinomial")
    assert three.provenance.null == pytest.approx(np.log(0.5))


def test_a_few_choices_of_none_or_several_are_warned_of() -> None:
    data = choices().assign(chosen=[0, 0] + [0, 1] * 59)
    with pytest.warns(UserWarning, match="In 59 of 60 choices exactly one profile is chosen"):
        assert mm(data, FORMULA, "pair_id").provenance.null == 0


def test_pairs_may_be_numbered_within_respondents() -> None:
    data = choices().assign(who=lambda d: d["pair_id"] // 10, pair=lambda d: d["pair_id"] % 10)
    assert mm(data.drop(columns="pair_id"), FORMULA, "who").provenance.null == 0.5


def test_texts_of_a_file_have_the_reference_that_texts_of_a_frame_have(tmp_path) -> None:
    data, path = choices(), tmp_path / "plain.parquet"
    data.to_parquet(path)
    assert amce(path, FORMULA, "pair_id").frame.equals(amce(data, FORMULA, "pair_id").frame)
