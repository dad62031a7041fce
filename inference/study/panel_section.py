"""The section ``panel``: how people take part in the browser, from the consent to the end page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ..tables.limits import ITEMS, RESPONDENTS
from .asking import LabelLevel
from .study_yaml import Amount, Count, Identifier, Part, Text

SEVERAL = ";"  # between the options of an answer that names several
LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
PARAMETER = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
ADDRESS = r"^https?://[^\s<>\"']+$"
RESPONDENT_COLUMNS = (  # columns of respondents, before the answers to questions
    *("judge_id", "judge_kind", "panel", "slot", "state", "language", "started", "finished", "seconds"),
    *("tasks", "task_seconds", "focus_lost", "focus_lost_seconds", "device", "width", "height", "touch"),
    *("attention_passed", "attention_failed", "comprehension_attempts", "consistent", "straight"),
)
AFTER_ANSWERS = ("origin",)
FIELDED_COLUMNS = (  # the same of people who answered in another program
    *("judge_id", "judge_kind", "panel", "slot", "state", "started", "finished", "seconds", "tasks"),
    *("task_seconds", "attention_passed", "attention_failed", "comprehension_attempts", "consistent"),
    "excluded",
)
NOT_COLUMNS = {*RESPONDENT_COLUMNS, *AFTER_ANSWERS, *FIELDED_COLUMNS, "quota"}  # no ids of questions

Language = Annotated[str, Field(pattern=LANGUAGE)]
Parameter = Annotated[str, Field(pattern=PARAMETER)]
Address = Annotated[str, Field(pattern=ADDRESS)]


class AttentionCheck(Part):
    """A question with one right answer, shown after so many tasks."""

    id: Identifier
    """Name in tables, files and options: small letters, digits and _."""
    after: Annotated[int, Field(ge=0)]
    """Number of tasks after which it is shown; 0 for before the first, a large number for after the last."""
    text: Text
    """The question."""
    options: list[LabelLevel] = Field(min_length=2)
    """Its answers."""
    right: Identifier
    """The right answer."""


class FactualQuestion(Part):
    """A question about the instructions, with one right answer."""

    id: Identifier
    """Name in tables, files and options: small letters, digits and _."""
    text: Text
    """The question."""
    options: list[LabelLevel] = Field(min_length=2)
    """Its answers."""
    right: Identifier
    """The right answer."""


class Comprehension(Part):
    """Questions about the instructions, asked on one page after them."""

    questions: list[FactualQuestion] = Field(min_length=1)
    """The questions; all have to be answered rightly at once."""
    attempts: Annotated[Count, Field(le=10)] = 2
    """Attempts, with the instructions before each; who fails the last cannot go on."""


class TaskQuestion(Part):
    """A further question about each task, on the same page as the study's question."""

    id: Identifier
    """Column of choices, or dimension of judgments, with its answers."""
    label: Text
    """Name in words, as figures and reports print it."""
    text: Text
    """The question as it is asked."""
    options: list[LabelLevel] = Field(default_factory=list)
    """Answers, of a study of items; in a conjoint the two profiles are the answers."""


class SmallestScreen(Part):
    """The smallest screen on which people can take part, in CSS pixels."""

    width: Annotated[Count, Field(le=100_000)]
    """Least width of the screen."""
    height: Annotated[Count, Field(le=100_000)]
    """Least height of the screen."""


class Question(Part):
    """A background question, asked before the tasks or after them."""

    id: Identifier
    """Name in tables, files and options: small letters, digits and _."""
    label: Text
    """The question as it is asked."""
    form: Literal["options", "several", "number", "text"] = "options"
    """Kind of the answer: one of the options, several of them, a whole number, or a short text."""
    options: list[LabelLevel] = Field(default_factory=list)
    """Answers to choose from."""
    minimum: int | None = None
    """Lowest number that is accepted."""
    maximum: int | None = None
    """Highest number that is accepted."""
    groups: list[int] = Field(default_factory=list, repr=False)
    """Lowest values of the groups in which the table of participants counts a number, such as 18, 25, 35."""
    required: bool = True
    """Whether it has to be answered."""
    first: bool = False
    """Whether it is asked before the tasks."""
    screen_out: list[Identifier] = Field(default_factory=list)
    """Answers that end a participation before the tasks."""


class Quota(Part):
    """At most so many people who give these answers to questions that are asked before the tasks."""

    question: Identifier | None = None
    """A question that is asked before the tasks."""
    option: Identifier | None = None
    """One of its answers."""
    answers: dict[Identifier, Identifier] = Field(default_factory=dict)
    """Several answers that a person gives together, as QUESTION: OPTION, in place of question and option."""
    people: Annotated[Count, Field(le=RESPONDENTS)]
    """People with these answers, at most."""

    @property
    def combination(self) -> dict[str, str]:
        """The option of each question that a person of this quota answers."""
        single = {} if self.question is None or self.option is None else {self.question: self.option}
        return {**single, **self.answers}

    @property
    def name(self) -> str:
        """The quota in words, as commands print it."""
        return ", ".join(f"{question} = {option}" for question, option in self.combination.items())


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
    title: Text | None = None
    """Title that people see, on pages and on platforms; by default the question. They never see the title of
    the study."""
    smallest_screen: SmallestScreen | None = None
    """Screen below which people are sent away when they arrive."""
    consent: Text | None = None
    """Markdown file next to the study file, shown first."""
    instructions: Text | None = None
    """Markdown file next to the study file, shown before the tasks."""
    policy: Text | None = None
    """Markdown file next to the study file that people can open during every task; by default the
    instructions."""
    comprehension: Comprehension | None = None
    """Questions about the instructions that have to be answered rightly."""
    task_questions: list[TaskQuestion] = Field(default_factory=list)
    """Further questions about each task, besides the study's question."""
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
    debriefing: Text | None = None
    """Markdown file next to the study file, shown after everything is answered: what the study is about, and
    where people find support."""
    withdrawal: bool = False
    """Whether people can withdraw after the debriefing, which deletes their answers."""
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
    failed: Ending = Ending()
    """Last page of people who fail attention checks or the questions about the instructions."""
    withdrawn: Ending = Ending()
    """Last page of people who withdraw."""
    small_screen: Ending = Ending()
    """Page of people whose screen is too small."""
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

    def ending(self, ended: str) -> Ending:
        """Return what the page of an end gives."""
        endings = {
            "finished": self.completion,
            "screened_out": self.screened_out,
            "full": self.full,
            "failed_checks": self.failed,
            "failed_comprehension": self.failed,
            "withdrawn": self.withdrawn,
            "small_screen": self.small_screen,
        }
        return endings.get(ended, Ending())


def columns_of_question(question: Question) -> Iterator[str]:
    """Columns of respondents with the answers to a background question: one, or one per option."""
    if question.form == "several":
        yield from (f"{question.id}_{option.id}" for option in question.options)
    else:
        yield question.id
