"""Figures of the diagnostics: what each check shows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up_figures import CHECKS, HUMAN, example

from conjury.analysis.figures import draw
from conjury.analysis.figures.diagnostics.checks import CAPTIONS, caption
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def test_a_dot_stands_at_every_difference() -> None:
    table = example("profile_order").result.frame
    lines = [line for axes in draw(Result(table, "profile_order")).axes for line in axes.lines]
    drawn = {round(float(x), 9) for line in lines if line.get_linestyle() == "None" for x in line.get_xdata()}
    assert {round(float(x), 9) for x in table["estimate"]} <= drawn


def test_judges_of_one_design_are_drawn_once() -> None:
    table = HUMAN.dropna(subset=["std_error"]).query("feature == 'curse'")
    both = pd.concat([table, table.assign(judge="model_x")])
    figure = draw(Result(both, "position_balance"))
    assert not figure.legends
    points = [
        line for line in figure.axes[0].lines if line.get_linestyle() == "None" and len(line.get_xdata())
    ]
    assert len(points) == 1


def test_observed_runs_stand_at_their_number_of_respondents() -> None:
    table = example("straight_lining").result.frame
    heights = [
        bar.get_y() + bar.get_height() for bar in draw(Result(table, "straight_lining")).axes[0].patches
    ]
    seen = table["respondents"].to_numpy() > 0
    np.testing.assert_allclose(np.array(heights)[seen], table["respondents"].to_numpy()[seen])


@pytest.mark.parametrize("name", CHECKS)
def test_empty_tables_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="no numbers to draw"):
        draw(Result(example(name).result.frame.iloc[:0], name))


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("answers", {"answer": ["ok"], "share": [1.0]}),
        ("missing_choices", {"share_missing": [0.0]}),
        ("impossible_profiles", {"rule": ["both the same"], "n": [0]}),
    ],
)
def test_axes_of_nothing_but_zeros_reach_one(name: str, table: dict[str, list[object]]) -> None:
    axes = draw(Result(pd.DataFrame({"judge": ["a"], "prompt": [""], **table}), name)).axes[0]
    assert axes.get_xlim()[1] >= 1
    assert axes.get_xlim()[0] > -0.1


def test_every_figure_has_a_caption_with_the_level_of_its_intervals() -> None:
    assert set(CAPTIONS) == set(CHECKS)
    assert "90% confidence intervals" in caption("profile_order", "Profile-order effects", 0.1)
    assert "{" not in "".join(caption(name, "Title", 0.05) for name in CHECKS)
