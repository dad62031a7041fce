"""Python in a process of its own, in which packages or folders of the project cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

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
