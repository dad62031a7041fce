"""What every analysis of raters returns: a tidy table, what should be known of it, and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class RaterResult:
    """A tidy table of an analysis of raters.

    Attributes
    ----------
    frame : DataFrame
        One row a number: key columns first, then ``estimate, std_error, lower, upper`` as far as they exist.
    kind : str
        Which analysis, and so which figure: a key of ``figures.raters.DRAWN``.
    notes : tuple of str
        What was left out, assumed or found, one sentence each.
    settings : dict
        What was run: coefficients, draws, seed, alpha and the like, as JSON could hold them.
    extra : dict of str to DataFrame
        Further tables of the same analysis, by name.
    """

    frame: pd.DataFrame
    kind: str
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def plot(self, **options: Any) -> Figure:
        """Draw the figure that fits; ``theme``, ``labels`` and ``title`` as everywhere."""
        from ..figures.raters import figure_of

        return figure_of(self, **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind})\n{self.frame.to_string()}"
