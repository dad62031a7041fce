"""Levels files: the order of the levels of each label column, for files that cannot store it themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .bounded import EXPORT_BYTES, parse_json, read_content
from .companions import companion

Levels = Mapping[str, Sequence[str]]


def load_levels(path: str | Path) -> dict[str, list[str]]:
    """Read a JSON levels file.

    Three shapes are known: ``{"slur": ["none", ...], ...}``, ``{"factor_levels": {"slur": [...]}}`` and
    ``{"columns": {"slur": {"levels": [...]}, ...}}``, where columns without levels may contain null.
    """
    path = Path(path)
    try:
        content = parse_json(read_content(path, EXPORT_BYTES).decode("utf-8-sig"))
    except ValueError as error:
        raise InputError(f"{path}: the levels file is not valid JSON ({error}); correct it.") from None
    return {column: _distinct(column, levels, path) for column, levels in _entries(content, path).items()}


def resolve_levels(path: str | Path, levels: Levels | str | Path | None) -> Levels:
    """Return the levels of a table file: those given, or those of NAME.levels.json next to NAME.csv."""
    if isinstance(levels, Mapping):
        return levels
    if levels is not None:
        return load_levels(levels)
    path = Path(path)
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        return {}
    beside = companion(path, "levels")
    return load_levels(beside) if beside.is_file() else {}


def _entries(content: Any, path: Path) -> dict[str, Any]:
    if isinstance(content, dict) and isinstance(content.get("columns"), dict):
        columns = content["columns"].items()
        return {
            name: entry["levels"]
            for name, entry in columns
            if isinstance(entry, dict) and entry.get("levels")
        }
    if isinstance(content, dict) and isinstance(content.get("factor_levels"), dict):
        return dict(content["factor_levels"])
    if isinstance(content, dict):
        return content
    raise InputError(
        f'{path}: a levels file is an object such as {{"column": ["reference", "other"]}}; write that.'
    )


def _distinct(column: str, levels: Any, path: Path) -> list[str]:
    if not isinstance(levels, list) or not levels or isinstance(levels[0], (dict, list)):
        raise InputError(f"{path}: the levels of '{column}' are not a list; write them as [\"first\", ...].")
    names = [str(level) for level in levels]
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{path}: level '{name}' of '{column}' is listed twice; list each level once.")
    return names
