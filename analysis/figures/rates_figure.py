"""Rates of classes as a judge reports them, from people's labels alone, and corrected by each method."""

from __future__ import annotations

from .dot_marks import PERCENT
from .figure_layout import Drawable
from .figure_registry import FigureStyle, figure
from .forest import Forest, forest
from .labels import display_order, level_of

METHODS = {
    "naive": "As the judge reports",
    "human": "Labels of people alone",
    "rogan_gladen": "Rogan-Gladen",
    "efficient": "Efficient",
    "mle": "Maximum likelihood",
}


def method_in_words(method: object) -> str:
    """The name of an estimator of rates."""
    return METHODS.get(str(method), str(method).replace("_", " ").capitalize())


@figure("rates")
def rates(result: Drawable, style: FigureStyle) -> Forest:
    """A panel for each class, a row for each method, and a series for each group."""
    frame, names = result.frame, style.names
    by = [str(name) for name in result.settings.get("by") or () if name in frame]
    classes = {name: names.of("label", name) for name in display_order(frame["class"])}
    return forest(
        frame,
        panel=[classes[str(name)] for name in frame["class"]],
        row=[method_in_words(name) for name in frame["method"]],
        series=names.joined(frame, by),
        panels=list(classes.values()),
        xlabel=f"Units with each class, {PERCENT} (lines: {level_of(result.settings)} intervals)",
        unit=100.0,
        what="Rates of classes, as reported and corrected",
    )
