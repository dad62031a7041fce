"""What judges are asked, how much of it has an answer, and what the rest or a whole design will cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd

from ..backends.endpoints import BY_FILE, Destination, EndpointChoice, destination_of
from ..design.factorial import FactorialCell, asked_cells
from ..design.run_design import DrawnDesign
from ..design.subjects import PresentedSubject, Subject, is_single
from ..ledger import Count, Ledger, Usage
from ..ledger.exchanges import TOKEN_LIMITS, TRANSIENT, Request
from ..requests.building import Builder, Media
from ..requests.templates import Templates
from ..study.asking import BATCH_ONLY, PAID, Medium, Sampling
from ..study.models import ItemStudy, Study
from ..study.study_fields import Judge, Prompt
from ..tables.columns import stream
from ..tables.schema import OPTION_ORDERS
from .prices import PICTURE, THINKING_SETTINGS, Budget, Price, Prices, Tokens, guess_tokens
from .run_content import design_subjects

EXCESS = "excess of {}"  # fact of a run: see `Spending`
SAMPLED = 300  # requests from which the size of all is guessed
BUILT = 100  # subjects of a design whose requests are built to guess its costs
AS_TEXT = {"A", "B", "item"}  # values of templates that contain what is shown as text
COLUMNS = (
    *("judge", "model", "backend", "shown", "prompts", "requests", "prompt_tokens", "completion_tokens"),
    *("cost", "batch_cost", "as_of"),
)


@dataclass(frozen=True)
class Job:
    """What one judge is to be asked.

    Parameters
    ----------
    study : Study or ItemStudy
        The study that the judge is asked for.
    judge_id : str
        Identifier of the judge.
    ask : Sampling
        Model, backend, samples and form of answers.
    prompts : sequence of Prompt
        Prompts that the judge is asked under.
    subjects : callable
        Makes an iterator over all subjects anew, in the same order each time.
    n_subjects : int
        Number of subjects.
    media : callable
        As :class:`conjury.inference.requests.building.Builder` takes it.
    put_to : mapping of str to int
        Number of subjects of prompts that are put to some of them only.
    names : collection of str, optional
        Names of the subjects where these are not all of the run.
    n_swapped : int
        Number of subjects that are pairs in exchanged positions.
    keys : collection of str, optional
        Only these requests.
    named : EndpointChoice
        Whether the user named server and variable of the key, or the study file did.

    Examples
    --------
    >>> from conjury.inference.collecting import Asking, Running, preview
    >>> run = preview("harm_or_humor", "gpt_5_2", asking=Asking(backend="simulated", samples=3),
    ...     running=Running(pairs=5), out="a_new_folder")
    >>> run.job.judge_id, run.job.n_subjects, run.job.total
    ('gpt_5_2', 5, 15)
    """

    study: Study | ItemStudy
    judge_id: str
    ask: Sampling
    prompts: Sequence[Prompt]
    subjects: Callable[[], Iterator[Subject]]
    n_subjects: int
    media: Media
    put_to: Mapping[str, int] = field(default_factory=dict)
    names: Collection[str] | None = None
    n_swapped: int = 0
    keys: Collection[str] | None = None
    named: EndpointChoice = BY_FILE

    @property
    def destination(self) -> Destination | None:
        """Where requests go and with which key; None where they stay on this machine."""
        return destination_of(self.ask, self.named)

    def requests(self) -> Iterator[Request]:
        """Build all requests, one after the other."""
        builder = Builder(self.study, self.judge_id, self.ask, self.prompts, self.media)
        for request in builder.requests(self.subjects()):
            if self.keys is None or request.key in self.keys:
                yield request

    @property
    def total(self) -> int:
        """Number of requests."""
        if self.keys is not None:
            return len(self.keys)
        subject_counts = {prompt.id: self.put_to.get(prompt.id, self.n_subjects) for prompt in self.prompts}
        return sum(self._subjects(cell, subject_counts[cell.prompt]) for cell in self.cells)

    @property
    def cells(self) -> list[FactorialCell]:
        """Combinations of facets that the judge is asked under."""
        prompt_ids = {prompt.id for prompt in self.prompts}
        return [cell for cell in asked_cells(self.study, self.ask.samples) if cell.prompt in prompt_ids]

    def _subjects(self, cell: FactorialCell, n: int) -> int:
        """How many of n subjects are asked under a combination of facets."""
        instrument = self.study.instrument
        if instrument is None or not instrument.swaps or is_single(self.study):
            return n
        return self.n_swapped if cell.option_order == OPTION_ORDERS[1] else n - self.n_swapped


@dataclass(frozen=True)
class Plan:
    """Size and price of a job.

    Parameters
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

    Examples
    --------
    >>> from conjury.inference.collecting import Asking, Running, preview
    >>> run = preview("harm_or_humor", "gpt_5_2", asking=Asking(backend="simulated"),
    ...     running=Running(pairs=5), out="a_new_folder")
    >>> run.plan.remaining, run.plan.measured, run.plan.cost
    (5, False, None)
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
    answered, waiting, failed = _ended(job, ledger)
    usages = [] if ledger is None else ledger.usage(job.judge_id)
    unstated = 0.0 if ledger is None else _unstated_cost(ledger, job.judge_id, budget)
    n, prompt_tokens = sum(part.n for part in usages), sum(part.prompt_tokens for part in usages)
    measured = prompt_tokens > 0
    priced = budget.price is not None and budget.price.audio is not None
    heard = priced and not {"audio", "video"}.isdisjoint(job.ask.takes)
    tokens = _guess_average(job, budget.price) if heard or not measured else Tokens(0, 0)
    sound = tokens.sound / tokens.prompt if tokens.sound else 0.0  # share of the prompt's tokens
    if measured:
        prompt = prompt_tokens / n
        tokens = Tokens(prompt, sum(part.completion_tokens for part in usages) / n, sound * prompt)
    unit_cost = budget.cost(tokens.prompt, tokens.completion, tokens.sound)
    sent = max(job.total - answered - waiting - failed, 0)
    return Plan(
        job.total,
        answered,
        waiting,
        failed,
        tokens,
        measured,
        None if unit_cost is None else unit_cost * (sent + waiting),
        None if budget.price is None else _cost_of_usage(usages, budget, sound) + unstated,
        unstated,
    )


def _ended(job: Job, ledger: Ledger | None) -> tuple[int, int, int]:
    """Count the requests of a job that have an answer, wait in a batch, and failed for good."""
    prompt_ids = {prompt.id for prompt in job.prompts}
    counts: Sequence[Count] = []
    if ledger is not None:
        names = job.names
        counts = ledger.counts() if names is None else ledger.counts_of(job.judge_id, names)
    judge_counts = [
        count for count in counts if count.judge_id == job.judge_id and count.prompt_id in prompt_ids
    ]
    answered = sum(count.n for count in judge_counts if count.state == "answered")
    waiting = sum(count.n for count in judge_counts if count.batch)
    failed = sum(
        count.n
        for count in judge_counts
        if count.state not in ("answered", "pending", *TRANSIENT) and not count.batch
    )
    return answered, waiting, failed


def count_unanswered(job: Job, ledger: Ledger) -> int:
    """Count the requests of a job that asking it again would send or fetch."""
    answered, _, failed = _ended(job, ledger)
    return max(job.total - answered - failed, 0)


def _cost_of_usage(usages: Sequence[Usage], budget: Budget, sound: float) -> float:
    """Cost of all tokens that answers state, each by the interface that brought it; a share is ``sound``."""
    costs = [
        replace(budget, batch=part.batch).cost(
            part.prompt_tokens, part.completion_tokens, sound * part.prompt_tokens
        )
        for part in usages
    ]
    return sum(cost for cost in costs if cost is not None)


def _unstated_cost(ledger: Ledger, judge_id: str, budget: Budget) -> float:
    """Return the most that exchanges can have cost which do not state it."""
    if budget.price is None:
        return 0.0
    most = (
        replace(budget, batch=batch).most(body, answer) for batch, body, answer in ledger.unstated(judge_id)
    )
    return sum(most) * (ledger.get(EXCESS.format(judge_id)) or 1.0)


def _guess_average(job: Job, price: Price | None) -> Tokens:
    picture, thinking = (PICTURE, 0.0) if price is None else (price.picture, price.thinking)
    requests = islice(job.requests(), SAMPLED)
    guesses = [guess_tokens(request.body, job.ask.answer, picture, thinking) for request in requests]
    n = max(len(guesses), 1)
    return Tokens(
        sum(guess.prompt for guess in guesses) / n,
        sum(guess.completion for guess in guesses) / n,
        sum(guess.sound for guess in guesses) / n,
    )


def expected_costs(study: Study, design: DrawnDesign, prices: Prices) -> pd.DataFrame:
    """Guess what each model costs for a design from the requests a run begins with, as a dry run does."""
    pictured = study.vignette is not None or "media" in design.posts
    tasks, posts, count = _first_tasks(study, design)
    n_swapped = int(design.tasks["repeat"].sum()) // 2
    plans: dict[tuple[object, ...], Plan] = {}  # by what tokens depend on: many judges are asked alike
    rows = []
    for judge, images in product(study.judges, (False, True)):
        prompts, ask = _fitting_prompts(study, judge, images), judge.ask
        if ask is None or not prompts or (images and not pictured):
            continue
        limits = [ask.settings.get(name) for name in TOKEN_LIMITS]
        price = prices.of(ask.model)
        picture = price.picture if images and price is not None else None
        thinking = price and price.thinking, *(str(ask.settings.get(name)) for name in THINKING_SETTINGS)
        key = (
            images,
            picture,
            *thinking,
            ask.answer,
            ask.samples,
            *limits,
            *(prompt.id for prompt in prompts),
        )
        if key not in plans:
            versions = {str(prompt.cues): ["picture"] * len(posts) for prompt in prompts} if images else None
            subjects = design_subjects(study, tasks, posts, images, versions)[0]
            job = Job(*(study, ask.model, ask, prompts, subjects, count, _any_picture), n_swapped=n_swapped)
            plans[key] = plan(job, None, Budget(price, prices.per))
        rows.append(_cost_row(judge.id, ask, plans[key], prices))
        rows[-1] |= {"shown": "images" if images else "text", "prompts": len(prompts)}
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cost_row(judge_id: str, ask: Sampling, planned: Plan, prices: Prices) -> dict[str, Any]:
    tokens, total = planned.tokens, planned.total
    sums, sound = (total * tokens.prompt, total * tokens.completion), total * tokens.sound
    price = prices.of(ask.model) if ask.backend in PAID else None
    batch = (
        None if price is None or price.batch == 1 else price.cost(*sums, prices.per, batch=True, sound=sound)
    )
    return {
        "judge": judge_id,
        "model": ask.model,
        "backend": ask.backend,
        "requests": planned.total,
        "prompt_tokens": sums[0],
        "completion_tokens": sums[1],
        "cost": None
        if price is None or ask.backend in BATCH_ONLY
        else price.cost(*sums, prices.per, batch=False, sound=sound),
        "batch_cost": batch,
        "as_of": "" if price is None else str(price.as_of),
    }


def _fitting_prompts(study: Study, judge: Judge, images: bool) -> list[Prompt]:
    """Prompts that a judge is asked under, and that fit what is shown."""
    templates = Templates(study.folder)

    def fits(prompt: Prompt) -> bool:
        if not images:
            return prompt.stimuli == "any"
        name_sets = [templates.names(name) for name in (prompt.template, prompt.user) if name is not None]
        return not any(AS_TEXT & names for names in name_sets)

    prompt_ids = judge.prompts
    return [
        prompt
        for prompt in study.instrument_prompts
        if (prompt_ids is None or prompt.id in prompt_ids) and fits(prompt)
    ]


def _first_tasks(study: Study, design: DrawnDesign) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return tasks and posts that a run begins with, and the number of all its subjects."""
    single, tasks = is_single(study), design.tasks
    column = tasks["profile_id" if single else "task_id"]
    names = np.unique(column.to_numpy())
    first = names[stream(study.collect.seed, "order of requests").permutation(len(names))[:BUILT]]
    tasks = tasks[column.isin(first)]
    profile_ids = first if single else tasks["profile_id"]
    return tasks, design.posts[design.posts["profile_id"].isin(profile_ids)], len(names)


def _any_picture(stimulus: PresentedSubject, takes: Collection[Medium]) -> list[dict[str, Any]]:
    """Stand for a picture, which counts the same whatever it shows."""
    return [{"type": "image_url", "image_url": {"url": ""}}]
