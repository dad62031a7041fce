"""Questions of a survey of Qualtrics: tasks, background questions, texts and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...study.asking import Choice
from ...study.panel_section import Question
from ...tables.schema import POSITIONS
from ..displayed_fields import SubjectDisplay
from ..plan import PanelPlan
from .task_html import (
    AnswerField,
    AnswerOption,
    answers_of,
    at_hand_of,
    codes_of,
    escaped,
    field_names,
    media_html,
    options_of,
)
from .task_segments import TIMING, TaskSegment, column_of_question

Json = dict[str, Any]


@dataclass
class SurveyQuestions:
    """Questions of a survey as they are added."""

    plan: PanelPlan
    media_url: str
    questions: list[Json] = field(default_factory=list)

    def task(
        self,
        before: str,
        note: str,
        columns: Sequence[Sequence[str]],
        required: bool,
        segment: TaskSegment | None = None,
    ) -> list[Json]:
        """Questions of one task, with the text of what is shown; ``before`` begins their names."""
        study = self.plan.study
        answers = answers_of(study)

        def name(id: str) -> str:
            return f"{before}{id}" if segment is None else segment.tag(id)

        table = table_of(columns, self.labels(), [option.label for option in answers[0].options])
        table = self.at_hand() + table
        if isinstance(study.response, Choice):
            text = f"{note}<p>{plain_text(study.question)}</p>{table}"
            questions = [self.answer(answers[0], name(answers[0].id), text, required)]
            questions += [
                self.answer(answer, name(answer.id), f"<p>{plain_text(answer.label)}</p>", required)
                for answer in answers[1:]
            ]
        elif len(answers) == 1:
            text = f"{note}{table}<p>{plain_text(study.question)}</p>"
            questions = [self.answer(answers[0], name(answers[0].id), text, required)]
        else:
            questions = [self.text(name("item"), f"{note}{table}<p>{plain_text(study.question)}</p>")]
            questions += [
                self.answer(answer, name(answer.id), f"<p>{plain_text(answer.label)}</p>", required)
                for answer in answers
            ]
        return questions if segment is None else [*questions, self._timing(name(TIMING))]

    def at_hand(self) -> str:
        """The policy or the instructions, which people can open above each task."""
        title, text = at_hand_of(self.plan)
        if not text:
            return ""
        return f"<details><summary>{plain_text(title)}</summary>{text.replace('$', '&#36;')}</details>"

    def labels(self) -> list[str]:
        """Labels of the fields of a profile or item, empty where a field needs none."""
        names = field_names(self.plan)
        media = [""] * (fields_across(self.plan) - len(names))
        alone = len(names) == 1 and not isinstance(self.plan.study.response, Choice)
        return [*media, *([""] if alone else names)]

    def answer(self, answer: AnswerField, tag: str, text: str, required: bool) -> Json:
        """A question with the options of an answer, or for a number."""
        if not answer.options:
            return self._entry_field(tag, text, (answer.minimum, answer.maximum), required)
        selector = "SAHR" if all(option.value.lstrip("-").isdigit() for option in answer.options) else "SAVR"
        return self.choice(tag, text, answer.options, required, selector)

    def choice(
        self,
        tag: str,
        text: str,
        options: Sequence[AnswerOption],
        required: bool = True,
        selector: str = "SAVR",
    ) -> Json:
        """A question with options."""
        order = [str(place) for place in range(1, len(options) + 1)]
        return self._add(
            tag,
            text,
            {
                "QuestionType": "MC",
                "Selector": selector,
                "SubSelector": "TX",
                "Choices": {
                    place: {"Display": plain_text(option.label)}
                    for place, option in zip(order, options, strict=True)
                },
                "ChoiceOrder": order,
                "RecodeValues": dict(zip(order, codes_of(options), strict=True)),
                "NextChoiceId": len(options) + 1,
            },
            {"Type": "None"},
            required,
        )

    def text(self, tag: str, text: str) -> Json:
        """A text without an answer."""
        return self._add(tag, text, {"QuestionType": "DB", "Selector": "TB"}, {"Type": "None"}, None)

    def _entry_field(self, tag: str, text: str, bounds: tuple[int, int] | None, required: bool) -> Json:
        checks: Json = {"Type": "None"}
        if bounds is not None:
            limits = {"Min": str(bounds[0]), "Max": str(bounds[1]), "NumDecimals": "0"}
            checks = {"Type": "ContentType", "ContentType": "ValidNumber", "ValidNumber": limits}
        return self._add(tag, text, {"QuestionType": "TE", "Selector": "SL"}, checks, required)

    def question(self, question: Question) -> Json:
        """A background question."""
        tag, text = column_of_question(question.id), f"<p>{plain_text(question.label)}</p>"
        if question.form == "options":
            return self.choice(tag, text, options_of(question.options), question.required)
        if question.form == "several":
            return self.choice(tag, text, options_of(question.options), question.required, "MAVR")
        low, high = question.minimum, question.maximum
        bounds = (-(10**9) if low is None else low, 10**9 if high is None else high)
        return self._entry_field(tag, text, bounds if question.form == "number" else None, question.required)

    def _timing(self, tag: str) -> Json:
        measured = ("First Click", "Last Click", "Page Submit", "Click Count")
        choices = {str(place): {"Display": name} for place, name in enumerate(measured, start=1)}
        content = {"QuestionType": "Timing", "Selector": "PageTimer", "Choices": choices}
        question = self._add(tag, "Timing", content, {"Type": "None"}, None)
        question["Configuration"] |= {"MinSeconds": "0", "MaxSeconds": "0"}
        return question

    def _add(self, tag: str, text: str, further: Json, checks: Json, required: bool | None) -> Json:
        """Add a question; ``required`` is None for what has no answer."""
        settings = dict(checks)
        if required is not None:
            settings |= {"ForceResponse": "ON" if required else "OFF", "ForceResponseType": "ON"}
        question: Json = {
            "QuestionText": text,
            "DefaultChoices": False,
            "DataExportTag": tag,
            "QuestionID": f"QID{len(self.questions) + 1}",
            "QuestionDescription": tag,
            "Configuration": {"QuestionDescriptionOption": "SpecifyLabel"},
            "Validation": {"Settings": settings},
            "GradingData": [],
            "Language": [],
            "NextChoiceId": 4,
            "NextAnswerId": 1,
            **further,
        }
        self.questions.append(question)
        return question


def plain_text(text: str) -> str:
    """Escape text, so that Qualtrics neither reads it as HTML nor fills in what is in ``${...}``."""
    return escaped(text).replace("$", "&#36;")


def piped_text(name: str) -> str:
    """Embedded data, as a text names them."""
    return f"${{e://Field/{name}}}"


def loop_field(place: int) -> str:
    """Field of the present row of Loop & Merge."""
    return f"${{lm://Field/{place}}}"


def fields_across(plan: PanelPlan) -> int:
    """Number of fields of a profile or item; a picture or clip is the first of them."""
    return len(field_names(plan)) + bool(plan.shown.files)


def values_of(display: SubjectDisplay, names: Sequence[str], survey: SurveyQuestions) -> list[str]:
    """What a profile or item shows, field by field, the picture or clip first."""
    values = dict(display.fields)
    media = []
    if survey.plan.shown.files:
        address = f"{survey.media_url.rstrip('/')}/{display.media_name}"
        media = [media_html(display, address, plain_text) if display.media_name is not None else ""]
    return [*media, *(plain_text(values.get(name, "")) for name in names)]


def table_of(columns: Sequence[Sequence[str]], labels: Sequence[str], options: Sequence[str]) -> str:
    """One column per profile or item, one row per field."""
    head = ""
    if len(columns) == len(POSITIONS):
        names = "".join(f'<th style="padding:6px">{plain_text(option)}</th>' for option in options)
        head = f"<tr><th></th>{names}</tr>"
    rows = "".join(
        f'<tr><th style="text-align:left;padding:6px;vertical-align:top">{plain_text(label)}</th>'
        + "".join(f'<td style="padding:6px;vertical-align:top">{side[place]}</td>' for side in columns)
        + "</tr>"
        for place, label in enumerate(labels)
    )
    return f"<table>{head}{rows}</table>"
