"""What is shown while a model is sampled: draws done, divergences, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int, int], None]
Progress = bool | Report


@contextmanager
def reporting(progress: Progress, what: str) -> Iterator[Report]:
    """Yield a function of draws done, draws in all, and divergent draws so far."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, total, divergent: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        shown = bar.add_task(f"{what}: compiling", total=None)

        def report(done: int, total: int, divergent: int) -> None:
            told = f"{what}, {divergent:,} divergent" if divergent else what
            bar.update(shown, description=told, completed=done, total=total)

        yield report
