"""What the reports on benchmarks ask for: results from a folder, as text, figures and tables."""

from __future__ import annotations

from functools import partial

from .benchmark_printed import printed, printed_checks
from .benchmark_sections import section
from .rating_comparisons import truth
from .report_ratings import RatingsReport

OF_LABELS = (
    "The truth is about what items are; where votes are the gold labels, they err now and then, and tied "
    "items have none, so that estimates can be off by more than chance."
)


class BenchmarkReport(RatingsReport):
    """A folder with results of a benchmark, as a report prints it.

    What prints is for cells with ``output: asis``; what cannot be shown becomes a sentence that says why.
    Parameters and errors are those of `RatingsReport`.
    """

    def show(self, *kinds: str) -> None:
        """Print every result of some kinds; nothing where there is none."""
        for name in (name for kind in kinds for name in self.of_kind(kind)):
            self.say(partial(section, self, name))

    def published(self) -> None:
        """Print the comparison with printed numbers, or why there is none."""
        self.say(lambda: printed(self))

    def truth(self) -> None:
        """Print estimates beside the true values of a simulation, or why there are none."""
        self.say(lambda: truth(self, OF_LABELS))

    def checks(self) -> None:
        """Print what the printed numbers of the study say of each other; no data are needed for it."""
        self.say(lambda: printed_checks(self))
