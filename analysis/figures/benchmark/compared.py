"""Where two rules of reading the same answers part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..drawable import Drawable
from ..labels import LabelKey
from . import readings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def is_told(result: Drawable) -> bool:
    """Whether answers were read by two rules."""
    return "compared" in result.extra


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw how `readings` by two rules compare, as its own figure draws statuses."""
    return readings.draw(_compared(result), theme=theme, labels=labels, title=title)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Say for each prompt and judge how often two rules read the same."""
    told = readings.alt(_compared(result), labels)
    return told.replace("What became of the answers.", "Readings of the same answers by two rules.")


def _compared(result: Drawable) -> Drawable:
    return replace(result, frame=result.extra["compared"])
