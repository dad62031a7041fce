"""The values that the prose of an answer states: headings and verbs before a name, names alone, comparisons.

What is reported, denied, asked or conditional states nothing; a correction that is announced as one replaces
what it corrects, and one that is not understood leaves the answer unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...tables.columns import fold, fold_beside, plain
from ..answer_words import (
    UNSPACED,
    WORD_END,
    alternatives,
    answer_words,
    headings,
    is_unspaced,
    name_places,
    spelled_words,
    words_before,
    words_of,
)
from ..option_comparisons import NOT_UNDERSTOOD, ComparisonFindings, compared_options
from ..option_names import LONGEST_NAME, ORNAMENT, ValueNames
from ..quoted import GAP
from .statement_patterns import CORRECTION, OR, REASON, StatementPatterns, inflected_names, statement_patterns

_REPORTED_TO = (
    r"[^\w.!?;\n]{0,3}(?:(?:that|you|me|us|to|the|a|your|my|its|their|judges?|models?|reader|assistant"
    r"|with|final|correct|only)[^\w.!?;\n]{1,3}){0,4}"
)
_ALSO_BEFORE = (
    r"worse|worst|weaker|weakest|inferior|poorer|second|losing|other|rejected|wrong|incorrect"
    r"|example|sample|default|possible|previous"
    r"|schlechtere|schwachere|pire|moins bonne|pior|peor|peggiore|slechtere|gorsza|slabsza|худшии|samre"
)
_BAD = "(?:较差的?|更差的?|差的|悪い|劣る|나쁜)"


@dataclass(frozen=True, slots=True)
class Statement:
    """A value that the text states, with its place."""

    start: int
    end: int
    value: str


_ENDING = " .!*_)\n\t"
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|depending|depends|otherwise|as long as|on condition|wenn|falls"
    r"|sofern|si|se|indien|jesli|если|takdirde|jika)\b|如果|もし|なら|만약|اذا"
)
_RETRACTION = re.compile(
    r"\b(?:no longer sure|take (?:that|it|this) back|on (?:second thoughts?|reflection)"
    r"|correction|i meant|hold on|wait(?=[,.!]|\s(?!until|till|for|to|before))|scratch that|i was wrong|chang(?:e|ed|ing) my mind"
    r"|i revise|revised|update|let me reconsider|sorry, i)"
)


@lru_cache(maxsize=256)
def _other_name(names: ValueNames) -> re.Pattern[str]:
    """Pattern of a further name behind a verdict: "A, I think. Or maybe B."."""
    return re.compile(
        rf"[.!?;\n\u2026-]\s{{0,3}}(?:or|oder|ou|o|of|lub|или|eller|atau)\s(?:maybe\s|perhaps\s|possibly\s|rather\s|even\s|is it\s|should it be\s)?(?:{names.nouns})?{names.pattern}(?!\w)"
    )


@lru_cache(maxsize=1)
def _retracting() -> re.Pattern[str]:
    """Pattern of sentences that take back what stands before them."""
    phrases = "|".join(words_of("retracts"))
    return re.compile(
        rf"(?:[.!?\n;:,\u2026(\u3002-]|{UNSPACED})[\W]{{0,4}}(?:\w{{1,6}}\W{{1,2}}){{0,3}}(?:{phrases}){WORD_END}"
    )


@lru_cache(maxsize=1)
def _reported() -> re.Pattern[str]:
    """Pattern of words behind which a statement is reported, denied or conditional."""
    by_language = {
        language: list(map(fold, entry.get("say", ()))) for language, entry in answer_words().items()
    }
    english = alternatives(by_language.pop("en"))
    words = [word for each in by_language.values() for word in each]
    spaced = alternatives(word for word in words if not is_unspaced(word[-1]))
    unspaced = "|".join(re.escape(word) for word in words if is_unspaced(word[-1]))
    return re.compile(
        rf"(?:(?:{english}|n't){_REPORTED_TO}"
        rf"|(?:{spaced})[\s:]{{1,3}}(?:\w{{1,4}}[\s']){{0,2}}|(?:{unspaced})"
        rf"|\b(?:{_ALSO_BEFORE})\s(?:and\s\w+\s)?|{fold(_BAD)})\Z"
    )


@dataclass(frozen=True, slots=True)
class StatedValues:
    """The values that prose states, each once; whether it corrects one, and why it may be unclear."""

    values: list[str]
    is_corrected: bool = False
    unclear: str = ""


def stated_values(
    prose: str, names: ValueNames, keys: frozenset[str], asks: str | None, cut: bool = False
) -> StatedValues:
    """Find the values that prose states, without those that it corrects."""
    folded, letters = fold_beside(prose)
    statements = list(statements_in(folded, names, keys, cut, fold(asks or "")))
    compared = ComparisonFindings() if asks is None else compared_options(folded, letters, names, asks)
    statements += [Statement(*verdict) for verdict in compared.verdicts]
    statements.sort(key=lambda statement: (statement.start, statement.end))
    values: list[str] = []
    is_corrected, end = False, 0
    for statement in statements:
        between = re.sub(rf"{names.pattern}\W*\Z", "", folded[max(end - 1, 0) : statement.end])
        differs = bool(values) and statement.value != values[-1] and len(set(values)) == 1
        if differs and len(between) < 200 and CORRECTION.search(between):
            values, is_corrected = [], True
        values.append(statement.value)
        end = max(end, statement.end)
    if values and (
        _RETRACTION.search(folded, end)
        or _other_name(names).search(folded, end - 1)
        or _retracting().search(folded, end - 1)
    ):
        return StatedValues(
            [], unclear="a verdict that the answer takes back, and no other that is understood"
        )
    return StatedValues(list(dict.fromkeys(values)), is_corrected, NOT_UNDERSTOOD if compared.unclear else "")


def statements_in(
    prose: str, names: ValueNames, keys: frozenset[str], cut: bool = False, question: str = ""
) -> Iterator[Statement]:
    """Yield what folded prose states by headings, verbs and names alone."""
    patterns = statement_patterns(names, keys)
    before = words_before(prose, name_places(prose, patterns.ended))
    for statement in patterns.statement.finditer(prose, before):
        start = statement.start()
        if start and (
            prose[start - 1] in "-_" or (prose[start - 1].isalnum() and not is_unspaced(prose[start]))
        ):
            continue
        line = prose.rfind("\n", 0, start) + 1
        heading = patterns.heading.match(prose, line)
        heading = None if heading and ":" in prose[line : heading.start("name")] else heading
        reported = _reported().search(prose[max(line, start - 80) : start])
        if "would" in statement.group() and _CONDITION.search(_SENTENCE_END.split(prose[line:start])[-1]):
            continue
        is_framed = statement["boxed"] or statement["marked"] or statement["tagged"]
        if is_framed and _ALSO_FRAMED.search(prose, 0, start):
            continue
        if _is_conditional(prose, statement.end()) if is_framed else _goes_on(prose, statement.end(), names):
            continue
        if not reported and not (heading and heading.end() <= start):
            yield Statement(start, statement.end(), names.value(statement["name"]))
    for statement in patterns.corrected.finditer(prose, before):
        name = statement["name"] or statement["changed"] or statement["updated"]
        yield Statement(statement.start(), statement.end(), names.value(name))
    for statement in patterns.sentence.finditer(prose, before):
        at_end = not prose[: statement.start()].strip() or not prose[statement.end() :].strip(_ENDING)
        called = statement["called"] or statement["marked"]
        if (at_end or called) and not _goes_on(prose, statement.end(), names):
            yield Statement(statement.start(), statement.end(), names.value(statement["name"] or called))
    for statement in patterns.verb.finditer(prose) if patterns.verb else ():
        if not _goes_on(prose, statement.end(), names):
            name = statement["said"] or inflected_names(names)[statement["verb"]]
            yield Statement(statement.start(), statement.end(), names.value(name))
    yield from _at_ends(prose, names, patterns, cut, question)


_SENTENCE_END = re.compile(r"[.!?;]\s")
_ALSO_FRAMED = re.compile(rf"(?:\]\]|\}}\$?|>)\s?(?:,|/|{OR})\s?\Z")  # a verdict in a frame, and another one
_LIMITS = re.compile(
    rf"[.!?;:\n({GAP}\u3002]|\s-\s|,?\s?(?:\b(?:but|while|whereas|although|though|not|than|over"
    rf"|instead|rather)\b|(?!for\b)(?:{REASON}))"
)


def _is_conditional(prose: str, end: int) -> bool:
    """Whether the clause behind a verdict in a frame sets a condition."""
    limit = _LIMITS.search(prose, end)
    return _CONDITION.search(prose, end, limit.start() if limit else len(prose)) is not None


def _goes_on(prose: str, end: int, names: ValueNames) -> bool:
    """Whether the clause behind a statement names another value or sets a condition, so that it states neither."""
    limit = _LIMITS.search(prose, end)
    behind = prose[end : limit.start() if limit else len(prose)][:200]
    return bool(re.search(rf"(?<!\w){names.pattern}", behind) or _CONDITION.search(behind))


_PARAGRAPH = re.compile(
    r"(?<=\n)(?<!\S\n)[^\S\n]*\S[^\n]{0,120}(?=\n[^\S\n]*\n)"
)  # one line between blank ones


def _at_ends(
    prose: str, names: ValueNames, patterns: StatementPatterns, cut: bool, question: str
) -> Iterator[Statement]:
    """Yield names alone, on lines of their own, and at the beginning and the end of the text."""
    start = len(prose) - len(prose.lstrip())
    text = prose.strip()
    lines = [line for line in text.split("\n") if line.strip(ORNAMENT)] or [text]
    short = [line for line in lines if len(line) <= LONGEST_NAME]
    alone = {value for line in short if (value := names.values.get(plain(line.strip(ORNAMENT)))) is not None}
    if len(alone) > 1:  # headings of a comparison, or two verdicts
        for value in sorted(alone):
            yield Statement(start, start, value)
    closing = names.bare(lines[-1])
    if closing is not None and not lines[-1].rstrip("*_ \t").endswith(":"):
        at = prose.rfind(lines[-1])
        yield Statement(at, at + len(lines[-1]), closing)
    elif not cut:
        yield from _closing(text, start, names, patterns, question)
    for paragraph in _PARAGRAPH.finditer(text):
        value = names.values.get(plain(paragraph.group().strip(ORNAMENT)))
        if value is not None:
            yield Statement(start + paragraph.start(), start + paragraph.end(), value)
    word = _FIRST_WORD.match(text) if "yes" in names.values else None
    if word is not None and word["word"] not in names.values and (value := names.familiar(word["word"])):
        yield Statement(start, start + word.end(), value)
    opening = patterns.opening.match(lines[0] + "\n")
    if opening is not None and not _is_heading(opening, lines, text, names, patterns):
        yield Statement(start, start + opening.end(), names.value(opening["name"]))


_FIRST_WORD = re.compile(r"\W{0,4}(?P<word>\w[^\s.,!:;]{0,12}?)[,.!;\u3001\u060c\u3002]")


def _closing(
    text: str, start: int, names: ValueNames, patterns: StatementPatterns, question: str
) -> Iterator[Statement]:
    """Yield the name with which a text ends, as a sentence or behind a colon."""
    tail = text[-160:]
    for closing in patterns.closing.finditer(tail):
        if len(tail) < len(text) and closing.start() == 0:
            continue
        is_cut_off = closing["lead"] == "." and not re.search(r"[.!\u3002*]\W*\Z", closing.group())
        if is_cut_off and re.search(rf"{names.nouns}\Z", tail[closing.end("lead") : closing.start("name")]):
            continue  # the beginning of a sentence that does not end
        if closing["order"] and question and closing["order"] not in question:
            continue  # "keep A" where the question asks what to remove
        before = re.split(r"[.!?;\n]", tail[: closing.start("lead")])[-1]
        colon = closing["lead"] in (":", "\uff1a", "\u2192", " -", ",", "\u3001")
        if colon and (
            _DENYING.search(before) or (closing["lead"] in ",\u3001" and not _FORCED.search(before))
        ):
            continue
        if (
            closing["lead"] in ":\uff1a"
            and len(re.findall(rf":\s*{names.pattern}\W*$", text, re.MULTILINE)) > 1
        ):
            continue
        if closing["lead"] in ":\uff1a" and len(closing["name"]) == 1 and _heads_something_else(before):
            continue
        if closing["lead"] in ":\uff1a" and _reported().search(before + " "):
            continue
        if closing["lead"] in ":\uff1a" and closing["name"].isdigit():
            called = re.search(r"\w", tail[closing.end("lead") : closing.start("name")])
            if not (called or re.search(rf"{names.nouns}\Z", before + ":")):
                continue  # "confidence: 2" is a number of something else
        at = start + len(text) - len(tail)
        yield Statement(at + closing.start(), at + closing.end(), names.value(closing["name"]))
        return


def _heads_something_else(heading: str) -> bool:
    """Whether a heading of few words has none that a verdict may follow ("blood type: A")."""
    words = re.findall(r"[^\W\d_]+", heading)
    return 0 < len(words) <= 3 and _words_of_headings().isdisjoint(words)


@lru_cache(maxsize=1)
def _words_of_headings() -> frozenset[str]:
    """Words of which the heading of a verdict has at least one."""
    slots = ("headings", "better", "best", "open", "is", "things", "say", "after")
    return frozenset(word for words in words_of(*slots) for word in spelled_words(words)) | _PERSONAL


_PERSONAL = frozenset(
    {
        "vote",
        "choose",
        "choosing",
        "pick",
        "picking",
        "i",
        "mine",
        "me",
        "us",
        "then",
        "which",
        "say",
        "it",
        "that",
        "this",
        "them",
        "these",
    }
)
_FORCED = re.compile(
    r"\b(?:if|since) (?:i|you|one|we) (?:had|have|must|insist|need)|\bforced\b|\bpressed\b|so\Z"
    r"|\boverall|therefore\b|though\Z|\bhands down|without (?:a )?doubt|\bno (?:question|contest)|\ball (?:things considered|told)"
    r"|\btaken together|\bin the end|\bin my (?:opinion|view|judge?ment)|\b(?:in|on) (?:reflection|balance|the whole|sum|short)"
)
_DENYING = re.compile(
    r"\b(?:not|never|no|less|least|worse|worst|weaker|weakest|loser|rejected|against|without"
    r"|except|missing|unlike|options?|labels|choices|between|either|both|or|and|if|example|versus"
    r"|vs"
    r"|says?|said|claims?|reads|asks?|texts?|posts?|only in|(?:second|2nd|last)(?: (?:place|choice|best))?)\W*\Z|\b(?:worse|worst|weaker|weakest|less|least"
    r"|loser|losing|inferior|secondary|runner-up|rejected|discarded|eliminated|excluded|disqualified|options|labels)\b"
)


def _is_heading(
    opening: re.Match[str], lines: Sequence[str], text: str, names: ValueNames, patterns: StatementPatterns
) -> bool:
    """Whether the name at the beginning of a text heads a part of it, or takes part in a longer sentence."""
    value = names.value(opening["name"])
    first = lines[0]
    if re.fullmatch(r"[^.!;]*\?\s*", first) and len(lines) == 1:
        return True  # "A over B?"
    first_name = plain(first).strip(ORNAMENT)
    if len(first) > 2 and first.rstrip("*_ \t").endswith(":"):
        return True
    if first[opening.end() :].startswith(" for ") and re.search(
        rf"(?<!\w){names.pattern}", first[opening.end() :]
    ):
        return True  # "harmless for one, harmful for another"
    if first_name in names.values and len(lines) == 1:
        return False
    sign = first[opening.end() :].lstrip("*_`\"')]")[:1]
    called = plain(first[: opening.end()].strip(ORNAMENT))
    if sign == ":" and (opening["noun"] or re.fullmatch(headings(), opening["name"])):
        return (
            called not in names.values
            or any(names.value(line["name"]) != value for line in patterns.heading.finditer(text))
            or re.fullmatch(headings(), opening["name"]) is not None
            or bool(opening["noun"])
        )
    if opening["noun"] and sign == "," and called not in names.values:
        return True
    if first_name in names.values:
        return False
    return (
        _goes_on(first, opening.end(), names)
        or any(
            names.value(line["name"]) != value and ":" not in text[line.start() : line.start("name")]
            for line in patterns.heading.finditer(text)
        )
        or _heads_others(text[opening.end() :], names, value)
    )


def _heads_others(prose: str, names: ValueNames, value: str) -> bool:
    """Whether the name of another value heads a clause, as in "A: short. B: long.", which is no verdict."""
    heads = re.finditer(
        rf"(?:[.;,\n]\s{{0,4}}"
        rf"|\s)(?:[\w']{{1,14}}\s)?[*_(]{{0,4}}(?P<head>{names.pattern})[*_)]{{0,4}}\s?[:()]",
        prose,
    )
    return any(names.value(head["head"]) != value for head in heads)
