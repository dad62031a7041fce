"""The values that the prose of an answer states: headings and verbs before a name, names alone, comparisons.

What is reported, denied, asked or conditional states nothing; a correction that is announced as one replaces
what it corrects, and one that is not understood leaves the answer unread.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..tables.columns import fold, fold_beside, plain
from .answer_words import (
    UNSPACED,
    WORD_END,
    AnchoredPattern,
    alternatives,
    answer_words,
    choosing,
    first_words,
    headings,
    is_unspaced,
    name_places,
    spelled_words,
    words_before,
    words_of,
)
from .option_comparisons import NOT_UNDERSTOOD, ComparisonFindings, compared_options
from .option_names import LONGEST_NAME, ORNAMENT, ValueNames
from .quoted import GAP

_REASON = (
    r"(?:because|since|as|over|for|due|instead|rather|which|who|that|given|porque|ya|puesto|parce"
    r"|car|puisque|plutot|weil|da|denn"
    r"|statt|pois|perche|poiche|invece|omdat|want|poniewaz|bo|gdyz|потому|так|поскольку|cunku"
    r"|karena|لان|لانها|لانه|بدلا|क्योंकि)\b|因为|由于|而"
)
_SPOKEN_END = fold(r"|です|である|だ(?!\w)|と(?!\w)|が|を|입니다|이다|이에요|을|를|의|है|हैं|。|，|、|的")
_END = rf"(?=[\s*_`\"')\]}}>|$]{{0,8}}(?:\Z|\n|[.,;:!<()|{GAP}]|-(?!\w)|{_REASON}{_SPOKEN_END}))"
_ALONE = r"(?=[ \t*_`\"')\]]{0,8}[.!]?[ \t*_`\"')\]]{0,8}(?:\n|\Z))"
_OR = (
    r"(?:or|and|nor|vs|if|when|unless|o|u|y|e|si|cuando|oder|und|ou|et|of|en|lub|i|или|и|veya|ve"
    r"|eller|och|atau|dan|hay|او|و|اذا|या)\b"
    r"|或|和|与|また|または|か|と"
)
_MORE = rf"[\s*_`\"')\]]{{0,4}}(?:[,/&|]|(?:{_OR})|\?)\s{{0,3}}"
_HEDGE = r"[\s*_`\"')\]]{0,4},?\s{0,2}(?:or|but maybe|or maybe|maybe|perhaps|oder|ou|o|или|或)\s[^.\n]{0,25}?"
_UNSURE = (
    r"(?![\s*_`\"')\]]{0,4}(?:[?\u061f]|(?:if|when|unless|si|cuando|wenn|falls|se|als|jesli|если|اذا)\b))"
)
_ADVERB = r"(?:(?:likely|probably|clearly|definitely|therefore|thus|hence|ultimately|simply|still|certainly|obviously|actually|now|then|klar|eindeutig)\s)?"
_BRACKET = r"(?:[\s*_]{0,4}[(\[][^()\[\]\n]{0,40}[)\]])?"
_BLANKS = r"[\s:=>\"'*_`(\[{#|$]{0,12}"
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
_CORRECTION = re.compile(
    r"\b(?:no|wait|hold on|correction|(?<!\()update|(?<!\()edit|actually|i mean|scratch that|on second thoughts?|on reflection"
    r"|(?:chang|revis|correct|switch|updat|amend)(?:e|ed|ing) (?:(?:my|the|that|this|it|from) ?){1,2}"
    r"|on closer reading|sorry|i was wrong"
    r"|let me correct|corrected|corrigiendo|correccion|en realidad|nein|moment|korrektur|doch|non"
    r"|attends|correction|en fait|pardon"
    r"|nao|alias|correcao|correzione|anzi|nee|correctie|nie|poprawka|нет|точнее|исправление|hayir"
    r"|duzeltme|tidak|koreksi|لا|تصحيح|عفوا)\b"
    r"|不对|不，|更正|いや|訂正|아니|정정|नहीं",
)


@dataclass(frozen=True, eq=False, slots=True)
class _Patterns:
    ended: re.Pattern[str]
    statement: AnchoredPattern
    heading: re.Pattern[str]
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    corrected: AnchoredPattern
    sentence: AnchoredPattern
    verb: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A value that the text states, with its place."""

    start: int
    end: int
    value: str


@lru_cache(maxsize=256)
def _patterns(names: ValueNames, keys: frozenset[str]) -> _Patterns:
    nouns = f"(?:{names.nouns})"
    titles = "|".join(
        [
            headings(),
            *(rf"(?<![\w-]){re.escape(key)}(?!\w)".replace(r"\ ", r"[\s_-]") for key in sorted(keys)),
        ]
    )
    next_name = rf"(?!(?:not|rather|instead|over|than|unlike|while|whereas|but)\b|{_REASON})(?:[\w']{{1,14}}\s){{0,2}}{names.pattern}"
    several = rf"(?!{_MORE}{next_name})(?!{_HEDGE}{names.pattern})"
    of = r"(?:\s(?:of|for|to)\s(?:this|the|that)\s\w{1,20}(?:\s\w{1,20})?)?"
    link = rf"{of}[\s\"'*_`)\]]{{0,6}}(?:{_linked()}){_BLANKS}{_ADVERB}{_BLANKS}"
    sign = rf"[\s\"'*_`)\]]{{0,6}}(?:[:=|]|=?-?>|\u2192|\s-{{1,2}}\s){_BLANKS}{_ADVERB}"
    begins = [
        rf"(?:{titles}){_BRACKET}(?:{link}|{sign})(?:\\?text\{{)?",
        rf"\[(?:{titles})\]\s{{1,3}}",
        rf"(?:{titles})[*_:#\"]{{0,4}}[ \t]{{0,3}}(?P<line>\n{{1,2}})[\s*_#>`\"'(\[]{{0,8}}",
        rf"(?:{choosing()})[\s:,*_\"'`(\[]{{0,6}}",
        r"\\f?box(?:ed)?(?P<boxed>[\s{]{1,4})(?:\\?(?:text(?:bf|tt|rm|it)?|mathrm|mathbf)\{)?\s?",
        r"(?P<marked>\[\[)\s?",
        rf"<[\w:-]{{0,20}}(?:{titles})[\w:-]{{0,20}}(?:\s[^<>]{{0,40}})?(?P<tagged>>)[\s*_`\"'\[(]{{0,6}}",
    ]
    ends = rf"(?(line){_ALONE}|(?(boxed)\s?\}}|(?(marked)\s?\]\]|(?(tagged)[\s*_`\"'\])]{{0,6}}</|{_END}))))"
    name = rf"(?:{nouns})?(?:the\s)?(?P<name>{names.pattern})"
    ended = re.compile(rf"{names.pattern}(?={_END[3:-1]}|\s?\}}|\s?\]\]|\s(?:wins|is better)|{_ADDED})")
    degree = _NEVER if _are_graded(names) else _DEGREE_OF_LABELS
    title_words = first_words([*words_of("headings"), *keys])
    return _Patterns(
        ended=ended,
        statement=AnchoredPattern(
            re.compile(rf"(?:{'|'.join(begins)}){name}{ends}{several}{_UNSURE}"),
            title_words | first_words(words_of("choose")) | {"\\", "[", "<"},
        ),
        heading=re.compile(
            rf"^[\s*_#(\[-]{{0,8}}{nouns}(?P<name>{names.pattern})[\s*_)\]]{{0,6}}(?:[:.)\]-]|$)",
            re.MULTILINE,
        ),
        opening=re.compile(
            rf"[\s*_#`\"'(\[]{{0,8}}(?P<hedge>{_PERHAPS})?(?:{degree})?(?P<noun>{nouns})?(?P<name>{names.pattern})"
            rf"(?=[*_`\"')\]]{{0,6}}(?:[.;)(!\n\u3002]|:(?!\s?{next_name}{_END})|[,\u060c\u3001](?!\s?{_ASIDE})"
            rf"|\s[(-]|\s(?:{_REASON})|\s(?:of (?:the two|them|these)|it is|hands down|by far|all the way|by a (?:mile|nose|hair|whisker|wide margin))(?:\sthen)?(?:\s?[.!;\n]|\Z)|\Z)){several}{_UNSURE}"
        ),
        closing=re.compile(
            rf"(?P<lead>\A|(?<!\d)\.|[!?;:\n\u2026\u3002\uff1a\u2192\u061f]|\s-|,\s(?=so|hence"
            rf"|thus|therefore|but)|\s(?=so\s)|[,\u3001])[\s*_\"')\]]{{0,4}}"
            rf"(?:{_FINALLY}[\s,:]{{1,3}}){{0,4}}(?:{_PERHAPS})?(?:{degree})?{name}(?:\sit(?:'s|\sis)(?:\sthen)?|\s\((?:\d{{1,3}}|(?!{names.pattern})[a-z]{{1,12}}|(?:confidence|certainty|score)[^()\n]{{0,20}})\)|,?\s(?:i (?:think|guess|suppose|believe|would say|'d say)|in my (?:opinion|view)))?[\s*_`\"'.!)\]}}\u3002\u2026]{{0,6}}\Z"
        ),
        corrected=AnchoredPattern(
            re.compile(
                rf"(?:(?<!\()(?:{_CORRECTION.pattern})[\s]{{0,2}}(?:[,:;.!\u2026]|-(?!\w))|\b(?:actually|i mean|i meant"
                rf"|make that)\s)[\s,:;.!\u2026-]{{0,6}}"
                rf"(?:(?:it's|it is|make that|i mean|i meant|wait|no|i choose|rather|es|c'est"
                rf"|es ist)[\s,:]{{1,3}}){{0,2}}"
                rf"{name}(?:{_END}|\s(?:wins|is better)){several}{_UNSURE}"
                rf"|(?:{'|'.join(_CHANGED)})\s(?:(?:my|the|that|this|it|from)\s){{1,2}}(?:\w{{1,20}}\s){{0,2}}to\s[\"'`]?"
                rf"(?P<changed>{names.pattern}){_END}"
                rf"|(?<!\()(?:update|edit|correction|revised)(?:\s[^.:;\n]{{1,60}})?:\s(?P<updated>{names.pattern}){_END}"
            ),
            first_words(re.sub(r"\\b|\(\?:|\)\\b", "", _CORRECTION.pattern).split("|"))
            | {"i", "make", *_CHANGED},
        ),
        sentence=AnchoredPattern(
            re.compile(
                rf"(?:(?<=\A)|(?<=[.!?;:\n]\s)|(?<=[.!?;:\n])|(?<=,\s)(?=(?:so|hence|thus|therefore)\s))(?:(?:overall|so|and|but|yes|no"
                rf"|therefore|i think|i find|to me|clearly),?\s){{0,2}}"
                rf"(?:(?:it|this|that|(?:this|the|that)\s{_JUDGED})(?:\s(?:about|of|from|by"
                rf"|for)\s[^.,;:!?\n]{{1,40}})?(?:\s|(?='s\s))(?:is|'s|seems|looks|was|reads as|counts as|qualifies as"
                rf"|gets|gets a|deserves|(?:is|'s) (?:mainly |mostly |primarily |clearly |really )?about|(?:mainly |mostly )?concerns)\s"
                rf"(?:(?:{_DEGREE})\s){{0,2}}|(?:{_judged_abroad()}))[\"'`]{{0,2}}(?P<name>{names.pattern})"
                rf"(?=[\"'`]{{0,2}}(?:{_SPOKEN_END[1:]})?(?:\s?[.!;:\n(\u3002]|\Z|{_ADDED}))"
                rf"|(?:(?<=\A)|(?<=[.!?;:\n]\s))(?:it|this|that|(?:this|the|that)\s{_JUDGED})\s(?:"
                rf"(?:falls|belongs)\s(?:into|under|to|in)\sthe\s(?:category|class|label)(?:\sof)?"
                rf"|(?:should|must|can) be\s(?:labell?ed|classified|marked|flagged|rated)(?:\sas)?)\s"
                rf"(?P<marked>{names.pattern}){_END}"
                rf"|(?:i|we)(?:'d| would|'ll| will)? (?:label|classify|rate|mark|flag|categori[sz]e"
                rf"|class|consider|call|judge)\s(?:it|this|that|(?:the|this)\s\w{{1,20}})\s"
                rf"(?:(?:as|to be)\s)?(?:a\s|an\s)?[\"'`]{{0,2}}(?P<called>{names.pattern}){_END}"
            ),
            _SENTENCE_WORDS | first_words(words_of("judged")),
        ),
        verb=_verb_pattern(names),
    )


_SENTENCE_WORDS = frozenset({
    "overall", "so", "and", "but", "yes", "no", "therefore", "i", "to", "clearly", "it", "this", "that", "the", "we",
})  # fmt: skip
_ENDING = " .!*_)\n\t"
# What may stand behind a label in its sentence.
_ADDED = (
    r",\s(?:not|rather than|just|only|plain and simple|nur|bloss|seulement|juste|solo|apenas|alleen|tylko|только)\s"
    r"|,?\s(?:because|since|as|for|weil|denn|car|porque|perche|bo|omdat|потому)\b"
    r"|\s(?:comment|post|text|message|joke|essay|answer|response|reply|review|tweet|one)(?=\s?[.!;\n]|\Z)"
    r"|\s(?:to|for)\s(?:the|this|that|your|my|our)\s\w{1,20}(?=\s?[.!;\n]|\Z)"
    r"|,?\s(?:at all|overall|to me|for me|in my (?:opinion|view)|indeed|enough|after all|per se|i think|i suppose)\b"
)
_VERBS = (
    "pass",
    "fail",
    "violate",
    "comply",
    "support",
    "refute",
    "contradict",
    "entail",
    "agree",
    "disagree",
)
_CHANGED = (
    "change",
    "changed",
    "changing",
    "revise",
    "revised",
    "revising",
    "correct",
    "corrected",
    "correcting",
    "switch",
    "switching",
    "amend",
)
_NEVER = "(?!)"  # a pattern that nothing matches
_PERHAPS = (
    r"(?:(?:i(?:'d| would)? (?:guess|say|think|suppose)|probably|most likely|likely|perhaps|maybe"
    r"|definitely|clearly|certainly|obviously|surely|overall|on balance|a (?:marginal|clear"
    r"|narrow)"
    r"|i lean(?:s)? (?:towards|to)|tentatively|with (?:low|high|some) confidence|vermutlich"
    r"|probablemente|probablement)[\s,:]{1,2}){1,2}"
)
_FINALLY = (
    r"(?:so|thus|hence|therefore|overall|and|but|fine|ok|okay|finally|then|in short|in sum|for me"
    r"|mine|final|i say|i'd say|i would say|i'd go with|i'll say|i go with|it's|it is|though"
    r"|(?P<order>remove|delete|keep|publish)|choose|pick|select|i pick|i choose|i take|also|somit|daher|donc"
    r"|entonces|portanto|quindi|dus|also)"
)
_JUDGED = r"(?:risk|severity|level|likelihood|sentiment|category|topic|post|comment|text|message|joke|essay|answer|response|reply|item|review|pun|draft|tweet|story|recipe|caption|statement|sentence|one|content|passage|summary|poem)"
_LY = (  # adverbs of degree, without those that doubt or deny
    r"(?!(?:hard|bare|scarce|near|rare|alleged|supposed|seeming|potential|possib|ostensib|reported|initial|superficial|part|partial|usual|apparent|original|former|previous|near|on|occasional)ly)\w{2,14}ly"
)
_DEGREE_OF_LABELS = rf"(?:very|quite|rather|somewhat|mostly|{_LY})\s"
_DEGREE = rf"{_LY}|entirely|completely|clearly|definitely|very|quite|rather|mildly|somewhat|simply|just|obviously|certainly|really|plainly|fairly|totally|therefore|thus|hence|also|probably|likely|to be|best described as|a|an"
_ASIDE = (
    r"(?:while|unlike|which|who|although|though(?! (?:it's|it is|that's|only|just|barely) (?:very |quite |rather |really |only |just |barely )?(?:a )?(?:close|tight|narrow|near)(?: (?:call|race))?(?:[.!;\n]|\Z))|however|on the|in|compared|like|as opposed"
    r"|despite|whose|being|when|if|where|provided|unless|as long|on condition|for(?! (?:\w+ ){0,2}reasons?)|arguably|let|here|first|okay|sure"
    r"|i (?:will|won't|can|can't|cannot|do not|don't|refuse|must|am|need)|we|wahrend|aunque|bien"
    r"|embora|mentre|anders|obwohl|хотя|хоть)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|depending|depends|otherwise|as long as|on condition|wenn|falls"
    r"|sofern|si|se|indien|jesli|если|takdirde|jika)\b|如果|もし|なら|만약|اذا"
)
_RETRACTION = re.compile(
    r"\b(?:no longer sure|take (?:that|it|this) back|on (?:second thoughts?|reflection)"
    r"|correction|i meant|hold on|wait(?=[,.!]|\s(?!until|till|for|to|before))|scratch that|i was wrong|chang(?:e|ed|ing) my mind"
    r"|i revise|revised|update|let me reconsider|sorry, i)"
)
_ORDINAL = re.compile(
    r"\b(?:the|my)\s(?P<place>first|1st|second|2nd|left|right)(?:-hand)?\s(?P<noun>one|answer"
    r"|response|post|option|text|candidate|choice|summary|essay|caption|drawing|image|joke|reply"
    r"|version|profile)(?!\w)"
    r"|\bthe\s(?P<what>one|answer|response|post|option|text|caption|drawing|image|cartoon"
    r"|joke)\son\sthe\s(?P<side>left|right)(?!\w)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?i)\b(?P<noun>answer|response|post|option|text|candidate|choice|number|joke|reply|summary"
    r"|essay|profile)\s(?P<number>one|two|i{1,2})(?![\w'])"
)
_BOLD = re.compile(r"(?<![\w*\\])(\*{1,3}|__)(?=[^\s*_])([^*\n]{1,200}?)(?<=[^\s*_])\1(?![\w*])")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_TAGS = re.compile(r"</?(?:b|i|em|strong|u|p|br|span|div|code|mark)\s?/?>", re.IGNORECASE)
LOOKALIKES = str.maketrans("\u0410\u0412\u0421\u0415\u0391\u0392\u0395\u0430\u0435\u0441", "ABCEABEaec")


def _inflected_names(names: ValueNames) -> dict[str, str]:
    """Names that are verbs, by how they stand behind what is judged ("passes")."""
    verbs = (name for name in names.values if name in _VERBS)
    return {
        f"{name[:-1]}ies" if name[-1] == "y" else f"{name}{'es' * (name[-1] == 's') or 's'}": name
        for name in verbs
    }


def _verb_pattern(names: ValueNames) -> re.Pattern[str] | None:
    """Pattern of names that are verbs, in a sentence of what is judged or of the judge ("I agree")."""
    inflected = "|".join(_inflected_names(names))
    verbs = [name for name in names.values if name.split(" ")[-1] in ("agree", "disagree")]
    if not inflected and not verbs:
        return None
    longest_first = "|".join(sorted(verbs, key=len, reverse=True))
    return re.compile(
        rf"(?:\A|(?<=[.!?;:\n]\s))(?:(?:so|therefore|thus|overall|clearly),?\s)?(?:(?:it|this|that|(?:this|the|that)\s{_JUDGED})\s(?:clearly\s|therefore\s)?"
        rf"(?P<verb>{inflected or _NEVER})(?=(?:\sthe(?:\s\w{{1,14}}){{1,3}})?\s?(?:[.!;\n]|\Z))|i\s(?P<said>{longest_first or _NEVER})(?=\s?(?:[.!;\n]|\Z)|\s(?:with|that)\s))"
    )


def _are_graded(names: ValueNames) -> bool:
    """Whether a label is a degree of another one ("strongly agree")."""
    parts_of_names = (name.partition(" ") for name in names.values)
    return any(
        degree in names.values and first not in ("not", "no", "non") for first, _, degree in parts_of_names
    )


@lru_cache(maxsize=1)
def _judged_abroad() -> str:
    """Pattern of what is judged and the verb before its label, in other languages than English."""
    subjects = sorted(words_of("judged"), key=len, reverse=True)
    return "|".join(part if is_unspaced(part.lstrip("(?:")[0]) else rf"(?<!\w){part}\s" for part in subjects)


@lru_cache(maxsize=1)
def _linked() -> str:
    """Pattern of what links a heading with a verdict ("is")."""
    links = sorted(
        {part for words in words_of("is") for part in words.split("|") if len(part) > 1 or part.isalpha()}
    )
    return "|".join(link if is_unspaced(link[-1]) else rf"(?<!\w){link}(?!\w)" for link in reversed(links))


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


def plain_markup(prose: str) -> str:
    """Write prose without emphasis and without tags of style."""
    prose = html.unescape(prose) if "&" in prose else prose
    prose = _TAGS.sub("", prose) if "<" in prose else prose
    prose = _STRUCK.sub("", prose) if "~~" in prose else prose
    return _BOLD.sub(r"\2", prose) if "*" in prose or "__" in prose else prose


def plain_prose(prose: str, names: ValueNames) -> str:
    """Write prose without emphasis and markup; ordinals, numbers in words and look-alike letters as the options are called."""
    prose = plain_markup(prose)
    denial = _negated(names)
    if denial is not None:
        prose = denial.sub(
            lambda match: (
                f"{'it is ' * bool(match['call'])}{'is ' * bool(match['be'])}not {match['name'] or match['called'] or match['joined']}"
            ),
            prose,
        )
    if "neither" in names.values and "nor" in prose:
        prose = _neither(names).sub("neither", prose)
    options = list(dict.fromkeys(names.values.values()))
    if len(options) != 2:
        return prose
    short = [option.split()[-1].lower() for option in options]
    small = prose.lower()
    is_placed = short in (["a", "b"], ["1", "2"], ["left", "right"], ["first", "second"])
    if is_placed and any(place in small for place in ("first", "1st", "second", "2nd", "left", "right")):
        prose = _ORDINAL.sub(lambda match: _called(match, options, short), prose)
    if "latter" in small or "former" in small:
        prose = _latter(names).sub(_resolved, prose)
    place = _PLACE_ALONE.fullmatch(small) if is_placed and len(small) < 40 else None
    if place is not None and (bool(place["side"]) == (short[0] == "left")):
        return options[bool(place["two"] or place["side"] == "right")]
    if short == ["1", "2"]:
        numbers = {"one": 0, "i": 0, "two": 1, "ii": 1}
        prose = _NUMBERED.sub(lambda match: f"{match['noun']} {numbers[match['number'].lower()] + 1}", prose)
    if not prose.isascii() and all(len(name) == 1 and name.isascii() for name in names.values):
        prose = _ACCENTED.sub(GAP, prose)  # another letter than the one without its mark
        prose = _STRAY.sub(lambda letter: letter.group().translate(LOOKALIKES), prose)
    return prose


_PLACE_ALONE = re.compile(
    r"\W*(?:i (?:choose|pick|prefer) )?(?:the )?(?:(?P<one>first|1st|former)|(?P<two>second|2nd|latter)|(?P<side>left|right)(?:most|-hand)?)"
    r"(?: (?:one|option|text|answer|response|of the two))?\W*"
)


@lru_cache(maxsize=256)
def _negated(names: ValueNames) -> re.Pattern[str] | None:
    """Pattern of what denies a label, where another label is that it does not apply ("not X"); None without such."""
    bases = [name[4:] for name in names.values if name.startswith("not ") and name[4:] in names.values]
    if not bases:
        return None
    base = "|".join(map(re.escape, sorted(bases, key=len, reverse=True)))
    prefixed = "|".join(re.escape(name) for name in bases if f"non {name}" not in names.values) or _NEVER
    fillers = r"(?:(?:an?|at all|actually|even|remotely|in any way)\s){0,3}"
    return re.compile(
        rf"(?i)\b(?:(?P<be>is|was|does)(?:n't|\snot)\s{fillers}(?P<name>{base})(?!\w)"
        rf"|(?P<call>i\s(?:do(?:n't|\snot)\s(?:think|believe|find)\s(?:that\s)?(?:it|this|that)(?:'s|\sis)?\s{fillers}|(?:would|do|could|can)(?:n't|\s?not)\s(?:call|label|classify|consider|find|rate|mark|flag)\s(?:this|it|that|the\s\w{{1,20}})\s{fillers}))(?P<called>{base})(?!\w)"
        rf"|(?<![\w-])(?:non-?|ir|in|im|un)(?P<joined>{prefixed})(?!\w))"
    )


@lru_cache(maxsize=256)
def _neither(names: ValueNames) -> re.Pattern[str]:
    """Pattern of a sentence that denies two labels where a third is neither of them."""
    return re.compile(
        rf"(?i)\bneither\s(?:an?\s|the\s|really\s)?{names.pattern}\snor\s(?:an?\s|the\s)?{names.pattern}"
    )


@lru_cache(maxsize=256)
def _latter(names: ValueNames) -> re.Pattern[str]:
    """Pattern of two names and what calls one of them the former or the latter."""
    return re.compile(
        rf"(?i)(?P<lead>(?<!\w)(?:between|of|read|considered|comparing|compared)\s(?P<first>{names.pattern})\s(?:and|or)\s(?:then\s)?(?P<second>{names.pattern})"
        rf"[^.!?\n]{{0,40}}?)\bthe\s(?P<place>former|latter)(?:\sone)?(?!\w)"
    )


def _resolved(match: re.Match[str]) -> str:
    return match["lead"] + match["first" if match["place"].lower() == "former" else "second"]


def has_accent(text: str, names: ValueNames) -> bool:
    """Whether a text is a letter with an accent where values are letters without: another letter."""
    if text.isascii() or not all(len(name) == 1 and name.isascii() for name in names.values):
        return False
    return _ACCENTED.search(text.strip(ORNAMENT)) is not None


def _called(match: re.Match[str], options: Sequence[str], short: Sequence[str]) -> str:
    """The name of the option that an ordinal or a side names; the words themselves where it names none."""
    word = (match["place"] or match["side"]).lower()
    place = ("1st", "2nd", "first", "second", "left", "right").index(word)
    if (word in ("left", "right")) != (short[0] == "left"):
        return match.group()
    noun = match["noun"] or match["what"]
    return f"the {'option' if noun.lower() == 'one' else noun} {options[place % 2].split()[-1]}"


_ACCENTED = re.compile(
    r"(?:(?<=[:=(\[*\"'`])|(?<=[:=]\s)|(?<=\A)|(?<=\n))[\u00c0-\u00dc\u0100-\u017d](?=[\s*_\"')\]]{0,4}(?:\Z|\n|[.;!]))"
)
_STRAY = re.compile(
    r"(?:(?<=[:=(\[*\"'`])|(?<=[:=]\s)|(?<=\A)"
    r"|(?<=\n))[\u0410\u0412\u0421\u0415\u0391\u0392\u0395](?=[\s*_\"')\]]{0,4}(?:\Z|\n|[.,;!]))"
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
        if differs and len(between) < 200 and _CORRECTION.search(between):
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
    patterns = _patterns(names, keys)
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
            name = statement["said"] or _inflected_names(names)[statement["verb"]]
            yield Statement(statement.start(), statement.end(), names.value(name))
    yield from _at_ends(prose, names, patterns, cut, question)


_SENTENCE_END = re.compile(r"[.!?;]\s")
_ALSO_FRAMED = re.compile(rf"(?:\]\]|\}}\$?|>)\s?(?:,|/|{_OR})\s?\Z")  # a verdict in a frame, and another one
_LIMITS = re.compile(
    rf"[.!?;:\n({GAP}\u3002]|\s-\s|,?\s?(?:\b(?:but|while|whereas|although|though|not|than|over"
    rf"|instead|rather)\b|(?!for\b)(?:{_REASON}))"
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
    prose: str, names: ValueNames, patterns: _Patterns, cut: bool, question: str
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
    text: str, start: int, names: ValueNames, patterns: _Patterns, question: str
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
    opening: re.Match[str], lines: Sequence[str], text: str, names: ValueNames, patterns: _Patterns
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
