"""Figures of the diagnostics: every check with numbers is drawn, in both themes, with what it found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from conjury.analysis.diagnostics import Check, diagnose
from conjury.analysis.diagnostics.diagnose import NAMES
from conjury.analysis.figures.diagnostics.captions import CAPTIONS, caption
from conjury.analysis.figures.registry import draw
from conjury.analysis.figures.theme import DARK
from conjury.inference.errors import InputError
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study

APPLICABLE = 18


@pytest.fixture(scope="module")
def checks() -> dict[str, Check]:
    study = load_study("moderation")
    made = simulate(
        study, 2, judges=["human", "gpt4o"], prompts=["baseline"], respondents=60, pairs=400, truth=False
    )
    pairs = len(made.choices) // 2
    rng = np.random.default_rng(1)
    lost = np.repeat(rng.random(pairs) < 0.05, 2)
    choices = made.choices.assign(
        attention=np.repeat(rng.random(pairs) < 0.98, 2),
        seconds=np.repeat(np.exp(rng.normal(3, 0.4, pairs)), 2),
        chosen=made.choices["chosen"].mask(lost, pd.NA),
        status=made.choices["status"].mask(lost, "refused"),
    )
    return {check.name: check for check in diagnose(study, choices)}


def words_in(figure: Figure) -> set[str]:
    return {label.get_text() for axes in figure.axes for label in axes.get_yticklabels()}


def test_every_check_with_numbers_has_a_figure(checks: dict[str, Check]) -> None:
    assert sum(check.figure for check in checks.values()) == APPLICABLE
    for check in checks.values():
        assert all(axes.has_data() for axes in draw(check.name, check.table).axes)
    dark = draw("answers", checks["answers"].table, theme="dark")
    assert to_hex(dark.get_facecolor()) == DARK.background


def test_a_dot_stands_at_every_difference(checks: dict[str, Check]) -> None:
    check = checks["profile_order"]
    drawn = {
        round(float(x), 9)
        for axes in draw("profile_order", check.table).axes
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x in np.atleast_1d(line.get_xdata())
    }
    assert {round(float(x), 9) for x in check.table["estimate"]} <= drawn


def test_judges_of_one_design_are_drawn_once() -> None:
    table = pd.DataFrame(
        {"judge": ["a", "b"], "prompt": "", "feature": "curse", "level": "curse", "estimate": 0.1,
         "lower": 0.0, "upper": 0.2}
    )  # fmt: skip
    points = [
        line
        for line in draw("position_balance", table).axes[0].lines
        if line.get_linestyle() == "None" and len(np.atleast_1d(line.get_xdata()))
    ]
    assert len(points) == 1


def test_labels_of_the_study_are_shown(checks: dict[str, Check]) -> None:
    figure = draw("repeat_agreement", checks["repeat_agreement"].table, labels={"human": "Human panel"})
    assert "Human panel" in words_in(figure)


def test_observed_runs_stand_beside_expected_ones(checks: dict[str, Check]) -> None:
    table = checks["straight_lining"].table
    axes = draw("straight_lining", table).axes[0]
    assert len(axes.patches) == len(table)
    heights = [patch.get_y() + patch.get_height() for patch in axes.patches]
    seen = table["respondents"].to_numpy() > 0
    np.testing.assert_allclose(np.array(heights)[seen], table["respondents"].to_numpy()[seen])


def test_unknown_checks_and_empty_tables_are_refused(checks: dict[str, Check]) -> None:
    with pytest.raises(InputError, match="no figure of a check 'mood'"):
        draw("mood", checks["answers"].table)
    with pytest.raises(InputError, match="no numbers"):
        draw("answers", checks["answers"].table.iloc[:0])


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("answers", {"answer": ["ok"], "share": [1.0]}),
        ("missing_choices", {"share_missing": [0.0]}),
        ("impossible_profiles", {"rule": ["both the same"], "n": [0]}),
    ],
)
def test_axes_of_nothing_but_zeros_reach_one(name: str, table: dict[str, list[object]]) -> None:
    axes = draw(name, pd.DataFrame({"judge": ["a"], "prompt": [""], **table})).axes[0]
    assert axes.get_xlim()[1] >= 1
    assert axes.get_xlim()[0] > -0.1


def test_every_figure_has_a_caption_that_says_what_is_drawn() -> None:
    assert set(CAPTIONS) == set(NAMES)
    assert "90% confidence intervals" in caption("profile_order", "Profile-order effects", 0.1)
    assert "{" not in "".join(caption(name, "Title", 0.05) for name in NAMES)
