"""Everything that each kind of figure draws is as it was when a person last looked at it."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from drawings import check, describe
from made_up.figures import ALIKE, EXAMPLES, example
from matplotlib.text import Text

from conjury.analysis import figures


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n in {*ALIKE, "trial", "trial, bias"} else ())
        for n in EXAMPLES
    ],
)
def test_a_figure_draws_what_was_looked_at(name: str) -> None:
    shown = example(name)
    drawn = describe(figures.draw(shown.result, **shown.options))
    text = f"{figures.alt(shown.result, **shown.options)}\n{drawn}"
    check(name.replace(", ", "_").replace(" ", "_"), text)


@pytest.mark.parametrize("name", ["design_shares", "differences, many judges", "means, radar"])
def test_titles_are_above_what_reaches_beyond_their_axes(name: str) -> None:
    figure = figures.draw(example(name).result, **example(name).options)
    figure.savefig(BytesIO())
    assert max(text.get_position()[1] for axes in figure.axes for text in titles_of(axes)) > 1


def titles_of(axes: Any) -> list[Any]:
    return [
        text
        for text in axes.findobj(Text)
        if text.get_text() in {axes.get_title(), axes.get_title("left")} - {""}
    ]
