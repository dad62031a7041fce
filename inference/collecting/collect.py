"""Collecting: what there is to ask, what it will cost, asking it, and stopping and going on."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from ..backends.base import Backend
from ..design.subjects import Subject, takes
from ..ledger import Ledger, Usage
from ..ledger.exchanges import TRANSIENT, Outcome, Request
from ..requests.building import Builder, Media
from ..study.asking import Sampling
from ..study.models import ItemStudy, Study
from ..study.parts import Prompt
from .prices import PICTURE, Tokens, guess_tokens
from .spending import Budget, Spending, stated_tokens

PASSES = 3  # how often what failed for a passing reason is asked again before a run gives up on it
EXCESS = "excess of {}"  # fact of a run: see `Spending`
SAMPLED = 300  # requests from which the size of all is guessed


@dataclass(frozen=True)
class Order:
    """What one judge is to be asked.

    Attributes
    ----------
    subjects : callable
        Makes an iterator over all subjects anew, in the same order each time.
    n_subjects : int
    media : callable
        As :class:`conjury.inference.requests.building.Builder` takes it.
    put_to : mapping of str to int
        Number of subjects of prompts that are put to some of them only.
    """

    study: Study | ItemStudy
    judge_id: str
    ask: Sampling
    prompts: Sequence[Prompt]
    subjects: Callable[[], Iterator[Subject]]
    n_subjects: int
    media: Media
    put_to: Mapping[str, int] = field(default_factory=dict)

    def requests(self) -> Iterator[Request]:
        """Build all requests, one after the other."""
        builder = Builder(self.study, self.judge_id, self.ask, self.prompts, self.media)
        return builder.requests(self.subjects())

    @property
    def total(self) -> int:
        """Number of requests."""
        subjects = sum(self.put_to.get(prompt.id, self.n_subjects) for prompt in self.prompts)
        return subjects * self.ask.samples


@dataclass(frozen=True)
class Plan:
    """Size and price of an order.

    Attributes
    ----------
    total, answered, waiting, failed : int
        Requests in all; those with an answer, in a live batch, and failed for good.
    tokens : Tokens
        Of one request, guessed, or measured where answers are there.
    measured : bool
        Whether the tokens are measured.
    cost : float or None
        Of what is still to be answered, in the currency of the price table; None without a price.
    spent : float or None
        What the judge cost in this run so far, answers that were asked again included.
    unstated : float
        The part of it that no answer states, counted at the most that it can be.
    """

    total: int
    answered: int
    waiting: int
    failed: int
    tokens: Tokens
    measured: bool
    cost: float | None
    spent: float | None
    unstated: float = 0.0

    @property
    def remaining(self) -> int:
        """Requests that a run would send."""
        return max(self.total - self.answered - self.waiting - self.failed, 0)


def plan(order: Order, ledger: Ledger | None, budget: Budget) -> Plan:
    """Tell how much there is to ask and what it will cost; nothing is sent."""
    wanted = {prompt.id for prompt in order.prompts}
    counts = [] if ledger is None else ledger.counts()
    mine = [count for count in counts if count.judge_id == order.judge_id and count.prompt_id in wanted]
    answered = sum(count.n for count in mine if count.state == "answered")
    waiting = sum(count.n for count in mine if count.batch)
    failed = sum(
        count.n
        for count in mine
        if count.state not in ("answered", "pending", *TRANSIENT) and not count.batch
    )
    used = [] if ledger is None else ledger.usage(order.judge_id)
    unstated = 0.0 if ledger is None else _unstated(ledger, order.judge_id, budget)
    n, prompt_tokens = sum(part.n for part in used), sum(part.prompt_tokens for part in used)
    measured = prompt_tokens > 0
    tokens = (
        Tokens(prompt_tokens / n, sum(part.completion_tokens for part in used) / n)
        if measured
        else _guess(order, PICTURE if budget.price is None else budget.price.picture)
    )
    each = budget.cost(tokens.prompt, tokens.completion)
    sent = max(order.total - answered - waiting - failed, 0)
    return Plan(
        order.total,
        answered,
        waiting,
        failed,
        tokens,
        measured,
        None if each is None else each * (sent + waiting),
        None if budget.price is None else _spent(used, budget) + unstated,
        unstated,
    )


def _spent(used: Sequence[Usage], budget: Budget) -> float:
    """Cost of all tokens that answers state, each by the interface that brought it."""
    costs = [
        replace(budget, batch=part.batch).cost(part.prompt_tokens, part.completion_tokens) for part in used
    ]
    return sum(cost for cost in costs if cost is not None)


def _unstated(ledger: Ledger, judge_id: str, budget: Budget) -> float:
    """Return the most that exchanges can have cost which do not state it."""
    if budget.price is None:
        return 0.0
    most = (
        replace(budget, batch=batch).most(body, answer) for batch, body, answer in ledger.unstated(judge_id)
    )
    return sum(most) * (ledger.get(EXCESS.format(judge_id)) or 1.0)


def _guess(order: Order, picture: float) -> Tokens:
    guesses = [
        guess_tokens(request.body, order.ask.answer, picture) for request in islice(order.requests(), SAMPLED)
    ]
    n = max(len(guesses), 1)
    return Tokens(sum(guess.prompt for guess in guesses) / n, sum(guess.completion for guess in guesses) / n)


@dataclass
class Tally:
    """What a run has done so far.

    Attributes
    ----------
    passed, answered : int
        Requests handed on, and answers on disk.
    failed : Counter
        Failed attempts by kind.
    errors : Counter
        Their messages.
    spent : float
        Money, what earlier runs of the judge spent included.
    unstated : float
        The part of it that is counted at the most, since nothing that came states it.
    n_unstated : int
        Exchanges of this run that make up such a part.
    next : float
        The most that the request can cost which ``max-cost`` has no room for.
    stopped : str
        "interrupted", "max-cost", "reserved" (what is in batches may use up the rest), or empty.
    """

    passed: int = 0
    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    unstated: float = 0.0
    n_unstated: int = 0
    next: float = 0.0
    stopped: str = ""


class Desk:
    """Between a backend and the ledger: records outcomes, counts what is on disk, says when to stop."""

    def __init__(
        self,
        ledger: Ledger,
        judge_id: str,
        budget: Budget,
        planned: Plan,
        stop: threading.Event,
        watch: Callable[[Tally], None],
    ) -> None:
        self.tally = Tally(spent=planned.spent or 0.0, unstated=planned.unstated)
        self._ledger, self._budget, self._stop, self._watch = ledger, budget, stop, watch
        self._judge_id = judge_id
        self._coming: Iterator[Request] = iter(())
        self._next: Request | None = None
        self._admitted = False
        each = budget.cost(planned.tokens.prompt, planned.tokens.completion) or 0.0
        excess = float(ledger.get(EXCESS.format(judge_id)) or 1.0)
        self._spending = Spending(budget, planned.spent or 0.0, planned.unstated, each, excess)
        if self.capped and planned.waiting:
            in_batches = replace(budget, batch=True)
            for key, body in ledger.waiting(judge_id):
                self._spending.hold(key, in_batches.most(body))
        ledger.on_commit.append(self._committed)

    def close(self) -> None:
        """Stop listening to the ledger."""
        self._ledger.on_commit.remove(self._committed)
        if self._spending.excess > 1.0:
            self._ledger.set(EXCESS.format(self._judge_id), self._spending.excess)

    def record(self, outcome: Outcome) -> None:
        """Hand an outcome to the ledger."""
        self._ledger.record(outcome)

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Media type and content of a stored image."""
        return self._ledger.media(sha256)

    def stopping(self) -> bool:
        """Whether the user said stop."""
        if self._stop.is_set():
            self.tally.stopped = "interrupted"
        return self._stop.is_set()

    @property
    def capped(self) -> bool:
        """Whether there is a limit on costs."""
        return self._budget.max_cost is not None

    def taken(self, requests: Iterator[Request]) -> Iterator[Request]:
        """Count requests as they are handed to a backend; ends where the user or the budget says stop."""
        self._coming, self._next, self._admitted = requests, None, False
        while not self.stopping():
            request = self._peek()
            if request is None or not (self._admitted or self._admit(request)):
                return
            self._next, self._admitted = None, False
            self.tally.passed += 1
            yield request

    def full(self) -> bool:
        """Whether the next request has to wait until others have ended; if not, its cost is reserved."""
        if not self.capped or self._admitted or self.stopping():
            return False
        request = self._peek()
        if request is None:
            return False
        room = self._spending.admit(request.key, self._budget.most(request.body))
        self._admitted = room == "send"
        return room == "wait"

    def _peek(self) -> Request | None:
        """Return the request that comes next without taking it."""
        if self._next is None:
            self._next = next(self._coming, None)
        return self._next

    def _admit(self, request: Request) -> bool:
        """Reserve the cost of a request; say why it cannot be sent otherwise."""
        if not self.capped:
            return True
        most = self._budget.most(request.body)
        room = self._spending.admit(request.key, most)
        if room != "send":
            self.tally.stopped = "max-cost" if room == "stop" else "reserved"
            self.tally.next = most * self._spending.excess
        return room == "send"

    def _committed(self, outcomes: list[Outcome]) -> None:
        tally = self.tally
        for outcome in outcomes:
            self._count(outcome)
            if outcome.kind:
                tally.failed[outcome.kind] += 1
                tally.errors[outcome.error[:200]] += 1
            else:
                tally.answered += 1
        tally.spent, tally.unstated = self._spending.spent, self._spending.unstated
        tally.n_unstated = self._spending.n_unstated
        self._watch(tally)

    def _count(self, outcome: Outcome) -> None:
        """Count what a request cost by what its answer states, else at the most."""
        if self._budget.price is None:
            return
        answer = None if outcome.body is None else json.loads(outcome.body)
        prompt, completion = stated_tokens(answer)
        billed = sum(attempt.billed for attempt in outcome.attempts)
        silent = answer is not None and None in (prompt, completion)
        most = 0.0
        if billed or silent:
            body = self._ledger.request_body(outcome.key)
            most = billed * self._budget.most(body) + silent * self._budget.most(body, answer)
        cost = self._budget.cost(prompt or 0, completion or 0) or 0.0
        self._spending.settle(outcome.key, cost, most, billed + silent, answer is not None)


def collect(
    order: Order,
    ledger: Ledger,
    backend: Backend,
    budget: Budget,
    planned: Plan,
    watch: Callable[[Tally], None],
) -> Tally:
    """Ask what has no answer yet; return when all is answered, failed for good, or the run was stopped.

    What fails for a passing reason is asked again, up to three times in a run. The first Ctrl-C lets
    requests in flight finish, the second ends at once; either way what is on disk stays.
    """
    with interruptible() as stop:
        desk = Desk(ledger, order.judge_id, budget, planned, stop, watch)
        try:
            _cut_clips(order, desk)
            for _ in range(PASSES):
                failed = desk.tally.failed.copy()
                backend.run(desk.taken(ledger.pending(order.requests())), desk)
                ledger.flush()
                again = any(desk.tally.failed[kind] > failed[kind] for kind in TRANSIENT)
                if not again or desk.tally.stopped:
                    break
        finally:
            ledger.flush()
            desk.close()
    return desk.tally


def _cut_clips(order: Order, desk: Desk) -> None:
    """Cut clips before anything is sent: cutting one takes seconds, in which no answer would be received."""
    for subject in order.subjects():
        if any(takes(prompt, subject.strata) for prompt in order.prompts):
            for shown in subject.shown:
                if shown.kind == "video" and shown.media is not None and not desk.stopping():
                    order.media(shown, order.ask.takes)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a wish to stop; the second interrupts.

    A process in the background of a script, which ignores Ctrl-C, goes on ignoring it.
    """
    stop = threading.Event()
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_interrupt(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
