"""Parses the answers to each prompt of a study by one rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..errors import InputError
from ..study.asking import Choice, Label, LineLabels, Ratings, Response
from ..study.models import ItemStudy, Study
from . import Answer, LabelSpec, Reading, ResponseSpec, ScaleSpec, read_answer
from .rules import resolve
from .spec import Form

Parsed = tuple[int | None, list[tuple[str, Reading]]]


def full_rules(study: Study | ItemStudy, rule: str) -> list[str]:
    """Name the rules in full by which the answers to prompts are parsed.

    Answers of a form for which there is no such rule are parsed by the default.
    """
    forms = dict.fromkeys(response.form for response in study.responses)
    named = {form: _full_name(form, rule) for form in forms}
    if not any(named.values()):
        resolve(study.response.form, rule)
    return [name or resolve(form, "default").full_name for form, name in named.items()]


def _full_name(form: Form, rule: str) -> str | None:
    try:
        return resolve(form, rule).full_name
    except InputError:
        return None


def response_spec(response: Response, noun: str = "") -> ResponseSpec:
    """Return the values that a response form allows; ``noun`` is the word for a subject."""
    if isinstance(response, Choice):
        return ResponseSpec("choice", options=tuple(response.options), noun=noun)
    if isinstance(response, Ratings):
        scales = (ScaleSpec(scale.id, scale.minimum, scale.maximum, scale.label) for scale in response.scales)
        return ResponseSpec("ratings", scales=tuple(scales), noun=noun)
    if isinstance(response, Label | LineLabels):
        labels = (LabelSpec(label.id, label.label, tuple(label.aliases)) for label in response.labels)
        further = () if response.reasoning is None else (response.reasoning,)
        return ResponseSpec(
            response.form, labels=tuple(labels), key=response.json_key, noun=noun, further=further
        )
    return ResponseSpec("text")


class AnswerReader:
    """Parses answers to a study's prompts; ``lines`` counts the lines of a subject in a column.

    ``surplus`` accepts answers with more labels than lines, as `ResponseSpec` explains.
    """

    def __init__(
        self,
        study: Study | ItemStudy,
        rule: str,
        lines: Callable[[str, str], int | None],
        surplus: bool = False,
    ) -> None:
        self._rules = {name.partition("/")[0]: name for name in full_rules(study, rule)}
        self._default = rule == "default"
        self._lines = lines
        self._study = self._expected(study.response, study.collect.noun, surplus)
        self._prompts = {
            prompt.id: self._expected(prompt.response or study.response, study.collect.noun, surplus)
            for prompt in study.prompts
        }

    @staticmethod
    def _expected(response: Response, noun: str, surplus: bool) -> tuple[Response, ResponseSpec]:
        return response, replace(response_spec(response, noun), surplus=surplus)

    def rule(self, prompt_id: str) -> str:
        """Return the rule of a prompt's answers."""
        response, _ = self._prompts.get(prompt_id, self._study)
        return "default" if self._default else self._rules[response.form]

    def parse(
        self,
        prompt_id: str,
        subject_id: str,
        answer: Answer,
        texts: Sequence[str] = (),
        arrangement: Mapping[str, str] | None = None,
    ) -> Parsed:
        """Return the number of lines where each takes a label, and parsed values with their dimensions."""
        response, spec = self._prompts.get(prompt_id, self._study)
        lines = None
        if isinstance(response, LineLabels):
            lines = self._lines(response.lines, subject_id)
            spec = replace(spec, lines=lines or 0)
        parsed = read_answer(answer, spec, arrangement or {}, self.rule(prompt_id), texts)
        if isinstance(response, Label):
            return lines, [(response.id, value) for value in parsed]
        return lines, [(value.dimension, value) for value in parsed]
