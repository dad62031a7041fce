"""Cases that are one line of a YAML file in tests/fixtures each: refusals, and calls of verbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conjury.analysis import conjoint

FOLDER = Path(__file__).resolve().parents[1] / "fixtures"


@cache
def _sections(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def refusals(name: str, section: str) -> list[Any]:
    """Cases of (match, columns, options); a case has the name of its line, or else its words."""
    lines = _sections(f"refused/{name}")[section]
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
    """Calls by name: verb, formula, and options."""
    lines = _sections("conjoint_calls")[section].items()
    return {name: (getattr(conjoint, verb), formula, options) for name, (verb, formula, options) in lines}
