"""Every kind of figure with short and with long labels: words, room, legends and alternative texts."""

from __future__ import annotations

import re
import warnings
from functools import cache
from itertools import combinations

import pandas as pd
import pytest
from drawings import FOLDER
from made_up.figures import ALIKE, CHECKS, EXAMPLES, example, long_labels
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from conjury.analysis import figures
from conjury.analysis.checks.check_runner import NAMES
from conjury.analysis.figures.theme import DARK
from conjury.analysis.results import Result
from conjury.inference.errors import InputError

CROWDED = ("contrast, groups", "dimension_model", "means, radar", "dimension_correlations", "design_shares")


@cache
def drawn(name: str, *, is_long: bool) -> Figure:
    """The figure with long labels in the dark theme and laid out, or with short ones in the light theme."""
    shown = example(name)
    labels, theme = (long_labels(), "dark") if is_long else ({}, "light")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = figures.draw(shown.result, labels=labels, theme=theme, title="A heading", **shown.options)
        if is_long:
            figure.draw_without_rendering()
    return figure


def ticks(axis: Axis) -> list[Text]:
    """Tick labels that are drawn: matplotlib keeps others beyond the limits."""
    low, high = sorted(axis.get_view_interval())
    inside = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [label for label in inside if label.get_visible() and label.get_text()]


def tick_labels(figure: Figure) -> list[Text]:
    shown = [axes for axes in figure.axes if axes.get_visible() and axes.name != "polar"]
    return [label for axes in shown for axis in (axes.xaxis, axes.yaxis) for label in ticks(axis)]


def heading_of(axes: Axes) -> Text:
    return next(text for text in axes.findobj(Text) if text.get_text() == axes.get_title(loc="left"))


def written(figure: Figure) -> list[Text]:
    """Everything written around the axes: tick labels, headings, names of axes, legends."""
    shown = [axes for axes in figure.axes if axes.get_visible()]
    around = [text for axes in shown for text in (axes.xaxis.label, axes.yaxis.label, heading_of(axes))]
    legends = [text for legend in figure.legends for text in [*legend.get_texts(), legend.get_title()]]
    every = [*figure.texts, *legends, *around, *tick_labels(figure)]
    return [text for text in every if text.get_visible() and text.get_text()]


VARIANTS = [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in EXAMPLES]


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_kind_is_drawn_with_labels_and_no_identifiers(name: str) -> None:
    figure = drawn(name, is_long=False)
    texts = {text.get_text() for text in figure.findobj(Text) if text.get_visible()}
    assert not [text for text in texts if "_" in text]
    assert "A heading" in texts
    assert figure.get_label().endswith(".")
    assert figure.get_size_inches()[0] <= 7.21
    assert any(axes.has_data() for axes in figure.axes)


def test_every_kind_is_described_with_numbers_and_no_identifiers() -> None:
    """Of the stored descriptions, which test_drawings compares with those of today."""
    for file in FOLDER.glob("*.txt"):
        text = file.read_text(encoding="utf-8").partition("\nfigure ")[0]
        assert re.search(r"\d", text), file.name
        assert not re.search(r"_|\bnan\b|  ", text), file.name
        assert text.endswith("."), file.name


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_overlaps_or_leaves_the_figure_with_long_labels(name: str) -> None:
    figure = drawn(name, is_long=True)
    assert to_hex(figure.get_facecolor()) == DARK.background
    page = figure.bbox.padded(3)
    boxes = [(text.get_text(), text.get_window_extent()) for text in written(figure)]
    inside = [page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1) for _, box in boxes]
    assert [text for (text, _), fits in zip(boxes, inside, strict=True) if not fits] == []
    labels = [(label, label.get_window_extent().padded(-1)) for label in tick_labels(figure)]
    straight = [(label.get_text(), box) for label, box in labels if label.get_rotation() in (0, 90)]
    assert [(a, b) for (a, one), (b, other) in combinations(straight, 2) if one.overlaps(other)] == []
    for axes in figure.axes:
        size = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted()).size
        assert min(size) > 0.05
    if name in CROWDED:
        return
    panels = [axes.get_window_extent().padded(-2) for axes in figure.axes if axes.get_visible()]
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(panel) for panel in panels)
    for axes in figure.axes:
        if axes.get_visible() and axes.get_title(loc="left"):
            head = heading_of(axes).get_window_extent()
            assert not any(head.overlaps(box) for _, box in labels), axes.get_title(loc="left")


def test_unknown_kinds_and_parts_are_refused_and_every_check_has_a_figure() -> None:
    scores = example("scores").result
    cards = type(scores)(scores.frame, "cards")
    assert figures.parts(scores) == ["policies"]
    assert (figures.has_figure(scores), figures.has_figure(cards)) == (True, False)
    with pytest.raises(InputError, match="no part 'trace' of the figure of 'scores'"):
        figures.draw(scores, part="trace")
    with pytest.raises(InputError, match="no figure; print their table"):
        figures.draw(cards)
    assert set(CHECKS) <= set(NAMES)
    own = {name for name in NAMES if figures.has_figure(Result(pd.DataFrame(), name))}
    assert own == set(CHECKS)  # the others are drawn by the figure of all checks
