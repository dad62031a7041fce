"""Everything that each kind of figure draws is as it was when a person last looked at it."""

from __future__ import annotations

import pytest
from drawings import check, describe
from made_up.figures import ALIKE, EXAMPLES, example

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
