"""Text that a model writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..completion import Answer
from ..spec import Finding, Mass, ResponseSpec
from .names import Names, option_names
from .probabilities import first_token, masses, share, token_at
from .quoted import strict_object
from .verdicts import find_verdict


def whole(
    answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Sequence[str]
) -> list[Finding]:
    """Take the text as it is, without blanks around it."""
    return [Finding("text", answer.text.strip() or None)]


Shown = Sequence[str]


def strict(answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Shown) -> list[Finding]:
    """Read an option alone, or a JSON object that holds nothing but the key with an option."""
    text = answer.text.strip()
    held = strict_object(text, (response.json_key,))
    value = held[response.json_key] if held else text
    valid = isinstance(value, str) and value in response.options
    return [_with_probability(Finding("choice", value if valid else None), answer, response, order)]


def lenient(answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Shown) -> list[Finding]:
    """Read the one verdict of the answer, see :mod:`conjury.inference.parsing.values.verdicts`."""
    verdict = find_verdict(answer.text, _names(response), response.json_key, shown)
    return [_with_probability(Finding("choice", verdict.value, verdict.note), answer, response, order)]


def token(answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Shown) -> list[Finding]:
    """Read the first token, if the answer does not go on to say something else.

    The probability is that of the option shown first, ``P(first) / (P(first) + P(second))``, with
    tokens that differ in case or in a leading space summed; ``outside`` is the mass on neither.
    """
    names = _names(response)
    first = first_token(answer)
    if first is None:
        return [Finding("choice", None, "no log-probabilities came")]
    mass = _mass(first, names, order)
    word = first.get("token")
    value = names.word(str(word))
    if value is None:
        return [Finding("choice", None, f"the first token is {str(word)[:20]!r}", mass)]
    if names.bare(answer.text) != value:
        said = find_verdict(answer.text, names, response.json_key, shown)
        if said.value != value:
            note = said.note if said.value is None else f"the first token says {value}, the text {said.value}"
            return [Finding("choice", None, note, mass)]
    return [Finding("choice", value, mass=mass)]


def default(answer: Answer, response: ResponseSpec) -> str:
    """Name the rule that suits an answer: ``token`` if its first token is an option, else ``lenient``."""
    first = first_token(answer)
    named = first is not None and _names(response).word(str(first.get("token"))) is not None
    return "token" if named else "lenient"


def _names(response: ResponseSpec) -> Names:
    return option_names(response.options, response.noun)


def _mass(entry: Mapping[str, object], names: Names, order: Sequence[str]) -> Mass:
    return share(masses(entry, names.word), order[0])


def _with_probability(
    finding: Finding, answer: Answer, response: ResponseSpec, order: Sequence[str]
) -> Finding:
    names = _names(response)
    entry = token_at(answer, response.json_key) or first_token(answer)
    if finding.value is None or entry is None:
        return finding
    mass = _mass(entry, names, order)
    named = names.word(str(entry.get("token")))
    return replace(finding, mass=mass) if named == finding.value else finding
