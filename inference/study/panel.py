"""The section ``panel``: how people take part in the browser, from the consent to the end page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..tables.limits import ITEMS, RESPONDENTS
from .asking import LabelLevel
from .base import Amount, Count, Identifier, Location, Part, Problem, Text, duplicates, missing_file

LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
PARAMETER = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
ADDRESS = r"^https?://[^\s<>\"']+$"
RESPONDENT_COLUMNS = (  # columns of respondents, before the answers to questions
    *("judge_id", "judge_kind", "panel", "slot", "state", "language", "started", "finished", "seconds"),
    *("tasks", "task_seconds", "focus_lost", "focus_lost_seconds", "device", "width", "height", "touch"),
    *("attention_passed", "attention_failed", "consistent", "straight"),
)
AFTER_ANSWERS = ("origin",)
FIELDED_COLUMNS = (  # the same of people who answered in another program
    *("judge_id", "judge_kind", "panel", "slot", "state", "started", "finished", "seconds", "tasks"),
    *("task_seconds", "attention_passed", "attention_failed", "consistent", "excluded"),
)
NOT_COLUMNS = {*RESPONDENT_COLUMNS, *AFTER_ANSWERS, *FIELDED_COLUMNS, "quota"}  # no ids of questions

Language = Annotated[str, Field(pattern=LANGUAGE)]
Parameter = Annotated[str, Field(pattern=PARAMETER)]
Address = Annotated[str, Field(pattern=ADDRESS)]


class AttentionCheck(Part):
    """A question with one right answer, shown after so many tasks."""

    id: Identifier
    after: Count
    text: Text
    options: list[LabelLevel] = Field(min_length=2)
    right: Identifier


class Question(Part):
    """A background question: one of its ``options``, a whole ``number``, or a short ``text``.

    With ``first`` it is asked before the tasks; who gives an answer in ``screen_out`` does not go on to them.
    """

    id: Identifier
    label: Text
    form: Literal["options", "number", "text"] = "options"
    options: list[LabelLevel] = Field(default_factory=list)
    minimum: int | None = None
    maximum: int | None = None
    required: bool = True
    first: bool = False
    screen_out: list[Identifier] = Field(default_factory=list)


class Quota(Part):
    """At most so many people who give this answer to a question that is asked before the tasks."""

    question: Identifier
    option: Identifier
    people: Annotated[Count, Field(le=RESPONDENTS)]


class Pay(Part):
    """What one complete participation costs, the fee of a platform included."""

    amount: Amount
    currency: Text


class Ending(Part):
    """What an end page gives: a code, and an address to which a link leads."""

    code: Text | None = None
    redirect: Address | None = None


class Recruiting(Part):
    """Parameters that are read from the address; ``person`` is the one that names the person."""

    person: Parameter = "PROLIFIC_PID"
    parameters: list[Parameter] = Field(default=["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"])
    required: bool = False


class PanelSection(Part):
    """How people take part with ``conjury panel``.

    ``people`` is the number of slots: of participations that are wanted; by default the respondents of the
    design, or of items as few as the assignment allows. ``items`` is how many items each person judges where
    the study has no assignment, all by default. ``consent`` and ``instructions`` are Markdown files next to
    the study file. ``practice_item`` is an item for practice that is not among those judged; a conjoint
    draws a pair of its own unless ``practice`` is false. ``fail_limit`` attention checks failed end a
    participation. A slot of a person who has not finished ``minutes`` after it was given is given out again.
    """

    people: Annotated[Count, Field(le=RESPONDENTS)] | None = None
    items: Annotated[Count, Field(le=ITEMS)] | None = None
    consent: Text | None = None
    instructions: Text | None = None
    practice: bool = True
    practice_item: Text | None = None
    attention: list[AttentionCheck] = Field(default_factory=list)
    fail_limit: Count | None = None
    questions: list[Question] = Field(default_factory=list)
    quotas: list[Quota] = Field(default_factory=list)
    minutes: Annotated[Count, Field(le=7 * 24 * 60)] = 60
    pay: Pay | None = None
    completion: Ending = Ending()
    screened_out: Ending = Ending()
    full: Ending = Ending()
    recruiting: Recruiting = Recruiting()
    languages: list[Language] = Field(default=["en"], min_length=1)

    @property
    def first_questions(self) -> list[Question]:
        """Questions asked before the tasks."""
        return [question for question in self.questions if question.first]

    @property
    def last_questions(self) -> list[Question]:
        """Questions asked after the tasks."""
        return [question for question in self.questions if not question.first]


def panel_problems(section: PanelSection, folder: Path) -> Iterator[Problem]:
    """Find where the section contradicts itself or names files that are not there."""
    base: Location = ("panel",)
    for field in ("consent", "instructions"):
        yield from missing_file(folder, (*base, field), f"panel.{field}", getattr(section, field))
    yield from duplicates([one.id for one in section.attention], (*base, "attention"), "attention check")
    yield from duplicates([one.id for one in section.questions], (*base, "questions"), "question")
    for number, check in enumerate(section.attention):
        if check.right not in [option.id for option in check.options]:
            yield Problem(
                (*base, "attention", number, "right"),
                f"attention check '{check.id}': the right answer '{check.right}' is none of its "
                "options; name one of them.",
            )
    for number, question in enumerate(section.questions):
        yield from _question_problems(question, (*base, "questions", number))
    known = {question.id: question for question in section.first_questions}
    for number, quota in enumerate(section.quotas):
        named = known.get(quota.question)
        if named is None or quota.option not in [option.id for option in named.options]:
            yield Problem(
                (*base, "quotas", number),
                f"quota for {quota.question}={quota.option}: there is no question with this option that "
                "is asked before the tasks; add it with 'first: true', or correct the quota.",
            )
    recruiting = section.recruiting
    if recruiting.parameters and recruiting.person not in recruiting.parameters:
        yield Problem(
            (*base, "recruiting", "person"),
            f"'{recruiting.person}' is not among the parameters that are read; add it to parameters.",
        )


def _question_problems(question: Question, at: Location) -> Iterator[Problem]:
    if question.id in NOT_COLUMNS:
        yield Problem(
            (*at, "id"), f"'{question.id}' is a column of respondents already; rename the question."
        )
    if (question.form == "options") != bool(question.options) or len(question.options) == 1:
        yield Problem(
            (*at, "options"),
            f"question '{question.id}': a question with form: options needs two options or more, and no "
            "other has options; correct them.",
        )
    yield from duplicates([option.id for option in question.options], (*at, "options"), "option")
    unknown = [name for name in question.screen_out if name not in [one.id for one in question.options]]
    if unknown or (question.screen_out and not question.first):
        yield Problem(
            (*at, "screen_out"),
            f"question '{question.id}': screen_out names options of a question with 'first: true'; "
            "correct it.",
        )
