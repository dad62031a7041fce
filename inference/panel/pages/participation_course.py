"""The course of a participation: the page that a visit is on, what follows it, and its slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sqlalchemy import Connection

from ..plan import PanelPlan
from ..storage import visiting as rows
from ..storage.opening import Database
from ..storage.quotas import join_quotas, make_room
from ..storage.visiting import VisitRow
from .steps import AttentionStep, Ended, QuestionsStep, Step, StepPages, TextStep


class Course:
    """How visits of a panel go on; what changes the database works inside the caller's transaction."""

    def __init__(self, plan: PanelPlan, database: Database) -> None:
        self.plan = plan
        self.pages = StepPages(plan)
        self._database = database

    def step_of(self, row: VisitRow) -> Step:
        """Return the page that a visit is on."""
        ended = cast("Ended | None", row.ended)
        if ended is None and row.slot is not None and not row.holds:
            ended = "timed_out"
        if ended is not None:
            return self.pages.end(ended, row.page, row.slot, row.language)
        return self.pages.steps(row.slot, row.language)[row.page - 1]

    def next_row(
        self, connection: Connection, row: VisitRow, step: Step, answers: Mapping[str, str], now: float
    ) -> VisitRow:
        """Move a visit to its next page, or to its end."""
        limit = self.plan.section.fail_limit
        moved = replace(row, page=row.page + 1)
        if isinstance(step, AttentionStep):
            passed = answers["answer"] == step.check.right
            failed = row.checks_failed + (not passed)
            moved = replace(moved, checks_passed=row.checks_passed + passed, checks_failed=failed)
            if limit is not None and failed >= limit:
                return _ended(connection, moved, "failed_checks")
        if isinstance(step, TextStep) and answers.get("consent") == "no":
            return _ended(connection, moved, "declined")
        if isinstance(step, QuestionsStep) and any(
            answers.get(question.id) in question.screen_out for question in step.questions
        ):
            return _ended(connection, moved, "screened_out")
        if row.slot is None and row.page == self.pages.before:
            slot = self._admit(connection, row.number, answers, now)
            if slot is None:
                return _ended(connection, moved, "full")
            return replace(moved, slot=slot, holds=True)
        if row.page == step.of - 1:
            done = rows.finish_slot(connection, row.number)
            return _ended(connection, moved, "finished" if done else "timed_out")
        return moved

    def take_slot(self, connection: Connection, visit: int, now: float) -> int | None:
        """Give a free slot to a visit, for the minutes that the study has; None where none is free."""
        return rows.take_slot(connection, visit, now, now + 60 * self.plan.section.minutes)

    def _admit(
        self, connection: Connection, visit: int, answers: Mapping[str, str], now: float
    ) -> int | None:
        """Give a slot to a visit, unless one of its quotas is full or none is free."""
        self._database.alone(connection)
        section = self.plan.section
        quotas = [quota for quota in section.quotas if answers.get(quota.question) == quota.option]
        if not make_room(connection, quotas, now):
            return None
        options = [q.id for q in section.first_questions if q.form == "options" and q.id in answers]
        join_quotas(connection, visit, {name: answers[name] for name in options})
        return self.take_slot(connection, visit, now)


def _ended(connection: Connection, row: VisitRow, ended: Ended) -> VisitRow:
    """End a visit; the slot of one that is not finished is given out again."""
    if ended != "finished":
        rows.release_slot(connection, row.number)
    return replace(row, ended=ended)
