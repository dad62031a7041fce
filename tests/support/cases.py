"""Cases of parametrised tests, one a line, in YAML files beside the tests or in tests/fixtures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def cases(test_file: str, table: str) -> list[Any]:
    """Return the rows of a table in the file that is named as the test file and ends in .yaml."""
    return list(_tables(Path(test_file).with_suffix(".yaml"))[table])


def refused(test_file: str) -> list[Any]:
    """Parameters (name, options, pattern of the refusal) of each line of ``refused.yaml`` beside a test."""
    return [
        pytest.param(name, options, line["says"], id=f"{name}: {line['says']}")
        for name, lines in _tables(Path(test_file).parent / "refused.yaml").items()
        for line in lines
        for options in [{key: value for key, value in line.items() if key != "says"}]
    ]


def refusals(name: str, section: str) -> list[Any]:
    """Parameters (pattern, columns, options) of a section in fixtures/refused; ids are names or words."""
    lines = _tables(FIXTURES / "refused" / f"{name}.yaml")[section]
    named = lines.items() if isinstance(lines, dict) else ((line["match"], line) for line in lines)
    return [
        pytest.param(
            line["match"],
            line.get("columns", {}),
            {key: value for key, value in line.items() if key not in ("match", "columns")},
            id=case,
        )
        for case, line in named
    ]


def calls(section: str) -> dict[str, tuple[Callable[..., Any], str, dict[str, Any]]]:
    """Calls of conjoint verbs by name: verb, formula, and options."""
    from conjury.analysis import conjoint

    lines = _tables(FIXTURES / "conjoint_calls.yaml")[section].items()
    return {name: (getattr(conjoint, verb), formula, options) for name, (verb, formula, options) in lines}


@cache
def _tables(path: Path) -> dict[str, Any]:
    return dict(yaml.load(path.read_text(encoding="utf-8"), LOADER))
