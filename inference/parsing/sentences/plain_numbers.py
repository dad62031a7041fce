"""Numbers as answers write them: figures, words, fractions, halves, thousands, stars and rows of tables."""

from __future__ import annotations

import math
import re

from ...tables.columns import fold
from ..answer_words import WORD_END, number_words
from ..option_names import ORNAMENT
from ..spec import ScaleSpec
from .plain_prose import plain_markup

_NO_NUMBERS = {  # words for numbers that are other words as well, such as articles or "null" of JSON
    *(
        "un",
        "une",
        "um",
        "uma",
        "een",
        "ett",
        "en",
        "bir",
        "una",
        "ein",
        "null",
        "nul",
        "on",
        "uc",
        "se",
        "sem",
        "iki",
    ),
    *map(
        fold,
        (
            "không",
            "ba",
            "năm",
            "sáu",
            "hai",
            "일",
            "이",
            "삼",
            "사",
            "오",
            "육",
            "칠",
            "팔",
            "구",
            "십",
            "영",
        ),
    ),
}
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TEENS = (
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LARGER = (
    {word: 11.0 + place for place, word in enumerate(_TEENS)}
    | {word: 20.0 + 10 * place for place, word in enumerate(_TENS)}
    | {
        f"{tens}{joint}{unit}": 20.0 + 10 * place + digit
        for place, tens in enumerate(_TENS)
        for digit, unit in enumerate(_ONES[:9], 1)
        for joint in " -"
    }
    | {f"{unit} and a half": digit + 0.5 for digit, unit in enumerate(_ONES, 1)}
    | {
        f"{sign} {digit}": factor * number
        for sign, factor in (("minus", -1.0), ("plus", 1.0), ("negative", -1.0))
        for number, unit in enumerate(_ONES, 1)
        for digit in (unit, str(number))
    }
    | {"a hundred": 100.0, "one hundred": 100.0}
)
WORDS = (
    _LARGER
    | {word: number for word, number in number_words().items() if word not in _NO_NUMBERS}
    | {"una": 1.0}
)
_WORD = "|".join(sorted((re.escape(word) for word in WORDS), key=len, reverse=True))
FIGURE = r"[-+]?(?>(?<![\d.,])\.\d{1,9}|\d{1,3}(?:[,' \u202f\u2019]\d{3})+(?:\.\d{1,9})?(?!\d)|\d{1,9}(?:[.,]\d{1,9})?)"
_OF = (
    r"\s?(?:/|\bout\s?of\b|\bof\b|\bde\b|\bsobre\b|\bsur\b|\bvon\b|\bauf\b|\bsu\b|\bdi\b|\bvan\b"
    r"|\buit\b|\bop\b|\bna\b|\bz\b|\bav\b"
    r"|\bdari\b|\bиз\b|\bumo\b|\bem\b|\bمن\b|में से)\s?(?:a\s(?:possible|maximum)\s(?:of\s)?)?"
)
_OTHER = (
    r"\s?(?:[-/~\u2044]|\.{2,3}|\bto\b|\bor\b|\band\b|\ba\b|\bo\b|\bou\b|\boder\b|\bbis\b|\btot\b"
    r"|\bof\b|\bdo\b|\bдо\b|\bили\b|\blub\b|至|到|或|から"
    r"|\u301c|\bate\b|\bay\b)\s?"
)
_UNITS = fold(
    r"(?:\s?(?:points?|pts|stars?|puntos?|punkte?n?|pontos?|punti|punten|etoiles?|sterne?"
    r"|estrellas|estrelas|stelle|sterren|punkty|punktow"
    r"|балла|баллов|балл|звезды|звезд|poang|puan|poin|分|点|점|星|★|نقاط|अंक)LETTER)?"
).replace("letter", WORD_END)
_SPOKEN = fold("(?:입니다|이다|이에요|です|である|だ|と|に|を|을|를|의|है|हैं)")
_NO_END = (
    rf"(?!(?!{_SPOKEN})\w|[PERCENT\u2044+~]|[.,]\d|\s?(?:SHARE\+(?!\s?\w))|[\s,(]{{1,3}}(?:or|to"
    rf"|oder|bis|ou|maybe|perhaps|possibly|and a half|point|virgula"
    r"|komma|coma|virgule|et demi|y medio|e meio|e mezzo|if|unless|times|or so|ish)\b|-ish)"
)
NUMBER = (
    rf"\$?(?:{FIGURE}|\b(?:{_WORD})(?!\w))(?>(?:{_OF}(?:\d{{1,4}}(?:[,. ]\d{{3}})?(?!\d)|(?:{_WORD})\b))?)"
    rf"(?>(?:{_OTHER}\d{{1,4}})?){_UNITS}{_NO_END}"
)
_PARTS = re.compile(
    rf"(?P<figure>{FIGURE})?(?P<word>(?:{_WORD})(?!\w))?(?:{_OF}(?P<out_of>\d[\d,. ]{{0,5}}\d|\d|(?:{_WORD})(?!\w)))?"
    rf"{_UNITS}(?P<rest>.*)",
    re.DOTALL,
)
_HALF = re.compile(r"(\d)\s?\u00bd")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:[,' \u202f\u2019]\d{3})+(?:\.\d+)?")
_POINTED = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+")
_HALF_STAR = re.compile(r"(?P<run>[\u2605\u2b50\U0001f31f\u2606\ufe0f]{1,20})\s?\u00bd(?!\s?[\u2606\u2605])")
STARS = re.compile(r"[\u2605\u2b50\U0001f31f][\u2605\u2b50\U0001f31f\u2606\ufe0f]*")


_SAME = re.compile(rf"\b(?P<word>{_WORD})\s\((?P<figure>\d{{1,3}})\)")  # "three (3)"
_COUNT_OF = re.compile(
    rf"(?P<figure>\d(?:[\d.,]{{0,6}}\d)?)(?P<unit>{_UNITS[:-1]})(?P<of>{_OF})(?=\d)"
)  # "2 points out of 10"
_OF_COUNT = re.compile(
    rf"(?P<most>\d{{1,3}})\s?(?:{fold('점 만점에|점만점에|点満点(?:中|で|の)|üzerinden|में से')})\s?(?P<figure>\d{{1,3}}(?:[.,]\d{{1,2}})?)(?!\d)"
    rf"|满分(?P<full>\d{{1,3}})分?,?\s?(?:我?给|打|得)?\s?(?P<given>\d{{1,3}}(?:[.,]\d{{1,2}})?)(?!\d)"
)


def plain_numbers(text: str) -> str:
    """Fold a text, and write the numbers in it as digits: halves, fractions, "2 points out of 10", tables."""
    text = _HALF_STAR.sub(_with_half, _HALF.sub(r"\1.5", _rows_of_table(text)))
    text = re.sub(r"\\[dt]?frac\{(\d{1,4})\}\{(\d{1,4})\}", r"\1/\2", text.replace("\\%", "%"))
    text = fold(plain_markup(text.replace("\u20e3", ""))).replace("\u2044", "/").replace("\ufe0f", "")
    text = re.sub(r"(?<=\d)\u00b7(?=\d)", ".", text).replace("\u00b10", "0")
    text = _OF_COUNT.sub(
        lambda match: f"{match['figure'] or match['given']}/{match['most'] or match['full']}", text
    )
    text = _COUNT_OF.sub(lambda match: match["figure"] + match["of"], text)
    return _SAME.sub(
        lambda match: match["figure"] if WORDS[match["word"]] == float(match["figure"]) else match[0], text
    )


def plain_thousands(text: str) -> str:
    """Write "2.5k", "6_000" and "three thousand" in digits."""
    text = re.sub(r"(?<=\d)_(?=\d{3}(?!\d))", "", text)
    text = re.sub(
        rf"\b(?P<word>{'|'.join(_ONES)}) thousand(?!\w)", lambda match: f"{WORDS[match['word']]:g}000", text
    )
    return re.sub(
        r"(?<![\d.,])(\d{1,3}(?:\.\d{1,2})?)\s?k(?!\w)", lambda match: f"{1000 * float(match[1]):.0f}", text
    )


def _with_half(match: re.Match[str]) -> str:
    run = match["run"].replace("\ufe0f", "").replace(" ", "")
    return f" {len(run)}.5 stars" if "\u2606" not in run else match[0]


_TABLE = re.compile(
    r"^[ \t]*\|([^\n]+)\|[ \t]*\n[ \t]*\|[\s:|-]+\|[ \t]*\n[ \t]*\|([^\n]+)\|[ \t]*(?:\n(?![ \t]*\|)|\Z)",
    re.MULTILINE,
)


def _rows_of_table(text: str) -> str:
    """Write a table of one row as lines of a heading with its cell."""
    return _TABLE.sub(_headed_cells, text) if "|" in text else text


def _headed_cells(match: re.Match[str]) -> str:
    headings, cells = (line.split("|") for line in match.groups())
    lines = (f"{heading.strip()}: {cell.strip()}" for heading, cell in zip(headings, cells, strict=False))
    return "\n".join(lines) + "\n" if len(headings) == len(cells) else match[0]


def number_pattern(scale: ScaleSpec) -> str:
    """Pattern of a number on a scale; a per cent is one only on a scale from 0 to 100."""
    is_share = scale.minimum == 0 and scale.maximum == 100
    pattern = NUMBER.replace("PERCENT", "" if is_share else "%").replace(
        "SHARE", "" if is_share else "%|percent|per cent|"
    )
    return pattern.replace(_UNITS, _UNITS[:-2] + "|\\s?%|\\s?percent|\\s?per cent)?") if is_share else pattern


def rating(value: object, scale: ScaleSpec) -> float | str:
    """Read one rating; a sentence of why not, where it is none."""
    if isinstance(value, str) and STARS.fullmatch(value.strip()):
        return count_stars(value.strip(), scale)
    if isinstance(value, str):
        value = _read_rating(value, scale)
        if isinstance(value, str):
            return value
    if value is None:
        return "no rating"
    if not isinstance(value, float) or not math.isfinite(value):
        return "not a number"
    if not scale.minimum <= value <= scale.maximum:
        return f"{value:g} is out of range"
    if scale.whole and not value.is_integer():
        return f"{value:g} is not a whole number"
    return value


def without_ornament(number: str, further: str = "") -> str:
    """Strip what adorns a number, but not the point of ".5"."""
    bare = number.strip(ORNAMENT + further)
    return (
        f".{bare}" if bare[:1].isdigit() and re.search(r"(?<!\d)\.\Z", number[: number.find(bare)]) else bare
    )


def _read_rating(text: str, scale: ScaleSpec) -> float | str:
    if len(text) > 60:
        return "not one number"
    bare = without_ornament(fold(_HALF.sub(r"\1.5", text)), "$")
    if scale.minimum == 0 and scale.maximum == 100:
        bare = re.sub(r"\s?(?:%|percent|per cent)\Z", "", bare)
    parts = _PARTS.fullmatch(bare)
    if parts is None or parts["rest"].strip(ORNAMENT):
        return "not one number"
    figure, word, out_of = parts["figure"], parts["word"], parts["out_of"]
    if out_of is not None:
        maximum = WORDS.get(out_of, None) if out_of in WORDS else float(re.sub(r"[,. ]", "", out_of))
        if maximum != scale.maximum:
            return f"out of {out_of} on a scale to {scale.maximum:g}"
    if figure is not None and word is None:
        if out_of is not None and re.search(r"[,. ]", out_of):  # which parts thousands in the same way
            figure = re.sub(r"(?<=\d)[,. ](?=\d{3}(?!\d))", "", figure)
        return _figure(figure, scale)
    return WORDS.get(word or "", "not a number") if figure is None else "not one number"


def _figure(figure: str, scale: ScaleSpec) -> float | str:
    """Read digits; a point or comma before three of them may part thousands, so it is read where it cannot."""
    if _THOUSANDS.fullmatch(figure):
        if scale.maximum >= 1000:
            return float(re.sub(r"[,' \u202f\u2019]", "", figure))
        return f"{figure} may be thousands"
    if scale.maximum >= 1000 and (_POINTED.fullmatch(figure) or "," in figure):
        return f"{figure} may be thousands"
    if "." in figure and scale.maximum >= 1000 and 1000 * float(figure) <= scale.maximum:
        return f"{figure} may be thousands"
    return float(figure.replace(",", "."))


def count_stars(run: str, scale: ScaleSpec) -> float | str:
    """The rating of a row of stars, or why it is none."""
    run = run.replace("\ufe0f", "").replace(" ", "")
    empty = run.count("\u2606")
    full = len(run) - empty
    if empty and full + empty != scale.maximum:
        return f"{full + empty} stars on a scale to {scale.maximum:g}"
    return rating(float(full), scale)
