r"""Verdicts that a clause states by comparing two options: winner, relation, loser.

Each mention of an option in a clause becomes one sign, and the clause as a whole must then be one of the
templates of data/answer_words.yaml ("L is worse than W"), with nothing around it but words that change no
verdict ("overall"). A clause that names both options and is none of them states nothing that is understood,
so it is not read: neither the last name of a clause nor the first is a verdict.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from ..tables.columns import fold
from .answer_words import WordPattern, answer_words, first_words, is_unspaced, words_of
from .comparison_words import languages_of, may_compare
from .option_names import ValueNames

FIRST, SECOND = "\ue000", "\ue001"  # the two options in a clause
LONGEST_CLAUSE = 300
NOT_UNDERSTOOD = "two options in one clause, and no comparison that is understood"
_ARTICLE = r"(?:(?:the|a|o|la|il|le|el|die|der|das|den|het|de)\s|l')?"
_QUALITY = re.compile(r"\{(?:better|worse|beats|loses|wins|failing|best)\}|[<>]")
_GENERIC = (
    "W {be} {adv}{better} {than} L",
    "L {be} {adv}{worse} {than} W",
    "{prefer} W {over} L",
    "W {beats} L",
    "L {loses} W",
    "{compared} L W {be} {adv}{better}",
    "W {be} {adv}{better}",
    "L {be} {adv}{worse}",
)
_SENTENCE = re.compile(r"[^.!?;\n\u3002\uff1f\u061f\ufffc]+[.!?;\u3002\u061f]*")
_QUESTION = re.compile(r"[?\u061f]\s*\Z")
_PIECE = re.compile(r"[,:()\u3001\u060c]|\s-{1,2}\s|\s--\s?")
_COMMAS = re.compile(r"\s?[,\u3001\u060c]\s?")
# "No" that denies the verb behind it, unlike one behind which a comma or an option stands.
_DENIAL = re.compile(r"(?<!\w)(?:no|nao|nie)(?=\s(?!(?:la|el|a|o|the|wait)\s)[^\W\d_\ue000\ue001])")
_EDGES = " \t*_`\"'[]#>|~.!;\u3002"
_ARTICLES = frozenset("aeiouy\u0430\u0432\u0438\u043e\u0441\u043a\u0443\u044f")
_VERBS = (
    "be",
    "beats",
    "wins",
    "over",
    "loses",
    "failing",
    "than",
)  # slots that may follow a name, but no article


@dataclass(slots=True)
class ComparisonFindings:
    """Options that clauses state, with their places in the text, and whether a clause was not understood."""

    verdicts: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, option
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class _Grammar:
    unsure: WordPattern
    aspect: WordPattern
    joint: WordPattern
    compared: tuple[
        re.Pattern[str], re.Pattern[str]
    ]  # of phrases that name the loser: before, behind a clause


def asked_quality(question: str) -> int:
    """Return 1 where a question asks for the better of two, -1 for the worse, 0 where it asks for neither."""
    text = fold(question)
    if not text.strip():
        return 1
    worse, better = (pattern.search(text) is not None for pattern in (_ASKS_WORSE, _ASKS_BETTER))
    if worse != better:
        return -1 if worse else 1
    return 0


_ASKS_BETTER = re.compile(
    fold(
        r"better|best|superior|prefer|rather|choose|favou?r|funnier|safer|clearer|wittier|kinder"
        r"|fairer|nicer|stronger|admit|hire|vote|more (?:helpful|accurate|useful|convincing"
        r"|persuasive|correct|appropriate|suitable)|mejor|prefier|meilleur|mieux|préf|besser"
        r"|beste|bevorzug|melhor|miglior|meglio|beter|liever|lepsz|лучш|предпоч|battre|bättre"
        r"|daha iyi"
        r"|更好|较好|良い|よい|優れ|낫|나은|좋은|أفضل|बेहतर|lebih baik|кращ|tốt hơn"
    )
)
_ASKS_WORSE = re.compile(
    fold(
        r"worse|worst|peor|pire|moins bonne|schlechter|schlimmer|pior|peggior|slechter|gorsz|хуже"
        r"|худш|sämre|kötü|更差|较差|悪い|나쁜|أسوأ|बदतर|lebih buruk|гірш|tệ hơn"
    )
)


@cache
def _any_of(part: str) -> str:
    return "|".join(
        f"(?:{words})" if is_unspaced(words[-1]) else rf"(?<!\w)(?:{words})(?!\w)" for words in words_of(part)
    )


def compared_options(text: str, letters: str, names: ValueNames, question: str = "") -> ComparisonFindings:
    """Find the options that clauses of a folded text state; ``letters`` is the text with its capitals."""
    findings = ComparisonFindings()
    options = list(dict.fromkeys(names.values.values()))
    if len(options) != 2:
        return findings
    skeleton, places = _skeleton(text, letters, names, options)
    if FIRST not in skeleton and SECOND not in skeleton:
        return findings
    sense = asked_quality(question)
    for sentence in _SENTENCE.finditer(skeleton):
        clause = sentence.group()
        if len(clause) > LONGEST_CLAUSE or not (FIRST in clause or SECOND in clause):
            continue
        winners, unclear = _winners(clause, sense)
        findings.unclear |= unclear
        start, end = (_place(places, place) for place in sentence.span())
        findings.verdicts += [(start, end, options[winner]) for winner in winners]
    return findings


def _place(places: tuple[list[int], list[int]], position: int) -> int:
    """Place in the text of a position in its skeleton."""
    at = bisect_right(places[0], position) - 1
    return places[1][at] + position - places[0][at]


def _skeleton(
    text: str, letters: str, names: ValueNames, options: list[str]
) -> tuple[str, tuple[list[int], list[int]]]:
    """Write one sign for each mention of an option; with the places where the text goes on behind them."""
    pieces: list[str] = []
    length, end = 0, 0
    places: tuple[list[int], list[int]] = ([0], [0])
    for mention in names.mentions(text):
        if mention.bare is not None and not _is_name(text, letters, *mention.bare):
            continue
        sign = (FIRST, SECOND)[options.index(names.value(mention.name))]
        start = mention.start + (text[mention.start] == "(" and text[mention.end - 1] != ")")
        pieces += [text[end:start], sign]
        length += start - end + 1
        end = mention.end
        places[0].append(length)
        places[1].append(end)
    return "".join([*pieces, text[end:]]), places


def _is_name(text: str, letters: str, start: int, end: int) -> bool:
    """Whether a name without a noun before it is one, and no article or number."""
    if end - start > 1:
        return True
    sign = letters[start]
    if sign.isdigit():
        return not re.match(r"[.,]?\d|\s?%", text[end : end + 2])
    if sign.islower():
        return sign not in _ARTICLES
    if sign in "AO" and re.match(r"\s[A-Z]\s", letters[end : end + 3]):
        return False  # "A B é pior"
    begins = not re.search(r"[\w,]\s{0,2}\Z", letters[max(0, start - 3) : start])
    return not (begins and sign.lower() in _ARTICLES and _after_article().match(letters, end))


@cache
def _after_article() -> re.Pattern[str]:
    """Pattern of a word in small letters behind an article, which is none that follows a name."""
    words = {word for slot in words_of(*_VERBS) for word in re.findall(r"(?:^|[|(:])([^\W\d_]+)", slot)}
    words |= {"and", "or", "has", "would", "should", "i", "does", "did", "can", "could", "will", "makes"}
    words |= {"gives", "offers"}
    return re.compile(rf"\s(?!(?:{'|'.join(sorted(words))})\b)[a-z]")


def _winners(clause: str, sense: int) -> tuple[list[int], bool]:
    """Options (0, 1) that a sentence states, and whether it has a clause with both that is not understood."""
    grammar = _grammar()
    names_two = FIRST in clause and SECOND in clause
    if not (names_two or may_compare(clause)):
        return [], False
    if _QUESTION.search(clause) or grammar.unsure.search(clause):
        return [], names_two
    winners, unclear = _winners_of_clauses(clause, grammar, sense)
    if winners or not names_two:
        return winners, unclear
    losers: set[int] = set()
    for pattern in grammar.compared:
        phrase = pattern.search(clause)
        if phrase is not None:
            losers.add(int(SECOND in phrase.group()))
            clause = clause[: phrase.start()] + "," + clause[phrase.end() :]
    if not losers:
        return [], unclear
    winners, unclear = _winners_of_clauses(clause, grammar, sense)
    return ([], True) if losers & set(winners) or len(losers) > 1 or not winners else (winners, unclear)


def _winners_of_clauses(sentence: str, grammar: _Grammar, sense: int) -> tuple[list[int], bool]:
    names_two = FIRST in sentence and SECOND in sentence
    sentence = _DENIAL.sub("\ue007", sentence)  # which no template has
    winners: list[int] = []
    unclear = False
    sentence_winner = _winner(_COMMAS.sub(" ", sentence).strip(_EDGES), sense)
    if sentence_winner is None and names_two:
        sentence_winner = _winner(_COMMAS.sub("", sentence).strip(_EDGES), sense)
    if sentence_winner is not None:
        return [sentence_winner], False
    for piece, is_reason in _clauses(sentence, grammar):
        if FIRST not in piece and SECOND not in piece:
            if grammar.aspect.match(piece) and not _grammar_of_openings().fullmatch(piece):
                return [], names_two  # better in one respect only
            continue
        winner = None if is_reason else _winner(piece, sense)
        if winner is None:
            unclear |= FIRST in piece and SECOND in piece and not is_reason
        else:
            winners.append(winner)
    return winners, unclear


def _clauses(sentence: str, grammar: _Grammar) -> Iterator[tuple[str, bool]]:
    """Split a sentence at commas and conjunctions; with each clause, whether it is a reason."""
    for part in _PIECE.split(sentence):
        if (FIRST in part or SECOND in part) and _is_understood(part.strip(_EDGES)):
            yield part.strip(_EDGES), False
            continue
        end, is_reason = 0, False
        for joint in grammar.joint.finditer(part):
            yield part[end : joint.start()].strip(_EDGES), is_reason
            end, is_reason = joint.end(), joint["yielding"] is None
        yield part[end:].strip(_EDGES), is_reason


def _is_understood(clause: str) -> bool:
    return any(
        pattern.fullmatch(clause)
        for language in languages_of(clause)
        for pattern in _templates(language).values()
    )


def _winner(clause: str, sense: int) -> int | None:
    for language in languages_of(clause):
        for (is_quality, winner), pattern in _templates(language).items():
            if (sense or not is_quality) and pattern.fullmatch(clause):
                return winner if sense >= 0 or not is_quality else 1 - winner
    return None


@cache
def _templates(language: str) -> dict[tuple[bool, int], re.Pattern[str]]:
    """Compile the templates of a language, of quality and of preference, for each option that may win."""
    compiled = {}
    for winner in (0, 1):
        signs = {"W": (FIRST, SECOND)[winner], "L": (FIRST, SECOND)[1 - winner]}
        for is_quality, pattern in _language(language, signs):
            compiled[is_quality, winner] = re.compile(pattern)
    return dict(sorted(compiled.items()))


_YIELDING = (
    *(
        "but",
        "pero",
        "mais",
        "aber",
        "mas",
        "ma",
        "maar",
        "ale",
        "но",
        "men",
        "ancak",
        "ama",
        "但是",
        "但",
        "しかし",
    ),
    *("하지만", "그러나", "لكن", "लेकिन", "tetapi", "але", "nhưng"),
)


@cache
def _grammar() -> _Grammar:
    """Compile what surrounds the templates, of all languages together."""
    yielding = {fold(word) for word in _YIELDING}
    kept_joints = "|".join(
        re.escape(word) if is_unspaced(word[0]) else rf"(?<!\w){word}(?!\w)" for word in yielding
    )
    either = f"[{FIRST}{SECOND}]"
    before = "|".join(
        words.replace("\ue002", either) if "\ue002" in words else rf"(?:{words})\s{{0,2}}{either}"
        for words in map(_with_loser, _raw("compared"))
    )
    return _Grammar(
        WordPattern(re.compile(_any_of("unsure")), first_words(words_of("unsure"))),
        WordPattern(re.compile(rf"(?:{_any_of('aspect')})"), first_words(words_of("aspect"))),
        WordPattern(
            re.compile(rf"(?P<yielding>{kept_joints})|(?:{_any_of('joints')})"),
            first_words([*words_of("joints"), *yielding]),
        ),
        (
            re.compile(rf"(?:^|(?<=[,:(]))\s{{0,3}}(?:{before})\s{{0,2}}[,:]"),
            re.compile(rf",?\s(?<!\w)(?:{before})\s{{0,2}}(?=[.!,;]|$)"),
        ),
    )


def _raw(part: str) -> list[str]:
    return [str(words[part]) for words in answer_words().values() if part in words]


def _with_loser(words: str) -> str:
    return fold(words.replace("L", "\ue002"))


def _language(language: str, signs: dict[str, str]) -> Iterator[tuple[bool, str]]:
    """Yield the patterns of a language, of quality and of preference, with what may surround them."""
    words = answer_words()[language]
    is_joined = words.get("joined") == "true"
    gap = r"[\s\"'*_`]{0,4}" if is_joined else r"[\s\"'*_`]{1,4}"
    literal_templates = [str(template) for template in words.get("one", ())]
    templates = [*literal_templates, *(() if is_joined or "be" not in words else _GENERIC)]
    families: dict[bool, list[str]] = {True: [], False: []}
    for template in templates:
        literal = "be" not in words and "{choose}" not in template
        is_quality = literal or _QUALITY.search(template) is not None
        filled = _filled(template, words, gap, signs)
        if filled is not None:
            families[is_quality].append(filled)
    around = {part: _around(str(words.get(part, "")), gap) for part in ("open", "close")}
    for is_quality, patterns in families.items():
        if patterns:
            alternatives = "|".join(sorted(patterns, key=len, reverse=True))
            yield is_quality, f"{around['open'][0]}(?:{alternatives}){around['close'][1]}"


def _around(words: str, gap: str) -> tuple[str, str]:
    if not words:
        return "", ""
    folded = fold(words)
    return rf"(?:(?:{folded}){gap.replace('1,4', '1,6')}){{0,4}}", rf"(?:{gap}(?:{folded})){{0,3}}"


def _filled(template: str, words: dict[str, object] | object, gap: str, signs: dict[str, str]) -> str | None:
    """Fill the slots of a template; None where the language lacks one."""
    slots = dict(words) if isinstance(words, dict) else {}
    text = (
        template.replace("W", "\ue003").replace("L", "\ue002").replace("{{", "\ue004").replace("}}", "\ue005")
    )
    for slot in re.findall(r"\{([a-z]+)\}", text):
        if slot not in slots:
            return None
        value = "|".join(slots[slot]) if isinstance(slots[slot], list) else str(slots[slot])
        value = value.replace("W", "\ue003").replace("L", "\ue002")
        group = f"(?:{value})" if slot != "adv" else f"(?:(?:{value})\ue006){{0,4}}"
        if slot in ("better", "worse") and "and" in slots:  # "clearer and better supported"
            further = "|".join(filter(None, (value, slots.get("further") if slot == "better" else "")))
            group += rf"(?: (?:{slots['and']}) (?:(?:{slots['adv']})\ue006){{0,2}}(?:{further}))?"
        text = text.replace("{" + slot + "}", group)
    folded = fold(text).replace("\ue004", "{").replace("\ue005", "}")
    folded = re.sub(r" ?\? ?", lambda match: match.group(), folded).replace(" ?", r"\s?")
    folded = folded.replace(" ", gap).replace("\ue006", gap)
    for name, sign in (("\ue003", signs["W"]), ("\ue002", signs["L"])):
        folded = folded.replace(name, f"{_ARTICLE}{sign}")
    return f"(?:{folded})"


@cache
def _grammar_of_openings() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{words})" for words in words_of("open")))
