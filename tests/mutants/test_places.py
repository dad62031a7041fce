"""Which lines a test must execute for a change."""

from __future__ import annotations

from mutants.places import Places, mask

LEVELS = "LEVEL = 0.95\nDOUBLE = 2 * LEVEL\n\n\ndef narrow(level=0.8):\n    x = level\n    return x\n"
USER = "from levels import DOUBLE\n\n\ndef width():\n    y = 1\n    return DOUBLE + y\n"
PLACES = Places({"levels.py": LEVELS, "user.py": USER, "other.py": "def f():\n    return DOUBLE\n"})


def test_a_line_of_a_function_is_to_be_executed_itself() -> None:
    assert PLACES.to_execute("levels.py", 6, 6) == {"levels.py": mask(6, 6)}


def test_a_constant_is_noticed_where_functions_use_it_or_what_is_made_of_it() -> None:
    assert PLACES.to_execute("levels.py", 1, 1) == {"user.py": mask(6, 6)}


def test_a_default_value_is_noticed_in_its_function() -> None:
    assert PLACES.to_execute("levels.py", 5, 5) == {"levels.py": mask(6, 7)}
