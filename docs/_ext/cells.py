"""What a page does at build: an extension of IPython for commands in the shell and figures in both themes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

from matplotlib.figure import Figure
from site_pages import NEEDS, commands

from conjury.analysis.figures.inline import inline_figure

ENDS = re.compile(r"#\s*exit (\d+)\s*$")  # a command that is meant to end with this code
COLORED = ("FORCE_COLOR", "CLICOLOR_FORCE")  # a kernel sets them; with them progress is drawn over and over
_numbers = count(1)


def run(block: str) -> Iterator[tuple[str, int]]:
    """The commands of a block that are run, each with the exit code that it states."""
    for line in commands(block):
        if NEEDS not in line:
            found = ENDS.search(line)
            yield line, int(found[1]) if found else 0


def run_commands(_: str, block: str) -> None:
    """Run each command of a cell and print what it prints; another exit code than expected is an error."""
    plain = {name: value for name, value in os.environ.items() if name not in COLORED} | {"TERM": "dumb"}
    for line, expected in run(block):
        ran = subprocess.run(
            ["bash", "-c", line],
            env=plain,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        sys.stdout.write(ran.stdout)
        if ran.returncode != expected:
            raise RuntimeError(f"{line.strip()} ended with {ran.returncode} instead of {expected}.")


def show(figure: Figure) -> str:
    """A figure as part of a page, in the colours of the theme that the page has."""
    alt = str(figure.get_label()) or "Figure"
    return f'<div class="figure">{inline_figure(figure, f"figure-{next(_numbers)}", alt)}</div>'


def load_ipython_extension(shell: Any) -> None:
    """Register the magic of commands and how figures are shown."""
    shell.register_magic_function(run_commands, "cell", "commands")
    shell.display_formatter.formatters["text/html"].for_type(Figure, show)
    for name in ("image/png", "text/plain"):
        shell.display_formatter.formatters[name].for_type(Figure, lambda figure, *_: None)
