"""A short study, and the command as a process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from conjury.inference.study import load_study

Run = Callable[..., subprocess.CompletedProcess[str]]


def command() -> str:
    found = shutil.which("conjury", path=str(Path(sys.executable).parent))
    assert found is not None, "the conjury command is not installed beside this Python"
    return found


@pytest.fixture(scope="session")
def conjury() -> Run:
    """Run the command as a process of its own."""

    def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command(), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=200
        )

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
