"""What every analysis of a benchmark returns: a tidy table, what should be known of it, and its figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..raters.result import RaterResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class BenchmarkResult(RaterResult):
    """A tidy table of judges scored against gold labels.

    The fields are those of `RaterResult`; ``kind`` is a key of ``figures.benchmark.DRAWN``.
    """

    def plot(self, **options: Any) -> Figure:
        """Draw the figure that fits; ``theme``, ``labels`` and ``title`` as everywhere."""
        from ..figures.benchmark import figure_of

        return figure_of(self, **options)
