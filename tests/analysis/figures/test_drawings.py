"""Everything that each kind of figure draws is as it was when a person last looked at it."""

from __future__ import annotations

from io import BytesIO

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
    heads = {axes.get_title(where) for axes in figure.axes for where in ("left", "center")} - {""}
    assert max(text.get_position()[1] for text in figure.findobj(Text) if text.get_text() in heads) > 1
