"""Contradictions within the section ``panel`` of a study file."""

from __future__ import annotations

from collections.abc import Iterator

from .asking import Choice, Ratings
from .models import ItemStudy, Study
from .panel_section import (
    NOT_COLUMNS,
    AttentionCheck,
    FactualQuestion,
    PanelSection,
    Question,
    Quota,
    TaskQuestion,
    columns_of_question,
)
from .study_yaml import CHOICE_COLUMNS, Location, Problem, duplicates, missing_file

BASE: Location = ("panel",)
TEXTS = ("consent", "instructions", "policy", "debriefing")
WITH_OPTIONS = ("options", "several")
MEASUREMENTS = ("seconds", "focus_lost", "focus_lost_seconds", "panel", "attention_passed", "origin")


def panel_problems(study: Study | ItemStudy, section: PanelSection) -> Iterator[Problem]:
    """Find where the section contradicts itself, or names files or columns that are not there."""
    for field in TEXTS:
        yield from missing_file(study.folder, (*BASE, field), f"panel.{field}", getattr(section, field))
    yield from duplicates([check.id for check in section.attention], (*BASE, "attention"), "attention check")
    for number, check in enumerate(section.attention):
        yield from _right_answer(check, "attention check", (*BASE, "attention", number))
    yield from _comprehension(section)
    yield from _questions(section)
    yield from _task_questions(study, section)
    for number, quota in enumerate(section.quotas):
        yield from _quota(quota, section, (*BASE, "quotas", number))
        if quota.combination in [earlier.combination for earlier in section.quotas[:number]]:
            yield Problem((*BASE, "quotas", number), f"the quota for {quota.name} is given twice; keep one.")
    if section.withdrawal and section.debriefing is None:
        yield Problem(
            (*BASE, "withdrawal"),
            "panel.withdrawal: people withdraw on the page of the debriefing, and there is none; name its "
            "file in debriefing.",
        )
    recruiting = section.recruiting
    if recruiting.parameters and recruiting.person not in recruiting.parameters:
        yield Problem(
            (*BASE, "recruiting", "person"),
            f"'{recruiting.person}' is not among the parameters that are read; add it to parameters.",
        )


def _right_answer(check: AttentionCheck | FactualQuestion, what: str, at: Location) -> Iterator[Problem]:
    yield from duplicates([option.id for option in check.options], (*at, "options"), "option")
    if check.right not in [option.id for option in check.options]:
        yield Problem(
            (*at, "right"),
            f"{what} '{check.id}': the right answer '{check.right}' is none of its options; name one of "
            "them.",
        )


def _comprehension(section: PanelSection) -> Iterator[Problem]:
    if section.comprehension is None:
        return
    at = (*BASE, "comprehension")
    questions = section.comprehension.questions
    yield from duplicates([question.id for question in questions], (*at, "questions"), "question")
    for number, question in enumerate(questions):
        yield from _right_answer(question, "comprehension question", (*at, "questions", number))
    if section.instructions is None:
        yield Problem(
            at,
            "panel.comprehension: the questions are about the instructions, and there are none; name their "
            "file in instructions.",
        )


def _questions(section: PanelSection) -> Iterator[Problem]:
    at = (*BASE, "questions")
    yield from duplicates([question.id for question in section.questions], at, "question")
    columns: dict[str, str] = {}
    for number, question in enumerate(section.questions):
        yield from _question_problems(question, (*at, number))
        for column in columns_of_question(question):
            if columns.setdefault(column, question.id) != question.id:
                yield Problem(
                    (*at, number, "id"),
                    f"questions '{columns[column]}' and '{question.id}' both have the column '{column}'; "
                    "rename one of them or its option.",
                )


def _question_problems(question: Question, at: Location) -> Iterator[Problem]:
    for column in columns_of_question(question):
        if column in NOT_COLUMNS:
            yield Problem((*at, "id"), f"'{column}' is a column of respondents already; rename the question.")
    if (question.form in WITH_OPTIONS) != bool(question.options) or len(question.options) == 1:
        yield Problem(
            (*at, "options"),
            f"question '{question.id}': a question with form: options or several needs two options or more, "
            "and no other has options; correct them.",
        )
    yield from duplicates([option.id for option in question.options], (*at, "options"), "option")
    if question.groups and question.form != "number":
        yield Problem((*at, "groups"), f"question '{question.id}': only numbers have groups; remove them.")
    unknown = [name for name in question.screen_out if name not in [option.id for option in question.options]]
    if unknown or (question.screen_out and not question.first):
        yield Problem(
            (*at, "screen_out"),
            f"question '{question.id}': screen_out names options of a question with 'first: true'; "
            "correct it.",
        )


def _quota(quota: Quota, section: PanelSection, at: Location) -> Iterator[Problem]:
    single = (quota.question, quota.option)
    if (None in single and any(single)) or bool(quota.answers) == any(single):
        yield Problem(
            at,
            "a quota is about one answer (question and option) or about several together (answers: "
            "{QUESTION: OPTION, ...}); write one of both.",
        )
        return
    questions = {question.id: question for question in section.first_questions}
    for name, option in quota.combination.items():
        question = questions.get(name)
        if question is None or option not in [level.id for level in question.options]:
            yield Problem(
                at,
                f"quota for {name}={option}: there is no question with this option that is asked before the "
                "tasks; add it with 'first: true', or correct the quota.",
            )


def _task_questions(study: Study | ItemStudy, section: PanelSection) -> Iterator[Problem]:
    at = (*BASE, "task_questions")
    if section.task_questions and isinstance(study.response, Ratings):
        yield Problem(at, "a question about a rated item is a scale; add it to response.scales.")
        return
    yield from duplicates([question.id for question in section.task_questions], at, "question")
    columns = set(_answer_columns(study))
    for number, question in enumerate(section.task_questions):
        if question.id in columns:
            yield Problem(
                (*at, number, "id"), f"'{question.id}' is a column of answers already; rename the question."
            )
        yield from _options_of_task(study, question, (*at, number))


def _answer_columns(study: Study | ItemStudy) -> Iterator[str]:
    """Columns of choices, and dimensions of judgments, that the study has without further questions."""
    yield from (*CHOICE_COLUMNS, *MEASUREMENTS, "choice")
    if isinstance(study, Study):
        yield from (study.outcome, *study.features, *(part.id for part in study.stimuli))
        yield from (trait.id for trait in study.traits)
        yield from (*study.clusters.of("human"), *study.clusters.of("model"))
    else:
        yield from ("label", "line", *(scale.id for scale in study.scales), *study.label_sets)


def _options_of_task(study: Study | ItemStudy, question: TaskQuestion, at: Location) -> Iterator[Problem]:
    yield from duplicates([option.id for option in question.options], (*at, "options"), "option")
    if isinstance(study.response, Choice):
        if question.options:
            yield Problem(
                (*at, "options"),
                f"question '{question.id}': in a conjoint the two profiles are the answers; remove options.",
            )
    elif len(question.options) < 2:
        yield Problem(
            (*at, "options"),
            f"question '{question.id}': about an item there are no answers but those listed here; write two "
            "options or more.",
        )
