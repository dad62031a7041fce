"""Figures of results, drawn and described by kind; matplotlib is imported when a figure is drawn."""

from .figure_registry import alt, draw, has_figure, parts
from .theme import save, save_variants

__all__ = ["alt", "draw", "has_figure", "parts", "save", "save_variants"]
