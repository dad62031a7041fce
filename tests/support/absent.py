"""Python in a process of its own, in which packages cannot be imported, or parts are deleted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from shared_folder import REPOSITORY

COMMANDS = """
from conjury.cli.main import main

for command in sys.argv[1:]:
    sys.argv = ["conjury", *command.split()]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def run_without(
    absent: Iterable[str], code: str, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code; an import of an absent name, or of what is below it, fails as if it were not installed."""
    without = f"import sys\n\nsys.modules.update(dict.fromkeys({tuple(absent)!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", without + code, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def run_commands_without(
    absent: Iterable[str], folder: Path, *commands: str
) -> subprocess.CompletedProcess[str]:
    """Run commands of conjury one after the other, up to the first that fails."""
    return run_without(absent, COMMANDS, *commands, cwd=folder)


# The finder of an editable installation would find in the checkout what a copy lacks.
FROM_THE_COPY = """
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if not getattr(finder, "__module__", "").startswith("__editable")
]
"""
TESTS = """
import pytest

sys.exit(pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def copy_without(parts: Iterable[str], place: Path) -> Path:
    """Copy the package to ``place/conjury`` and delete folders and modules of it; return the place."""
    package = place / "conjury"
    package.mkdir(parents=True)
    shutil.copy2(REPOSITORY / "cli" / "package" / "__init__.py", package)
    for layer in ("analysis", "inference", "cli"):
        shutil.copytree(REPOSITORY / layer, package / layer)
    for resources in ("data", "quarto", "R"):
        (package / resources).symlink_to(REPOSITORY / resources)
    for part in parts:
        path = package / part.replace(".", "/")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.with_suffix(".py").unlink()
    return place


def run_commands(package: Path, folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of a copy in a folder one after the other, up to the first that fails."""
    return _run_copy(package, COMMANDS, commands, folder)


def run_tests(package: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run files of tests with a copy."""
    return _run_copy(package, TESTS, [f"tests/{name}" for name in files], REPOSITORY)


def _run_copy(
    package: Path, code: str, arguments: Iterable[str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", FROM_THE_COPY + code, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
