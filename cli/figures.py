"""Figures of the results that a command has computed, as files in the results folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from conjury.inference.errors import ConjuryError

from .printing import console, counted, show_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS: tuple[str, ...] = ("png", "svg", "pdf")


def draw_figures(folder: Path, part: str) -> list[str]:
    """Draw every result of a run that has a figure; return why any could not be drawn."""
    from conjury.analysis.report import Report

    return save_figures(folder, Report(folder).figures(part)) if FORMATS else []


def save_figures(folder: Path, drawings: Iterable[tuple[str, Callable[[], Figure]]]) -> list[str]:
    """Draw and save figures by name; return why any could not be drawn."""
    from conjury.analysis.figures.theme import save

    notes: list[str] = []
    named = list(drawings) if FORMATS else []
    with show_steps(len(named)) as step:
        for name, draw in named:
            step(f"Figure: {name}")
            try:
                save(draw(), folder / "figures" / name, formats=FORMATS)
            except ConjuryError as error:
                reason = str(error).replace(str(folder.resolve()), "the results")
                notes.append(f"Figure {name}: {reason} It was not drawn.")
    if named:
        console.print(f"  {counted(len(named) - len(notes), 'figure')} as {_names(FORMATS)}")
    return notes


def _names(formats: tuple[str, ...]) -> str:
    *first, last = [name.upper() for name in formats]
    return f"{', '.join(first)} and {last}" if first else last
