"""What the documents name exists: tests that PARITY cites, and files that any of them mentions."""

from __future__ import annotations

import ast
import csv
import re
import subprocess

import pytest

from conjury.inference.tables.files import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
PATH = re.compile(r"`((?:analysis|inference|cli|tests|benchmarks|R|data|quarto)/[\w/.-]+\.\w+)`")


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout")
    return set(listed.stdout.splitlines())


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_tests_that_documents_cite_exist() -> None:
    cited = {match for path in DOCUMENTS for match in TEST.findall(path.read_text(encoding="utf-8"))}
    defined = {
        (name, node.name)
        for name in {name for name, _ in cited}
        if (ROOT / name).is_file()
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert sorted(cited - defined) == []


def test_files_that_documents_mention_exist(tracked: set[str]) -> None:
    mentioned = {
        (path.name, name)
        for path in DOCUMENTS
        if path.name != "CHANGELOG.md"
        for name in PATH.findall(path.read_text(encoding="utf-8"))
        if not re.search(r"[A-Z]{4,}", name)  # NAME, SUBJECT: stands for a name of the reader's
    }
    assert sorted((page, name) for page, name in mentioned if name not in tracked) == []


def test_the_paper_cites_works_of_the_bibliography_and_numbers_of_tables_that_ship() -> None:
    paper = " ".join((ROOT / "docs/project/paper.md").read_text(encoding="utf-8").split())
    bibliography = (ROOT / "quarto/references.bib").read_text(encoding="utf-8")
    cited = set(re.findall(r"(?<!\w)@([\w-]+)", paper))
    assert len(cited) > 10
    assert cited <= set(re.findall(r"^@\w+\{([\w-]+),", bibliography, re.M))
    with (ROOT / "data/published/moderation.csv").open(encoding="utf-8") as file:
        effects = {row["judge"]: row for row in csv.DictReader(file) if row["level"] == "racism"}
    for judge, words in (("human", "by {} (95% interval {} to {})"), ("gpt4o", "by {} ({} to {})")):
        numbers = [f"{float(effects[judge][column]):.3f}" for column in ("estimate", "lower", "upper")]
        assert words.format(*numbers) in paper
    with (ROOT / "data/trials/results/tables/few_clusters.csv").open(encoding="utf-8") as file:
        cell = {"process": "raters", "clusters": "5", "unequal": "2.0", "quantity": "group=b"}
        cell["measure"] = "coverage"
        rows = [row for row in csv.DictReader(file) if cell.items() <= row.items()]
    shares = {row["method"]: f"{float(row['estimate']):.0%}" for row in rows}
    assert f"in {shares['Rows as independent (HC1)']} of 1,000 draws with rows as the unit" in paper
    assert f"in {shares['CR2 with Satterthwaite df']} with CR2 standard errors" in paper
