"""The blocks of README.md name commands and options that exist, and run in an empty folder from a wheel."""

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

import pytest
import typer
from wheel import ROOT, build_wheel

from conjury.cli.main import app

README = (ROOT / "README.md").read_text(encoding="utf-8")
NEEDS = "# needs "  # what a fresh machine has not: a key, a GPU, a server


@dataclass(frozen=True)
class Step:
    """A command, or a whole block of Python."""

    language: str
    text: str

    @property
    def name(self) -> str:
        words = self.text.split("\n")[0] if self.language else self.text.partition("#")[0]
        return " ".join(words.split())[:60]


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    """Lines of a block, joined where they are continued."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def steps() -> list[Step]:
    """What a reader runs, in order; `make` is for a checkout."""
    found: list[Step] = []
    for language, block in blocks():
        if language == "python":
            found.append(Step(language, block))
        elif not language:
            found += [Step("", line) for line in commands(block) if not line.startswith("make ")]
    return found


STEPS = steps()
RUN = [step for step in STEPS if NEEDS not in step.text]


def ids(listed: list[Step]) -> list[str]:
    return [f"{number:02}-{step.name}" for number, step in enumerate(listed, 1)]


# ---- what can be seen without running ----


@pytest.mark.parametrize("step", [step for step in STEPS if not step.language], ids=lambda step: step.name)
def test_commands_and_options_exist(step: Step) -> None:
    """With --help behind them all options are still checked, and nothing is run."""
    words = shlex.split(step.text, comments=True)
    if words[0] == "Rscript":
        return
    assert words[0] == "conjury"
    ended = typer.main.get_command(app).main([*words[1:], "--help"], standalone_mode=False)
    assert ended in (None, 0)


def test_only_what_needs_a_key_a_gpu_or_a_server_is_left_out() -> None:
    left_out = [step.text for step in STEPS if NEEDS in step.text]
    assert left_out
    for text in left_out:
        assert re.search(NEEDS + r"(OPENAI_API_KEY|a GPU|a server)", text), text


def test_blocks_name_no_file_of_a_checkout() -> None:
    for step in STEPS:
        assert not re.search(r"\b(data/|R/|tests/|quarto/)", step.text), step.text


@pytest.mark.parametrize("block", [text for language, text in blocks() if language == "python"])
def test_blocks_of_python_import_what_they_use(block: str) -> None:
    tree = ast.parse(block)
    stored = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    stored |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert used <= stored | {"print"}


# ---- the tour ----


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Step], subprocess.CompletedProcess[str]]:
    """Run a step in one empty folder, with the package as a wheel installs it and no checkout in sight."""
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
        command = [sys.executable, "-c", step.text] if step.language else ["bash", "-c", step.text]
        return subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=280, check=False
        )

    where = run(Step("python", "import conjury.analysis as it; print(it.__file__)"))
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
