"""Marginal means: the probability of being chosen, level by level, around one half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from .coefficients import Interval, coefficient_alt, estimate_points
from .labels import LabelKey, Labels
from .panels import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HALF = 0.5


def marginal_means_plot(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    theme: str = "light",
    interval: Interval = "normal",
    title: str | None = None,
) -> Figure:
    """Draw marginal means around 0.5, the share that a forced choice without preference gives.

    Parameters and errors are those of ``coefficient_plot``.

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.48, 0.52],
    ...     "lower": [0.46, 0.5], "upper": [0.5, 0.54]})
    >>> len(marginal_means_plot(frame).axes)
    1
    """
    points = estimate_points(frame, Labels(labels), group, interval)
    return draw_panels(points, theme=theme, xlabel="Marginal mean", baseline=HALF, title=title)


def marginal_means_alt(
    frame: pd.DataFrame, *, labels: Mapping[LabelKey, str] | None = None, group: str | None = None
) -> str:
    """Describe a plot of marginal means in words."""
    described = coefficient_alt(frame, labels=labels, group=group)
    return f"Marginal means around 0.5. {described}"
