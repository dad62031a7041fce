"""Figures of a design card: what is drawn, in both themes, and inside a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from conjury.analysis.conjoint import power
from conjury.analysis.conjoint.power import Power
from conjury.analysis.figures import save, save_variants
from conjury.analysis.figures.conjoint.design_plan import plan_alt, plan_plot
from conjury.analysis.figures.conjoint.design_shares import shares_alt, shares_plot
from conjury.analysis.figures.inline import color_variables, inline_svg
from conjury.analysis.figures.theme import DARK, LIGHT, colors_of
from conjury.inference.errors import InputError

LABELS: dict[Any, str] = {"tone": "Tone", ("tone", "rude"): "Very rude"}


def levels(**changes: Any) -> pd.DataFrame:
    """Levels of two attributes and one that follows from them."""
    table = pd.DataFrame(
        {
            "feature": ["tone", "tone", "topic", "topic", "topic", "any", "any"],
            "level": ["kind", "rude", "a", "b", "c", "x", "y"],
            "reference": [True, False, True, False, False, True, False],
            "derived": [False] * 5 + [True] * 2,
            "drawn": [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3],
            "probability": [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3],
            "expected": [50.0] * 7,
            "shown": [40, 60, 30, 30, 40, 30, 70],
        }
    )
    return table.assign(**changes)


@pytest.fixture(scope="module")
def found() -> Power:
    return power({"topic": 5, "reply": 3, "place": 5}, pairs=3000, power=0.8)


def bars(figure: Figure) -> list[float]:
    return [round(float(bar.get_width()), 6) for axes in figure.axes for bar in axes.patches]


def test_bars_are_the_shares_of_the_design_and_points_those_drawn() -> None:
    figure = shares_plot(levels(), labels=LABELS)
    assert bars(figure) == [0.5, 0.5, 0.333333, 0.333333, 0.333333]
    points = [
        float(x) for axes in figure.axes for line in axes.lines for x in np.atleast_1d(line.get_xdata())
    ]
    assert points == pytest.approx([0.4, 0.6, 0.3, 0.3, 0.4])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Tone", "Topic"]
    ticks = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    assert ticks[:2] == ["Kind (reference)", "Very rude"]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["Share in the design", "In the pairs drawn"]


def test_shares_before_restrictions_are_outlined_where_they_differ() -> None:
    figure = shares_plot(levels(probability=[0.2, 0.8, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3]))
    assert bars(figure) == [0.2, 0.8, 0.5, 0.5, 0.333333, 0.333333, 0.333333]
    assert "Before restrictions" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_bars_of_all_panels_have_one_scale() -> None:
    figure = shares_plot(levels())
    limits = {axes.get_xlim() for axes in figure.axes}
    widths = {round(axes.get_position().width * figure.get_size_inches()[0], 6) for axes in figure.axes}
    assert len(limits) == len(widths) == 1


def test_nothing_drawn_at_all_still_makes_a_figure() -> None:
    figure = shares_plot(levels(shown=0))
    assert bars(figure)[:2] == [0.5, 0.5]
    with pytest.raises(InputError, match="no levels"):
        shares_plot(levels().iloc[:0])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_label_leaves_the_figure_however_long(theme: str, found: Power) -> None:
    word = "an attribute whose name was copied from a questionnaire with all of its words"
    many = pd.concat([levels().iloc[:5].assign(feature=f"{word} {k}") for k in range(9)], ignore_index=True)
    long = {(name, level): f"{word}: {level}" for name in many["feature"].unique() for level in many["level"]}
    wide = {"topic": word, "reply": word + " again", "place": "Place"}
    figures = (
        shares_plot(many, labels=long, theme=theme, title=word),  # type: ignore[arg-type]
        plan_plot(found, 0.02, plan=3000, labels=wide, theme=theme, title=word),  # type: ignore[arg-type]
        plan_plot(found.at(pairs=5, power=0.8), 0.02, plan=5, theme=theme),
    )
    for figure in figures:
        figure.draw_without_rendering()
        edge = figure.bbox
        for axes in figure.axes:
            low, high = axes.get_xlim()
            below = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
            for text in [*below, *axes.get_yticklabels(), *axes.texts, axes.title]:
                box = text.get_window_extent()
                assert box.x0 >= edge.x0 - 1
                assert box.x1 <= edge.x1 + 1


@pytest.mark.parametrize("plan", [5.0, 3000.0, 2e6])
def test_the_plan_is_marked_in_both_panels(found: Power, plan: float) -> None:
    figure = plan_plot(found.at(pairs=plan, power=0.8), 0.02, plan=plan)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert low < plan < high
        marks = [line for line in axes.lines if list(line.get_xdata()) == [plan, plan]]
        assert len(marks) == 1
        assert f"{plan:,.0f}\npairs planned" in [text.get_text() for text in axes.texts]
    assert len(figure.legends[0].get_texts()) == 2
    assert figure.legends[0].get_texts()[0].get_text() == "Topic, Place"


def test_lines_pass_through_the_numbers_of_the_plan(found: Power) -> None:
    left, right = plan_plot(found, 0.02, plan=3000).axes
    hardest = float(found.frame["effect"].max())
    at_plan = float(found.at(effect=0.02, pairs=3000).frame["power"].min())
    for axes, value in ((left, hardest), (right, at_plan)):
        line = axes.lines[0]
        x, y = (np.asarray(part, dtype=float) for part in (line.get_xdata(), line.get_ydata()))
        assert np.interp(np.log(3000), np.log(x), y) == pytest.approx(value, rel=0.01)


def test_figures_are_told_in_words(found: Power) -> None:
    assert shares_alt(levels(), labels=LABELS).startswith(
        "Bar chart of the share of profiles with each of 5 levels"
    )
    assert "Topic: A (33.3%, shown 30 times)" in shares_alt(levels(), labels=LABELS)
    assert "The 3,000 planned find effects from 0.0442 (Reply) to 0.0570 (Topic)" in plan_alt(found, 0.02)
    few = found.at(pairs=3, power=0.8)
    assert (
        plan_alt(few, 0.02) == "Curves over the number of pairs. The 3 planned find no effect with power 0.8."
    )


def test_the_same_figure_gives_the_same_file(found: Power, tmp_path: Path) -> None:
    for name in ("first", "again"):
        save(shares_plot(levels()), tmp_path / f"{name}_levels", formats=("svg",))
        save(plan_plot(found, 0.02, plan=3000), tmp_path / f"{name}_plan", formats=("svg",))
    for name in ("levels", "plan"):
        first, again = ((tmp_path / f"{which}_{name}.svg").read_bytes() for which in ("first", "again"))
        assert first == again


def test_drawings_inside_a_page_take_its_colours_and_share_no_names(found: Power, tmp_path: Path) -> None:
    drawn = []
    for name, figure in (("levels", shares_plot(levels())), ("plan", plan_plot(found, 0.02, plan=3000))):
        file = save_variants(figure, tmp_path / name)["light"]
        drawn.append(inline_svg(file.read_text(encoding="utf-8"), name, 'It says "more" & <less>.'))
    names = []
    for svg in drawn:
        root = ElementTree.fromstring(svg)
        assert root.attrib["aria-label"] == 'It says "more" & <less>.'
        assert "width" not in root.attrib
        own = [part.attrib["id"] for part in root.iter() if "id" in part.attrib]
        pointed = re.findall(r'(?:href="#|url\(#)([^")]+)', svg)
        assert set(pointed) <= set(own)
        names += own
        assert not [color for color in colors_of(LIGHT) if color in svg]
        assert "<metadata>" not in svg
    assert len(names) == len(set(names))
    known = set(re.findall(r"--figure-\d+", color_variables()))
    assert set(re.findall(r"--figure-\d+", "".join(drawn))) <= known
    assert color_variables().count(DARK.background) == 1
