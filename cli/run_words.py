"""The console of the commands, a bar of requests, and amounts and durations in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

console = Console(highlight=False, markup=False, soft_wrap=True)


def money(amount: float) -> str:
    """Write an amount of money."""
    return "under 0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"


def duration(seconds: float) -> str:
    """Write a duration, rounded."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def request_bar(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show a bar of requests on a terminal; yields a function of the number done and a description."""
    terminal = Console(stderr=True)
    columns = (
        TextColumn("Asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def update(completed: int, description: str) -> None:
            bar.update(task, completed=completed, description=description)

        yield update
