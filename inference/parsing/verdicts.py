r"""The verdict of an answer: a choice between two options, or free text.

Verdicts are looked for in what the answer says itself, not in what it quotes:

1. JSON objects that contain the key;
2. statements ("final answer: B", "I choose post A", ``\boxed{B}``, "[[B]]"), unless reported or conditional
   ("the post says: answer A", "if the answer is A"), on a line that is headed by a name, or naming several;
3. a name alone on the first or the last line or in a paragraph, or at either end of the text ("B. Because
   ...");
4. of a choice, clauses that compare the options as `option_comparisons` understands them ("A is worse than
   B").

All that are found count. One that contradicts another leaves the answer unread: a verdict that was injected
must not win because it stands first, nor because it stands last. Only a correction that is announced as one
("Answer: A. No, wait: B") replaces what it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..tables.columns import fold, plain
from .answer_words import headings
from .finish_reasons import CUT
from .option_names import ValueNames, first_token, masses, option_names, share, token_at
from .quoted import (
    DOUBLED,
    is_placeholder,
    last_values,
    records_with_key,
    strict_object,
    text_of_correction,
    unquoted_content,
)
from .sentences.plain_prose import has_accent, plain_markup, plain_prose
from .sentences.statements import stated_values, statements_in
from .spec import Answer, Mass, ResponseSpec, RuleFinding


def whole_answer(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Take the text as it is, without blanks around it."""
    return [RuleFinding("text", answer.text.strip() or None)]


Shown = Sequence[str]


def strict(answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Shown) -> list[RuleFinding]:
    """Read an option alone, or a JSON object that contains nothing but the key with an option."""
    text = answer.text.strip()
    record = strict_object(text, (response.json_key,))
    value = record[response.json_key] if record else text
    valid = isinstance(value, str) and value in response.options
    return [_with_probability(RuleFinding("choice", value if valid else None), answer, response, order)]


def lenient(answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Shown) -> list[RuleFinding]:
    """Read the one verdict of the answer as the module describes."""
    verdict = find_verdict(
        answer.text, _names(response), response.json_key, texts, asks=response.question, cut=_is_cut(answer)
    )
    return [_with_probability(RuleFinding("choice", verdict.value, verdict.note), answer, response, order)]


def token(answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Shown) -> list[RuleFinding]:
    """Read the first token, if nothing else follows in the answer."""
    # The probability is that of the option shown first, `P(first) / (P(first) + P(second))`, with tokens that
    # differ in case or in a leading space summed; `outside` is the mass on neither.
    names = _names(response)
    first = first_token(answer)
    if first is None:
        return [RuleFinding("choice", None, "no log-probabilities came")]
    mass = _mass(first, names, order)
    word = first.get("token")
    value = names.word(str(word))
    if value is None:
        return [RuleFinding("choice", None, f"the first token is {str(word)[:20]!r}", mass)]
    if names.bare(answer.text) != value:
        verdict = find_verdict(
            answer.text, names, response.json_key, texts, asks=response.question, cut=_is_cut(answer)
        )
        if verdict.value != value:
            note = (
                verdict.note
                if verdict.value is None
                else f"the first token says {value}, the text {verdict.value}"
            )
            return [RuleFinding("choice", None, note, mass)]
    return [RuleFinding("choice", value, mass=mass)]


def _is_cut(answer: Answer) -> bool:
    return answer.ending == CUT


def default_rule(answer: Answer, response: ResponseSpec) -> str:
    """Name the rule that suits an answer: ``token`` if its first token is an option, else ``lenient``."""
    first = first_token(answer)
    is_option = first is not None and _names(response).word(str(first.get("token"))) is not None
    return "token" if is_option else "lenient"


def _names(response: ResponseSpec) -> ValueNames:
    return option_names(response.options, response.noun)


def _mass(entry: Mapping[str, object], names: ValueNames, order: Sequence[str]) -> Mass:
    return share(masses(entry, names.word), order[0], entry, len(order))


def _with_probability(
    finding: RuleFinding, answer: Answer, response: ResponseSpec, order: Sequence[str]
) -> RuleFinding:
    names = _names(response)
    entry = token_at(answer, response.json_key) or first_token(answer)
    if finding.value is None or entry is None:
        return finding
    mass = _mass(entry, names, order)
    value = names.word(str(entry.get("token")))
    return replace(finding, mass=mass) if value == finding.value else finding


VALUE_KEYS = ("value", "choice", "label", "answer", "verdict")  # of an object in place of a name
FALLBACK_KEYS = frozenset(
    {
        "answer",
        "final answer",
        "winner",
        "verdict",
        "final verdict",
        "decision",
        "choice",
        "label",
        "preference",
        "selection",
    }
    | {
        "classification",
        "category",
        "response",
        "result",
        "your choice",
        "your answer",
        "better",
        "better response",
        "better answer",
    }
)
_LISTED = re.compile(r"\A\(?(?:[A-Za-z]|\d{1,2})[).:]\s+(?=\w\w[^\n]*\Z)")  # "(a) sports", "3. science"
_STRUCTURE = re.compile(r"[:={}\n\t]")


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """One value, or None with the reason."""

    value: str | None
    note: str = ""


def find_verdict(
    text: str,
    names: ValueNames,
    key: str,
    texts: Sequence[str] = (),
    first: bool = False,
    asks: str | None = None,
    cut: bool = False,
) -> ParsedValue:
    """Find the verdict of an answer; with ``asks``, the question, also in comparisons of two options."""
    text = plain_markup(text) if "~~" in text or text.startswith("<") else text
    is_alone = not (text.lstrip().startswith("{") or has_accent(text, names))
    value = names.bare(text) or names.bare(_LISTED.sub("", text.strip())) if is_alone else None
    if value is not None:
        return ParsedValue(value, "" if value == text.strip() else "without what adorns the name")
    if _BOXES.match(text):
        return _ticked(text, names)
    if "{" in text and "}" not in text and text.count('"') % 2:
        text = text[: text.rfind('"')]  # what the cut may have shortened
    keys = frozenset({plain(key)})
    content = unquoted_content(text, lambda passage: _is_word(passage, names), texts, keys)
    content.values = last_values(content)
    pairs = list(records_with_key(content.values, keys)) or list(
        records_with_key(content.values, FALLBACK_KEYS)
    )
    if first:
        pairs = [(record, name) for record, name in pairs if not is_placeholder(record[name])]
        if pairs and texts and not _holds_verdict(tuple(texts), names, keys):
            pairs, content.prose = pairs[:1], ""
        if not pairs and len(_in_broken_json(content.text, key, names)) > 1:
            return ParsedValue(None, "contradicting verdicts in broken JSON")
    candidates: list[str | None] = []
    notes: list[str] = []
    for record, name in pairs:
        candidates.append(None if name in record.contradicted else named_by(record[name], names))
        notes += [DOUBLED] if name in record.doubled else []
    prose = plain_prose(content.prose, names)
    statements = stated_values(prose, names, keys | FALLBACK_KEYS, asks, cut)
    correction = text_of_correction(content)
    if pairs and correction:
        replacement = stated_values(plain_prose(correction, names), names, keys | FALLBACK_KEYS, asks, cut)
        candidates, statements = ([], replacement) if replacement.values else (candidates, statements)
    if not pairs and statements.values:
        notes.append("read from a sentence")
    elif pairs and not content.pure:
        notes.append("JSON amid other text")
    notes += ["corrected by the answer itself"] if statements.is_corrected else []
    if not candidates and not statements.values and statements.unclear:
        return ParsedValue(None, statements.unclear)
    return _agreed_verdict([*candidates, *statements.values], notes)


_BOX = r"[ \t]*[-*]?[ \t]*[\[(](?P<{0}>[xX\u2713\u2714 ]?)[\])][ \t]*(?P<{1}>[^\n]{{1,120}})"
_BOXES = re.compile(rf"\s*{_BOX.format('tick', 'name')}\n{_BOX.format('next_tick', 'next_name')}")
_EACH_BOX = re.compile(_BOX.format("tick", "name"))


def _ticked(text: str, names: ValueNames) -> ParsedValue:
    """Find the one value of a list whose box is ticked."""
    ticked = [names.bare(box["name"]) for box in _EACH_BOX.finditer(text) if box["tick"].strip()]
    is_one = len(ticked) == 1 and ticked[0] is not None
    return ParsedValue(
        ticked[0] if is_one else None, "the box that is ticked" if is_one else "not one ticked box"
    )


@lru_cache(maxsize=10_000)
def _holds_verdict(texts: tuple[str, ...], names: ValueNames, keys: frozenset[str]) -> bool:
    """Whether a judged text contains what could be read as a verdict."""
    return any(
        "{" in passage or any(statements_in(fold(passage), names, keys | FALLBACK_KEYS)) for passage in texts
    )


def _in_broken_json(text: str, key: str, names: ValueNames) -> set[str | None]:
    """Values that stand behind the key in text that looks like JSON and cannot be decoded."""
    pairs = re.finditer(rf'"{re.escape(key)}"\s{{0,9}}:\s{{0,9}}"([^"\n]{{1,120}})"', text)
    return {names.bare(pair[1]) for pair in pairs if not is_placeholder(pair[1])}


def named_by(value: object, names: ValueNames) -> str | None:
    """Find the value that a JSON string or number names; None for anything else."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        inner = [value[key] for key in VALUE_KEYS if key in value]
        if not inner and value and all(isinstance(mark, bool) for mark in value.values()):
            inner = [name for name, mark in value.items() if mark]  # each label with whether it applies
        value = inner[0] if len(inner) == 1 else None
    if isinstance(value, bool):
        return names.values.get("true" if value else "false")
    if isinstance(value, float) and value == value:
        value = f"{value:g}"
    return names.bare(value) if isinstance(value, str) else None


def _agreed_verdict(candidates: Sequence[str | None], notes: Sequence[str]) -> ParsedValue:
    if not candidates:
        return ParsedValue(None, "no verdict found")
    if None in candidates:
        return ParsedValue(None, "; ".join(dict.fromkeys([*notes, "the key holds no valid name"])))
    values = sorted({value for value in candidates if value is not None})
    if len(values) > 1:
        return ParsedValue(None, f"contradicting verdicts: {', '.join(values)}")
    return ParsedValue(values[0], "; ".join(dict.fromkeys(notes)))


def _is_word(passage: str, names: ValueNames) -> bool:
    inside = passage.strip("\"'`“”«»„\u2039\u203a「」『』")
    is_name = names.bare(inside) is not None
    if _STRUCTURE.search(inside) or (len(inside) > 60 and not is_name):
        return False
    if " " not in inside or plain(inside) in names.values:
        return True
    return is_name and not re.match(headings(), fold(inside))
