"""Blocks of README.md and docs/ name existing commands and options; those of README.md run in a folder."""

from __future__ import annotations

import ast
import builtins
import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from tour import DOCUMENTS, NEEDS, README, RUN, STEPS, Ran, Step, check, ids, runner
from typer.core import TyperCommand, TyperGroup
from wheel import ROOT

from conjury.analysis.report.replication import read_layout
from conjury.cli.main import COMMANDS as COMMANDS_OF_CONJURY
from conjury.cli.main import app

LINK = re.compile(r'(?:\]\(|src(?:set)?=")([^)"#]+)(?:#([^)"]+))?[)"]')
OTHER_PROGRAMS = {
    "Rscript",
    "QUARTO_PYTHON=../.venv/bin/python",
    "cd",
    "docker",
    "git",
    "pip",
    "quarto",
    "tail",
}
COMMANDS = [step for step in STEPS if step.language != "python"]
PYTHON = [step for step in STEPS if step.language == "python"]
OF_README = [step for step in RUN if ROOT / step.document in README]
# The second needs the first.
DEAR = ("conjury simulate multiturn", "conjury fit multiturn", "conjury check-table")


@pytest.mark.parametrize("document", sorted({step.document for step in COMMANDS}))
def test_commands_and_options_exist(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --help at the end all options are still checked, and nothing is run; the help is not printed."""
    for kind in (TyperCommand, TyperGroup):
        monkeypatch.setattr(kind, "format_help", lambda *_: None)
    for text in (step.text for step in COMMANDS if step.document == document):
        tokens = list(shlex.shlex(text, posix=True, punctuation_chars=True))
        words = list(takewhile(lambda token: token not in ("|", "<", ">", ";", "&&"), tokens))
        if words[0] not in OTHER_PROGRAMS:
            assert words[0] == "conjury", text
            ended = typer.main.get_command(app).main([*words[1:], "--help"], standalone_mode=False)
            assert ended in (None, 0), text


@pytest.mark.long
def test_commands_of_the_elements_of_the_papers_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (TyperCommand, TyperGroup):
        monkeypatch.setattr(kind, "format_help", lambda *_: None)
    page = (ROOT / "docs/replications/elements.md").read_text(encoding="utf-8")
    commands = {tuple(shlex.split(text)) for text in re.findall("`conjury ([^`]+)`", page)}
    for words in commands:
        assert typer.main.get_command(app).main([*words, "--help"], standalone_mode=False) in (None, 0), words
    for _, study, _, number in (each for each in commands if each[0] == "replicate" and len(each) == 4):
        assert read_layout(study).select([number])
    parts = [re.findall(r"\| (yes|not for software) \| .* \|\n", part) for part in page.split("\n## ")[1:]]
    counts = re.findall(r"^\| [A-Z].* \| (\d+) \| (\d+) \| (\d+) \|$", page, re.M)
    assert [[*map(int, row)] for row in counts] == [
        [len(rows), rows.count("yes"), rows.count("not for software")] for rows in parts
    ]


@pytest.mark.parametrize("command", COMMANDS_OF_CONJURY)
def test_every_command_prints_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    typer.main.get_command(app).main([*command.split(), "--help"], "conjury", standalone_mode=False)
    assert f"Usage: conjury {command} " in capsys.readouterr().out


def test_only_steps_that_need_a_key_a_gpu_a_server_or_an_extra_are_not_run() -> None:
    not_run = [step.text for step in STEPS if NEEDS in step.text]
    assert not_run
    for text in not_run:
        assert re.search(
            NEEDS + r"(OPENAI_API_KEY|ANTHROPIC_API_KEY|a GPU|a server|a browser|the extra pdf|Quarto)", text
        ), text


def test_blocks_name_no_file_of_a_checkout() -> None:
    for step in STEPS:
        assert not re.search(r"\b(data/|R/|tests/|quarto/)", step.text), step.text


@pytest.mark.parametrize("document", sorted({step.document for step in PYTHON}))
def test_blocks_of_python_use_names_of_their_page(document: str) -> None:
    """Blocks of a page share one session, in order, so a name is one that this or an earlier block stores."""
    stored = set(dir(builtins))
    for step in (step for step in PYTHON if step.document == document):
        nodes = list(ast.walk(ast.parse(step.text)))
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        stored |= {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
        stored |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        stored |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert {node.id for node in names if isinstance(node.ctx, ast.Load)} <= stored, step.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    for target, heading in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file = document.parent / target
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert heading in [re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return runner(tmp_path_factory)


@pytest.mark.long
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, id=name, marks=pytest.mark.slow if step.text.startswith(DEAR) else ())
        for step, name in zip(OF_README, ids(OF_README), strict=True)
    ],
)
def test_the_tour_runs_in_an_empty_folder(step: Step, run: Ran) -> None:
    check(step, run)
