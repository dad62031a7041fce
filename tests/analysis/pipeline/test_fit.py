"""Groups, clusters, bootstrap columns, counts and records of a study's analyses; the published data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases
from fits import QUICK, fit_study
from golden import golden_frame

from conjury.analysis.audit import compare_moderation
from conjury.analysis.conjoint import amce, bootstrap
from conjury.analysis.conjoint.engines import cregg
from conjury.analysis.conjoint.engines.cregg import estimate_with_cregg
from conjury.analysis.conjoint.request import make_request
from conjury.analysis.pipeline.conjoint_steps import prompt_analyses
from conjury.analysis.pipeline.manifest import RecordedResult, entries_of, results_of
from conjury.analysis.pipeline.runner import FitOptions, FittedResults, JudgeGroup, settings_of
from conjury.analysis.pipeline.steps.group_fits import answers, fit_group, groups
from conjury.analysis.report.method_sentences import describe_analysis
from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import load_choices, name_or_select
from conjury.inference.simulation import simulate
from conjury.inference.study import Study, load_study
from conjury.inference.study.study_fields import Clusters
from conjury.inference.tables.files import PUBLISHED

PROMPTS = ["baseline", "context_aware"]


@pytest.fixture(scope="module")
def study() -> Study:
    """The moderation study with its effects, marginal means and frequencies."""
    full = load_study("moderation")
    kept = [full.analysis(name) for name in ("amce", "mm", "frequencies")]
    return full.model_copy(update={"analyses": kept})


def test_prompts_are_compared_as_the_study_says_or_else_by_its_first_effects(study: Study) -> None:
    changes = {"name": "apart", "verb": "amce_diffs", "by": ["prompt_id"]}
    own = study.analysis("mm").model_copy(update=changes)
    found = [
        [(part.name, part.verb, part.by, part.formula) for part in prompt_analyses(one)]
        for one in (study, study.model_copy(update={"analyses": [*study.analyses, own]}))
    ]
    effects = ("amce_diffs", ["prompt_id"], study.analysis("amce").formula)
    assert found == [[("amce_prompts", *effects)], [("apart", "amce_diffs", ["prompt_id"], own.formula)]]


@pytest.fixture(scope="module")
def choices(study: Study) -> pd.DataFrame:
    """A panel of 30 and two prompts of one model, 150 pairs each."""
    judges = ["human", "gpt4o"]
    return simulate(study, 5, pairs=150, respondents=30, judges=judges, prompts=PROMPTS, truth=False).choices


@pytest.fixture(scope="module")
def model(choices: pd.DataFrame) -> JudgeGroup:
    return next(group for group in groups({"": choices}) if group.kind == "model")


@pytest.fixture(scope="module")
def fitted(study: Study, choices: pd.DataFrame) -> FittedResults:
    return fit_study(study, {"": choices})


def baseline(choices: pd.DataFrame) -> pd.Series:
    return choices["prompt_id"].eq("baseline").fillna(False)


def fit_amce(study: Study, group: JudgeGroup, **options: Any) -> pd.DataFrame:
    return fit_group(study, study.analysis("amce"), group, FitOptions(**{"draws": 0} | options))[0]


def test_groups_are_judge_by_prompt_by_variant_without_swapped_repeats(choices: pd.DataFrame) -> None:
    split = list(groups({"": choices, "second": choices}))
    models = [("gpt4o", prompt, "model") for prompt in PROMPTS]
    assert {(group.variant, group.judge, group.prompt, group.kind) for group in split} == {
        (variant, *who) for variant in ("", "second") for who in (("human", "", "human"), *models)
    }
    names = {group.name for group in split if group.variant}
    assert names == {"human second", *(f"gpt4o {prompt} second" for prompt in PROMPTS)}
    assert choices["repeat"].any()
    human = next(group for group in split if group.kind == "human")
    assert not human.choices["repeat"].any()
    assert len(human.choices) == 30 * 15 * 2


def test_people_are_clustered_by_respondent_and_models_by_pair(
    study: Study, choices: pd.DataFrame, fitted: FittedResults
) -> None:
    found = fitted.by_name["amce"].settings["groups"]
    clusters = {(group["judge"], group["id"], group["n_clusters"]) for group in found}
    assert clusters == {("human", "judge_id", 30), ("gpt4o", "pair_id", 150)}
    table = fitted.tables["amce"].query("judge == 'human'").reset_index(drop=True)
    rows = choices[(choices["judge_kind"] == "human") & ~choices["repeat"].astype(bool)]
    by_person, by_pair = (
        amce(rows, study.analyses[0].formula, id=unit).frame["std_error"] for unit in ("judge_id", "pair_id")
    )
    np.testing.assert_allclose(table["std_error"], by_person, rtol=1e-12)
    assert not np.allclose(table["std_error"].dropna(), by_pair.dropna(), rtol=1e-3)
    assert table[["boot_lower", "boot_upper"]].isna().all(axis=None)


def test_clusters_of_the_call_or_none_take_the_place_of_the_study_s(study: Study, model: JudgeGroup) -> None:
    options = FitOptions(draws=0, id=("pair_id", "text", "user"), vcov="CR1")
    analysis = study.analysis("amce")
    table, estimates = fit_group(study, analysis, model, options)
    alone = amce(model.choices, analysis.formula, id=list(options.id), vcov="CR1").frame
    np.testing.assert_allclose(table["std_error"], alone["std_error"], rtol=1e-12)
    assert table["df"].notna().any()
    settings = settings_of(study, analysis, [(model, estimates)], options)
    assert (settings["id"], settings["vcov"]) == ("pair_id, text, user", "CR1")
    sentence = describe_analysis(settings)
    assert "crossed columns `pair_id`, `text` and `user` (at least 50 clusters), with" in sentence
    by_kind = {"against": "people", "clusters": {"human": ["person"], "model": ["text", "user"]}}
    sentence = describe_analysis({**settings, **by_kind})
    assert "are clustered by `person` for people and by `text` and `user` for models" in sentence
    independent = amce(model.choices, analysis.formula, vcov="HC1").frame["std_error"]
    np.testing.assert_allclose(fit_amce(study, model, vcov="HC1")["std_error"], independent, rtol=1e-12)
    named = Clusters(human="judge_id", model=["text", "user"], vcov="CR1")
    _, estimates = fit_group(study.model_copy(update={"clusters": named}), analysis, model, QUICK)
    assert estimates.provenance.extra["clusters"].keys() == {"text", "user"}


def test_clusters_with_errors_of_independent_rows_are_refused(study: Study, choices: pd.DataFrame) -> None:
    for convention in ("HC0", "HC2"):
        told = f"{convention} treats rows as independent.*by text .id.*omit id"
        with pytest.raises(InputError, match=told):
            FitOptions(draws=0, id=("text",), vcov=convention)
    robust = study.model_copy(update={"clusters": Clusters(human="judge_id", model="pair_id", vcov="HC3")})
    with pytest.raises(InputError, match="HC3 treats rows as independent"):
        fit_study(robust, {"": choices}, FitOptions(draws=0, id=("text",)))


@pytest.mark.long
def test_respondents_are_resampled_whole_and_models_by_pair_wherever_there_is_an_error(
    study: Study, choices: pd.DataFrame
) -> None:
    fitted = fit_study(study, {"": choices}, FitOptions(draws=25, seed=4))
    assert "boot_lower" not in fitted.tables["frequencies"]
    effects, counts = (fitted.by_name[name].settings for name in ("amce", "frequencies"))
    assert (effects["draws"], effects["interval"], counts["draws"]) == (25, "percentile", None)
    for name in ("amce", "mm"):
        table = fitted.tables[name]
        tested = table["std_error"].notna()
        columns = ["boot_lower", "boot_upper", "boot_std_error", "boot_p"]
        assert table.loc[tested, columns].notna().all(axis=None)
        assert table.loc[~tested, columns[:2]].isna().all(axis=None)
        assert (table["boot_lower"] < table["boot_upper"])[tested].all()
    formula, table = study.analysis("amce").formula, fitted.tables["amce"]
    for group in groups({"": choices}):
        unit = "judge_id" if group.kind == "human" else "pair_id"
        drawn = bootstrap(amce, group.choices, formula, unit=unit, draws=25, seed=4).frame
        ours = table[(table["judge"] == group.judge) & (table["prompt"] == group.prompt)]
        for name in ("lower", "upper", "std_error", "p"):
            np.testing.assert_allclose(ours[f"boot_{name}"], drawn[name], rtol=1e-12)


def test_answers_count_pairs_by_judge_prompt_and_status(choices: pd.DataFrame) -> None:
    pairs = choices.loc[baseline(choices), "pair_id"].unique()[:7]
    some = baseline(choices) & choices["pair_id"].isin(pairs)
    status = choices["status"].astype("string").mask(some, "refused")
    counted = answers(choices.assign(status=status)).set_index(["judge", "prompt", "status"])["n"]
    assert counted.to_dict() == {
        ("gpt4o", "baseline", "ok"): 143,
        ("gpt4o", "baseline", "refused"): 7,
        ("gpt4o", "context_aware", "ok"): 150,
        ("human", "", "ok"): 30 * 16,
    }


@pytest.mark.long
def test_judges_without_answers_or_with_too_few_are_left_out_with_the_reason(
    study: Study, choices: pd.DataFrame, fitted: FittedResults
) -> None:
    silent = choices[baseline(choices)].assign(judge_id="mute", status="refused")
    silent["chosen"] = pd.array([pd.NA] * len(silent), dtype="Int8")
    both = fit_study(study, {"": pd.concat([choices, silent], ignore_index=True)})
    for name in ("amce", "mm", "frequencies"):
        pd.testing.assert_frame_equal(both.tables[name], fitted.tables[name])
    assert both.notes == ["mute baseline: excluded, since no answer has a choice."]
    pair = choices[choices["judge_kind"] == "model"].head(2).assign(judge_id="brief")
    brief = fit_study(study, {"": pd.concat([choices, pair], ignore_index=True)})
    (why,) = (note for note in brief.all_notes if note.startswith("amce, brief baseline:"))
    assert why.endswith("It was excluded.")
    effects = brief.by_name["amce"].settings
    assert {group["judge"] for group in effects["groups"]} == {"human", "gpt4o"}
    assert effects["n_rows"] == sum(group["n_rows"] for group in effects["groups"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.assign(curse="curse"), r"amce, gpt4o baseline: Feature 'curse' has a single level"),
        (lambda f: f[f["repeat"].to_numpy(dtype=bool)], "No judge has an answer"),
    ],
)
def test_an_analysis_that_no_judge_can_carry_is_an_error(
    study: Study, choices: pd.DataFrame, change: Callable[[pd.DataFrame], pd.DataFrame], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        fit_study(study, {"": change(choices)})


@pytest.mark.parametrize(("change", "told"), cases(__file__, "wrong_options"))
def test_options_are_checked_before_anything_is_fitted(change: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        replace(QUICK, **change)


# ---- what the manifest says of each analysis ----


@pytest.fixture(scope="module")
def recorded(choices: pd.DataFrame) -> dict[str, RecordedResult]:
    full = load_study("moderation")
    test = full.analysis("amce_by_identity").model_copy(update={"name": "tested", "verb": "cj_anova"})
    tested = full.model_copy(update={"analyses": [*full.analyses, test]})
    fitted = fit_study(tested, {"": choices[~choices["prompt_id"].eq("context_aware").fillna(False)]})
    listed = json.loads(json.dumps({"format": 2, "results": entries_of(fitted.results)}))
    return {one.name: one for one in results_of(listed)}


@pytest.mark.long
def test_sides_of_a_comparison_have_the_profiles_that_it_uses(
    recorded: dict[str, RecordedResult], choices: pd.DataFrame
) -> None:
    rows = choices[choices["chosen"].notna() & ~choices["repeat"].fillna(False).astype(bool)]
    named = rows[rows["identity"] != "anonymous"]
    for name, part in (("amce_people", rows), ("amce_author_people", named)):
        (group,) = recorded[name].groups
        of_model = part["judge_id"].eq("gpt4o") & part["prompt_id"].eq("baseline")
        sizes = part[of_model], part[part["judge_kind"] == "human"]
        assert [group[side]["n_used"] for side in ("model", "people")] == list(map(len, sizes))
        assert group["model"]["n_choices"] == sizes[0]["pair_id"].nunique()


@pytest.mark.long
def test_kinds_rules_repeats_and_clusters_of_an_analysis_are_recorded(
    recorded: dict[str, RecordedResult],
) -> None:
    kinds = {name: one.kind for name, one in recorded.items()}
    verbs = {"amce_by_identity": "amce_diffs", "frequencies": "cj_freqs", "tested": "cj_anova"}
    effects = {"amce": "amce", "mm": "mm", "amce_speech": "amce", "amce_slur": "amce", "amce_author": "amce"}
    people = dict.fromkeys(["amce_people", "amce_author_people", "mm_people"], "people")
    assert kinds == effects | verbs | people | {"people_by_race": "people_by"}
    settings = {name: one.settings for name, one in recorded.items()}
    assert (settings["amce_slur"]["exclude"], settings["amce"]["exclude"]) == ({"slur": ["none"]}, {})
    assert (settings["mm"]["h0"], settings["amce"]["h0"]) == (0.5, 0.0)
    assert (settings["amce"]["family"], settings["amce"]["weights"]) == ("gaussian", None)
    split = settings["amce_by_identity"]
    assert (split["feature"], split["by"]) == ("slur", ["identity"])
    assert settings["amce"]["repeats_left_out"] == 2 * 30
    repeats = {group["judge"]: group["repeats_left_out"] for group in recorded["amce"].groups}
    assert repeats == {"gpt4o": 0, "human": 60}
    assert {(group["id"], group["n_clusters"]) for group in recorded["frequencies"].groups} == {(None, None)}


@pytest.mark.parametrize(("verb", "used"), [("amce", 3), ("mm", 5)])
def test_rows_and_clusters_of_cregg_are_counted_here(
    verb: str, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"a": ["p", None, "q", "p", "q", "p"], "b": ["u", "v", "u", None, "v", "u"]}
    data = pd.DataFrame(columns, dtype="category").assign(y=[1, 0, 1, 0, 1, np.nan], unit=[1, 1, 2, 2, 3, 3])
    monkeypatch.setattr(cregg, "run", lambda *given, **options: pd.DataFrame())
    made = estimate_with_cregg(make_request(verb, "y ~ a + b", id="unit", engine="cregg"), data).provenance
    assert (made.n_rows, made.n_used, made.n_clusters) == (6, used, 3)
    alone = estimate_with_cregg(make_request(verb, "y ~ a + b", engine="cregg"), data).provenance
    assert alone.n_clusters is None


PRINTED_DIGITS = 5e-5  # the figure that the printed numbers are read off is accurate to this


@pytest.mark.long
@pytest.mark.shared
def test_gemini_flash_equals_the_reference_and_under_the_printed_join_the_printed_numbers(
    shared: Path, study: Study
) -> None:
    variants = {
        variant: name_or_select(
            load_choices(study, shared / "data" / "moderation" / f"gemini_baseline_flash{join}.csv.gz"),
            "gemini_2_5_flash",
            "baseline",
        )
        for variant, join in (("", ""), ("as_published", "_aspublished"))
    }
    effects = study.model_copy(update={"analyses": [study.analysis("amce")]})
    table = fit_study(effects, variants, FitOptions(draws=50)).tables["amce"]
    ours = table[table["variant"] == ""].reset_index(drop=True)
    expected = golden_frame("gemini_flash_amce_id")
    assert ours["level"].tolist() == expected["level"].tolist()
    for column in ("estimate", "std_error", "lower", "upper"):
        np.testing.assert_allclose(ours[column], expected[column], rtol=1e-8, atol=1e-12)
    assert ours["boot_lower"].notna().sum() == 18
    both = compare_moderation(pd.read_csv(PUBLISHED / "moderation.csv"), table)
    furthest = both["difference"].abs().groupby(both["source"]).max()
    assert 0.003 < furthest[""] < 0.006
    assert furthest["as_published"] < PRINTED_DIGITS
