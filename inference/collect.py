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

from .backends.base import Backend
from .building import Builder, Media
from .collecting_parts import Sampling
from .ledger import Ledger, Usage
from .parsing import read_completion
from .prices import PICTURE, Price, Tokens, guess_tokens
from .requests import TRANSIENT, Outcome, Request
from .study import ItemStudy, Study
from .study_parts import Prompt
from .subjects import Subject, takes

PASSES = 3  # how often what failed for a passing reason is asked again before a run gives up on it
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
        As :class:`conjury.inference.building.Builder` takes it.
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
        What all answers of the judge in this run cost so far, those that were asked again included.
    """

    total: int
    answered: int
    waiting: int
    failed: int
    tokens: Tokens
    measured: bool
    cost: float | None
    spent: float | None

    @property
    def remaining(self) -> int:
        """Requests that a run would send."""
        return max(self.total - self.answered - self.waiting - self.failed, 0)


@dataclass(frozen=True)
class Budget:
    """Price of a judge, and the most that a run may cost; ``batch`` for the batch interface."""

    price: Price | None = None
    per: float = 1e6
    batch: bool = False
    max_cost: float | None = None

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Cost of tokens; None where the price is not known."""
        if self.price is None:
            return None
        return self.price.cost(prompt_tokens, completion_tokens, self.per, self.batch)


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
        _spent(used, budget),
    )


def _spent(used: Sequence[Usage], budget: Budget) -> float | None:
    """Cost of all answers so far, each by the interface that brought it."""
    costs = [
        replace(budget, batch=part.batch).cost(part.prompt_tokens, part.completion_tokens) for part in used
    ]
    return None if budget.price is None else sum(cost for cost in costs if cost is not None)


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
    stopped : str
        "interrupted", "max-cost", or empty.
    """

    passed: int = 0
    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    stopped: str = ""


class Desk:
    """Between a backend and the ledger: records outcomes, counts what is on disk, says when to stop."""

    def __init__(
        self,
        ledger: Ledger,
        budget: Budget,
        planned: Plan,
        stop: threading.Event,
        watch: Callable[[Tally], None],
    ) -> None:
        self.tally = Tally(spent=planned.spent or 0.0)
        self._ledger, self._budget, self._stop, self._watch = ledger, budget, stop, watch
        self._each = budget.cost(planned.tokens.prompt, planned.tokens.completion) or 0.0
        self._lock = threading.Lock()
        self._in_flight = planned.waiting
        ledger.on_commit.append(self._committed)

    def close(self) -> None:
        """Stop listening to the ledger."""
        self._ledger.on_commit.remove(self._committed)

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

    def taken(self, requests: Iterator[Request]) -> Iterator[Request]:
        """Count requests as they are handed to a backend; ends where the user or the budget says stop."""
        while not self.stopping() and not self._too_dear():
            request = next(requests, None)
            if request is None:
                return
            self.tally.passed += 1
            with self._lock:
                self._in_flight += 1
            yield request

    def _too_dear(self) -> bool:
        """Whether one more request could cost more than the budget, once all in flight are answered."""
        if self._budget.max_cost is None:
            return False
        with self._lock:
            dear = self.tally.spent + (self._in_flight + 1) * self._each > self._budget.max_cost
        if dear:
            self.tally.stopped = "max-cost"
        return dear

    def _committed(self, outcomes: list[Outcome]) -> None:
        tally = self.tally
        for outcome in outcomes:
            cost = self._cost(outcome)
            with self._lock:
                self._in_flight -= 1
                if outcome.kind:
                    tally.failed[outcome.kind] += 1
                    tally.errors[outcome.error[:200]] += 1
                else:
                    tally.answered += 1
                    tally.spent += cost
                    self._each += (cost - self._each) / tally.answered if cost else 0.0
        self._watch(tally)

    def _cost(self, outcome: Outcome) -> float:
        if outcome.body is None or self._budget.price is None:
            return 0.0
        answer = read_completion(json.loads(outcome.body))
        return self._budget.cost(answer.prompt_tokens or 0, answer.completion_tokens or 0) or 0.0


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
        desk = Desk(ledger, budget, planned, stop, watch)
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
