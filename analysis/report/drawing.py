"""Figures of results and their descriptions, as reports ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import figures
from ..figures import has_figure, parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..figures.labels import LabelKey
    from ..results import Result

__all__ = ["describe", "draw", "has_figure", "parts"]

# Exhibits of these kinds put the options of the drawing into the settings of the result.
WITH_OPTIONS = ("amce", "people", "mm", "amce_diffs", "truth", "engines")
OPTIONS = ("group", "bounds", "share_x", "feature", "by", "panels", "yardstick", "interval", "baseline")


def draw(
    result: Result, labels: Mapping[LabelKey, str], *, theme: str = "light", part: str | None = None
) -> Figure:
    """Draw a result, or a further figure of it."""
    return figures.draw(_drawable(result), theme=theme, labels=labels, part=part, **_options(result))


def describe(result: Result, labels: Mapping[LabelKey, str], *, part: str | None = None) -> str:
    """Describe what `draw` draws, from its numbers."""
    if result.kind == "check":
        return str(result.settings["finding"])
    return figures.alt(_drawable(result), labels, part, **_options(result))


def _drawable(result: Result) -> Result:
    """The result under the kind of its figure: a check is drawn by its name."""
    if result.kind == "check":
        return replace(result, kind=str(result.settings["name"]))
    return replace(result, settings={}) if result.kind in WITH_OPTIONS else result


def _options(result: Result) -> dict[str, Any]:
    if result.kind not in WITH_OPTIONS:
        return {}
    return {name: value for name, value in result.settings.items() if name in OPTIONS}
