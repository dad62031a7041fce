"""The figure of a result, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: Any, **options: Any) -> Figure:
    """Draw the figure of a result."""
    if result.kind == "corrected":
        from .conjoint.reliability import corrected_plot

        return corrected_plot(result, **options)
    if result.kind == "reliability":
        from .conjoint.reliability import reliability_plot

        return reliability_plot(result.frame, result.extra["position"], **options)
    if result.kind == "power":
        from .conjoint.power import power_plot

        return power_plot(result, **options)
    if result.kind == "errors_under_choices":
        from .conjoint.error_choices import errors_plot

        return errors_plot(result.frame, **options)
    if hasattr(result, "provenance"):
        from .conjoint.choose import figure_of

        return figure_of(result, **options)
    from .benchmark import figure_of as figure_by_kind

    return figure_by_kind(result, **options)
