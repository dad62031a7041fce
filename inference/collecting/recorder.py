"""Asking what has no answer yet, live or in batches: each outcome is recorded at once."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..backends.base import Backend
from ..backends.openai.replies import pass_gate
from ..design.subjects import takes
from ..errors import InputError
from ..ledger import Ledger
from ..ledger.exchanges import TRANSIENT, Outcome, Request
from ..ledger.usage import counted_sound
from ..study.models import Study
from .answering.provenance import remember_engine
from .jobs import EXCESS, Job, Plan
from .prices import Budget, Spending, stated_tokens
from .stopping import StoppingCheck

PASSES = 3  # how often what failed for a passing reason is asked again before a run gives up on it


@dataclass
class Tally:
    """What a run has done so far.

    Parameters
    ----------
    passed, answered : int
        Requests handed on, and answers on disk.
    failed : Counter
        Requests that ended without an answer, by kind.
    repeated : Counter
        Failed exchanges after which the request was sent again, by status.
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
        "interrupted", "max-cost", "reserved" (what is in batches may use up the rest), "until" (the rule of
        stopping is met), or empty.
    known : str
        What the rule of stopping says is known, in words; empty without one.
    n_tasks : int
        Tasks from which it is known.
    met : bool
        Whether the rule of stopping is met, also where nothing was left to stop.
    wait : float
        Seconds for which the server holds all requests back; 0 where it does not.
    waiting, done : int
        Requests in live batches, and how many of them the provider has done.

    Examples
    --------
    >>> tally = Tally(passed=15, answered=14)
    >>> tally.failed["timeout"] += 1
    >>> tally.answered, sum(tally.failed.values()), tally.stopped
    (14, 1, '')
    """

    passed: int = 0
    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    unstated: float = 0.0
    n_unstated: int = 0
    next: float = 0.0
    stopped: str = ""
    known: str = ""
    n_tasks: int = 0
    met: bool = False
    wait: float = 0.0
    waiting: int = 0
    done: int = 0


class RunRecorder:
    """Between a backend and the ledger: records outcomes, counts what is on disk, decides when to stop."""

    def __init__(
        self,
        ledger: Ledger,
        judge_id: str,
        budget: Budget,
        planned: Plan,
        stop: threading.Event,
        watch: Callable[[Tally], None],
        until: StoppingCheck | None = None,
    ) -> None:
        self._until = until
        self.tally = Tally(spent=planned.spent or 0.0, unstated=planned.unstated)
        self._ledger, self._budget, self._stop, self._watch = ledger, budget, stop, watch
        self._judge_id = judge_id
        self._telling = threading.Lock()  # answers are told by the thread of the ledger, waits by the backend
        self._coming: Iterator[Request] = iter(())
        self._next: Request | None = None
        self._admitted = False
        each = budget.cost(planned.tokens.prompt, planned.tokens.completion, planned.tokens.sound) or 0.0
        excess = float(ledger.get(EXCESS.format(judge_id)) or 1.0)
        self._spending = Spending(budget, planned.spent or 0.0, planned.unstated, each, excess)
        if self.capped:
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
        """Hand an outcome to the ledger, an answer only if it is one."""
        self._ledger.record(pass_gate(outcome))

    def note_wait(self, seconds: float) -> None:
        """Tell how long the server holds all requests back."""
        with self._telling:
            self.tally.wait = seconds
            self._watch(self.tally)

    def note_batches(self, waiting: int, done: int) -> None:
        """Tell how many requests wait in batches, and how many of these the provider has done."""
        self.tally.waiting, self.tally.done = waiting, done
        self.note_wait(0.0)

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Media type and content of a stored image."""
        return self._ledger.media(sha256)

    def stopping(self) -> bool:
        """Whether the user asked to stop, or the rule of stopping is met."""
        if self._stop.is_set():
            self.tally.stopped = "interrupted"
        elif self._until is not None and self._until.met:
            self.tally.stopped = "until"
        return self.tally.stopped in ("interrupted", "until")

    def check(self) -> None:
        """Check the rule of stopping, if there is one, on what is in the ledger."""
        if self._until is not None:
            self._until.check()
            self._take_known(self._until)

    def _take_known(self, until: StoppingCheck) -> None:
        self.tally.known, self.tally.n_tasks, self.tally.met = until.text, until.n_tasks, until.met

    @property
    def capped(self) -> bool:
        """Whether there is a limit on costs."""
        return self._budget.max_cost is not None

    def taken(self, requests: Iterator[Request]) -> Iterator[Request]:
        """Count requests as they are handed to a backend; ends where the user or the budget stops the run."""
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
        """Reserve the cost of a request; otherwise return why it cannot be sent."""
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
            for attempt in outcome.attempts[: -1 if outcome.kind else None]:
                tally.repeated[f"HTTP {attempt.status}" if attempt.status else "no answer"] += 1
            if outcome.kind:
                tally.failed[outcome.kind] += 1
                tally.errors[outcome.error[:200]] += 1
            else:
                tally.answered += 1
        tally.spent, tally.unstated = self._spending.spent, self._spending.unstated
        tally.n_unstated = self._spending.n_unstated
        if self._until is not None:
            self._until.count(len(outcomes))
            self._take_known(self._until)
        with self._telling:
            tally.wait = 0.0
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
        cost = self._budget.cost(prompt or 0, completion or 0, counted_sound(answer)) or 0.0
        self._spending.settle(outcome.key, cost, most, billed + silent, answer is not None)


def ask(
    job: Job,
    ledger: Ledger,
    backend: Backend,
    budget: Budget,
    planned: Plan,
    watch: Callable[[Tally], None],
    until: StoppingCheck | None = None,
) -> Tally:
    """Ask what has no answer yet; passing failures again, until all is answered or the run is stopped."""
    with interruptible() as stop, _recording(job, ledger, planned, stop, budget, watch, until) as recorder:
        recorder.check()
        _cut_clips(job, recorder)
        for _ in range(PASSES):
            failed = recorder.tally.failed.copy()
            backend.run(recorder.taken(ledger.pending(job.requests())), recorder)
            ledger.flush()
            has_transient = any(recorder.tally.failed[kind] > failed[kind] for kind in TRANSIENT)
            if not has_transient or recorder.tally.stopped:
                break
        if not recorder.tally.stopped:
            recorder.check()
    return recorder.tally


@contextmanager
def _recording(
    job: Job,
    ledger: Ledger,
    planned: Plan,
    stop: threading.Event | None = None,
    budget: Budget | None = None,
    watch: Callable[[Tally], None] = lambda tally: None,
    until: StoppingCheck | None = None,
) -> Iterator[RunRecorder]:
    """Record what comes until the end of the block, and leave all of it on disk."""
    stop, budget = stop or threading.Event(), budget or Budget()
    recorder = RunRecorder(ledger, job.judge_id, budget, planned, stop, watch, until)
    try:
        yield recorder
    finally:
        ledger.flush()
        recorder.close()


def _cut_clips(job: Job, recorder: RunRecorder) -> None:
    """Cut clips before anything is sent: cutting one takes seconds, in which no answer would be received."""
    if isinstance(job.study, Study):  # whose posts are texts or pictures
        return
    for subject in job.subjects():
        if any(takes(prompt, subject.strata) for prompt in job.prompts):
            for stimulus in subject.shown:
                if stimulus.kind == "video" and stimulus.media is not None and not recorder.stopping():
                    job.media(stimulus, job.ask.takes)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into a wish to stop, the second interrupts; ignored ones stay ignored."""
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


def collect_by_batch(
    job: Job,
    ledger: Ledger,
    folder: Path,
    budget: Budget,
    planned: Plan,
    watch: Callable[[Tally], None],
    *,
    wait: bool = False,
    interval: float = 60.0,
) -> Tally:
    """Fetch the batches that have ended, submit what is missing, and where asked to wait for the rest."""
    from ..backends.batches.choosing import batch_backend

    backend = batch_backend(job.judge_id, job.ask, folder, job.named)
    remember_engine(ledger, job.judge_id, backend.settings())
    with interruptible() as stop, _recording(job, ledger, planned, stop, budget, watch) as recorder:
        passes = PASSES
        while passes:
            backend.poll(ledger)
            backend.fetch(recorder, ledger)
            ledger.flush()
            recorder.tally.stopped = ""
            backend.submit(recorder.taken(ledger.pending(job.requests())), recorder, ledger)
            recorder.note_batches(*backend.waiting(ledger))
            if not wait or not ledger.batches(job.judge_id, live=True):
                break
            if recorder.tally.stopped not in ("", "reserved"):
                break
            passes -= not recorder.tally.stopped
            backend.wait(recorder, ledger, interval=interval, progress=recorder.note_batches)
            ledger.flush()
    return recorder.tally


def release_unsent(ledger: Ledger, judge_id: str) -> None:
    """Give back the requests of batches that were planned and never uploaded, so that others may ask them."""
    for batch in ledger.batches(judge_id, live=True):
        if batch.state == "planned":
            ledger.update_batch(batch.shard, state="failed", detail="given back, nothing was sent")


def export_requests(job: Job, ledger: Ledger, path: Path, planned: Plan) -> int:
    """Write what has no answer yet as lines that a batch runner takes; return how many. Nothing is sent."""
    from ..backends.base import export

    with _recording(job, ledger, planned) as recorder:
        return export(ledger.pending(job.requests()), path, recorder)


def import_results(job: Job, ledger: Ledger, path: Path, planned: Plan) -> Tally:
    """Take the results of a batch runner; requests that the run does not know yet are registered first."""
    from ..backends.base import read_results

    with _recording(job, ledger, planned) as recorder:
        for _ in ledger.pending(job.requests()):
            pass
        lines = read_results(path, ledger, recorder)
        ledger.flush()
    if not recorder.tally.answered and not recorder.tally.failed:
        raise InputError(f"{path} contains no new answer to a request of this run ({lines}); check the file.")
    return recorder.tally
