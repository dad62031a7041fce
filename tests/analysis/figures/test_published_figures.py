"""Figures of checked tables: every number is counted once, and the shaded area is that of possible pairs."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from made_up.analysis_results import checked_numbers

from conjury.analysis.figures import alt, draw, parts
from conjury.analysis.figures.figure_registry import FigureStyle
from conjury.analysis.figures.published_figures import published_numbers, spread_limits
from conjury.analysis.figures.theme import LIGHT
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def test_a_number_with_two_findings_of_one_check_is_counted_once_with_the_gravest_verdict() -> None:
    result = checked_numbers()
    again = result.frame[result.frame["verdict"] == "consistent"].assign(verdict="inconsistent", finding=999)
    twice = Result(pd.concat([result.frame, again]), result.kind, (), result.settings, result.extra)
    once = published_numbers(result, FigureStyle(LIGHT, {})).counts
    counts = published_numbers(twice, FigureStyle(LIGHT, {})).counts
    assert once.to_numpy().sum() == counts.to_numpy().sum() == 31
    assert (once["consistent"].sum(), counts["consistent"].sum()) == (19, 0)
    assert counts["inconsistent"].sum() == once["inconsistent"].sum() + 19
    text = alt(result)
    assert "Counts that sum to a total: 9 consistent as published" in text
    assert "4 inconsistent as published" in text


@pytest.mark.parametrize(("low", "high", "step"), [(0, 4, 1.0), (1, 3, 0.5)])
def test_possible_deviations_have_the_limits_that_are_drawn(low: int, high: int, step: float) -> None:
    points = np.arange(low, high + step / 2, step)
    ratings = np.array(list(combinations_with_replacement(points, 6)))
    mean, sd = ratings.mean(axis=1), ratings.std(axis=1)
    least, largest = spread_limits(mean, low, high, step)
    assert (sd >= least - 1e-9).all()
    assert (sd <= largest + 1e-9).all()
    assert np.isclose(sd, least).any()
    assert np.isclose(sd, largest).any()


def test_a_result_without_means_has_no_picture_of_them_and_an_empty_one_no_figure() -> None:
    result = checked_numbers()
    without = Result(
        result.frame, result.kind, (), result.settings, {"pairs": result.extra["pairs"].iloc[:0]}
    )
    assert parts(result) == ["means"]
    assert parts(without) == []
    with pytest.raises(InputError, match="no means with standard deviations"):
        draw(without, part="means")
    with pytest.raises(InputError, match="no published number was checked"):
        draw(Result(result.frame.iloc[:0], result.kind, (), {}, {}))
