"""Checks of what was asked of which model, and what answered."""

from __future__ import annotations

import pandas as pd
import pytest
from cases import cases

from conjury.analysis.checks.provenance.model_returned import model_returned
from conjury.analysis.checks.provenance.naming import family_of, same_model
from conjury.analysis.checks.provenance.same_family import same_family
from conjury.analysis.checks.provenance.same_seed import same_seed
from conjury.analysis.checks.provenance.settings_sent import settings_sent
from conjury.analysis.checks.provenance.versions import versions
from conjury.inference.study import load_any_study
from conjury.inference.tables.files import read_table

ASKED = {"m": {"model": "gpt-4o", "temperature": 0.7, "top_p": 0.9, "seed": 1, "max_tokens": 20}}


def requests(n: int = 4, samples: int = 2, **columns: object) -> pd.DataFrame:
    rows = [
        (f"k{i}_{s}", "m", "p", f"i{i}", s, "gpt-4o", 0.7, 0.9, 1000 + 10 * i + s, 20, "Rate.", f"Item {i}")
        for i in range(n)
        for s in range(1, samples + 1)
    ]
    names = ["request_key", "judge_id", "prompt_id", "item_id", "sample", "model", "temperature", "top_p"]
    return pd.DataFrame(rows, columns=[*names, "seed", "max_tokens", "system", "user"]).assign(**columns)


def responses(n: int = 4, samples: int = 2, **columns: object) -> pd.DataFrame:
    frame = requests(n, samples)[["request_key", "judge_id", "prompt_id", "item_id", "sample"]]
    created = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(range(len(frame)), unit="s")
    default = {
        "judge_kind": "model",
        "text": "3",
        "model_returned": "gpt-4o-2024-08-06",
        "system_fingerprint": "fp_1",
        "created": created,
    }
    return frame.assign(**{**default, **columns})


@pytest.mark.parametrize(
    ("asked", "returned"), cases(__file__, "names_with_another_provider_date_or_version_are_of_one_model")
)
def test_names_with_another_provider_date_or_version_are_of_one_model(asked: str, returned: str) -> None:
    assert same_model(asked, returned)


@pytest.mark.parametrize(
    ("asked", "returned"), cases(__file__, "names_of_other_sizes_and_kinds_are_of_other_models")
)
def test_names_of_other_sizes_and_kinds_are_of_other_models(asked: str, returned: str) -> None:
    assert not same_model(asked, returned)


def test_a_model_that_answers_for_another_is_an_error() -> None:
    named = ["gpt-4o-2024-08-06"] * 6 + ["gpt-4o-mini"] * 2
    check = model_returned(responses(model_returned=named), requests(), ASKED)
    assert check.verdict == "error"
    assert check.finding == "2 of 8 answers of m (25.0%) name gpt-4o-mini, where gpt-4o was asked."
    assert check.rows is not None
    assert check.rows["item_id"].tolist() == ["i3", "i3"]


def test_answers_of_the_model_that_was_asked_pass_with_or_without_requests() -> None:
    assert model_returned(responses(), requests(), ASKED).verdict == "pass"
    assert model_returned(responses(), None, ASKED).verdict == "pass"
    assert "the model requested is not known" in model_returned(responses()).finding
    named = ["gpt-4o-2024-08-06"] * 4 + ["gpt-4o-2024-11-20"] * 4
    check = model_returned(responses(model_returned=named), requests(), ASKED)
    assert check.verdict == "warning"
    assert "gpt-4o-2024-08-06 (4), gpt-4o-2024-11-20 (4)" in check.finding
    for nobody in ("simulated", None):
        unnamed = model_returned(responses(model_returned=nobody), requests(), ASKED)
        assert unnamed.verdict == "not_applicable"


def test_settings_that_the_study_states_pass() -> None:
    check = settings_sent(requests(), ASKED)
    assert check.verdict == "pass"
    assert check.table["n_differ"].sum() == 0
    assert set(check.table["setting"]) == {"model", "temperature", "top_p", "max_tokens", "seed"}


@pytest.mark.parametrize(("column", "value", "verdict"), cases(__file__, "other_settings"))
def test_another_setting_than_the_study_states_is_found(column: str, value: object, verdict: str) -> None:
    sent = requests()
    sent[column] = sent[column].astype(object)
    sent.loc[:2, column] = value
    check = settings_sent(sent, ASKED)
    assert check.verdict == verdict
    assert f"3 of 8 requests to m have another {column} than the study states" in check.finding
    assert check.rows is not None
    assert check.rows["setting"].tolist() == [column] * 3


def test_two_temperatures_are_an_error_even_where_none_is_stated_and_limits_may_differ_by_prompt() -> None:
    check = settings_sent(requests(temperature=[0.0] * 4 + [1.0] * 4))
    assert check.verdict == "error"
    assert "Requests to m have 2 values of temperature (0, 1)" in check.finding
    two = pd.concat([requests(max_tokens=1), requests(prompt_id="long", max_tokens=500)])
    assert settings_sent(two).verdict == "pass"


def test_samples_with_one_seed_are_found_and_copies_among_them_are_an_error() -> None:
    check = same_seed(requests(seed=7), responses())
    assert check.verdict == "error"
    assert "8 requests of 8 (100.0%) share their seed" in check.finding
    assert "In 4 of 4 questions all such samples have the same answer" in check.finding
    texts = [str(k) for k in range(8)]
    assert same_seed(requests(seed=7), responses(text=texts)).verdict == "warning"


def test_seeds_of_their_own_pass_and_do_not_matter_at_temperature_zero_or_with_one_sample() -> None:
    check = same_seed(requests(), responses())
    assert (check.verdict, check.table["estimate"].tolist()) == ("pass", [0])
    for asked in (requests(seed=7, temperature=0.0), requests(samples=1, seed=7), requests(seed=None)):
        assert same_seed(asked).verdict == "not_applicable"


@pytest.mark.parametrize(("name", "family"), cases(__file__, "families_are_named"))
def test_families_are_named(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_all_models_of_the_shipped_studies_have_a_family() -> None:
    for name in ("moderation", "multiturn", "oogiri", "harm_or_humor"):
        models = [judge.ask.model for judge in load_any_study(name).judges if judge.ask is not None]
        assert [model for model in models if family_of(model) is None] == []


def texts_by(*authors: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"item_id": [f"j{k}" for k in range(len(authors))], "text": "x", "generator": authors}
    )


def test_a_judge_of_texts_of_its_family_is_a_warning_where_no_study_names_who_wrote_them() -> None:
    items = texts_by("gpt-4.1-2025-04-14", "human", "claude-sonnet-4", "GPT 4o")
    asked = {"m": {"model": "gpt-4o"}, "k": {"model": "Qwen/Qwen3-8B"}}
    check = same_family(items, asked=asked)
    assert check.verdict == "warning"
    assert check.finding == (
        "1 model of 2 judges texts of its own family; m has the largest share, 1 of 4 items by "
        "gpt-4.1-2025-04-14 (GPT)."
    )
    assert check.table[["judge", "generator", "n", "n_same"]].to_numpy().tolist() == [
        ["m", "gpt-4.1-2025-04-14", 4, 1],
        ["m", "GPT 4o", 4, 1],
    ]
    assert same_family(items.assign(generator="human"), asked=asked).verdict == "pass"
    for bare in (items.drop(columns="generator"), items):  # without generators, or without models
        assert same_family(bare).verdict == "not_applicable"


def test_a_study_that_names_who_wrote_the_items_and_has_people_can_estimate_the_preference() -> None:
    study = load_any_study("oogiri")
    items = read_table(study.folder / study.items, "items")
    asked = {judge.id: {"model": judge.ask.model} for judge in study.judges if judge.ask is not None}
    check = same_family(items, study, asked=asked)
    assert check.verdict == "pass"
    assert set(check.table["judge"]) == {"gpt_4_1", "gemini_2_5_pro", "claude_sonnet_4"}
    assert "so the preference can be estimated" in check.finding


def test_fingerprints_that_change_and_pauses_are_a_warning() -> None:
    check = versions(responses(system_fingerprint=["fp_1"] * 5 + ["fp_2"] * 3))
    assert check.verdict == "warning"
    assert "2 fingerprints of servers, in succession: fp_1 (5), fp_2 (3)" in check.finding
    assert versions(responses()).verdict == "pass"
    assert versions(responses(1, 1)).table["longest_pause"].tolist() == [0]
    late = pd.to_datetime(["2026-01-01"] * 4 + ["2026-03-01"] * 4, utc=True)
    paused = versions(responses(created=late))
    assert (paused.verdict, "pause for 59 days" in paused.finding) == ("warning", True)
    fortnight = pd.to_datetime(["2026-01-01"] * 4 + ["2026-01-15"] * 4, utc=True)
    assert versions(responses(created=fortnight)).verdict == "pass"
    longer = fortnight + pd.to_timedelta([0] * 4 + [1] * 4, unit="s")
    assert versions(responses(created=longer)).verdict == "warning"
    for bare in (responses().drop(columns=["created", "system_fingerprint"]), responses(text=None)):
        assert versions(bare).verdict == "not_applicable"
