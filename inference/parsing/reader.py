"""The forms of answers that a study asks for, and the rules by which they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..errors import InputError
from ..ledger import Answered
from ..study.asking import Choice, Label, LineLabels, Ratings, Response
from ..study.models import ItemStudy, Study
from . import Answer, LabelSpec, Reading, ResponseSpec, ScaleSpec, read_answer
from .spec import Form


def full_rules(study: Study | ItemStudy, rule: str) -> list[str]:
    """Name the rules in full by which the answers to prompts are read.

    Answers of a form for which there is no such rule are read by the default.
    """
    forms = dict.fromkeys(response.form for response in study.responses)
    named = {form: _rule_name(form, rule) for form in forms}
    if None in named.values() and not any(named.values()):
        _rule_name(study.response.form, rule, refuse=True)
    return [found or str(_rule_name(form, "default")) for form, found in named.items()]


def _rule_name(form: Form, rule: str, refuse: bool = False) -> str | None:
    try:
        return read_answer(Answer(), ResponseSpec(form, scales=(ScaleSpec("rating"),), lines=1), {}, rule)[
            0
        ].rule
    except InputError:
        if refuse:
            raise
        return None


def response_spec(response: Response, noun: str = "") -> ResponseSpec:
    """Say what a response form allows, as parsing rules take it; ``noun`` is what a subject is called."""
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


class AskedAnswers:
    """What each prompt of a study asked for, and the rule by which its answers are read."""

    def __init__(self, study: Study | ItemStudy, rule: str, lines: Callable[[str, str], int]) -> None:
        by_form = {name.partition("/")[0]: name for name in full_rules(study, rule)}
        noun = study.collect.noun
        self._own = self._form(study.response, noun, by_form, rule)
        self._prompts = {
            prompt.id: self._form(prompt.response or study.response, noun, by_form, rule)
            for prompt in study.prompts
        }
        self._lines = lines

    @staticmethod
    def _form(
        response: Response, noun: str, rules: Mapping[str, str], rule: str
    ) -> tuple[Response, ResponseSpec, str]:
        return response, response_spec(response, noun), rule if rule == "default" else rules[response.form]

    def read(
        self, answered: Answered, answer: Answer, texts: Sequence[str]
    ) -> tuple[int | None, list[tuple[str, Reading]]]:
        """Number of lines where each takes a label, and readings, each with the dimension of judgments."""
        response, spec, rule = self._prompts.get(answered.prompt_id, self._own)
        lines = None
        if isinstance(response, LineLabels):
            lines = self._lines(response.lines, answered.subject_id)
            spec = replace(spec, lines=lines)
        readings = read_answer(answer, spec, answered.arrangement, rule, texts)
        if isinstance(response, Label):
            return lines, [(response.id, reading) for reading in readings]
        return lines, [(reading.dimension, reading) for reading in readings]
