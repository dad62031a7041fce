"""Figures of benchmarks: one module a kind of result."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import raters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..drawable import Drawable
    from ..labels import LabelKey

DRAWN: dict[str, str] = {  # kind of result -> module of this folder with `draw` and `alt`
    "annotators": "annotators",
    "beside_print": "printed",
    "by_label": "by_label",
    "confusion": "confusion",
    "differences": "differences",
    "errors": "errors",
    "mixed": "mixed",
    "passes": "passes",
    "probabilities": "scores",
    "readings": "readings",
    "robustness": "robustness",
    "scores": "scores",
}

FURTHER: dict[str, dict[str, str]] = {  # kind of result -> further figure of it -> module of this folder
    "readings": {"compared": "compared"},
    "scores": {"policies": "policies", "recalls": "recalls"},
}


def figure_of(result: Drawable, **options: Any) -> Figure:
    """Draw the figure of a result; kinds that raters share are drawn as there.

    ``part`` names a further figure: of scores "policies", what missing answers count as, and "recalls",
    how often each kind of gold label is found; of readings "compared", where two rules part.
    """
    module = _module(result.kind, options.get("part"))
    if module is None:
        return raters.figure_of(result, **options)
    given = {name: value for name, value in options.items() if name != "part"}
    drawn: Figure = import_module(f".{module}", __name__).draw(result, **given)
    return drawn


def alt_of(result: Drawable, labels: Mapping[LabelKey, str] | None = None, part: str | None = None) -> str:
    """Describe the figure of a result, or a further one, in words, from its numbers."""
    module = _module(result.kind, part)
    if module is None:
        return raters.alt_of(result, labels, part)
    return str(import_module(f".{module}", __name__).alt(result, labels=labels))


def is_drawn(result: Drawable) -> bool:
    """Whether a result has a figure."""
    return result.kind in DRAWN or result.kind in raters.DRAWN


def further_figures(result: Drawable) -> list[str]:
    """Names of further figures that a result can be drawn as, for ``part``."""
    if result.kind not in FURTHER:
        return [] if result.kind in DRAWN else raters.further_figures(result)
    return [
        part
        for part, module in FURTHER[result.kind].items()
        if import_module(f".{module}", __name__).is_told(result)
    ]


def _module(kind: str, part: str | None) -> str | None:
    return FURTHER.get(kind, {}).get(str(part), DRAWN.get(kind))
