"""Prose without markup and with the options as they are called: ordinals, denials, look-alike letters."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache

from ..option_names import ORNAMENT, ValueNames
from ..quoted import GAP, STYLE_TAGS

NEVER = "(?!)"  # a pattern that nothing matches
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
_TAGS = re.compile(rf"</?(?:{'|'.join(sorted(STYLE_TAGS))}|br|code)\s?/?>", re.IGNORECASE)
LOOKALIKES = str.maketrans("\u0410\u0412\u0421\u0415\u0391\u0392\u0395\u0430\u0435\u0441", "ABCEABEaec")


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
    prefixed = "|".join(re.escape(name) for name in bases if f"non {name}" not in names.values) or NEVER
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
    if text.isascii() or not all(len(name) == 1 and id.isascii() for name, id in names.values.items()):
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
