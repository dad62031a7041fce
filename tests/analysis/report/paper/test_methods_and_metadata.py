"""Methods with their references, and metadata of folders as other programs read them."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from conjury.analysis.report.paper.facts import MARK
from conjury.analysis.report.paper.folder_metadata import (
    CRATE,
    CROISSANT,
    About,
    as_json,
    croissant,
    files_of,
    ro_crate,
)
from conjury.analysis.report.paper.methods_text import methods_of
from conjury.inference.errors import InputError

ABOUT = About("moderation", "Which post?", "Tables.", "2026-01-02T00:00:00+00:00", "CC-BY-4.0", "A. Author")


def test_every_citation_has_an_entry_and_every_entry_a_citation(results) -> None:
    text, works = methods_of(results)
    cited = set(re.findall(r"@([a-z]+\d*)", text))
    assert cited == set(re.findall(r"^@\w+\{([\w-]+),", works, re.M))
    assert {"conjury", "hainmueller2014"} <= cited
    assert "Standard errors" in text


def test_hashes_and_sizes_are_those_of_the_files(tmp_path) -> None:
    (tmp_path / "b.txt").write_text("abc")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / CRATE).write_text("{}")
    (file,) = files_of(tmp_path)
    assert (file.path, file.size, file.media) == ("b.txt", 3, "text/plain")
    assert file.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(InputError, match="contains no files"):
        files_of(tmp_path / "none")


def test_croissant_describes_each_column_of_each_table(tmp_path) -> None:
    table = pd.DataFrame({"judge": ["a"], "n": [1], "share": [0.5], "ok": [True]})
    table.to_parquet(tmp_path / "answers.parquet")
    made = croissant(ABOUT, files_of(tmp_path), tmp_path)
    (fields,) = [one["field"] for one in made["recordSet"]]
    assert [one["dataType"] for one in fields] == ["sc:Text", "sc:Integer", "sc:Float", "sc:Boolean"]
    assert made["distribution"][0]["sha256"] == files_of(tmp_path)[0].sha256
    assert MARK in json.dumps(croissant(About("x", "x", "x", "2026"), files_of(tmp_path), tmp_path))


@pytest.mark.long
def test_croissant_is_read_by_its_reference_implementation(tmp_path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    pd.DataFrame({"judge": ["a", "b"], "n": [1, 2]}).to_parquet(tmp_path / "answers.parquet")
    (tmp_path / CROISSANT).write_bytes(as_json(croissant(ABOUT, files_of(tmp_path), tmp_path)))
    read = mlcroissant.Dataset(str(tmp_path / CROISSANT))
    assert not read.metadata.ctx.issues.errors
    assert [record["answers/n"] for record in read.records("answers")] == [1, 2]


def test_a_crate_is_read_by_its_reference_implementation(results, tmp_path) -> None:
    rocrate = pytest.importorskip("rocrate.rocrate")
    listed = files_of(results)
    for file in listed:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).write_bytes((results / file.path).read_bytes())
    (tmp_path / CRATE).write_bytes(as_json(ro_crate(ABOUT, listed, "conjury fit STUDY", "0.1.0")))
    read = rocrate.ROCrate(tmp_path)
    assert read.name == ABOUT.title
    assert {one.id for one in read.data_entities} == {file.path for file in listed}
    assert read.root_dataset["license"] == "CC-BY-4.0"
    assert read.dereference("#run")["instrument"].id == "#conjury"


def test_a_date_of_publication_is_for_the_author(tmp_path) -> None:
    pd.DataFrame({"n": [1]}).to_parquet(tmp_path / "answers.parquet")
    files = files_of(tmp_path)
    made, root = croissant(ABOUT, files, tmp_path), ro_crate(ABOUT, files)["@graph"][1]
    assert "datePublished" not in made
    assert made["citeAs"] == "A. Author: Which post? (2026)."
    assert (made["dateCreated"], root["dateCreated"]) == ("2026-01-02", ABOUT.created)
    assert root["datePublished"] == MARK
    unknown = About("x", "x", "x", "")
    made, crate = croissant(unknown, files, tmp_path), ro_crate(unknown, files, "conjury fit x")["@graph"]
    assert "dateCreated" not in made
    assert made["citeAs"].endswith(f"({MARK}).")
    assert not [one for one in crate if "dateCreated" in one or "endTime" in one]
