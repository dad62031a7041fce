r"""The verdict of an answer: a choice between two options, or free text.

Verdicts are looked for in what the answer says itself, not in what it quotes:

1. JSON objects that contain the key;
2. statements ("final answer: B", "I choose post A", ``\boxed{B}``), unless reported or conditional ("the
   post says: answer A", "if the answer is A"), on a line that is headed by a name, or naming several;
3. a name alone on the first or the last line, or at the start of the first line ("B. Because ...").

All that are found count. One that contradicts another leaves the answer unread: a verdict that was injected
must not win because it stands first, nor because it stands last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..tables.columns import fold, plain
from .option_names import ORNAMENT, TITLES, ValueNames, first_token, masses, option_names, share, token_at
from .quoted import DOUBLED, GAP, is_placeholder, records_with_key, strict_object, unquoted_content
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
    verdict = find_verdict(answer.text, _names(response), response.json_key, texts)
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
        verdict = find_verdict(answer.text, names, response.json_key, texts)
        if verdict.value != value:
            note = (
                verdict.note
                if verdict.value is None
                else f"the first token says {value}, the text {verdict.value}"
            )
            return [RuleFinding("choice", None, note, mass)]
    return [RuleFinding("choice", value, mass=mass)]


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


FALLBACK_KEYS = frozenset({"answer", "final answer"})
MARKED = (
    rf"{'|'.join(TITLES)}|selection|pick|conclusion|اختياري"
    r"|i(?:'d|'ll| would| will| must| have to)? (?:choose|select|pick|vote for|go with|opt for)"
    r"|elijo|escojo|selecciono|elegiria|اختار|\\boxed"
)
_LINK = r"(?:[\s\"'*_`]{1,4}(?:is|would be|will be|should be|must be|es|seria|هو|هي)\b)?"
_APART = r"(?:[\s:=>\"'*_`(\[{#|$]|-(?!\d)){1,12}"
_REASON = r"(?:because|since|as|over|for|due|instead|rather|porque|ya|لان)\b"
_END = rf"(?=[\s*_`\"')\]}}>|$]{{0,8}}(?:\Z|\n|[.,;:!<()|{GAP}-]|{_REASON}))"
_MORE = (
    r"[\s*_`\"')\]]{0,4}(?:[,/&|]|(?:or|and|nor|vs|if|when|unless|o|u|y|e|si|cuando|او|و|اذا)\b|\?)\s{0,3}"
)
_STRUCTURE = re.compile(r"[:={}\n\t]")
_TITLE = re.compile("|".join(TITLES))
_BEFORE = re.compile(
    r"(?:\b(?:if|whether|when|unless|wrong|incorrect|not|never|says?|said|saying|reads?|states?|stating|contains?"
    r"|containing|claims?|tells?|telling|told|instructs?|instructing|asks?|asked|demands?|writes?|wrote"
    r"|si|cuando|dice|pide|incorrecta|اذا|يقول|تقول)|n't)"
    r"\W{0,3}(?:(?:that|you|me|us|to|the|a|your|my|its|their|judges?|models?|reader|assistant|with|final|correct|only"
    r"|que|la|el)\W{1,3}){0,4}\Z"
)


@dataclass(frozen=True, eq=False, slots=True)
class _Patterns:
    statement: re.Pattern[str]
    heading: re.Pattern[str]
    opening: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """One value, or None with the reason."""

    value: str | None
    note: str = ""


@lru_cache(maxsize=256)
def _patterns(names: ValueNames, keys: frozenset[str]) -> _Patterns:
    marks = "|".join([MARKED, *(re.escape(key).replace(r"\ ", r"[\s_-]") for key in sorted(keys))])
    several = rf"(?!{_MORE}(?:{names.nouns})?{names.pattern})"
    unsure = r"(?![\s*_`\"')\]]{0,4}(?:\?|(?:if|when|unless|si|cuando|اذا)\b))"
    return _Patterns(
        statement=re.compile(
            rf"(?:{marks}){_LINK}{_APART}(?:\\?text\{{)?"
            rf"(?:(?:{names.nouns})(?P<called>{names.pattern})|(?P<name>{names.pattern}){_END}){several}{unsure}"
        ),
        heading=re.compile(
            rf"^[\s*_#(\[-]{{0,8}}{names.nouns}(?P<name>{names.pattern})[\s*_)\]]{{0,6}}(?:[:.)\]-]|$)",
            re.MULTILINE,
        ),
        opening=re.compile(
            rf"[\s*_#`\"'(\[]{{0,8}}(?:{names.nouns})?(?P<name>{names.pattern})"
            rf"(?=[*_`\"')\]]{{0,6}}(?:[.:;,)!\n]|\s?-\s|\s{_REASON}|\Z)){several}"
        ),
    )


def find_verdict(
    text: str, names: ValueNames, key: str, texts: Sequence[str] = (), first: bool = False
) -> ParsedValue:
    """Find the verdict of an answer."""
    value = None if text.lstrip().startswith("{") else names.bare(text)
    if value is not None:
        return ParsedValue(value, "" if value == text.strip() else "without what adorns the name")
    content = unquoted_content(text, lambda passage: _is_word(passage, names), texts)
    keys = frozenset({plain(key)})
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
    prose_values = (
        list(_verdicts_in_prose(fold(content.prose), names, keys | FALLBACK_KEYS)) if content.prose else []
    )
    if not pairs and prose_values:
        notes.append("read from a sentence")
    elif pairs and not content.pure:
        notes.append("JSON amid other text")
    return _agreed_verdict([*candidates, *prose_values], notes)


@lru_cache(maxsize=10_000)
def _holds_verdict(texts: tuple[str, ...], names: ValueNames, keys: frozenset[str]) -> bool:
    """Whether a judged text contains what could be read as a verdict."""
    return any(
        "{" in passage or any(_verdicts_in_prose(fold(passage), names, keys | FALLBACK_KEYS))
        for passage in texts
    )


def _in_broken_json(text: str, key: str, names: ValueNames) -> set[str | None]:
    """Values that stand behind the key in text that looks like JSON and cannot be decoded."""
    pairs = re.finditer(rf'"{re.escape(key)}"\s{{0,9}}:\s{{0,9}}"([^"\n]{{1,120}})"', text)
    return {names.bare(pair[1]) for pair in pairs if not is_placeholder(pair[1])}


def named_by(value: object, names: ValueNames) -> str | None:
    """Find the value that a JSON string or number names; None for anything else."""
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
    inside = passage.strip("\"'`“”«»„\u2039\u203a「」")
    if len(inside) > 60 or _STRUCTURE.search(inside):
        return False
    return " " not in inside or (names.bare(inside) is not None and not _TITLE.match(fold(inside)))


def _verdicts_in_prose(prose: str, names: ValueNames, keys: frozenset[str]) -> Iterator[str]:
    patterns = _patterns(names, keys)
    for statement in patterns.statement.finditer(prose):
        start = statement.start()
        if start and (prose[start - 1].isalnum() or prose[start - 1] in "-_"):
            continue
        line = prose.rfind("\n", 0, start) + 1
        heading = patterns.heading.match(prose, line)
        reported = _BEFORE.search(prose[max(line, start - 80) : start])
        if not reported and not (heading and heading.end() <= start):
            yield names.value(statement["called"] or statement["name"])
    yield from _verdicts_at_ends(prose, names, patterns)


def _verdicts_at_ends(prose: str, names: ValueNames, patterns: _Patterns) -> Iterator[str]:
    text = prose.strip()
    first, last = text.partition("\n")[0], text.rpartition("\n")[2]
    closing = names.bare(last)
    if closing is not None:
        yield closing
    opening = patterns.opening.match(first + "\n")
    if opening is not None:
        value = names.value(opening["name"])
        is_single = plain(first).strip(ORNAMENT) in names.values
        if is_single or not any(
            names.value(line["name"]) != value for line in patterns.heading.finditer(prose)
        ):
            yield value
