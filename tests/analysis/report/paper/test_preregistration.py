"""Preregistrations: what they contain, that changes are noticed, and how results deviate."""

from __future__ import annotations

import copy
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import cases

from conjury.analysis.benchmark import by_label, differences, score
from conjury.analysis.numerics import significance
from conjury.analysis.pipeline.item_steps import plan_ratings
from conjury.analysis.pipeline.manifest import RecordedResult
from conjury.analysis.pipeline.runner import FitOptions
from conjury.analysis.report import Report
from conjury.analysis.report.paper.deviations import (
    add_to_results,
    compare,
    compare_with_registration,
    hashes_now,
    sentence,
)
from conjury.analysis.report.paper.facts import MARK
from conjury.analysis.report.paper.preregistration import read_registration, registration
from conjury.analysis.report.paper.registration_text import TEMPLATES, in_words
from conjury.analysis.report.report_data import ReportData
from conjury.inference.errors import InputError
from conjury.inference.study import list_studies, load_any_study
from conjury.inference.tables import write_table
from conjury.inference.tables.files import file_hash, hash_of

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
POWER = [{"label": "Each model", "pairs": 300, "power": 0.8, "least": 0.1, "most": 0.2}]


@pytest.fixture(scope="module")
def registered() -> dict[str, Any]:
    return registration(
        load_any_study("moderation"),
        judges=["human", "gpt4o"],
        sample={"pairs": 300, "respondents": 60},
        power=POWER,
        created=WHEN,
    )


def results(folder: Path, registered: dict[str, Any], **changed: Any) -> ReportData:
    """A results folder whose record is exactly as registered, but for what is changed."""
    entries = []
    for planned in registered["analyses"]:
        name = planned["name"]
        settings = {**planned, "alpha": 0.05, "vcov": "survey", "id": "pair_id or judge_id"}
        if name in registered["adjusted"]:
            settings |= {"adjusted": "holm", "against": "people"}
        if planned["verb"] == "cj_freqs":
            settings |= {"vcov": None, "id": None}
        settings |= changed.get(name, {})
        groups = (
            {"judge": "gpt4o", "prompt": "baseline", "variant": "", "n_rows": 600},
            {"judge": "human", "prompt": "", "variant": "", "n_rows": 60 * 15 * 2},
        )
        if name != changed.get("without"):
            entries.append(
                {**vars(RecordedResult(name, planned["verb"], planned["title"], settings)), "groups": groups}
            )
    manifest = {
        "format": 2, "conjury": "0.1.0", "study": "moderation", "created": "2026-02-01T00:00:00+00:00",
        "results": entries, "data": [], "files": ["manifest.json"], **changed.get("manifest", {}),
    }  # fmt: skip
    (folder / "tables").mkdir(parents=True)
    judges = changed.get("judges", ["gpt4o", "human"])
    write_table(
        pd.DataFrame({"judge": judges, "status": "ok", "n": 5}), folder / "tables" / "answers.parquet"
    )
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return ReportData(folder)


def verdicts(frame: pd.DataFrame) -> dict[str, str]:
    return dict(zip(frame["aspect"], frame["verdict"], strict=True))


def test_results_that_follow_the_registration_are_as_registered(registered, tmp_path) -> None:
    study = load_any_study("moderation")
    frame = compare(
        registered, results(tmp_path / "r", registered), hashes_now(registered, [study.folder])
    ).frame
    assert set(frame["verdict"]) == {"as registered"}, frame[frame["verdict"] != "as registered"].to_string()
    assert sentence(list(frame["verdict"])) == f"All {len(frame)} registered aspects are as registered."


def test_a_registration_that_is_named_comes_before_that_of_the_folder(registered, tmp_path) -> None:
    folder = results(tmp_path / "r", registered).path
    assert compare_with_registration(folder, None, None) is None
    for place in (tmp_path, folder):
        (place / "preregistration.json").write_text(json.dumps(registered), encoding="utf-8")
        comparison = compare_with_registration(folder, tmp_path / "preregistration.json", None)
        assert comparison.path == tmp_path / "preregistration.json"
    assert compare_with_registration(folder, None, None).path == folder / "preregistration.json"


@pytest.mark.parametrize(
    ("changed", "aspect", "verdict"), cases(__file__, "each_deviation_is_found_and_no_other")
)
def test_each_deviation_is_found_and_no_other(registered, tmp_path, changed, aspect, verdict) -> None:
    found = compare(registered, results(tmp_path / "r", registered, **changed)).frame
    others = found[~found["verdict"].isin(["as registered", "not compared"])]
    assert verdicts(others) == {aspect: verdict}


def test_smaller_samples_and_analyses_that_were_added_are_deviations(registered, tmp_path) -> None:
    larger = registration(
        load_any_study("moderation"), judges=["human", "gpt4o"], sample={"pairs": 500, "respondents": 60}
    )
    larger["created"] = registered["created"]
    found = verdicts(compare(larger, results(tmp_path / "r", larger)).frame)
    assert found["Sample of gpt4o, baseline"] == "deviates"
    assert found["Sample of human"] == "as registered"
    fewer = copy.deepcopy(registered)
    dropped = fewer["analyses"].pop(1)
    found = verdicts(compare(fewer, results(tmp_path / "s", registered)).frame)
    assert found[f"Analysis {dropped['title']}"] == "not registered"


def test_changed_files_are_found_by_their_hashes(registered, tmp_path) -> None:
    study = load_any_study("moderation")
    assert registered["files"]["study.yaml"] == file_hash(study.folder / "study.yaml")
    now = {**registered["files"], "study.yaml": "0" * 64}
    found = verdicts(compare(registered, results(tmp_path / "r", registered), now).frame)
    assert found["File study.yaml (SHA-256)"] == "deviates"
    assert found["File prompts/baseline.j2 (SHA-256)"] == "as registered"
    unseen = verdicts(compare(registered, results(tmp_path / "s", registered)).frame)
    assert unseen["File study.yaml (SHA-256)"] == "not compared"


def test_a_registration_that_was_changed_afterwards_is_refused(registered, tmp_path) -> None:
    path = tmp_path / "preregistration.json"
    path.write_text(json.dumps(registered), encoding="utf-8")
    assert read_registration(path) == registered
    path.write_text(json.dumps({**registered, "alpha": 0.1}), encoding="utf-8")
    with pytest.raises(InputError, match="was changed after it was written"):
        read_registration(path)
    for text in ("{", "[]", '{"a": 1}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"is no registration|not valid JSON"):
            read_registration(path)


def test_the_hash_depends_on_every_part_but_itself(registered) -> None:
    assert registered["sha256"] == hash_of(registered)
    for name in registered:
        if name != "sha256":
            assert hash_of({**registered, name: "changed"}) != registered["sha256"]


def test_results_of_another_study_are_refused(registered, tmp_path) -> None:
    data = results(tmp_path / "r", registered, manifest={"study": "hiring"})
    with pytest.raises(InputError, match=r"of the study 'moderation'.*'hiring'"):
        compare(registered, data)


def test_a_report_lists_deviations_or_says_as_registered(registered, tmp_path, capsys) -> None:
    for name, changed, expected in (
        ("same", {}, "As registered: all"),
        ("other", {"amce": {"alpha": 0.1}}, "Deviations from the registration."),
    ):
        data = results(tmp_path / name, registered, **changed)
        files = registered["files"]
        add_to_results(data.path, compare(registered, data, files))
        add_to_results(data.path, compare(registered, ReportData(data.path), files))
        Report(data.path).show("registration")
        printed = capsys.readouterr().out
        assert expected in printed
        assert ("0.05, 0.1" in printed) == (name == "other")


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_states_design_analyses_sample_power_and_hashes(registered, template) -> None:
    text = in_words({**registered, "template": template})
    for part in (
        "Insult: Generic insult", "`chosen ~ slur + identity", "300 pairs", "60 respondents",
        "0.100 to 0.200", "Holm's method", "`pair_id` for models", registered["files"]["study.yaml"],
        registered["sha256"], MARK, "treated as missing",
    ):  # fmt: skip
        assert part in text, part
    assert "None" not in text


@pytest.mark.parametrize("name", list_studies())
def test_every_study_that_ships_can_be_registered(name: str) -> None:
    made = registration(load_any_study(name), template="aspredicted")
    assert json.loads(json.dumps(made)) == made
    assert "None" not in in_words(made)


def test_cycles_of_preferences_are_registered_with_their_adjustment() -> None:
    study = load_any_study("moderation")
    cycles = {"name": "cycles", "verb": "preference_cycles", "formula": "chosen ~ topic"}
    planned = study.model_copy(update={"analyses": [study.analyses[0].model_copy(update=cycles)]})
    assert registration(planned, judges=["human"])["adjusted"] == {"cycles": "holm"}


def test_unknown_templates_and_judges_are_refused() -> None:
    study = load_any_study("moderation")
    with pytest.raises(InputError, match="no template 'prp'"):
        registration(study, template="prp")
    with pytest.raises(InputError, match="did you mean 'gpt4o'"):
        registration(study, judges=["gpt4"])


def test_replacement_tests_are_adjusted_as_fit_adjusts_them() -> None:
    study = load_any_study("oogiri")
    rng = np.random.default_rng(1)
    items = [f"i{k}" for k in range(40)]
    kinds = {"ann": "human", "bob": "human", "cid": "human", "gpt": "model"}
    rows = [(name, kind, item, rng.integers(0, 5)) for name, kind in kinds.items() for item in items]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    table = table.assign(dimension=study.main, status="ok", prompt_id="rubric", topic_id=table["item_id"])
    (step,) = [
        one for one in plan_ratings(study, table, None, FitOptions(draws=0)).steps if one.name == "alt_test"
    ]
    made = registration(study)
    assert made["adjusted"]["alt_test"] == step.call().settings["multiplicity"]
    assert "by the method of Benjamini and Yekutieli over the one-sided tests of a model" in in_words(made)
    assert re.search(r"\b\d+ people rate each item\.", in_words(made))
    of_people = registration(study, judges=["human"])["adjusted"]
    assert of_people == dict.fromkeys(("gaps", "dimension_correlations", "tier_accuracy"), "holm")


def test_tables_that_fit_adjusts_are_those_whose_frames_have_adjusted_p_values() -> None:
    items = [f"i{k}" for k in range(12)]
    rows = [
        (name, item, "safe" if (k + shift) % 3 else "harmful")
        for shift, name in enumerate(("gpt", "llama"))
        for k, item in enumerate(items)
    ]
    judged = pd.DataFrame(rows, columns=["judge_id", "item_id", "value"])
    judged = judged.assign(judge_kind="model", dimension="harm")
    gold = pd.DataFrame({"item_id": items, "label_set": "harm", "label": ["safe", "harmful"] * 6})
    scored = score(judged, gold)
    adjusted = registration(load_any_study("harm_or_humor"))["adjusted"]
    assert set(adjusted) == {"differences", "mixed", "gaps", "robustness", "by_label", "errors"}
    assert differences(scored, draws=20).settings["adjust"] == adjusted["differences"] == "holm"
    frame = by_label(scored, draws=50).frame
    tested = frame["p"].notna()
    assert np.allclose(
        frame.loc[tested, "p_adjusted"],
        significance.adjust_p_values(frame.loc[tested, "p"].to_numpy(), "holm"),
    )
    assert adjusted["by_label"] == "holm"
    one = registration(load_any_study("harm_or_humor"), judges=["human", "gpt_4o"])["adjusted"]
    assert "differences" not in one
