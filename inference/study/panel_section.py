"""The section ``panel``: how people take part in the browser, from the consent to the end page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..tables.limits import ITEMS, RESPONDENTS
from .asking import LabelLevel
from .study_yaml import Amount, Count, Identifier, Location, Part, Problem, Text, duplicates, missing_file

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
    """Name in tables, files and options: small letters, digits and _."""
    after: Count
    """Number of tasks after which it is shown."""
    text: Text
    """The question."""
    options: list[LabelLevel] = Field(min_length=2)
    """Its answers."""
    right: Identifier
    """The right answer."""


class Question(Part):
    """A background question, asked before the tasks or after them."""

    id: Identifier
    """Name in tables, files and options: small letters, digits and _."""
    label: Text
    """The question as it is asked."""
    form: Literal["options", "number", "text"] = "options"
    """Kind of the answer: one of the options, a whole number, or a short text."""
    options: list[LabelLevel] = Field(default_factory=list)
    """Answers to choose from."""
    minimum: int | None = None
    """Lowest number that is accepted."""
    maximum: int | None = None
    """Highest number that is accepted."""
    required: bool = True
    """Whether it has to be answered."""
    first: bool = False
    """Whether it is asked before the tasks."""
    screen_out: list[Identifier] = Field(default_factory=list)
    """Answers that end a participation before the tasks."""


class Quota(Part):
    """At most so many people who give this answer to a question that is asked before the tasks."""

    question: Identifier
    """A question that is asked before the tasks."""
    option: Identifier
    """One of its answers."""
    people: Annotated[Count, Field(le=RESPONDENTS)]
    """People with this answer, at most."""


class Pay(Part):
    """What one complete participation costs, the fee of a platform included."""

    amount: Amount
    """What one complete participation costs, the fee of a platform included."""
    currency: Text
    """Its currency, such as USD."""


class Ending(Part):
    """What an end page gives."""

    code: Text | None = None
    """Code that the page shows."""
    redirect: Address | None = None
    """Address to which a link on the page leads."""


class Recruiting(Part):
    """Parameters that are read from the address."""

    person: Parameter = "PROLIFIC_PID"
    """Parameter of the address that names the person."""
    parameters: list[Parameter] = Field(default=["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"])
    """Parameters that are read from the address."""
    required: bool = False
    """Whether people without them are turned away."""


class PanelSection(Part):
    """How people take part with ``conjury panel``."""

    people: Annotated[Count, Field(le=RESPONDENTS)] | None = None
    """Participations that are wanted; by default the respondents of the design, or of items as few as the
    assignment allows."""
    items: Annotated[Count, Field(le=ITEMS)] | None = None
    """Items that each person judges where the study has no assignment; all by default."""
    consent: Text | None = None
    """Markdown file next to the study file, shown first."""
    instructions: Text | None = None
    """Markdown file next to the study file, shown before the tasks."""
    practice: bool = True
    """Whether people practise with a pair of its own before the tasks of a conjoint."""
    practice_item: Text | None = None
    """Item for practice that is not among those judged."""
    attention: list[AttentionCheck] = Field(default_factory=list)
    """Attention checks between the tasks."""
    fail_limit: Count | None = None
    """Failed attention checks that end a participation."""
    questions: list[Question] = Field(default_factory=list)
    """Background questions, before or after the tasks."""
    quotas: list[Quota] = Field(default_factory=list)
    """Limits of people by answer."""
    minutes: Annotated[Count, Field(le=7 * 24 * 60)] = 60
    """Time after which the slot of a person who has not finished is given out again."""
    pay: Pay | None = None
    """What one complete participation costs."""
    completion: Ending = Ending()
    """Last page of people who finish."""
    screened_out: Ending = Ending()
    """Last page of people who are screened out."""
    full: Ending = Ending()
    """Page of people who come when no slot is free."""
    recruiting: Recruiting = Recruiting()
    """Parameters by which a platform names people."""
    languages: list[Language] = Field(default=["en"], min_length=1)
    """Languages of the pages, the first by default."""

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
    yield from duplicates([check.id for check in section.attention], (*base, "attention"), "attention check")
    yield from duplicates([question.id for question in section.questions], (*base, "questions"), "question")
    for number, check in enumerate(section.attention):
        if check.right not in [option.id for option in check.options]:
            yield Problem(
                (*base, "attention", number, "right"),
                f"attention check '{check.id}': the right answer '{check.right}' is none of its "
                "options; name one of them.",
            )
    for number, question in enumerate(section.questions):
        yield from _question_problems(question, (*base, "questions", number))
    questions = {question.id: question for question in section.first_questions}
    for number, quota in enumerate(section.quotas):
        quota_question = questions.get(quota.question)
        if quota_question is None or quota.option not in [option.id for option in quota_question.options]:
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
    unknown = [name for name in question.screen_out if name not in [option.id for option in question.options]]
    if unknown or (question.screen_out and not question.first):
        yield Problem(
            (*at, "screen_out"),
            f"question '{question.id}': screen_out names options of a question with 'first: true'; "
            "correct it.",
        )
