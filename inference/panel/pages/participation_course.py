"""The course of a participation: the page that a visit is on, what follows it, and its slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sqlalchemy import Connection

from ...study.panel_section import SEVERAL
from ..plan import PanelPlan
from ..storage import visiting as rows
from ..storage.opening import Database
from ..storage.quotas import join_quotas, make_room, quota_answers, quota_keys
from ..storage.visiting import VisitRow
from .steps import AttentionStep, ComprehensionStep, Ended, QuestionsStep, Step, StepPages, TextStep


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
        if isinstance(step, ComprehensionStep):
            passed = all(answers[question.id] == question.right for question in step.questions)
            if not passed and step.last:
                return _ended(connection, moved, "failed_comprehension")
            moved = replace(moved, page=step.after) if passed else moved
        if isinstance(step, TextStep) and answers.get("consent") == "no":
            return _ended(connection, moved, "declined")
        if isinstance(step, TextStep) and answers.get("withdraw") == "yes":
            rows.delete_answers(connection, row.number)
            return _ended(connection, replace(moved, checks_passed=0, checks_failed=0), "withdrawn")
        if isinstance(step, QuestionsStep) and any(
            {*answers.get(question.id, "").split(SEVERAL)} & {*question.screen_out}
            for question in step.questions
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
        of_person = quota_answers(section, answers)
        quotas = [
            quota for quota in section.quotas if quota_keys(section, quota).items() <= of_person.items()
        ]
        if not make_room(connection, section, quotas, now):
            return None
        join_quotas(connection, visit, of_person)
        return self.take_slot(connection, visit, now)


def _ended(connection: Connection, row: VisitRow, ended: Ended) -> VisitRow:
    """End a visit; the slot of one that is not finished is given out again."""
    if ended != "finished":
        rows.release_slot(connection, row.number)
    return replace(row, ended=ended)
