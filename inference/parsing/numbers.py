"""Numbers as people write them in an answer, held against the scale that they are given on."""

from __future__ import annotations

import math
import re

from ..tables.folding import fold
from .names import ORNAMENT
from .spec import ScaleSpec

WORDS = {
    word: float(number)
    for number, words in enumerate(
        (
            "zero cero صفر",
            "one uno una واحد",
            "two dos اثنان",
            "three tres ثلاثة",
            "four cuatro اربعة",
            "five cinco خمسة",
            "six seis ستة",
            "seven siete سبعة",
            "eight ocho ثمانية",
            "nine nueve تسعة",
            "ten diez عشرة",
        )
    )
    for word in words.split()
}
_FIGURE = r"[-+]?\d{1,9}(?:[.,]\d{1,9})?"
_OF = r"\s?(?:/|\bout\s?of\b|\bof\b|\bde\b|\bsobre\b|\bمن\b)\s?"
_OTHER = r"\s?(?:[-/\u2044]|\bto\b|\bor\b|\ba\b|\bo\b)\s?"
NUMBER = (
    rf"(?:{_FIGURE}|\b(?:{'|'.join(map(re.escape, WORDS))})\b)(?:{_OF}\d{{1,4}})?"
    rf"(?:{_OTHER}\d{{1,4}})?(?![\w%\u2044])"
)
_PARTS = re.compile(
    rf"(?P<figure>{_FIGURE})?(?P<word>[^\W\d]+)?(?:{_OF}(?P<out_of>\d{{1,4}}))?(?P<rest>.*)", re.DOTALL
)


def rating(value: object, scale: ScaleSpec) -> float | str:
    """Read one rating; a sentence of why not, where it is none."""
    if isinstance(value, str):
        value = _written(value, scale)
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


def _written(text: str, scale: ScaleSpec) -> float | str:
    parts = _PARTS.fullmatch(fold(text[:60]).strip(ORNAMENT))
    if parts is None or parts["rest"].strip(ORNAMENT) or len(text) > 60:
        return "not one number"
    figure, word, out_of = parts["figure"], parts["word"], parts["out_of"]
    if out_of is not None and float(out_of) != scale.maximum:
        return f"out of {out_of} on a scale to {scale.maximum:g}"
    if figure is not None and word is None:
        return float(figure.replace(",", "."))
    return WORDS.get(word or "", "not a number") if figure is None else "not one number"
