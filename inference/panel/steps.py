"""What one page shows: the steps of a visit, from consent to the end page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..study.panel import AttentionCheck, Question
from .plan import PlannedTask
from .shown import Shown

Ended = Literal[
    "finished", "screened_out", "full", "declined", "failed_checks", "timed_out", "closed", "no_person"
]


@dataclass(frozen=True)
class Step:
    """One page of one visit.

    Attributes
    ----------
    number : int
        Position of the page in the visit, from 1. A submission names it; one for another number changes
        nothing.
    of : int
        Pages of the visit in all, for the bar of progress.
    """

    number: int
    of: int


@dataclass(frozen=True)
class TextStep(Step):
    """Information and consent, or instructions, in Markdown."""

    kind: Literal["consent", "instructions"]
    markdown: str


@dataclass(frozen=True)
class TaskStep(Step):
    """A pair of profiles to choose from, or an item to rate or label."""

    task: PlannedTask
    shown: tuple[Shown, ...]  # one, or two in the order in which they are seen
    practice: bool
    index: int  # of all tasks without practice, from 1
    tasks: int
    next_media: tuple[str, ...] = ()  # names of files of the next task, to be loaded ahead


@dataclass(frozen=True)
class AttentionStep(Step):
    """An attention check."""

    check: AttentionCheck


@dataclass(frozen=True)
class QuestionsStep(Step):
    """Background questions of one page."""

    questions: tuple[Question, ...]


@dataclass(frozen=True)
class EndStep(Step):
    """The end of a visit: a completion code and an address to go on to, where the study states them."""

    ended: Ended
    code: str | None = None
    redirect: str | None = None
