"""The rules by which answers are parsed, each with a name and a version, and the reader of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..errors import InputError
from ..study.asking import Choice, Label, LineLabels, Ratings, Response
from ..study.models import ItemStudy, Study
from . import label_rules, rating_rules
from . import verdicts as choice
from .finish_reasons import CUT, FAILED, FILTERED
from .sentences.refusals import refusal_phrase
from .spec import Answer, Form, LabelSpec, Reading, ResponseSpec, RuleFinding, ScaleSpec, Status, dimensions

BOUND = "the probability is a bound, since few tokens have one"
ALONE = "text in the field for reasoning only"


Reader = Callable[[Answer, ResponseSpec, Sequence[str], Sequence[str]], list[RuleFinding]]


@dataclass(frozen=True, slots=True)
class ParsingRule:
    """One way to read answers of one form; its version changes with what it reads."""

    form: str
    name: str
    version: int
    read: Reader
    sentence: str

    @property
    def full_name(self) -> str:
        """Form, name and version: ``choice/token@2``."""
        return f"{self.form}/{self.name}@{self.version}"


_LENIENT = (
    "taken from JSON, a statement or a name alone in what the answer says itself; what it quotes does not "
    "count, and contradicting verdicts are not read"
)
_PUBLISHED = "As the published evaluation of jokes had it"
_GREEDY = "the key of the JSON object from the first to the last curly bracket"
_FIRST = "the key of the first JSON object that can be decoded and holds it"
RULES = (
    ParsingRule(
        "choice",
        "token",
        2,
        choice.token,
        "The option is the first token of an answer that says nothing else, with its probability against "
        "the other option from the log-probabilities.",
    ),
    ParsingRule("choice", "lenient", 2, choice.lenient, f"The option is {_LENIENT}."),
    ParsingRule(
        "choice", "strict", 1, choice.strict, "The option stands alone or in JSON with nothing else."
    ),
    ParsingRule(
        "ratings",
        "lenient",
        2,
        rating_rules.lenient,
        "Ratings are numbers, fractions of the maximum or words for numbers, from JSON or named lines; "
        "those missing, out of range or contradicting are not read.",
    ),
    ParsingRule(
        "ratings",
        "strict",
        1,
        rating_rules.strict,
        "Ratings are numbers in range in a JSON object with exactly the scales, or, of a single scale, the "
        "number alone.",
    ),
    ParsingRule(
        "label",
        "lenient",
        3,
        label_rules.lenient,
        f"The label, or an alias of it, is {_LENIENT}; of several JSON objects the first counts where the "
        "judged text holds no verdict.",
    ),
    ParsingRule(
        "label",
        "strict",
        2,
        label_rules.strict,
        "The label, as the study spells it, stands alone or in JSON with exactly the keys asked for.",
    ),
    ParsingRule(
        "line_labels",
        "lenient",
        2,
        label_rules.lenient_line_labels,
        "Labels or aliases come as a JSON list, as numbered lines or as a bare list; lines without a label "
        "are not read, surplus labels are noted; of several lists that differ the first counts where the "
        "judged text holds none.",
    ),
    ParsingRule(
        "line_labels",
        "strict",
        2,
        label_rules.strict_line_labels,
        "Labels, as the study spells them, come as a list in a JSON object with exactly the keys asked for; "
        "lines without a label are not read, surplus labels are noted.",
    ),
    *(
        ParsingRule(form, name, 1, reader(extract, version), f"{_PUBLISHED}: {location}, {words}{merged}.")
        for form, reader, merged in (
            ("label", label_rules.label_by, ", similar types of jokes taken together"),
            ("line_labels", label_rules.line_labels_by, ", also for lines that were not shown"),
        )
        for name, extract, version, location, words in (
            ("published", label_rules.greedy, 2, _GREEDY, "in small letters"),
            ("published_v1", label_rules.greedy, 1, _GREEDY, "as it is written"),
            ("published_first", label_rules.first_object, 2, _FIRST, "in small letters"),
        )
    ),
    ParsingRule(
        "text", "whole", 1, choice.whole_answer, "The text is taken as it is, without blanks around it."
    ),
)
_BY_NAME = {each.full_name: each for each in RULES} | {f"{each.form}/{each.name}": each for each in RULES}
_ANY_FORM = ("strict", "lenient")


def rules(form: str | None = None) -> tuple[str, ...]:
    """List the full names of all parsing rules, or of those for one form of answer.

    Parameters
    ----------
    form : str, optional
        "choice", "ratings", "label", "line_labels" or "text"; by default all.

    Returns
    -------
    tuple of str
        Names with version, such as ``choice/token@2``.

    Examples
    --------
    >>> rules("choice")
    ('choice/token@2', 'choice/lenient@2', 'choice/strict@1')
    """
    return tuple(each.full_name for each in RULES if form in (None, each.form))


def explain(rule: str) -> str:
    """Describe a parsing rule in one sentence.

    Parameters
    ----------
    rule : str
        Full name of the rule.

    Returns
    -------
    str
        What the rule accepts.

    Raises
    ------
    InputError
        If there is no such rule.

    Examples
    --------
    >>> explain("choice/strict@1")
    'The option stands alone or in JSON with nothing else.'
    """
    if rule not in _BY_NAME:
        raise _unknown_rule(rule, None)
    return _BY_NAME[rule].sentence


def read_answer(
    answer: Answer,
    response: ResponseSpec,
    arrangement: Mapping[str, Any],
    rule: str = "default",
    shown: Sequence[str] = (),
) -> list[Reading]:
    """Parse one answer: one reading for every dimension, whatever the answer contains.

    Without a valid value the status is, in this order, ``error`` (no answer came), ``refused`` (the
    provider states so), ``empty``, ``refused`` (the answer starts with a phrase of the list), ``truncated``
    (the answer ended at its limit) or ``unparsed``. A valid value wins over all but the first two: an
    apology that is followed by a clear choice is a choice.

    Parameters
    ----------
    answer : Answer
        The answer, as `read_completion` returns it.
    response : ResponseSpec
        The answer that was asked for.
    arrangement : mapping
        What was drawn for the request; ``options``, if it is there, are the options in the order shown.
    rule : str
        ``default``, ``strict``, ``lenient``, ``token`` or a full name. The default is ``token`` for a choice
        whose first token is an option, ``whole`` for text, ``lenient`` for all else.
    shown : sequence of str
        The judged texts. What the answer repeats of them word for word is not read.

    Returns
    -------
    list of Reading
        One for each of `dimensions`, in their order.

    Raises
    ------
    InputError
        If there is no such rule for this form.

    Examples
    --------
    >>> [reading.value for reading in read_answer(Answer("**B**"), ResponseSpec("choice"), {})]
    ['B']
    """
    if rule == "default" and response.form == "choice":
        rule = choice.default_rule(answer, response)
    chosen = find_rule(response.form, rule)
    order = arrangement.get("options") or response.options
    status, note = _status_of_answer(answer)
    if status is not None:
        return [
            Reading(dimension, None, status, None, chosen.full_name, note)
            for dimension in dimensions(response)
        ]
    findings = chosen.read(answer, response, order, shown)
    cut = answer.ending == CUT
    status, note = "ok", ""
    if all(finding.value is None for finding in findings) or response.form == "text":
        phrase = refusal_phrase(answer.text)
        if phrase:
            status, note = "refused", f"starts with '{phrase}'"
        elif cut and response.form == "text":
            status, note = "truncated", "ended at the limit of tokens"
    return [_reading(finding, chosen.full_name, status, note, cut) for finding in findings]


def _reading(finding: RuleFinding, rule: str, status: Status, note: str, cut: bool) -> Reading:
    mass = finding.mass
    value = None if status == "refused" else finding.value
    if status == "ok" and value is None:
        status = "truncated" if cut else "unparsed"
    return Reading(
        finding.dimension,
        value,
        status,
        mass.probability,
        rule,
        "; ".join(filter(None, (note or finding.note, BOUND * mass.bound))),
        mass.outside,
        mass.expected,
        finding.given,
    )


def _status_of_answer(answer: Answer) -> tuple[Status | None, str]:
    if answer.error:
        return "error", answer.error
    if answer.ending == FAILED:
        return "error", f"the answer ended by '{answer.finish_reason[:40]}'"
    if answer.refusal:
        return "refused", "the provider's field for a refusal"
    if answer.ending == FILTERED:
        return "refused", "the provider's content filter"
    if not answer.text.strip():
        note = ALONE if answer.reasoning.strip() else ""
        if answer.ending == CUT:
            return "truncated", "; ".join(filter(None, ("no text before the limit of tokens", note)))
        return "empty", note
    return None, ""


@lru_cache(maxsize=256)
def find_rule(form: str, name: str) -> ParsingRule:
    """Return the rule of a form by its short or full name; InputError where there is none."""
    if name == "default" or (form == "text" and name in _ANY_FORM):
        name = "whole" if form == "text" else "lenient"
    rule = _BY_NAME.get(name if "/" in name else f"{form}/{name}")
    if rule is None or rule.form != form:
        raise _unknown_rule(name, form)
    return rule


def _unknown_rule(rule: str, form: str | None) -> InputError:
    return InputError(f"there is no rule '{rule}'; use one of {', '.join(rules(form) or rules())}.")


Parsed = tuple[int | None, list[tuple[str, Reading]]]


def full_rules(study: Study | ItemStudy, rule: str) -> list[str]:
    """Name the rules in full by which the answers to prompts are parsed."""
    # Answers of a form for which there is no such rule are parsed by the default.
    forms = dict.fromkeys(response.form for response in study.responses)
    rules_by_form = {form: _full_name(form, rule) for form in forms}
    if not any(rules_by_form.values()):
        find_rule(study.response.form, rule)
    return [name or find_rule(form, "default").full_name for form, name in rules_by_form.items()]


def _full_name(form: Form, rule: str) -> str | None:
    try:
        return find_rule(form, rule).full_name
    except InputError:
        return None


def response_spec(response: Response, noun: str = "", question: str = "") -> ResponseSpec:
    """Return the values that a response form allows; ``noun`` is the word for a subject."""
    if isinstance(response, Choice):
        return ResponseSpec("choice", options=tuple(response.options), noun=noun, question=question)
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
    """Parses answers to a study's prompts; ``lines`` counts the lines of a subject in a column."""

    # `surplus` accepts answers with more labels than lines, as `ResponseSpec` explains.

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
        self._study = self._expected(study.response, study, surplus)
        self._prompts = {
            prompt.id: self._expected(prompt.response or study.response, study, surplus)
            for prompt in study.prompts
        }

    @staticmethod
    def _expected(
        response: Response, study: Study | ItemStudy, surplus: bool
    ) -> tuple[Response, ResponseSpec]:
        spec = response_spec(response, study.collect.noun, study.question)
        return response, replace(spec, surplus=surplus)

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
        arrangement: Mapping[str, Any] | None = None,
    ) -> Parsed:
        """Return the number of lines where each takes a label, and parsed values with their dimensions."""
        response, spec = self._prompts.get(prompt_id, self._study)
        lines = None
        if isinstance(response, LineLabels):
            lines = self._lines(response.lines, subject_id)
            spec = replace(spec, lines=lines or 0)
        put = arrangement or {}
        if isinstance(response, Choice) and put.get("options", response.options) != response.options:
            spec = replace(spec, options=tuple(put["options"]))
        parsed = read_answer(answer, spec, put, self.rule(prompt_id), texts)
        if isinstance(response, Choice) and spec.options != tuple(response.options):
            study_options = dict(zip(spec.options, response.options, strict=True))
            parsed = [replace(reading, value=study_options.get(str(reading.value))) for reading in parsed]
        if isinstance(response, Label):
            return lines, [(response.id, value) for value in parsed]
        return lines, [(value.dimension, value) for value in parsed]
