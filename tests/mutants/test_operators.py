"""The changes that are made and those that are not, and the lines that a test executes to notice one."""

from __future__ import annotations

import pytest
from mutants import operators, sampling
from mutants.places import Places, mask

TEXT = '''
"""A docstring with 3 numbers."""
from typing import TYPE_CHECKING
LEVEL = 0.95
if TYPE_CHECKING:
    LIMIT = 7

@cache(maxsize=8)
def limits(lower: Literal[1, 2], upper: float | None = 2) -> Literal[3]:
    """Return limits of 2."""
    if lower > upper and not lower in (1,):
        raise ValueError(f"of {lower + 1}")
    return clip(lower, upper)
'''


def becomes() -> set[str]:
    lines = set(TEXT.splitlines())
    return {
        line.strip()
        for name, occurrence, _ in sampling.candidates(TEXT)
        for line in operators.changed(TEXT, name, occurrence).splitlines()
        if line not in lines
    }


@pytest.mark.parametrize("operator", sorted(operators.OURS))
def test_the_examples_of_an_operator_hold(operator: str) -> None:
    for example in operators.OURS[operator].examples():
        assert operators.changed(example.pre_mutation_code, operator, 0) == example.post_mutation_code


def test_numbers_limits_conditions_and_results_are_changed() -> None:
    assert becomes() == {
        "LEVEL = 0.76",
        "def limits(lower: Literal[1, 2], upper: float | None = 3) -> Literal[3]:",
        "def limits(lower: Literal[1, 2], upper: float | None = 1) -> Literal[3]:",
        "if not lower > upper and not lower in (1,):",
        "if lower >= upper and not lower in (1,):",
        "if lower < upper and not lower in (1,):",
        "if lower > upper or not lower in (1,):",
        "if lower > upper and  lower in (1,):",
        "if lower > upper and not lower not in (1,):",
        "if lower > upper and not lower in ( 2,):",
        "if lower > upper and not lower in ( 0,):",
        "if upper > upper and not lower in (1,):",
        "if lower > lower and not lower in (1,):",
        "if lower > upper and not upper in (1,):",
        "return clip(upper, upper)",
        "return clip(lower, lower)",
        "return clip(upper, lower)",
        "return None",
    }


def test_rooms_have_their_share_and_no_more_than_they_hold() -> None:
    assert sampling.quotas({"a": 3, "b": 50, "c": 950}, 100) == {"a": 3, "b": 19, "c": 78}
    assert sampling.quotas({"a": 3, "b": 4}, 100) == {"a": 3, "b": 4}


LEVELS = "LEVEL = 0.95\nDOUBLE = 2 * LEVEL\n\n\ndef narrow(level=0.8):\n    x = level\n    return x\n"
USER = "from levels import DOUBLE\n\n\ndef width():\n    y = 1\n    return DOUBLE + y\n"
PLACES = Places({"levels.py": LEVELS, "user.py": USER, "other.py": "def f():\n    return DOUBLE\n"})


def test_a_line_of_a_function_is_to_be_executed_itself() -> None:
    assert PLACES.to_execute("levels.py", 6, 6) == {"levels.py": mask(6, 6)}


def test_a_constant_is_noticed_where_functions_use_it_or_what_is_made_of_it() -> None:
    assert PLACES.to_execute("levels.py", 1, 1) == {"user.py": mask(6, 6)}


def test_a_default_value_is_noticed_in_its_function() -> None:
    assert PLACES.to_execute("levels.py", 5, 5) == {"levels.py": mask(6, 7)}
