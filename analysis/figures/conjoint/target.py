"""Effects under a target distribution beside those under the design's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...results import stack
from .coefficients import AXIS_LABELS, coefficient_alt, coefficient_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTRIBUTION = "distribution"


def target_plot(target: pd.DataFrame, design: pd.DataFrame, **options: Any) -> Figure:
    """Draw population AMCEs beside the AMCEs of the design.

    Parameters
    ----------
    target, design : DataFrame
        Tables of `pamce` and `amce`, with the same levels.
    **options
        ``labels, theme, title, share_x`` and ``bounds`` as in ``coefficient_plot``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> frame = pd.DataFrame({"outcome": "y", "statistic": "amce", "feature": "tone", "level": ["b"],
    ...                       "estimate": [0.1], "std_error": [0.1], "lower": [-0.1], "upper": [0.3]})
    >>> len(target_plot(frame.assign(statistic="pamce"), frame).axes)
    1
    """
    return coefficient_plot(side_by_side(target, design), group=DISTRIBUTION, **options)


def target_alt(target: pd.DataFrame, design: pd.DataFrame, **options: Any) -> str:
    """Describe effects under both distributions in words; options as in ``coefficient_alt``."""
    return coefficient_alt(side_by_side(target, design), group=DISTRIBUTION, **options)


def side_by_side(target: pd.DataFrame, design: pd.DataFrame) -> pd.DataFrame:
    """Stack both tables with a column that names the distribution."""
    tables = [target.assign(**{DISTRIBUTION: "Target"}), design.assign(**{DISTRIBUTION: "Design"})]
    made = stack(tables)
    means = set(made["statistic"].astype(str)) <= {"mm", "pmm"}
    return made.assign(statistic=AXIS_LABELS["mm" if means else "amce"])
