"""A rule that ends a run when enough is known: checked as answers are committed, on the first tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

import pandas as pd

from ..design.subjects import takes
from ..ledger import Answered, Ledger
from .jobs import Job
from .run_content import RunContent
from .run_tables import RunTables, run_tables

GROWTH = 0.05  # a rule is checked when there are so many more outcomes than at the last check
LEAST = 50  # but not before there are so many


Rule = Callable[[pd.DataFrame, pd.DataFrame | None, int], tuple[bool, str]]
"""Takes judgments and choices (None where nothing is chosen) of the first complete tasks, and the number of
tasks of the design; returns whether they suffice, and in words what is known."""


class StoppingCheck:
    """Checks a rule on the longest series of tasks, as they were drawn, of which all requests have ended."""

    # The order was drawn before anything was sent, so slow tasks are never passed over. Failed requests count
    # as ended.

    def __init__(self, rule: Rule, job: Job, ledger: Ledger, content: RunContent, parsing: str) -> None:
        self.met, self.text, self.n_tasks = False, "", 0
        self._rule, self._job, self._ledger = rule, job, ledger
        self._content, self._parsing = content, parsing
        self._ended, self._new = 0, 0
        self._tables([], set())  # what checks tables takes seconds to load: now, not while answers arrive

    def count(self, outcomes: int) -> None:
        """Take note of outcomes that were committed, and check the rule where they are enough."""
        self._new += outcomes
        if not self.met and self._new >= max(LEAST, GROWTH * self._ended):
            self.check()

    def check(self) -> None:
        """Check the rule on what is in the ledger."""
        ended = [answer for answer in self._answers() if answer.kind != "pending"]
        self._ended, self._new = len(ended), 0
        counts = Counter(answer.subject_id for answer in ended)
        complete: set[str] = set()
        for subject, requests in self._order.items():
            if counts[subject] < requests:
                break
            complete.add(subject)
        if not complete:
            return
        tables = self._tables(ended, complete)
        self.n_tasks = len(complete)
        self.met, self.text = self._rule(tables.judgments, tables.choices, self._n_designed)

    def _tables(self, ended: list[Answered], complete: set[str]) -> RunTables:
        """Tables of the answers about some subjects."""
        content = self._content
        return run_tables(
            self._job.study,
            iter([[answer for answer in ended if answer.subject_id in complete]]),
            rule=self._parsing,
            tasks=content.tasks,
            profiles=content.profiles,
            texts_of=content.shown,
            lines=content.lines,
        )

    @cached_property
    def _order(self) -> dict[str, int]:
        """Number of requests about each subject, in the order of asking."""
        prompts, samples = self._job.prompts, self._job.ask.samples
        return {
            subject.id: samples * sum(takes(prompt, subject.strata) for prompt in prompts)
            for subject in self._job.subjects()
        }

    @property
    def _n_designed(self) -> int:
        tasks = self._content.tasks
        return self._job.n_subjects if tasks is None else len(tasks) // 2

    def _answers(self) -> Iterator[Answered]:
        """The judge's requests of this job."""
        prompts = {prompt.id for prompt in self._job.prompts}
        for chunk in self._ledger.answers(self._job.judge_id):
            for answer in chunk:
                if answer.prompt_id in prompts and answer.sample <= self._job.ask.samples:
                    yield answer
