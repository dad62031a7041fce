"""Means that differ by rounding alone are the same number."""

from __future__ import annotations

import numpy as np
import pytest
from made_up.ratings import by_judge

from conjury.analysis.checks.judged import first_chosen
from conjury.analysis.conjoint.comparisons.effects_by_group import hotelling_test
from conjury.analysis.numerics.linear import is_constant
from conjury.analysis.raters import rating_lines
from conjury.inference.errors import InputError


def test_a_line_through_equal_means_that_rounding_parts_is_refused() -> None:
    # 3.3 of one person, and the mean of three times 3.3, which is 3.2999999999999994
    few = [3.3 if item % 2 else None for item in range(12)]
    judgments = by_judge({"gpt": range(12), "ann": [3.3] * 12, "bob": few, "cy": few})
    means = judgments[judgments["judge_kind"] == "human"].groupby("item_id")["value"].mean()
    assert np.ptp(means) > 0
    with pytest.raises(InputError, match="differing ratings by people"):
        rating_lines(judgments, draws=50, seed=1)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_is_constant_does_not_depend_on_the_scale(scale: float) -> None:
    assert is_constant(scale * np.array([0.1 + 0.2, 0.3]))
    assert not is_constant(scale * np.array([0.3, 0.3001]))
    assert is_constant(np.zeros(3))
    assert is_constant(np.array([]))


def test_a_choice_by_probability_is_one_where_rounding_parts_its_sum_from_one() -> None:
    shares = np.array([0.7, 0.1 + 0.2 - 2e-16, 0.4, 0.4])
    assert shares[0] + shares[1] != 1
    first = first_chosen(shares)
    assert first[0] == 0.7
    assert np.isnan(first[1])


def test_differences_whose_variance_is_rounding_are_not_tested() -> None:
    estimate, vcov = np.array([0.1, 1e-17]), np.diag([0.01, 1e-30])
    assert hotelling_test(estimate, vcov, 30).df == 1
