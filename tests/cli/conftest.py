"""A short study, and the command as it runs in this process."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from conjury.cli import printing
from conjury.cli.main import main
from conjury.inference.study import load_study


class Ended(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="session")
def conjury() -> Run:
    """Run the command in a folder, as if in a process of its own; an argument with spaces is split."""

    def run(
        *arguments: object, cwd: Path, figures: Sequence[str] = ("svg",), everything: bool = True
    ) -> Ended:
        words = [word for one in arguments for word in (shlex.split(one) if " " in str(one) else [str(one)])]
        out, err, code = io.StringIO(), io.StringIO(), 0
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(printing, "FORMATS", tuple(figures))
            patch.setattr(sys, "argv", ["conjury", *["--all"] * everything, *words])
            patch.chdir(cwd)
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Ended(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def done(conjury: Run) -> Callable[..., str]:
    """Run the command in a folder, where it succeeds without complaint; what it printed."""

    def run(*arguments: object, **place: object) -> str:
        ended = conjury(*arguments, **place)
        assert (ended.code, ended.err) == (0, ""), ended.err + ended.out
        return ended.out

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conjury: Run) -> Run:
    """Run the command in the empty working directory, without figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return partial(conjury, cwd=tmp_path, figures=())


@pytest.fixture
def ran(here: Run, tmp_path: Path, done: Callable[..., str]) -> Callable[..., str]:
    """Run the command in the empty working directory, where it succeeds; what it printed."""
    return partial(done, cwd=tmp_path, figures=())


@pytest.fixture
def refused(here: Run) -> Callable[..., str]:
    """Run the command in the working directory; the one sentence that it ends with, and nothing else."""

    def run(*arguments: object, prints: bool = False, writes: bool = False, **place: object) -> str:
        before = set(Path().iterdir())
        code, out, err = here(*arguments, **place)
        assert code == 2, out + err
        assert prints or writes or not out
        assert re.fullmatch(r"conjury: .*[.?]\n", err), err
        assert writes or set(Path().iterdir()) == before
        return err

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
