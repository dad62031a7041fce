"""The blocks of README.md and docs/ name existing commands and options, and run in an empty folder."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from wheel import ROOT, build_wheel

from conjury.cli.main import app

DOCUMENTS = [ROOT / "README.md", ROOT / "inference" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEEDS = "# needs "  # a key, a GPU or a server
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r'(?:\]\(|src(?:set)?=")([^)"#]+)(?:#([^)"]+))?[)"]')


@dataclass(frozen=True)
class Step:
    """A command or a block of Python; ``repeated`` if an earlier page has the same block."""

    document: str
    language: str
    text: str
    repeated: bool = False

    @property
    def name(self) -> str:
        shown = self.text.partition("#")[0] if self.language != "python" else self.text.split("\n")[0]
        return f"{self.document}-{' '.join(shown.split())[:60]}"


def commands(block: str) -> list[str]:
    """Lines of a block without comment lines, joined where they are continued."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def steps() -> list[Step]:
    """Python and commands in order; ``sh`` marks commands on the reader's files, make needs a checkout."""
    listed: list[Step] = []
    seen: set[str] = set()
    for document in DOCUMENTS:
        name = str(document.relative_to(ROOT))
        for language, block in BLOCK.findall(document.read_text(encoding="utf-8")):
            if language == "python":
                listed.append(Step(name, language, block, block in seen))
            elif language in ("", "sh"):
                lines = [line for line in commands(block) if not line.startswith("make ")]
                listed += [Step(name, language, line, block in seen) for line in lines]
            seen.add(block)
    return listed


def quotes(document: str) -> list[str]:
    """What a document quotes of what a command prints."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^> .*\n)+", text, flags=re.MULTILINE)
    return [" ".join(block.replace("\n> ", " ").removeprefix("> ").split()) for block in blocks]


STEPS = steps()
COMMANDS = [step for step in STEPS if step.language != "python"]
PYTHON = [step for step in STEPS if step.language == "python" and not step.repeated]
RUN = [step for step in STEPS if step.language != "sh" and NEEDS not in step.text and not step.repeated]


def ids(listed: list[Step]) -> list[str]:
    return [f"{number:02}-{step.name}" for number, step in enumerate(listed, 1)]


# ---- what can be seen without running ----


@pytest.mark.parametrize("step", COMMANDS, ids=ids(COMMANDS))
def test_commands_and_options_exist(step: Step) -> None:
    """With --help at the end all options are still checked, and nothing is run."""
    words = shlex.split(step.text, comments=True)
    if words[0] == "Rscript":
        return
    assert words[0] == "conjury"
    ended = typer.main.get_command(app).main([*words[1:], "--help"], standalone_mode=False)
    assert ended in (None, 0)


def test_only_steps_that_need_a_key_a_gpu_or_a_server_are_not_run() -> None:
    not_run = [step.text for step in STEPS if NEEDS in step.text]
    assert not_run
    for text in not_run:
        assert re.search(NEEDS + r"(OPENAI_API_KEY|a GPU|a server)", text), text


def test_blocks_name_no_file_of_a_checkout() -> None:
    for step in STEPS:
        assert not re.search(r"\b(data/|R/|tests/|quarto/)", step.text), step.text


@pytest.mark.parametrize("step", PYTHON, ids=ids(PYTHON))
def test_blocks_of_python_import_what_they_use(step: Step) -> None:
    tree = ast.parse(step.text)
    stored = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    stored |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert used <= stored | {"print"}


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


# ---- the tour ----


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Step], subprocess.CompletedProcess[str]]:
    """Run a step in an empty folder per document, with the package as a wheel installs it."""
    installed, home = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("empty")
    shutil.unpack_archive(build_wheel(tmp_path_factory), installed, "zip")
    program = installed / "bin" / "conjury"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom conjury.cli.main import main\nmain()\n", encoding="utf-8")
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = str(installed)
    environment["MPLBACKEND"] = "agg"

    def run(step: Step) -> subprocess.CompletedProcess[str]:
        folder = home / step.document.replace("/", "-")
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", step.text] if step.language else ["bash", "-c", step.text]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
        )

    where = run(Step("README.md", "python", "import conjury.analysis as it; print(it.__file__)"))
    assert where.stdout.startswith(str(installed)), where.stdout + where.stderr
    return run


@pytest.mark.long
@pytest.mark.parametrize("step", RUN, ids=ids(RUN))
def test_the_tour_runs_in_an_empty_folder(
    step: Step, run: Callable[[Step], subprocess.CompletedProcess[str]]
) -> None:
    if step.text.startswith("Rscript") and shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    if step.text.startswith("conjury raters") and sys.version_info < (3, 12):
        pytest.skip("the Bayesian models need Python 3.12")
    ran = run(step)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    if "--correct ppi" in step.text:
        printed = " ".join(ran.stdout.split())
        assert any(quote in printed for quote in quotes(step.document)), printed
