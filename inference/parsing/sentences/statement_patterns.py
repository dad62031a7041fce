"""Patterns of what states a value of some options: headings and verbs before a name, names alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...tables.columns import fold
from ..answer_words import (
    AnchoredPattern,
    choosing,
    first_words,
    headings,
    is_unspaced,
    words_of,
)
from ..option_names import ValueNames
from ..quoted import GAP
from .plain_prose import NEVER

REASON = (
    r"(?:because|since|as|over|for|due|instead|rather|which|who|that|given|porque|ya|puesto|parce"
    r"|car|puisque|plutot|weil|da|denn"
    r"|statt|pois|perche|poiche|invece|omdat|want|poniewaz|bo|gdyz|потому|так|поскольку|cunku"
    r"|karena|لان|لانها|لانه|بدلا|क्योंकि)\b|因为|由于|而"
)
_SPOKEN_END = fold(r"|です|である|だ(?!\w)|と(?!\w)|が|を|입니다|이다|이에요|을|를|의|है|हैं|。|，|、|的")
_END = rf"(?=[\s*_`\"')\]}}>|$]{{0,8}}(?:\Z|\n|[.,;:!<()|{GAP}]|-(?!\w)|{REASON}{_SPOKEN_END}))"
_ALONE = r"(?=[ \t*_`\"')\]]{0,8}[.!]?[ \t*_`\"')\]]{0,8}(?:\n|\Z))"
OR = (
    r"(?:or|and|nor|vs|if|when|unless|o|u|y|e|si|cuando|oder|und|ou|et|of|en|lub|i|или|и|veya|ve"
    r"|eller|och|atau|dan|hay|او|و|اذا|या)\b"
    r"|或|和|与|また|または|か|と"
)
_MORE = rf"[\s*_`\"')\]]{{0,4}}(?:[,/&|]|(?:{OR})|\?)\s{{0,3}}"
_HEDGE = r"[\s*_`\"')\]]{0,4},?\s{0,2}(?:or|but maybe|or maybe|maybe|perhaps|oder|ou|o|или|或)\s[^.\n]{0,25}?"
_UNSURE = (
    r"(?![\s*_`\"')\]]{0,4}(?:[?\u061f]|(?:if|when|unless|si|cuando|wenn|falls|se|als|jesli|если|اذا)\b))"
)
_ADVERB = r"(?:(?:likely|probably|clearly|definitely|therefore|thus|hence|ultimately|simply|still|certainly|obviously|actually|now|then|klar|eindeutig)\s)?"
_BRACKET = r"(?:[\s*_]{0,4}[(\[][^()\[\]\n]{0,40}[)\]])?"
_BLANKS = r"[\s:=>\"'*_`(\[{#|$]{0,12}"
CORRECTION = re.compile(
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
class StatementPatterns:
    """Patterns of the forms in which a value of some options is stated."""

    ended: re.Pattern[str]
    statement: AnchoredPattern
    heading: re.Pattern[str]
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    corrected: AnchoredPattern
    sentence: AnchoredPattern
    verb: re.Pattern[str] | None


@lru_cache(maxsize=256)
def statement_patterns(names: ValueNames, keys: frozenset[str]) -> StatementPatterns:
    """The patterns of some options, and of the keys behind which a value stands."""
    nouns = f"(?:{names.nouns})"
    next_name = rf"(?!(?:not|rather|instead|over|than|unlike|while|whereas|but)\b|{REASON})(?:[\w']{{1,14}}\s){{0,2}}{names.pattern}"
    several = rf"(?!{_MORE}{next_name})(?!{_HEDGE}{names.pattern})"
    ends = rf"(?(line){_ALONE}|(?(boxed)\s?\}}|(?(marked)\s?\]\]|(?(tagged)[\s*_`\"'\])]{{0,6}}</|{_END}))))"
    name = rf"(?:{nouns})?(?:the\s)?(?P<name>{names.pattern})"
    ended = re.compile(rf"{names.pattern}(?={_END[3:-1]}|\s?\}}|\s?\]\]|\s(?:wins|is better)|{_ADDED})")
    degree = NEVER if _are_graded(names) else _DEGREE_OF_LABELS
    title_words = first_words([*words_of("headings"), *keys])
    return StatementPatterns(
        ended=ended,
        statement=AnchoredPattern(
            re.compile(rf"(?:{_beginnings(keys)}){name}{ends}{several}{_UNSURE}"),
            title_words | first_words(words_of("choose")) | {"\\", "[", "<"},
        ),
        heading=re.compile(
            rf"^[\s*_#(\[-]{{0,8}}{nouns}(?P<name>{names.pattern})[\s*_)\]]{{0,6}}(?:[:.)\]-]|$)",
            re.MULTILINE,
        ),
        opening=re.compile(
            rf"[\s*_#`\"'(\[]{{0,8}}(?P<hedge>{_PERHAPS})?(?:{degree})?(?P<noun>{nouns})?(?P<name>{names.pattern})"
            rf"(?=[*_`\"')\]]{{0,6}}(?:[.;)(!\n\u3002]|:(?!\s?{next_name}{_END})|[,\u060c\u3001](?!\s?{_ASIDE})"
            rf"|\s[(-]|\s(?:{REASON})|\s(?:of (?:the two|them|these)|it is|hands down|by far|all the way|by a (?:mile|nose|hair|whisker|wide margin))(?:\sthen)?(?:\s?[.!;\n]|\Z)|\Z)){several}{_UNSURE}"
        ),
        closing=re.compile(
            rf"(?P<lead>\A|(?<!\d)\.|[!?;:\n\u2026\u3002\uff1a\u2192\u061f]|\s-|,\s(?=so|hence"
            rf"|thus|therefore|but)|\s(?=so\s)|[,\u3001])[\s*_\"')\]]{{0,4}}"
            rf"(?:{_FINALLY}[\s,:]{{1,3}}){{0,4}}(?:{_PERHAPS})?(?:{degree})?{name}(?:\sit(?:'s|\sis)(?:\sthen)?|\s\((?:\d{{1,3}}|(?!{names.pattern})[a-z]{{1,12}}|(?:confidence|certainty|score)[^()\n]{{0,20}})\)|,?\s(?:i (?:think|guess|suppose|believe|would say|'d say)|in my (?:opinion|view)))?[\s*_`\"'.!)\]}}\u3002\u2026]{{0,6}}\Z"
        ),
        corrected=_corrected_pattern(names, name, several),
        sentence=_sentence_pattern(names),
        verb=_verb_pattern(names),
    )


def _beginnings(keys: frozenset[str]) -> str:
    """Pattern of what begins a statement: a heading, a key, a verb that chooses, a mark around a name."""
    titles = "|".join(
        [
            headings(),
            *(rf"(?<![\w-]){re.escape(key)}(?!\w)".replace(r"\ ", r"[\s_-]") for key in sorted(keys)),
        ]
    )
    of = r"(?:\s(?:of|for|to)\s(?:this|the|that)\s\w{1,20}(?:\s\w{1,20})?)?"
    link = rf"{of}[\s\"'*_`)\]]{{0,6}}(?:{_linked()}){_BLANKS}{_ADVERB}{_BLANKS}"
    sign = rf"[\s\"'*_`)\]]{{0,6}}(?:[:=|]|=?-?>|\u2192|\s-{{1,2}}\s){_BLANKS}{_ADVERB}"
    beginnings = [
        rf"(?:{titles}){_BRACKET}(?:{link}|{sign})(?:\\?text\{{)?",
        rf"\[(?:{titles})\]\s{{1,3}}",
        rf"(?:{titles})[*_:#\"]{{0,4}}[ \t]{{0,3}}(?P<line>\n{{1,2}})[\s*_#>`\"'(\[]{{0,8}}",
        rf"(?:{choosing()})[\s:,*_\"'`(\[]{{0,6}}",
        r"\\f?box(?:ed)?(?P<boxed>[\s{]{1,4})(?:\\?(?:text(?:bf|tt|rm|it)?|mathrm|mathbf)\{)?\s?",
        r"(?P<marked>\[\[)\s?",
        rf"<[\w:-]{{0,20}}(?:{titles})[\w:-]{{0,20}}(?:\s[^<>]{{0,40}})?(?P<tagged>>)[\s*_`\"'\[(]{{0,6}}",
    ]
    return "|".join(beginnings)


def _corrected_pattern(names: ValueNames, name: str, several: str) -> AnchoredPattern:
    """Pattern of a value that takes back an earlier one ("no, wait: B")."""
    return AnchoredPattern(
        re.compile(
            rf"(?:(?<!\()(?:{CORRECTION.pattern})[\s]{{0,2}}(?:[,:;.!\u2026]|-(?!\w))|\b(?:actually|i mean|i meant"
            rf"|make that)\s)[\s,:;.!\u2026-]{{0,6}}"
            rf"(?:(?:it's|it is|make that|i mean|i meant|wait|no|i choose|rather|es|c'est"
            rf"|es ist)[\s,:]{{1,3}}){{0,2}}"
            rf"{name}(?:{_END}|\s(?:wins|is better)){several}{_UNSURE}"
            rf"|(?:{'|'.join(_CHANGED)})\s(?:(?:my|the|that|this|it|from)\s){{1,2}}(?:\w{{1,20}}\s){{0,2}}to\s[\"'`]?"
            rf"(?P<changed>{names.pattern}){_END}"
            rf"|(?<!\()(?:update|edit|correction|revised)(?:\s[^.:;\n]{{1,60}})?:\s(?P<updated>{names.pattern}){_END}"
        ),
        first_words(re.sub(r"\\b|\(\?:|\)\\b", "", CORRECTION.pattern).split("|")) | {"i", "make", *_CHANGED},
    )


def _sentence_pattern(names: ValueNames) -> AnchoredPattern:
    """Pattern of a sentence that says of what is judged that it has a value ("this post is fine")."""
    return AnchoredPattern(
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
    )


_SENTENCE_WORDS = frozenset({
    "overall", "so", "and", "but", "yes", "no", "therefore", "i", "to", "clearly", "it", "this", "that", "the", "we",
})  # fmt: skip
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


def inflected_names(names: ValueNames) -> dict[str, str]:
    """Names that are verbs, by how they stand behind what is judged ("passes")."""
    verbs = (name for name in names.values if name in _VERBS)
    return {
        f"{name[:-1]}ies" if name[-1] == "y" else f"{name}{'es' * (name[-1] == 's') or 's'}": name
        for name in verbs
    }


def _verb_pattern(names: ValueNames) -> re.Pattern[str] | None:
    """Pattern of names that are verbs, in a sentence of what is judged or of the judge ("I agree")."""
    inflected = "|".join(inflected_names(names))
    verbs = [name for name in names.values if name.split(" ")[-1] in ("agree", "disagree")]
    if not inflected and not verbs:
        return None
    longest_first = "|".join(sorted(verbs, key=len, reverse=True))
    return re.compile(
        rf"(?:\A|(?<=[.!?;:\n]\s))(?:(?:so|therefore|thus|overall|clearly),?\s)?(?:(?:it|this|that|(?:this|the|that)\s{_JUDGED})\s(?:clearly\s|therefore\s)?"
        rf"(?P<verb>{inflected or NEVER})(?=(?:\sthe(?:\s\w{{1,14}}){{1,3}})?\s?(?:[.!;\n]|\Z))|i\s(?P<said>{longest_first or NEVER})(?=\s?(?:[.!;\n]|\Z)|\s(?:with|that)\s))"
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
