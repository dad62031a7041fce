"""What one judge is asked, how much of it has an answer, and what the rest will cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ..design.subjects import Subject
from ..ledger import Ledger, Usage
from ..ledger.exchanges import TRANSIENT, Request
from ..requests.building import Builder, Media
from ..study.asking import Sampling
from ..study.models import ItemStudy, Study
from ..study.parts import Prompt
from .prices import PICTURE, Budget, Tokens, guess_tokens

EXCESS = "excess of {}"  # fact of a run: see `Spending`


SAMPLED = 300  # requests from which the size of all is guessed


@dataclass(frozen=True)
class Job:
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
    """Size and price of an job.

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


def plan(job: Job, ledger: Ledger | None, budget: Budget) -> Plan:
    """Return the number of requests and their expected cost; nothing is sent."""
    wanted = {prompt.id for prompt in job.prompts}
    counts = [] if ledger is None else ledger.counts()
    mine = [count for count in counts if count.judge_id == job.judge_id and count.prompt_id in wanted]
    answered = sum(count.n for count in mine if count.state == "answered")
    waiting = sum(count.n for count in mine if count.batch)
    failed = sum(
        count.n
        for count in mine
        if count.state not in ("answered", "pending", *TRANSIENT) and not count.batch
    )
    used = [] if ledger is None else ledger.usage(job.judge_id)
    unstated = 0.0 if ledger is None else _unstated(ledger, job.judge_id, budget)
    n, prompt_tokens = sum(part.n for part in used), sum(part.prompt_tokens for part in used)
    measured = prompt_tokens > 0
    tokens = (
        Tokens(prompt_tokens / n, sum(part.completion_tokens for part in used) / n)
        if measured
        else _guess(job, PICTURE if budget.price is None else budget.price.picture)
    )
    each = budget.cost(tokens.prompt, tokens.completion)
    sent = max(job.total - answered - waiting - failed, 0)
    return Plan(
        job.total,
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


def _guess(job: Job, picture: float) -> Tokens:
    guesses = [
        guess_tokens(request.body, job.ask.answer, picture) for request in islice(job.requests(), SAMPLED)
    ]
    n = max(len(guesses), 1)
    return Tokens(sum(guess.prompt for guess in guesses) / n, sum(guess.completion for guess in guesses) / n)
