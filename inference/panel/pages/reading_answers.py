"""What a page may be answered with: the fields of each step, checked against its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from ...study.asking import Choice, Label, LineLabels, Ratings
from ...study.models import ItemStudy, Study
from ...study.panel_section import SEVERAL, Question
from ...tables.schema import POSITIONS
from .steps import AttentionStep, ComprehensionStep, QuestionsStep, Step, TaskStep, TextStep

Reason = Literal["missing", "not_an_option", "not_a_number", "out_of_range", "too_long"]
LONGEST = 2_000  # characters of a text
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
Check = Callable[[str], Reason | None]


def line_field(number: int) -> str:
    """Name of the field of a line, which counts from 1."""
    return f"line_{number:04d}"


def read_answers(
    study: Study | ItemStudy, step: Step, fields: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Reason]]:
    """Return the answers to keep, and the reason why each field that is not right is not."""
    # Fields that the page does not have are dropped; those that may stay empty are absent where they are.
    answers: dict[str, str] = {}
    refused: dict[str, Reason] = {}
    for name, required, check in _fields(study, step):
        value = fields.get(name, "").strip()
        if not value:
            if required:
                refused[name] = "missing"
            continue
        reason = check(value)
        if reason is None:
            answers[name] = value
        else:
            refused[name] = reason
    return answers, refused


def _fields(study: Study | ItemStudy, step: Step) -> Iterator[tuple[str, bool, Check]]:
    if isinstance(step, TextStep):
        if step.kind == "consent":
            yield "consent", True, _option_check("yes", "no")
        elif step.withdrawal:
            yield "withdraw", True, _option_check("yes", "no")
    elif isinstance(step, TaskStep):
        yield from _fields_of_task(study, step)
    elif isinstance(step, AttentionStep):
        yield "answer", True, _option_check(*(option.id for option in step.check.options))
    elif isinstance(step, ComprehensionStep):
        for factual in step.questions:
            yield factual.id, True, _option_check(*(option.id for option in factual.options))
    elif isinstance(step, QuestionsStep):
        for question in step.questions:
            yield question.id, question.required, _question_check(question)


def _fields_of_task(study: Study | ItemStudy, step: TaskStep) -> Iterator[tuple[str, bool, Check]]:
    response = study.response
    if isinstance(response, Choice):
        yield "choice", True, _option_check(*POSITIONS)
    elif isinstance(response, Ratings):
        for scale in response.scales:
            yield scale.id, True, _number_check(scale.minimum, scale.maximum)
    elif isinstance(response, Label):
        yield "label", True, _option_check(*(label.id for label in response.labels))
    elif isinstance(response, LineLabels):
        for number in range(1, len(step.shown[0].lines) + 1):
            yield line_field(number), True, _option_check(*(label.id for label in response.labels))
    for question in () if study.panel is None else study.panel.task_questions:
        answers = [option.id for option in question.options] or POSITIONS
        yield question.id, True, _option_check(*answers)


def _question_check(question: Question) -> Check:
    if question.form == "options":
        return _option_check(*(option.id for option in question.options))
    if question.form == "several":
        return _several_check(*(option.id for option in question.options))
    if question.form == "number":
        return _number_check(question.minimum, question.maximum)
    return lambda value: "too_long" if len(value) > LONGEST else None


def _option_check(*options: str) -> Check:
    return lambda value: None if value in options else "not_an_option"


def _several_check(*options: str) -> Check:
    return lambda value: None if {*value.split(SEVERAL)} <= {*options} else "not_an_option"


def _number_check(minimum: int | None, maximum: int | None) -> Check:
    def check(value: str) -> Reason | None:
        if not WHOLE.fullmatch(value):
            return "not_a_number"
        low, high = minimum is not None and int(value) < minimum, maximum is not None and int(value) > maximum
        return "out_of_range" if low or high else None

    return check
