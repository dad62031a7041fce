"""Figures of results, drawn from the results that a command has computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import ConjuryError

from .printing import console, counted, show_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conjury.analysis.pipeline.run import Fitted

FORMATS: tuple[str, ...] = ("png", "svg", "pdf")


def draw_results(folder: Path, fitted: Fitted, manifest: Mapping[str, Any]) -> list[str]:
    """Draw every result that has a figure; return why any could not be drawn."""
    from conjury.analysis.figures.benchmark import figure_of, further_figures, is_drawn
    from conjury.analysis.report.ratings_report import labels_of

    labels = labels_of(manifest)
    drawings: dict[str, Callable[[], Figure]] = {}
    for name, result in fitted.by_name.items():
        if "verb" in result.settings:
            continue
        if is_drawn(result):
            drawings[name] = partial(figure_of, result, labels=labels)
        for part in further_figures(result):
            drawings[f"{name}_{part}"] = partial(figure_of, result, labels=labels, part=part)
    return save_figures(folder, drawings | _of_choices(folder, fitted))


def _of_choices(folder: Path, fitted: Fitted) -> dict[str, Callable[[], Figure]]:
    """Figures of a conjoint, as the report draws them."""
    from conjury.analysis.report.data import figure_kind

    names = [
        name
        for name, result in fitted.by_name.items()
        if result.kind == "people" or ("verb" in result.settings and figure_kind(result.settings))
    ]
    if not names:
        return {}
    from conjury.analysis.report.report import Results

    report = Results(folder)
    tables = (("published", "published_difference"), ("recovery", "recovery"))
    names += [name for name, table in tables if report.has(table)]
    return {name: partial(report.build_figure, name) for name in names}


def save_figures(folder: Path, drawings: Mapping[str, Callable[[], Figure]]) -> list[str]:
    """Draw and save figures by name; return why any could not be drawn."""
    from conjury.analysis.figures.theme import save

    notes = []
    if not FORMATS:
        return notes
    with show_steps(len(drawings)) as step:
        for name, draw in drawings.items():
            step(f"Figure: {name}")
            try:
                save(draw(), folder / "figures" / name, formats=FORMATS)
            except ConjuryError as error:
                reason = str(error).replace(str(folder), "the results")
                notes.append(f"Figure {name}: {reason} It was not drawn.")
    console.print(f"  {counted(len(drawings) - len(notes), 'figure')} as {_names(FORMATS)}")
    return notes


def _names(formats: tuple[str, ...]) -> str:
    *first, last = [name.upper() for name in formats]
    return f"{', '.join(first)} and {last}" if first else last
