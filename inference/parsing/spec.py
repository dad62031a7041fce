"""Valid contents of an answer and the values parsed from it: the types of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InputError
from .finish_reasons import usual_reason

Form = Literal["choice", "ratings", "label", "line_labels", "text"]
Status = Literal["ok", "refused", "empty", "truncated", "unparsed", "error"]


@dataclass(frozen=True, slots=True)
class ScaleSpec:
    """One rating scale.

    Parameters
    ----------
    id : str
        Dimension of the rating.
    minimum, maximum : float
        Lowest and highest rating.
    label : str
        Name of the scale, which an answer may use in place of ``id``.
    whole : bool
        Whether ratings are whole numbers.

    Examples
    --------
    >>> ScaleSpec("funniness", minimum=1, maximum=5).maximum
    5
    """

    id: str
    minimum: float = 0
    maximum: float = 4
    label: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class LabelSpec:
    """One label that an answer may give.

    Parameters
    ----------
    id : str
        Identifier of the label.
    label : str
        Name of the label, which an answer may use in place of ``id``.
    aliases : tuple of str
        Other words that an answer may use for it.

    Examples
    --------
    >>> response = ResponseSpec("label", labels=(LabelSpec("harmful", aliases=("toxic",)), LabelSpec("safe")))
    >>> from conjury.inference.parsing import read_answer
    >>> [reading.value for reading in read_answer(Answer("Toxic."), response, {})]
    ['harmful']
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """The answer that was asked for.

    Parameters
    ----------
    form : {"choice", "ratings", "label", "line_labels", "text"}
        Form of the answer.
    options : tuple of str
        Names of the two options of a choice, as the question showed them.
    scales : tuple of ScaleSpec
        Scales of ratings, in the order of the question.
    labels : tuple of LabelSpec
        Labels that the answer may give, for the forms label and line_labels.
    lines : int
        How many lines were shown, where each line takes a label.
    key : str
        Key of the JSON answer; by default ``choice``, ``label`` or ``labels``.
    noun : str
        What a subject was called in the question; accepted before the name of an option ("Post A").
    further : tuple of str
        Other keys that the JSON answer was to have, such as one for the reasoning.
    surplus : bool
        Whether labels for lines beyond ``lines`` are read as well, each as a dimension of its own.
    question : str
        What was asked of a choice. Where it asks for the worse of two, "B is better" is a verdict for A;
        where it asks for neither the better nor the worse, such comparisons are not read. Without it, for
        the better.

    Examples
    --------
    >>> response = ResponseSpec("ratings", scales=(ScaleSpec("wit"), ScaleSpec("clarity")))
    >>> dimensions(response)
    ('wit', 'clarity')
    """

    form: Form
    options: tuple[str, ...] = ("A", "B")
    scales: tuple[ScaleSpec, ...] = ()
    labels: tuple[LabelSpec, ...] = ()
    lines: int = 0
    key: str = ""
    noun: str = ""
    further: tuple[str, ...] = ()
    surplus: bool = False
    question: str = ""

    @property
    def json_key(self) -> str:
        """The key of the verdict in a JSON answer."""
        return self.key or {"choice": "choice", "label": "label", "line_labels": "labels"}.get(self.form, "")


@dataclass(frozen=True, slots=True)
class Mass:
    """Probability that the token of the answer gave to what was read."""

    # share of the named value (of the first shown option of a choice) in the mass on all values
    probability: float | None = None
    # mass on tokens that are none of the values, as far as the listed tokens show
    outside: float | None = None
    # mean of a rating scale under the shares of its values
    expected: float | None = None
    # whether `probability` is a bound, since too few tokens are listed
    bound: bool = False


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule found for one dimension; ``value`` is None where it found nothing valid."""

    dimension: str
    value: str | float | None
    note: str = ""
    mass: Mass = Mass()
    given: int | None = None  # how many labels the answer has for lines


@dataclass(frozen=True, slots=True)
class Reading:
    """The value that a parsing rule finds in an answer, for one dimension.

    Parameters
    ----------
    dimension : str
        ``choice``, the id of a scale, ``label``, ``line_1`` and so on, or ``text``.
    value : str, float or None
        Name of the option, rating, id of the label, or the text. None unless the status is ok; a truncated
        text keeps what came.
    status : str
        "ok", or why there is no value: "refused", "empty", "truncated", "unparsed" or "error".
    probability : float or None
        Of the option shown first against the other, or of the value among all labels or ratings.
    rule : str
        The rule that read it, with its version: ``choice/token@2``.
    note : str
        What was repaired, or why nothing was read.
    outside : float or None
        Probability mass on none of the values.
    expected : float or None
        Mean rating under the probabilities of the scale's values.
    given : int or None
        How many labels the answer has, where each line takes one.

    Examples
    --------
    >>> from conjury.inference.parsing import read_answer
    >>> [reading] = read_answer(Answer("I cannot help with that."), ResponseSpec("choice"), {})
    >>> reading.dimension, reading.value, reading.status
    ('choice', None, 'refused')
    """

    dimension: str
    value: str | float | None
    status: Status
    probability: float | None
    rule: str
    note: str = ""
    outside: float | None = None
    expected: float | None = None
    given: int | None = None


def dimensions(response: ResponseSpec) -> tuple[str, ...]:
    """List the dimensions of an answer in the order of its readings.

    Parameters
    ----------
    response : ResponseSpec
        The answer that was asked for.

    Returns
    -------
    tuple of str
        ``choice``, ids of scales, ``label``, ``line_1, line_2`` and so on, or ``text``.

    Raises
    ------
    InputError
        If the form is not known.

    Examples
    --------
    >>> dimensions(ResponseSpec("line_labels", lines=2))
    ('line_1', 'line_2')
    """
    if response.form == "ratings":
        return tuple(scale.id for scale in response.scales)
    if response.form == "line_labels":
        lines = max(response.lines, 1) if response.surplus else response.lines
        return tuple(f"line_{number}" for number in range(1, lines + 1))
    if response.form not in ("choice", "label", "text"):
        raise InputError(
            f"response form '{response.form}' is not known; use choice, ratings, label, line_labels or text."
        )
    return (response.form,)


@dataclass(frozen=True, slots=True)
class Answer:
    """One model's answer.

    Parameters
    ----------
    text : str
        Content of the message without the reasoning in it (``<think>`` and similar marks).
    refusal : str
        The provider's own field for a refusal.
    finish_reason : str
        Why the answer ended, in the provider's word, such as "stop", "length" or "MAX_TOKENS".
    tokens : sequence of mapping
        Log-probabilities of the content's tokens, as received.
    model : str
        As the provider returned it.
    fingerprint : str
        The provider's name for the version and configuration that answered (``system_fingerprint``).
    prompt_tokens, completion_tokens : int or None
        Tokens of request and answer; None where they are not stated.
    error : str
        Why there is no answer; empty where there is one.
    reasoning : str
        Text of the model's reasoning that came apart from the content; it is never read as an answer.

    Examples
    --------
    >>> from conjury.inference.parsing import read_completion
    >>> answer = read_completion({"choices": [{"message": {"content": "<think>Hm.</think>B"}}]})
    >>> answer.text, answer.error
    ('B', '')
    """

    text: str = ""
    refusal: str = ""
    finish_reason: str = ""
    tokens: Sequence[Mapping[str, Any]] = ()
    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""
    reasoning: str = ""

    @property
    def ending(self) -> str:
        """Why the answer ended, in OpenAI's words: stop, length, content_filter, or another word."""
        return usual_reason(self.finish_reason)
