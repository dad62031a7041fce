"""A short study, and the command: as a process, and in this one."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml

from conjury.cli import printing as figures
from conjury.cli.main import main
from conjury.inference.study import load_study

Run = Callable[..., subprocess.CompletedProcess[str]]
Told = Callable[..., tuple[int, str]]


def command() -> str:
    found = shutil.which("conjury", path=str(Path(sys.executable).parent))
    assert found is not None, "the conjury command is not installed beside this Python"
    return found


@pytest.fixture(scope="session")
def process() -> Run:
    """Run the command as a process of its own."""

    def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command(), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=200
        )

    return run


@pytest.fixture(scope="session")
def conjury() -> Run:
    """Run the command in this process, with figures as SVG only, as if it were a process of its own."""

    def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        words = ["conjury", *map(str, arguments)]
        out, err, code = io.StringIO(), io.StringIO(), 0
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(figures, "FORMATS", ("svg",))
            patch.setattr(sys, "argv", words)
            patch.chdir(cwd)
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(autouse=True)
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no figures in tests that are not about them."""
    monkeypatch.setattr(figures, "FORMATS", ())


@pytest.fixture
def conjury_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Run the command in this process, in an empty folder; return its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["conjury", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err

    return run


@pytest.fixture
def streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty folder; return its exit code and what it wrote to both streams."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["conjury", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture(scope="session")
def short_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The moderation study with its first analysis only, so that a fit draws a single figure."""
    original = load_study("moderation").folder
    folder = tmp_path_factory.mktemp("studies") / "short"
    shutil.copytree(original, folder)
    content = yaml.safe_load((original / "study.yaml").read_text(encoding="utf-8"))
    content["analyses"] = content["analyses"][:1]
    (folder / "study.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return folder
