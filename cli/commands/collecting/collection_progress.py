"""The progress of ``conjury collect``: answers, failures, money and the time left."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from conjury.inference.errors import money

from ...automation import event
from ...printing import duration, show_requests

if TYPE_CHECKING:
    from conjury.inference.collecting import Tally

SECONDS_A_LINE = 5.0  # between lines of progress in the log
SECONDS_A_REPORT = 60.0  # between lines of progress where there is no terminal
WINDOW = 60.0  # seconds over which the rate of answers is measured


def counts_of(tally: Tally) -> dict[str, Any]:
    """Answers, failures by kind, costs and what the rule of stopping knows, so far."""
    in_batches = {"waiting": tally.waiting, "done": tally.done} if tally.waiting else {}
    return in_batches | {
        "passed": tally.passed,
        "answered": tally.answered,
        "failures": dict(tally.failed),
        "spent": tally.spent,
        "known": tally.known,
    }


@contextmanager
def request_progress(total: int) -> Iterator[Callable[[Tally], None]]:
    """Show answers, failures, money and the time left: a bar on a terminal, else a line per minute."""
    with show_requests(total) as update:
        logged = printed = time.monotonic()
        rate = AnswerRate(total)

        def watch(tally: Tally) -> None:
            nonlocal logged, printed
            moment = time.monotonic()
            if moment - logged >= SECONDS_A_LINE:
                logged = moment
                event("progress", total=total, wait=round(tally.wait), **counts_of(tally))
            n_failed = sum(tally.failed.values())
            spent_text = f", spent {money(tally.spent)}" if tally.spent else ""
            certainty = f", {tally.known}" if tally.known else ""
            text = f"{tally.answered:,} answers, {n_failed:,} failures{spent_text}{certainty}"
            if tally.waiting:
                text += f", {tally.waiting:,} in batches, of which {tally.done:,} are done"
            window = 10 * WINDOW if tally.waiting else WINDOW  # providers of batches state counts seldom
            text += rate.describe(moment, tally.answered + tally.done, window)
            if tally.wait:
                text += f", the server asks to wait {duration(tally.wait)}"
            update(min(max(tally.passed - tally.waiting, tally.answered) + tally.done, total), text)
            if moment - printed >= SECONDS_A_REPORT:
                printed = moment
                if not sys.stderr.isatty():
                    print(f"{total:,} requests: {text}", file=sys.stderr, flush=True)

        yield watch


class AnswerRate:
    """Answers per minute of late, and the time left at that rate."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._counts: deque[tuple[float, int]] = deque()

    def describe(self, moment: float, answered: int, window: float = WINDOW) -> str:
        """Note a number of answers; return the rate and the time left in words, empty at first."""
        self._counts.append((moment, answered))
        while len(self._counts) > 2 and self._counts[1][0] <= moment - window:
            self._counts.popleft()
        start, before = self._counts[0]
        if answered <= before or moment - start < 1.0:
            return ""
        rate = (answered - before) / (moment - start)
        end = f", {duration((self._total - answered) / rate)} left" if answered < self._total else ""
        return f", {60 * rate:,.0f} per minute{end}"
