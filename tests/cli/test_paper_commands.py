"""What a paper needs, from the command line: tables, checklists, preregistration, methods, metadata."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_up.results import write_results

from conjury.cli.commands.papers.paper_inputs import _same_texts
from conjury.inference.tables.files import ROOT


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return write_results(tmp_path_factory.mktemp("made_up") / "results")


@pytest.mark.long
def test_each_format_of_tables_is_written(ran, results, tmp_path) -> None:
    printed = ran("tables", results, "--to", "markdown", "--to", "html", "--out", tmp_path)
    assert "tables as markdown" in printed
    names = {path.stem for path in tmp_path.glob("*.md")}
    assert names == {path.stem for path in tmp_path.glob("*.html")} >= {"amce", "answers"}
    assert (tmp_path / "amce.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_checklist_and_a_registration_are_written(ran) -> None:
    printed = ran("paper", "checklist", "moderation")
    assert re.search(r"GUIDE-LLM: \d items? planned in the study file, \d+ items with a field", printed)
    assert "# Checklists" in Path("checklist.md").read_text(encoding="utf-8")
    ran("paper", "preregister", "moderation", "--judge", "gpt4o", "--pairs", 500, "--template", "dce")
    made = json.loads(Path("preregistration.json").read_text(encoding="utf-8"))
    assert made["sample"]["pairs"] == 500
    assert list(made["judges"]) == ["gpt4o"]
    assert 0 < made["power"][0]["least"] < made["power"][0]["most"] < 1
    assert "500 pairs" in Path("preregistration.md").read_text(encoding="utf-8")


def test_methods_and_metadata_lie_where_they_belong(ran, results, tmp_path) -> None:
    ran("paper", "methods", results, "--out", tmp_path / "methods.md")
    entry = (tmp_path / "methods.bib").read_text(encoding="utf-8").partition("\n}")[0]
    assert entry.startswith("@software{conjury")
    cited = (ROOT / "docs/project/cite.md").read_text(encoding="utf-8")
    assert [line for line in entry.splitlines() if line.rstrip(",") not in cited] == []
    printed = ran("paper", "metadata", results, "--creator", "'A. Author'")
    assert "Add --license before publication" in printed
    assert json.loads((results / "croissant.json").read_text(encoding="utf-8"))["recordSet"]
    assert (results / "ro-crate-metadata.json").is_file()


def test_metadata_of_a_run_state_what_it_has_recorded(ran, tmp_path) -> None:
    (tmp_path / "judgments.csv").write_text("judge_id\n", encoding="utf-8")
    ran("paper", "metadata", tmp_path)
    assert "dateCreated" not in json.loads((tmp_path / "croissant.json").read_text(encoding="utf-8"))
    version = {"model_returned": None, "system_fingerprint": None, "n": 1}
    served = [
        {"judge_id": name, **version, **dict.fromkeys(("first", "last"), f"2026-03-0{day}T10:00:00+00:00")}
        for day, name in ((2, "a"), (1, "b"))
    ]
    recorded = {"served": served, "settings": {}}
    (tmp_path / "provenance.json").write_text(json.dumps(recorded), encoding="utf-8")
    assert "the date of publication" in ran("paper", "metadata", tmp_path)
    crate = json.loads((tmp_path / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    assert crate[1]["dateCreated"] == "2026-03-02T10:00:00+00:00"
    assert crate[1]["datePublished"] == "TO STATE BY THE AUTHOR"
    assert not [one for one in crate if "softwareVersion" in one]


def test_templates_are_compared_with_those_that_were_sent(tmp_path) -> None:
    (tmp_path / "a.j2").write_text("Which one?", encoding="utf-8")
    digest = hashlib.sha256(b"a.j2\0Which one?\0").hexdigest()
    prompts = [SimpleNamespace(id=name, template="a.j2", user=None) for name in ("same", "changed", "new")]
    study = SimpleNamespace(folder=tmp_path, prompts=prompts)
    sent = {"same": {"template": digest}, "changed": {"template": "0" * 64}}
    assert _same_texts(study, sent) == ["same"]  # type: ignore[arg-type]


PEOPLE = ("--data", "people.csv")


@pytest.mark.parametrize(
    ("template", "data", "report", "family"),
    [
        ("hiring", ["choices.parquet"], "conjoint", "the differences of each model"),
        ("ratings", ["judgments.parquet", *PEOPLE], "raters", "all correlations between dimensions"),
        ("labels", ["judgments.parquet", *PEOPLE], "benchmark", "the labels and judges of the same task"),
    ],
)
def test_a_study_that_follows_its_registration_does_not_deviate(
    ran, tmp_path, template, data, report, family
) -> None:
    ran("init", template, tmp_path)
    ran("design", "study.yaml")
    judges = () if "people.csv" in data else ("--judge", "mini")
    ran("paper", "preregister", "study.yaml", *judges)
    assert f": by Holm's method over {family}\n" in Path("preregistration.md").read_text(encoding="utf-8")

    ran("collect", "study.yaml", "--judge", "mini", "--backend", "simulated")
    ran("fit", "study.yaml", "--data", f"runs/{template}/{data[0]}", *data[1:], "--draws", 0)
    printed = ran("report", report, "--registered", "preregistration.json")
    assert re.search(r"All \d+ registered aspects are as registered\.", printed)
    registered = json.loads(Path("preregistration.json").read_text(encoding="utf-8"))["adjusted"]
    for record in json.loads(Path("results/manifest.json").read_text(encoding="utf-8"))["results"]:
        table = Path("results/tables", f"{record['name']}.csv").read_text(encoding="utf-8")
        if {"p_adjusted", "p_holm"} & {*table.partition("\n")[0].split(",")}:
            assert {record["kind"], record["name"]} & {*registered}, record["name"]

    ran("paper", "methods", "results")
    assert not re.findall(r"^\*.*\]\.$", Path("methods.md").read_text(encoding="utf-8"), re.M), "works alone"
    printed = ran("paper", "checklist", "study.yaml", "--results", "results", "--run", f"runs/{template}")
    checklist = Path("checklist.md").read_text(encoding="utf-8")
    counts = re.findall(r"^ {2}(?:GUIDE-LLM|Conjoint practice): (.*)$", printed, re.M)
    assert [states for states in counts if f"{states}." not in checklist] == [] != counts
    page = re.sub(r"<[^>]*>", "", Path(f"reports/{report}.html").read_text(encoding="utf-8"))
    assert not re.search(r"[a-z]\?: ", checklist + printed + page)
    if template == "hiring":
        assert family in re.sub(r"\\", "", re.search(r"^\| 13 .*$", checklist, re.M)[0])
