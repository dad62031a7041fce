"""Ratings on one or several named scales, and the numbers in which people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..tables.columns import fold, plain
from .option_names import ORNAMENT, first_token, masses, share, token_at, token_word
from .quoted import DOUBLED, Record, records_with_key, strict_object, unquoted_content
from .spec import Answer, Mass, ResponseSpec, RuleFinding, ScaleSpec

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


def _read_rating(text: str, scale: ScaleSpec) -> float | str:
    parts = _PARTS.fullmatch(fold(text[:60]).strip(ORNAMENT))
    if parts is None or parts["rest"].strip(ORNAMENT) or len(text) > 60:
        return "not one number"
    figure, word, out_of = parts["figure"], parts["word"], parts["out_of"]
    if out_of is not None and float(out_of) != scale.maximum:
        return f"out of {out_of} on a scale to {scale.maximum:g}"
    if figure is not None and word is None:
        return float(figure.replace(",", "."))
    return WORDS.get(word or "", "not a number") if figure is None else "not one number"


INNER_KEYS = ("score", "rating", "value")
_GENERAL = "rating|score|answer|value|puntuacion|calificacion|valoracion|nota|التقييم|الدرجة"
_APART = r"(?:[\s:=>\"'*_`(\[|]|is\b|es\b|of\b|-(?![\d.])){1,12}"


@dataclass(frozen=True, slots=True)
class _Ratings:
    """Numbers or sentences of why there is none, for one scale."""

    values: tuple[float | str, ...]
    notes: tuple[str, ...] = ()


def strict(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read a JSON object with a number in range for each scale, or, of a single scale, the number alone."""
    text = answer.text.strip()
    record = strict_object(text, [scale.id for scale in response.scales])
    if record is None and len(response.scales) == 1:
        record = Record({response.scales[0].id: decode_whole_number(text)})
    fields = record or Record()
    return [
        _finding(answer, scale, _Ratings((_number(fields.get(scale.id), scale),)))
        for scale in response.scales
    ]


def lenient(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read numbers, fractions of the maximum and words for numbers, from JSON or from named lines."""
    # A scale that is missing, out of range, or given twice with different numbers is not read; the others
    # are.
    content = unquoted_content(answer.text, lambda passage: len(passage) <= 62 and ":" not in passage, texts)
    prose = fold(content.prose)
    findings = []
    for scale in response.scales:
        ratings = _ratings_in_json(content.values, scale, single=len(response.scales) == 1)
        if not content.pure:
            prose_values = list(_numbers(prose, scale, _pattern(scale, len(response.scales) == 1)))
            note = (
                ("JSON amid other text",) if ratings.values else ("read from text",) if prose_values else ()
            )
            ratings = _Ratings(
                tuple(dict.fromkeys((*ratings.values, *prose_values))), (*ratings.notes, *note)
            )
        findings.append(_finding(answer, scale, ratings))
    return findings


def decode_whole_number(text: str) -> float | None:
    """Decode a text that is a number in digits and nothing else."""
    return float(text) if re.fullmatch(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?", text) else None


def _number(value: object, scale: ScaleSpec) -> float | str:
    return (
        rating(value, scale) if isinstance(value, float) else "no rating" if value is None else "not a number"
    )


def _ratings_in_json(values: Sequence[object], scale: ScaleSpec, single: bool) -> _Ratings:
    names = frozenset({plain(scale.id), plain(scale.label)} - {""})
    pairs = list(records_with_key(values, names))
    if not pairs and single:
        pairs = list(records_with_key(values, frozenset((*INNER_KEYS, "answer"))))
    ratings: list[float | str] = []
    for record, name in pairs:
        value = record[name]
        if isinstance(value, Record):
            value = next((value[key] for key in INNER_KEYS if key in value), None)
        ratings.append("the scale came twice" if name in record.contradicted else rating(value, scale))
    doubled = any(name in record.doubled for record, name in pairs)
    return _Ratings(tuple(dict.fromkeys(ratings)), (DOUBLED,) if doubled else ())


@lru_cache(maxsize=256)
def _pattern(scale: ScaleSpec, single: bool) -> re.Pattern[str]:
    names = sorted({plain(scale.id), plain(scale.label)} - {""}, key=len, reverse=True)
    words = [r"[\s_/-]{1,3}".join(map(re.escape, name.split())) for name in names]
    alone = rf"\A[\s*_`(\[\"']{{0,6}}(?P<alone>{NUMBER})[\s*_`)\]\"'.!]{{0,6}}\Z|" if single else ""
    return re.compile(
        rf"{alone}(?<![\w-])(?:{'|'.join([*words, *([_GENERAL] if single else [])])})(?!\w)"
        rf"[\s*_\"'`]{{0,4}}(?:[(\[][^()\[\]\n]{{0,30}}[)\]])?{_APART}(?P<named>{NUMBER})"
    )


def _numbers(prose: str, scale: ScaleSpec, pattern: re.Pattern[str]) -> Iterator[float | str]:
    for match in pattern.finditer(prose):
        groups = match.groupdict()
        yield rating((groups.get("alone") or groups["named"]).strip(ORNAMENT), scale)


def _finding(answer: Answer, scale: ScaleSpec, ratings: _Ratings) -> RuleFinding:
    numbers = [value for value in ratings.values if isinstance(value, float)]
    if len(ratings.values) != 1 or not numbers:
        several = f"contradicting ratings: {', '.join(f'{n:g}' for n in sorted(numbers))}"
        reasons = [value for value in ratings.values if isinstance(value, str)]
        note = several if len(numbers) > 1 else "; ".join(reasons) or "the scale is missing"
        return RuleFinding(scale.id, None, note)
    return RuleFinding(scale.id, numbers[0], "; ".join(ratings.notes), _mass(answer, scale, numbers[0]))


def _mass(answer: Answer, scale: ScaleSpec, value: float) -> Mass:
    entry = token_at(answer, scale.id) or first_token(answer)
    one_digit = scale.whole and scale.minimum >= 0 and scale.maximum <= 9
    if entry is None or not one_digit or _digit(str(entry.get("token")), scale) != value:
        return Mass()
    mass = masses(entry, lambda token: _digit(token, scale))
    result = share(mass, value, entry, int(scale.maximum - scale.minimum) + 1)
    total = sum(mass.values())
    is_known = total > 0 and not result.bound
    expected = sum(number * weight for number, weight in mass.items()) / total if is_known else None
    return replace(result, expected=expected)


@lru_cache(maxsize=10_000)
def _digit(token: str, scale: ScaleSpec) -> float | None:
    word = token_word(token)
    inside = len(word) == 1 and word.isdecimal() and scale.minimum <= float(word) <= scale.maximum
    return float(word) if inside else None
