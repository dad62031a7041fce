"""The tour: blocks of README.md and docs/, run in an empty folder with the package as a wheel installs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import pytest
from wheel import ROOT, build_wheel


def extension(name: str) -> ModuleType:
    """A module of docs/_ext, which is no package."""
    path = str(ROOT / "docs" / "_ext")
    if path not in sys.path:
        sys.path.append(path)  # at the end: its names are general
    return import_module(name)


README = [ROOT / "README.md"]
DOCUMENTS = [*README, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = extension("site_pages")
NEEDS = PAGES.NEEDS


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


def steps() -> list[Step]:
    """Python and commands in order; ``sh`` marks commands on the reader's files, make needs a checkout."""
    listed: list[Step] = []
    seen: set[str] = set()
    for document in DOCUMENTS:
        name = str(document.relative_to(ROOT))
        for language, block in PAGES.BLOCK.findall(document.read_text(encoding="utf-8")):
            if language == "python":
                listed.append(Step(name, language, block, block in seen))
            elif language in ("", "sh"):
                listed += [Step(name, language, line, block in seen) for line in PAGES.commands(block)]
            seen.add(block)
    return listed


STEPS = steps()
RUN = [step for step in STEPS if step.language != "sh" and NEEDS not in step.text and not step.repeated]
Ran = Callable[[Step], subprocess.CompletedProcess[str]]


def ids(listed: Sequence[Step]) -> list[str]:
    return [f"{number:02}-{step.name}" for number, step in enumerate(listed, 1)]


def runner(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run a step in an empty folder per document."""
    installed, home = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("empty")
    shutil.unpack_archive(build_wheel(tmp_path_factory), installed, "zip")
    program = installed / "bin" / "conjury"
    program.parent.mkdir()
    script = "from conjury.cli.main import main\n\nif __name__ == '__main__':\n    main()\n"
    program.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
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


def check(step: Step, run: Ran) -> None:
    """Run a step; it ends well."""
    if step.text.startswith("Rscript") and shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    if step.text.startswith("conjury raters") and sys.version_info < (3, 12):
        pytest.skip("the Bayesian models need Python 3.12")
    ran = run(step)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
