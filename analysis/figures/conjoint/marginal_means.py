"""Marginal means: the probability of being chosen, level by level, around one half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..labels import LabelKey, Labels
from ..panels import draw_panels
from .coefficients import Interval, coefficient_alt, estimate_points, of_probability, with_bounds

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
    share_x: bool = False,
    bounds: str = "",
    baseline: float | None = HALF,
) -> Figure:
    """Draw marginal means around 0.5, the share that a forced choice without preference gives.

    Parameters
    ----------
    frame, labels, group, theme, interval, title, share_x, bounds
        As in ``coefficient_plot``, with its errors.
    baseline : float or None
        Where the vertical line stands; None draws no line.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.48, 0.52],
    ...     "lower": [0.46, 0.5], "upper": [0.5, 0.54]})
    >>> len(marginal_means_plot(frame).axes)
    1
    """
    points = estimate_points(frame, Labels(labels), group, interval)
    xlabel = with_bounds(f"Marginal mean{of_probability(frame, 'of')}", bounds)
    return draw_panels(points, theme=theme, xlabel=xlabel, baseline=baseline, title=title, share_x=share_x)


def marginal_means_alt(
    frame: pd.DataFrame,
    *,
    labels: Mapping[LabelKey, str] | None = None,
    group: str | None = None,
    baseline: float = HALF,
) -> str:
    """Describe a plot of marginal means in words."""
    described = coefficient_alt(frame, labels=labels, group=group)
    return f"Marginal means around {baseline:g}. {described}"
