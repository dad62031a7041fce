"""Groups, clusters, bootstrap columns and counts of a study's analyses; the real data against print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from golden import golden_frame

from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import amce, bootstrap
from conjury.analysis.pipeline.conjoint import answers, fit_group, fit_study, groups
from conjury.analysis.pipeline.run import FitOptions, settings_of
from conjury.analysis.report.methods import describe_analysis
from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import load_choices, name_or_select
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study
from conjury.inference.study.parts import Clusters
from conjury.inference.tables.files import PUBLISHED

QUICK = FitOptions(draws=0)


@pytest.fixture(scope="module")
def study() -> Study:
    """The moderation study with its effects, marginal means and frequencies."""
    full = load_study("moderation")
    kept = [full.analysis(name) for name in ("amce", "mm", "frequencies")]
    return full.model_copy(update={"analyses": kept})


@pytest.fixture(scope="module")
def choices(study: Study) -> pd.DataFrame:
    """A panel of 30 and two prompts of one model, 150 pairs each."""
    prompts = ["baseline", "context_aware"]
    made = simulate(
        study, 5, pairs=150, respondents=30, judges=["human", "gpt4o"], prompts=prompts, truth=False
    )
    return made.choices


def test_groups_are_judge_by_prompt_by_variant_with_the_panel_as_one_judge(choices: pd.DataFrame) -> None:
    split = list(groups({"": choices, "second": choices}))
    assert {(group.variant, group.judge, group.prompt, group.kind) for group in split} == {
        (variant, *who)
        for variant in ("", "second")
        for who in (
            ("human", "", "human"),
            ("gpt4o", "baseline", "model"),
            ("gpt4o", "context_aware", "model"),
        )
    }
    assert {group.name for group in split if group.variant} == {
        "human second",
        "gpt4o baseline second",
        "gpt4o context_aware second",
    }


def test_swapped_repeats_are_left_out_of_groups(choices: pd.DataFrame) -> None:
    assert choices["repeat"].any()
    human = next(group for group in groups({"": choices}) if group.kind == "human")
    assert not human.choices["repeat"].any()
    assert len(human.choices) == 30 * 15 * 2


def test_people_are_clustered_by_respondent_and_models_by_pair(study: Study, choices: pd.DataFrame) -> None:
    fitted = fit_study(study, {"": choices}, QUICK)
    effects = fitted.by_name["amce"].settings
    found = {(group["judge"], group["id"], group["n_clusters"]) for group in effects["groups"]}
    assert found == {("human", "judge_id", 30), ("gpt4o", "pair_id", 150)}
    table = fitted.tables["amce"].query("judge == 'human'").reset_index(drop=True)
    rows = choices[(choices["judge_kind"] == "human") & ~choices["repeat"].astype(bool)]
    by_person = amce(rows, study.analyses[0].formula, id="judge_id").frame
    np.testing.assert_allclose(table["std_error"], by_person["std_error"], rtol=1e-12)
    by_pair = amce(rows, study.analyses[0].formula, id="pair_id").frame
    assert not np.allclose(table["std_error"].dropna(), by_pair["std_error"].dropna(), rtol=1e-3)


def test_clusters_of_the_call_take_the_place_of_the_study_s(study: Study, choices: pd.DataFrame) -> None:
    options = FitOptions(draws=0, id=("pair_id", "text", "user"), vcov="CR1")
    group = next(group for group in groups({"": choices}) if group.kind == "model")
    table, estimates = fit_group(study, study.analysis("amce"), group, options)
    settings = settings_of(study, study.analysis("amce"), [(group, estimates)], options)
    alone = amce(group.choices, study.analysis("amce").formula, id=list(options.id), vcov="CR1").frame
    np.testing.assert_allclose(table["std_error"], alone["std_error"], rtol=1e-12)
    assert table["df"].notna().any()
    assert (settings["id"], settings["vcov"]) == ("pair_id, text, user", "CR1")
    sentence = describe_analysis(settings)
    assert "crossed columns `pair_id`, `text` and `user` (at least 50 clusters), with" in sentence


def test_rows_can_be_taken_as_independent(study: Study, choices: pd.DataFrame) -> None:
    group = next(groups({"": choices}))
    table, _ = fit_group(study, study.analysis("amce"), group, FitOptions(draws=0, vcov="HC1"))
    expected = amce(group.choices, study.analysis("amce").formula, vcov="HC1").frame
    np.testing.assert_allclose(table["std_error"], expected["std_error"], rtol=1e-12)


def test_clusters_beside_errors_of_independent_rows_are_refused(study: Study, choices: pd.DataFrame) -> None:
    for convention in ("HC0", "HC2"):
        with pytest.raises(
            InputError, match=f"{convention} takes rows as independent.*by text .id.*leave id"
        ):
            FitOptions(draws=0, id=("text",), vcov=convention)
    robust = study.model_copy(update={"clusters": Clusters(human="judge_id", model="pair_id", vcov="HC3")})
    with pytest.raises(InputError, match="HC3 takes rows as independent"):
        fit_study(robust, {"": choices}, FitOptions(draws=0, id=("text",)))


def test_a_study_may_name_several_cluster_columns(study: Study, choices: pd.DataFrame) -> None:
    crossed = study.model_copy(
        update={"clusters": Clusters(human="judge_id", model=["text", "user"], vcov="CR1")}
    )
    group = next(group for group in groups({"": choices}) if group.kind == "model")
    _, estimates = fit_group(crossed, study.analysis("amce"), group, QUICK)
    assert estimates.provenance.extra["clusters"].keys() == {"text", "user"}


def test_bootstrap_limits_stand_beside_every_estimate_that_has_an_error(
    study: Study, choices: pd.DataFrame
) -> None:
    fitted = fit_study(study, {"": choices}, FitOptions(draws=40))
    for name in ("amce", "mm"):
        table = fitted.tables[name]
        tested = table["std_error"].notna()
        assert table.loc[tested, ["boot_lower", "boot_upper"]].notna().all(axis=None)
        assert table.loc[~tested, ["boot_lower", "boot_upper"]].isna().all(axis=None)
        assert (table["boot_lower"] < table["boot_upper"])[tested].all()
        assert table.loc[tested, ["boot_std_error", "boot_p"]].notna().all(axis=None)
    assert "boot_lower" not in fitted.tables["frequencies"]
    effects, counts = (fitted.by_name[name].settings for name in ("amce", "frequencies"))
    assert (effects["draws"], effects["interval"], counts["draws"]) == (40, "percentile", None)


def test_respondents_are_resampled_whole_and_models_by_pair(study: Study, choices: pd.DataFrame) -> None:
    effects = study.analysis("amce")
    for group in groups({"": choices}):
        table, _ = fit_group(study, effects, group, FitOptions(draws=25, seed=4))
        unit = "judge_id" if group.kind == "human" else "pair_id"
        drawn = bootstrap(amce, group.choices, effects.formula, unit=unit, draws=25, seed=4).frame
        np.testing.assert_allclose(table["boot_lower"], drawn["lower"], rtol=1e-12)
        np.testing.assert_allclose(table["boot_upper"], drawn["upper"], rtol=1e-12)
        np.testing.assert_allclose(table["boot_std_error"], drawn["std_error"], rtol=1e-12)
        np.testing.assert_allclose(table["boot_p"], drawn["p"], rtol=1e-12)


def test_without_draws_the_bootstrap_columns_are_empty(study: Study, choices: pd.DataFrame) -> None:
    table = fit_study(study, {"": choices}, QUICK).tables["amce"]
    assert table[["boot_lower", "boot_upper"]].isna().all(axis=None)


def test_answers_count_pairs_by_judge_prompt_and_status(study: Study, choices: pd.DataFrame) -> None:
    refusing = choices.copy()
    some = (refusing["prompt_id"] == "baseline").fillna(False) & refusing["pair_id"].isin(
        refusing.loc[refusing["prompt_id"].eq("baseline").fillna(False), "pair_id"].unique()[:7]
    )
    refusing.loc[some, "status"] = "refused"
    counted = answers(refusing).set_index(["judge", "prompt", "status"])["n"]
    assert counted.to_dict() == {
        ("gpt4o", "baseline", "ok"): 143,
        ("gpt4o", "baseline", "refused"): 7,
        ("gpt4o", "context_aware", "ok"): 150,
        ("human", "", "ok"): 30 * 16,
    }


def test_a_judge_without_answers_is_left_out_and_the_others_stay_as_they_were(
    study: Study, choices: pd.DataFrame
) -> None:
    silent = choices[choices["prompt_id"].eq("baseline").fillna(False)].assign(
        judge_id="mute", status="refused"
    )
    silent["chosen"] = pd.array([pd.NA] * len(silent), dtype="Int8")
    both = fit_study(study, {"": pd.concat([choices, silent], ignore_index=True)}, QUICK)
    alone = fit_study(study, {"": choices}, QUICK)
    for name in ("amce", "mm", "frequencies"):
        pd.testing.assert_frame_equal(both.tables[name], alone.tables[name])
    assert both.notes == ["mute baseline: excluded, since no answer has a choice."]


def test_a_judge_that_an_analysis_cannot_use_is_left_out_of_it_with_the_reason(
    study: Study, choices: pd.DataFrame
) -> None:
    pair = choices[choices["judge_kind"] == "model"].head(2).assign(judge_id="brief")
    fitted = fit_study(study, {"": pd.concat([choices, pair], ignore_index=True)}, QUICK)
    assert "brief" not in set(fitted.tables["amce"]["judge"])
    assert "gpt4o" in set(fitted.tables["amce"]["judge"])
    (why,) = (note for note in fitted.all_notes if note.startswith("amce, brief baseline:"))
    assert why.endswith("It was excluded.")
    effects = fitted.by_name["amce"].settings
    assert {group["judge"] for group in effects["groups"]} == {"human", "gpt4o"}
    assert effects["n_rows"] == sum(group["n_rows"] for group in effects["groups"])


def test_an_analysis_that_no_judge_can_carry_is_an_error(study: Study, choices: pd.DataFrame) -> None:
    flat = choices.assign(curse=choices["curse"].where(choices["curse"] == "curse", "curse"))
    with pytest.raises(InputError, match=r"amce, gpt4o baseline: Feature 'curse' has a single level"):
        fit_study(study, {"": flat}, QUICK)
    repeats = choices[choices["repeat"].to_numpy(dtype=bool)]
    with pytest.raises(InputError, match="No judge has an answer"):
        fit_study(study, {"": repeats}, QUICK)


def test_rows_with_a_missing_feature_are_used_by_nobody_and_counted(
    study: Study, choices: pd.DataFrame
) -> None:
    holed = choices.copy()
    model = np.flatnonzero(holed["prompt_id"].eq("baseline").fillna(False))
    holed.loc[model[:3], "topic"] = np.nan
    effects = fit_study(study, {"": holed}, QUICK).by_name["amce"].settings
    assert effects["n_dropped"] == 3
    by_prompt = {group["prompt"]: group["n_used"] for group in effects["groups"]}
    assert by_prompt == {"": 900, "baseline": 297, "context_aware": 300}


def test_one_seed_gives_one_table_and_another_seed_another(study: Study, choices: pd.DataFrame) -> None:
    group = next(groups({"": choices}))
    first, again, other = (
        fit_group(study, study.analyses[0], group, FitOptions(draws=30, seed=seed))[0] for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not np.allclose(first["boot_lower"].dropna(), other["boot_lower"].dropna())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 2.0}, "alpha"),
        ({"draws": 1}, "draws is 1"),
        ({"draws": -1}, "draws is -1"),
        ({"engine": "fortran"}, "no engine 'fortran'"),
        ({"interval": "wide"}, "no interval 'wide'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_are_checked_before_anything_is_fitted(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        replace(QUICK, **change)


PRINTED_DIGITS = 5e-5  # the figure that the printed numbers are read off is accurate to this


@pytest.mark.shared
def test_gemini_flash_equals_the_reference_and_under_the_printed_join_the_printed_numbers(
    shared: Path, study: Study
) -> None:
    folder = shared / "data" / "moderation"
    files = {"": "gemini_baseline_flash.csv.gz", "as_published": "gemini_baseline_flash_aspublished.csv.gz"}
    variants = {
        variant: name_or_select(load_choices(study, folder / name), "gemini_2_5_flash", "baseline")
        for variant, name in files.items()
    }
    effects = study.model_copy(update={"analyses": [study.analysis("amce")]})
    fitted = fit_study(effects, variants, FitOptions(draws=50))
    table = fitted.tables["amce"]
    ours = table[table["variant"] == ""].reset_index(drop=True)
    expected = golden_frame("gemini_flash_amce_id")
    assert ours["level"].tolist() == expected["level"].tolist()
    for column in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(ours[column], expected[column], rtol=1e-8, atol=1e-12)
    assert ours["boot_lower"].notna().sum() == 18
    printed = pd.read_csv(PUBLISHED / "moderation.csv")
    both = compare_moderation(printed, table)
    furthest = both["difference"].abs().groupby(both["source"]).max()
    assert 0.003 < furthest[""] < 0.006
    assert furthest["as_published"] < PRINTED_DIGITS
