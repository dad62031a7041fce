"""What one page shows: the steps of a visit, from consent to the end page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeVar

from ...study.panel_section import AttentionCheck, FactualQuestion, Question
from ...tables.contained_paths import require_inside
from ...tables.limits import read_text
from ..displayed_fields import SubjectDisplay
from ..plan import PanelPlan, PlannedTask, Slot

Ended = Literal[
    "finished",
    "screened_out",
    "full",
    "declined",
    "failed_checks",
    "failed_comprehension",
    "withdrawn",
    "timed_out",
    "no_person",
    "small_screen",
]
TextKind = Literal["consent", "instructions", "policy", "debriefing"]


@dataclass(frozen=True)
class Step:
    """One page of one visit."""

    # position of the page in the visit, from 1. A submission names it; one for another number changes nothing
    number: int
    of: int  # pages of the visit in all, for the bar of progress


@dataclass(frozen=True)
class TextStep(Step):
    """Information and consent, instructions, or debriefing, in Markdown."""

    kind: TextKind
    markdown: str
    repeated: bool = False  # instructions that are shown after a failed attempt
    withdrawal: bool = False  # whether the page of the debriefing has a button that withdraws


@dataclass(frozen=True)
class TaskStep(Step):
    """A pair of profiles to choose from, or an item to rate or label."""

    task: PlannedTask
    shown: tuple[SubjectDisplay, ...]  # one, or two in the order in which they are seen
    practice: bool
    index: int  # of all tasks without practice, from 1
    tasks: int
    next_media: tuple[str, ...] = ()  # names of files of the next task, to be loaded ahead
    at_hand: TextStep | None = None  # the policy or instructions, which people can open


@dataclass(frozen=True)
class AttentionStep(Step):
    """An attention check."""

    check: AttentionCheck


@dataclass(frozen=True)
class ComprehensionStep(Step):
    """Questions about the instructions."""

    questions: tuple[FactualQuestion, ...]
    after: int  # number of the page that follows where all are answered rightly
    last: bool  # whether it is the last attempt


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


TEXTS: tuple[TextKind, ...] = ("consent", "instructions", "policy", "debriefing")
MOST = 4096  # sequences of pages that are kept ready
AnyStep = TypeVar("AnyStep", bound=Step)


class StepPages:
    """The pages of a plan: the same for everybody with the same slot and language."""

    # Consent, questions before the tasks, instructions with the questions about them as often as there are
    # attempts, practice, tasks with attention checks among them, other questions, debriefing; from the
    # instructions on, a page needs a slot.

    def __init__(self, plan: PanelPlan) -> None:
        self._plan = plan
        self._texts = dict(_texts(plan))
        self._longest = max(plan.slots, key=lambda slot: len(slot.tasks))
        self._kept = lru_cache(maxsize=MOST)(self._steps)

    def steps(self, slot: int | None, language: str) -> tuple[Step, ...]:
        """All pages but the end, of a slot; without one, those of the longest."""
        return self._kept(slot, language)

    @property
    def before(self) -> int:
        """Pages that need no slot."""
        return bool(self._plan.section.consent) + bool(self._plan.section.first_questions)

    def end(self, ended: Ended, page: int, slot: int | None, language: str) -> EndStep:
        """The end page of a visit that ended on a page."""
        of = len(self.steps(slot, language)) + 1
        ending = self._plan.section.ending(ended)
        return EndStep(min(page, of), of, ended, ending.code, ending.redirect)

    def turned_away(self, ended: Ended) -> EndStep:
        """The end page of somebody whose visit does not begin."""
        ending = self._plan.section.ending(ended)
        return EndStep(0, 0, ended, ending.code, ending.redirect)

    def _steps(self, slot: int | None, language: str) -> tuple[Step, ...]:
        planned = self._longest if slot is None else self._plan.by_number[slot]
        steps = list(self._unnumbered(planned, language))
        passed = 1 + max(
            (n for n, step in enumerate(steps, 1) if isinstance(step, ComprehensionStep)), default=0
        )
        numbered = (
            replace(step, number=number, of=len(steps) + 1) for number, step in enumerate(steps, start=1)
        )
        return tuple(
            replace(step, after=passed, last=step.number == passed - 1)
            if isinstance(step, ComprehensionStep)
            else step
            for step in numbered
        )

    def _unnumbered(self, slot: Slot, language: str) -> Iterator[Step]:
        section = self._plan.section
        if section.consent is not None:
            yield TextStep(0, 0, "consent", self._text("consent", language))
        if section.first_questions:
            yield QuestionsStep(0, 0, tuple(section.first_questions))
        yield from self._instructions(language)
        at_hand = self._at_hand(language)
        if slot.practice is not None:
            yield self._task(slot, slot.practice, 0, at_hand)
        yield from self._tasks(slot, at_hand)
        if section.last_questions:
            yield QuestionsStep(0, 0, tuple(section.last_questions))
        if section.debriefing is not None:
            text = self._text("debriefing", language)
            yield TextStep(0, 0, "debriefing", text, withdrawal=section.withdrawal)

    def _instructions(self, language: str) -> Iterator[Step]:
        """The instructions, and the questions about them once for each attempt."""
        section = self._plan.section
        if section.instructions is None:
            return
        text, comprehension = self._text("instructions", language), section.comprehension
        if comprehension is None:
            yield TextStep(0, 0, "instructions", text)
            return
        for attempt in range(comprehension.attempts):
            yield TextStep(0, 0, "instructions", text, repeated=attempt > 0)
            yield ComprehensionStep(0, 0, tuple(comprehension.questions), 0, False)

    def _at_hand(self, language: str) -> TextStep | None:
        """What people can open during tasks: the policy, else the instructions."""
        kind: TextKind = "policy" if self._plan.section.policy is not None else "instructions"
        if getattr(self._plan.section, kind) is None:
            return None
        return TextStep(0, 0, kind, self._text(kind, language))

    def _tasks(self, slot: Slot, at_hand: TextStep | None) -> Iterator[Step]:
        """Tasks, each attention check after so many of them, or after the last where there are fewer."""
        checks = self._plan.section.attention
        yield from (AttentionStep(0, 0, check) for check in checks if check.after == 0)
        for index, task in enumerate(slot.tasks, start=1):
            yield self._task(slot, task, index, at_hand)
            for check in checks:
                if min(check.after, len(slot.tasks)) == index:
                    yield AttentionStep(0, 0, check)

    def _task(self, slot: Slot, task: PlannedTask, index: int, at_hand: TextStep | None) -> TaskStep:
        displays = tuple(self._plan.shown.of(name) for name in task.subjects)
        following = slot.tasks[index].subjects if index < len(slot.tasks) else ()
        media = (self._plan.shown.of(name).media_name for name in following)
        ahead = tuple(name for name in media if name is not None)
        return TaskStep(0, 0, task, displays, index == 0, index, len(slot.tasks), ahead, at_hand)

    def _text(self, kind: TextKind, language: str) -> str:
        return self._texts.get((kind, language)) or self._texts[kind, ""]


def _texts(plan: PanelPlan) -> Iterator[tuple[tuple[str, str], str]]:
    """Texts by kind and language: NAME.LANGUAGE.md beside NAME.md is its translation."""
    for kind in TEXTS:
        name = getattr(plan.section, kind)
        if name is None:
            continue
        path = plan.study.folder / name
        yield (kind, ""), read_text(require_inside(path, plan.study.folder))
        for language in plan.section.languages:
            translated = path.with_name(f"{path.stem}.{language}{path.suffix}")
            if translated.is_file():
                yield (kind, language), read_text(require_inside(translated, plan.study.folder))
