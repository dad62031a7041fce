"""What a design will cost: requests, tokens and money of each model, guessed from its first requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..design.drawn import DrawnDesign
from ..design.subjects import Shown, Subject, SubjectTable, is_single, pair_subjects, single_subjects
from ..requests.templates import Templates
from ..study.asking import Medium, Sampling
from ..study.models import Study
from ..study.parts import Judge, Prompt
from ..tables.columns import stream
from .jobs import Job, plan
from .prices import Budget, Prices, Tokens
from .runs import PROFILE

BUILT = 100  # subjects whose requests are built
AS_TEXT = {"A", "B", "item"}  # values of templates that hold what is shown as text
COLUMNS = (
    *("judge", "model", "backend", "shown", "prompts", "requests", "prompt_tokens", "completion_tokens"),
    *("cost", "batch_cost", "as_of"),
)


@dataclass(frozen=True)
class Begun:
    """Tasks and posts that a run begins with, and the number of all its subjects."""

    tasks: pd.DataFrame
    posts: pd.DataFrame
    count: int


def expected_costs(study: Study, design: DrawnDesign, prices: Prices) -> pd.DataFrame:
    """Guess what the models of a study will cost for a design; nothing is sent.

    Tokens are those of the requests that a run begins with, for all pairs of the design under all prompts of
    a judge, as ``conjury collect --dry-run`` guesses them.
    """
    pictured = study.vignette is not None or "media" in design.posts
    begun = _begun(study, design)
    known: dict[tuple[object, ...], tuple[Tokens, int]] = {}
    rows = [
        _row(
            judge.id, ask, prompts, images, prices, _guess(study, begun, ask, prices, prompts, images, known)
        )
        for judge in study.judges
        if (ask := judge.ask) is not None
        for images in ((False, True) if pictured else (False,))
        if (prompts := _prompts(study, judge, images))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    judge_id: str,
    ask: Sampling,
    prompts: list[Prompt],
    images: bool,
    prices: Prices,
    guessed: tuple[Tokens, int],
) -> dict[str, Any]:
    tokens, requests = guessed
    sums = requests * tokens.prompt, requests * tokens.completion
    price = prices.of(ask.model) if ask.backend == "openai" else None
    batch = None if price is None or price.batch == 1 else price.cost(*sums, prices.per, batch=True)
    return {
        "judge": judge_id,
        "model": ask.model,
        "backend": ask.backend,
        "shown": "images" if images else "text",
        "prompts": len(prompts),
        "requests": requests,
        "prompt_tokens": sums[0],
        "completion_tokens": sums[1],
        "cost": None if price is None else price.cost(*sums, prices.per),
        "batch_cost": batch,
        "as_of": "" if price is None else str(price.as_of),
    }


def _guess(
    study: Study,
    begun: Begun,
    ask: Sampling,
    prices: Prices,
    prompts: list[Prompt],
    images: bool,
    known: dict[tuple[object, ...], tuple[Tokens, int]],
) -> tuple[Tokens, int]:
    """Guess the tokens of a request, and count the requests, once for judges who are asked alike."""
    limits = [ask.settings.get(name) for name in ("max_tokens", "max_completion_tokens")]
    budget = Budget(prices.of(ask.model), prices.per)
    picture = budget.price.picture if images and budget.price is not None else None
    how = (images, picture, ask.answer, ask.samples, *limits, *(prompt.id for prompt in prompts))
    if how not in known:
        subjects = _subjects(study, begun, prompts, images)
        order = Job(study, ask.model, ask, prompts, subjects, begun.count, _picture)
        planned = plan(order, None, budget)
        known[how] = planned.tokens, planned.total
    return known[how]


def _prompts(study: Study, judge: Judge, images: bool) -> list[Prompt]:
    """Prompts that a judge is asked under, and that fit what is shown."""
    templates = Templates(study.folder)

    def fits(prompt: Prompt) -> bool:
        if not images:
            return prompt.stimuli == "any"
        used = [templates.names(name) for name in (prompt.template, prompt.user) if name is not None]
        return not any(AS_TEXT & names for names in used)

    return [
        prompt
        for prompt in study.prompts
        if (judge.prompts is None or prompt.id in judge.prompts) and fits(prompt)
    ]


def _begun(study: Study, design: DrawnDesign) -> Begun:
    """Find the tasks or profiles that a run begins with."""
    single, tasks = is_single(study), design.tasks
    column = tasks["profile_id" if single else "task_id"]
    names = np.unique(column.to_numpy())
    first = names[stream(study.collect.seed, "order of requests").permutation(len(names))[:BUILT]]
    tasks = tasks[column.isin(first)]
    shown = first if single else tasks["profile_id"]
    return Begun(tasks, design.posts[design.posts["profile_id"].isin(shown)], len(names))


def _subjects(
    study: Study, begun: Begun, prompts: list[Prompt], images: bool
) -> Callable[[], Iterator[Subject]]:
    """Make the subjects that a run begins with."""
    tasks, posts, seed = begun.tasks, begun.posts, study.collect.seed
    fields = study.collect.fields
    if fields is not None and study.content is None:
        fields = [study.feature_labels.get(name, name) for name in fields]
    kinds = ["image"] * len(posts) if images else None
    versions = {str(prompt.cues): ["picture"] * len(posts) for prompt in prompts} if images else None
    table = SubjectTable(posts, "profile_id", fields, kinds, versions=versions)
    if is_single(study):
        return lambda: single_subjects(posts["profile_id"].tolist(), table, seed, PROFILE)
    return lambda: pair_subjects(tasks, table, seed)


def _picture(shown: Shown, takes: Collection[Medium]) -> list[dict[str, Any]]:
    """Stand for a picture, which counts the same whatever it shows."""
    return [{"type": "image_url", "image_url": {"url": ""}}]
