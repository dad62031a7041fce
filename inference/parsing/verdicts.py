r"""The verdict of an answer: a choice between two options, or free text.

Verdicts are looked for in what the answer says itself, not in what it quotes:

1. JSON objects that contain the key;
2. statements ("final answer: B", "I choose post A", ``\boxed{B}``, "[[B]]"), unless reported or conditional ("the
   post says: answer A", "if the answer is A"), on a line that is headed by a name, or naming several;
3. a name alone on the first or the last line or in a paragraph, or at the start of the first line ("B. Because ...");
4. of a choice, clauses that compare the options as `comparisons` understands them ("A is worse than B").

All that are found count. One that contradicts another leaves the answer unread: a verdict that was injected
must not win because it stands first, nor because it stands last. Only a correction that is announced as one
("Answer: A. No, wait: B") replaces what it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..tables.columns import fold, fold_beside, plain
from .answer_words import alternatives, answer_words, choosing, headings, is_unspaced, words_of
from .comparisons import NOT_UNDERSTOOD, ComparisonFindings, compared_options
from .option_names import ORNAMENT, ValueNames, first_token, masses, option_names, share, token_at
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
    verdict = find_verdict(answer.text, _names(response), response.json_key, texts, asks=response.question)
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
        verdict = find_verdict(answer.text, names, response.json_key, texts, asks=response.question)
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


FALLBACK_KEYS = frozenset(
    {"answer", "final answer", "winner", "verdict", "final verdict", "decision", "choice", "label", "preference", "selection"}
)
_REASON = (
    r"(?:because|since|as|over|for|due|instead|rather|which|who|that|given|porque|ya|puesto|parce|car|puisque|plutot|weil|da|denn"
    r"|statt|pois|perche|poiche|invece|omdat|want|poniewaz|bo|gdyz|потому|так|поскольку|cunku|karena|لان|لانها|لانه|بدلا|क्योंकि)\b|因为|由于|而"
)
_SPOKEN_END = fold(r"|です|である|だ(?!\w)|と(?!\w)|が|を|입니다|이다|이에요|을|를|의|है|हैं|。|，|、|的")
_END = rf"(?=[\s*_`\"')\]}}>|$]{{0,8}}(?:\Z|\n|[.,;:!<()|{GAP}-]|{_REASON}{_SPOKEN_END}))"
_ALONE = r"(?=[ \t*_`\"')\]]{0,8}[.!]?[ \t*_`\"')\]]{0,8}(?:\n|\Z))"
_OR = (
    r"(?:or|and|nor|vs|if|when|unless|o|u|y|e|si|cuando|oder|und|ou|et|of|en|lub|i|или|и|veya|ve|eller|och|atau|dan|hay|او|و|اذا|या)\b"
    r"|或|和|与|また|または|か|と"
)
_MORE = rf"[\s*_`\"')\]]{{0,4}}(?:[,/&|]|(?:{_OR})|\?)\s{{0,3}}"
_HEDGE = r"[\s*_`\"')\]]{0,4},?\s{0,2}(?:or|but maybe|or maybe|maybe|perhaps|oder|ou|o|или|或)\s[^.\n]{0,25}?"
_UNSURE = r"(?![\s*_`\"')\]]{0,4}(?:[?\u061f]|(?:if|when|unless|si|cuando|wenn|falls|se|als|jesli|если|اذا)\b))"
_ADVERB = r"(?:(?:clearly|definitely|therefore|thus|hence|ultimately|simply|still|certainly|obviously|actually|now|then|klar|eindeutig)\s)?"
_BRACKET = r"(?:[\s*_]{0,4}[(\[][^()\[\]\n]{0,40}[)\]])?"
_BLANKS = r"[\s:=>\"'*_`(\[{#|$]{0,12}"
_STRUCTURE = re.compile(r"[:={}\n\t]")
_BEFORE = re.compile(
    r"(?:\b(?:if|whether|when|unless|wrong|incorrect|not|never|says?|said|saying|reads?|states?|stating|contains?"
    r"|containing|claims?|tells?|telling|told|instructs?|instructing|asks?|asked|demands?|writes?|wrote"
    r"|si|cuando|dice|pide|incorrecta|اذا|يقول|تقول)|n't)"
    r"\W{0,3}(?:(?:that|you|me|us|to|the|a|your|my|its|their|judges?|models?|reader|assistant|with|final|correct|only"
    r"|que|la|el)\W{1,3}){0,4}\Z"
)
_ALSO_BEFORE = (
    r"worse|worst|weaker|weakest|inferior|poorer|second|losing|other|rejected|wrong|incorrect|example|sample|default|possible|previous"
    r"|schlechtere|schwachere|pire|moins bonne|pior|peor|peggiore|slechtere|gorsza|slabsza|худшии|samre"
)
_BAD = "(?:较差的?|更差的?|差的|悪い|劣る|나쁜)"
_CORRECTION = re.compile(
    r"\b(?:no|wait|correction|actually|i mean|scratch that|on second thoughts?|on reflection|on closer reading|sorry|i was wrong"
    r"|let me correct|corrected|corrigiendo|correccion|en realidad|nein|moment|korrektur|doch|non|attends|correction|en fait|pardon"
    r"|nao|alias|correcao|correzione|anzi|nee|correctie|nie|poprawka|нет|точнее|исправление|hayir|duzeltme|tidak|koreksi|لا|تصحيح|عفوا)\b"
    r"|不对|不，|更正|いや|訂正|아니|정정|नहीं",
)
LOOKALIKES = str.maketrans("\u0410\u0412\u0421\u0415\u0391\u0392\u0395\u0430\u0435\u0441", "ABCEABEaec")


@dataclass(frozen=True, eq=False, slots=True)
class _Patterns:
    statement: re.Pattern[str]
    heading: re.Pattern[str]
    opening: re.Pattern[str]
    corrected: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """One value, or None with the reason."""

    value: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A value that the text states, with its place."""

    start: int
    end: int
    value: str


@lru_cache(maxsize=256)
def _patterns(names: ValueNames, keys: frozenset[str]) -> _Patterns:
    nouns = f"(?:{names.nouns})"
    titles = "|".join(
        [headings(), *(rf"(?<![\w-]){re.escape(key)}(?!\w)".replace(r"\ ", r"[\s_-]") for key in sorted(keys))]
    )
    several = rf"(?!{_MORE}(?:{nouns})?{names.pattern})(?!{_HEDGE}(?:{nouns})?{names.pattern})"
    of = r"(?:\s(?:of|for|to)\s(?:this|the|that)\s\w{1,20}(?:\s\w{1,20})?)?"
    link = rf"{of}[\s\"'*_`)\]]{{0,6}}(?:{_linked()}){_BLANKS}{_ADVERB}{_BLANKS}"
    sign = rf"[\s\"'*_`)\]]{{0,6}}(?:[:=|]|=?-?>|\u2192|\s-{{1,2}}\s){_BLANKS}{_ADVERB}"
    line = r"[*_:#\"]{0,4}[ \t]{0,3}\n{1,2}[\s*_#>`\"'(\[]{0,8}"
    name = rf"(?:{nouns})?(?:the\s)?(?P<NAME>{names.pattern})"
    named = [
        rf"(?:{titles}){_BRACKET}(?:{link}|{sign})(?:\\?text\{{)?{name.replace('NAME', 'name')}{_END}",
        rf"(?:{titles}){line}{name.replace('NAME', 'below')}{_ALONE}",
        rf"(?:{choosing()})[\s:*_\"'`(\[]{{0,6}}{name.replace('NAME', 'chosen')}{_END}",
        rf"\\boxed[\s{{]{{1,4}}(?:\\?text\{{)?\s?{name.replace('NAME', 'boxed')}\s?\}}",
        rf"\[\[\s?{name.replace('NAME', 'marked')}\s?\]\]",
        rf"<[\w:-]{{0,20}}(?:{titles})[\w:-]{{0,20}}>[\s*_`\"'\[(]{{0,6}}{name.replace('NAME', 'tagged')}[\s*_`\"'\])]{{0,6}}</",
    ]
    return _Patterns(
        statement=re.compile(rf"(?:{'|'.join(named)}){several}{_UNSURE}"),
        heading=re.compile(
            rf"^[\s*_#(\[-]{{0,8}}{nouns}(?P<name>{names.pattern})[\s*_)\]]{{0,6}}(?:[:.)\]-]|$)",
            re.MULTILINE,
        ),
        opening=re.compile(
            rf"[\s*_#`\"'(\[]{{0,8}}(?P<noun>{nouns})?(?P<name>{names.pattern})"
            rf"(?=[*_`\"')\]]{{0,6}}(?:[.;)!\n\u3002]|:(?!\s?(?:{nouns})?{names.pattern}{_END})|,(?!\s?{_ASIDE})|\s?-\s|\s(?:{_REASON})|\Z)){several}{_UNSURE}"
        ),
        corrected=re.compile(
            rf"(?:(?:{_CORRECTION.pattern})[\s]{{0,2}}[,:;.!\u2026-]|\b(?:actually|i mean|make that)\s)[\s,:;.!\u2026-]{{0,6}}(?:(?:it's|it is|make that|i mean|wait|no|i choose|rather|es|c'est|es ist)"
            rf"[\s,:]{{1,3}})?{name.replace('NAME', 'name')}{_END}{several}{_UNSURE}"
        ),
    )


_ASIDE = (
    r"(?:while|unlike|which|who|although|though|however|on|in|compared|like|as opposed|despite|whose|being|when|if|where|"
    r"wahrend|aunque|bien|embora|mentre|anders|obwohl|хотя|хоть)\b"
)


@lru_cache(maxsize=1)
def _linked() -> str:
    """Pattern of what links a heading with a verdict ("is")."""
    links = sorted({part for words in words_of("is") for part in words.split("|") if len(part) > 1 or part.isalpha()})
    return "|".join(link if is_unspaced(link[-1]) else rf"(?<!\w){link}(?!\w)" for link in reversed(links))


@lru_cache(maxsize=1)
def _reported() -> re.Pattern[str]:
    """Pattern of words behind which a statement is reported, denied or conditional."""
    words = [word for language in answer_words() if language not in ("en",) for word in _words_of(language)]
    spaced = alternatives(word for word in words if not is_unspaced(word[-1]))
    unspaced = "|".join(re.escape(word) for word in words if is_unspaced(word[-1]))
    return re.compile(
        rf"(?:(?:{spaced})[\s:]{{1,3}}(?:\w{{1,4}}[\s']){{0,2}}|(?:{unspaced})|\b(?:{_ALSO_BEFORE})\s(?:and\s\w+\s)?|{fold(_BAD)})\Z"
    )


def _words_of(language: str) -> list[str]:
    return [fold(str(word)) for word in answer_words()[language].get("say", ())]


def find_verdict(
    text: str,
    names: ValueNames,
    key: str,
    texts: Sequence[str] = (),
    first: bool = False,
    asks: str | None = None,
) -> ParsedValue:
    """Find the verdict of an answer; with ``asks``, the question, also in comparisons of two options."""
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
    prose = _in_latin(content.prose, names)
    statements, unclear = _statements(prose, names, keys | FALLBACK_KEYS, asks) if prose else ([], False)
    values, is_corrected = _corrected(statements, prose)
    if not pairs and values:
        notes.append("read from a sentence")
    elif pairs and not content.pure:
        notes.append("JSON amid other text")
    notes += ["corrected by the answer itself"] if is_corrected else []
    if not candidates and not values and unclear:
        return ParsedValue(None, NOT_UNDERSTOOD)
    return _agreed_verdict([*candidates, *values], notes)


def _statements(
    prose: str, names: ValueNames, keys: frozenset[str], asks: str | None
) -> tuple[list[_Statement], bool]:
    """Find all that a text states, in its order, and whether a clause with two options is not understood."""
    folded, letters = fold_beside(prose)
    statements = list(_verdicts_in_prose(folded, names, keys))
    compared = ComparisonFindings() if asks is None else compared_options(folded, letters, names, asks)
    statements += [_Statement(*verdict) for verdict in compared.verdicts]
    return sorted(statements, key=lambda statement: (statement.start, statement.end)), compared.unclear


def _corrected(statements: Sequence[_Statement], prose: str) -> tuple[list[str], bool]:
    """Values that are stated, without those that the answer corrects; whether it corrects any."""
    values: list[str] = []
    folded = fold(prose)
    is_corrected, end = False, 0
    for statement in statements:
        between = folded[max(end - 1, 0) : statement.end]
        if values and statement.value != values[-1] and len(between) < 200 and _CORRECTION.search(between):
            if set(values) == {values[-1]}:
                values, is_corrected = [], True
        values.append(statement.value)
        end = max(end, statement.end)
    return list(dict.fromkeys(values)), is_corrected


def _in_latin(prose: str, names: ValueNames) -> str:
    """Write letters of other scripts that look like the Latin names of options, and stand alone, in Latin."""
    if prose.isascii() or not all(len(name) == 1 and name.isascii() for name in names.values):
        return prose
    return _STRAY.sub(lambda letter: letter.group().translate(LOOKALIKES), prose)


_STRAY = re.compile(
    r"(?:(?<=[:=(\[*\"'`])|(?<=[:=]\s)|(?<=\A)|(?<=\n))[\u0410\u0412\u0421\u0415\u0391\u0392\u0395](?=[\s*_\"')\]]{0,4}(?:\Z|\n|[.,;!]))"
)


_PARAGRAPH = re.compile(r"(?<=\n)(?<!\S\n)[^\S\n]*\S[^\n]{0,120}(?=\n[^\S\n]*\n)")  # one line between blank ones


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
    return " " not in inside or (names.bare(inside) is not None and not re.match(headings(), fold(inside)))


def _verdicts_in_prose(prose: str, names: ValueNames, keys: frozenset[str]) -> Iterator[_Statement]:
    patterns = _patterns(names, keys)
    for statement in patterns.statement.finditer(prose):
        start = statement.start()
        if start and (prose[start - 1] in "-_" or (prose[start - 1].isalnum() and not is_unspaced(prose[start]))):
            continue
        line = prose.rfind("\n", 0, start) + 1
        heading = patterns.heading.match(prose, line)
        heading = None if heading and ":" in prose[line : heading.start("name")] else heading
        before = prose[max(line, start - 80) : start]
        reported = _BEFORE.search(before) or _reported().search(before)
        if not reported and not (heading and heading.end() <= start):
            yield _Statement(start, statement.end(), names.value(_name_in(statement)))
    for statement in patterns.corrected.finditer(prose):
        yield _Statement(statement.start(), statement.end(), names.value(statement["name"]))
    yield from _verdicts_at_ends(prose, names, patterns)


def _name_in(statement: re.Match[str]) -> str:
    """The name in a statement, whichever of the forms it has."""
    return next(name for name in statement.groupdict().values() if name is not None)


def _verdicts_at_ends(prose: str, names: ValueNames, patterns: _Patterns) -> Iterator[_Statement]:
    start = len(prose) - len(prose.lstrip())
    text = prose.strip()
    lines = [line for line in text.split("\n") if line.strip(ORNAMENT)] or [text]
    closing = names.bare(lines[-1])
    if closing is not None and not lines[-1].rstrip("*_ \t").endswith(":"):
        at = prose.rfind(lines[-1])
        yield _Statement(at, at + len(lines[-1]), closing)
    for paragraph in _PARAGRAPH.finditer(text):
        value = names.values.get(plain(paragraph.group().strip(ORNAMENT)))
        if value is not None:
            yield _Statement(start + paragraph.start(), start + paragraph.end(), value)
    opening = patterns.opening.match(lines[0] + "\n")
    if opening is not None:
        value = names.value(opening["name"])
        sign = lines[0][opening.end() :].lstrip("*_`\"')]")[:1]
        if plain(lines[0]).strip(ORNAMENT) in names.values or not (
            (opening["noun"] and sign in (":", ","))
            or any(
                names.value(line["name"]) != value and ":" not in prose[line.start() : line.start("name")]
                for line in patterns.heading.finditer(prose)
            )
            or _heads_others(prose[start + opening.end() :], names, value)
        ):
            yield _Statement(start, start + opening.end(), value)


def _heads_others(prose: str, names: ValueNames, value: str) -> bool:
    """Whether the name of another value heads a clause, as in "A: short. B: long.", which is no verdict."""
    heads = re.finditer(rf"(?:[.;,\n]\s{{0,4}}|\s)(?:{names.nouns})?[*_(]{{0,4}}({names.pattern})[*_)]{{0,4}}\s?[:)]", prose)
    return any(names.value(head[1]) != value for head in heads)
