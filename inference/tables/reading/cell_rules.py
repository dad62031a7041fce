"""What one cell is: a number, a label, nothing, or a text that somebody must explain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import product
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ..columns import fold, plain, visible

# Cells that are empty in every program that writes text: R, pandas and conjury itself write these.
NOTHING = frozenset(("", "na", "nan", "<na>"))
# All spellings of these, for readers that compare letter by letter.
SPELLINGS_OF_NOTHING = tuple(
    "".join(letters)
    for mark in sorted(NOTHING)
    for letters in product(*(dict.fromkeys((char, char.upper())) for char in mark))
)
# Texts by which programs and people say that there is no answer, and which are labels elsewhere ("none" is a
# class of many data sets): they are never decided in silence.
CODES = frozenset(
    (
        *(".", "-", "--", "---", "?", "/", "n/a", "n.a.", "n.a"),
        *("none", "null", "nil", "(null)", "\\n", "(missing)", "missing", "(none)"),
        *("-nan", "1.#ind", "1.#qnan", "undefined", "sysmis", "no answer", "no response", "not answered"),
        *("not available", "not applicable", "refused", "refusal", "declined", "error", "timeout", "skipped"),
        *("unparsed", "don't know", "dont know", "dk", "prefer not to say", "prefer not to answer"),
        *("keine angabe", "k.a.", "sans reponse", "sin respuesta", "ns/nr", "該当なし", "無回答"),
        *(
            "do not know",
            "weiss nicht",
            "weiss ich nicht",
            "keine antwort",
            "nicht beantwortet",
            "verweigert",
        ),
        *("k. a.", "k.a", "unbekannt", "ne sait pas", "nsp", "pas de reponse", "non-reponse", "inconnu"),
        *("ne se prononce pas", "no sabe", "no contesta", "no responde", "ns/nc", "no sabe/no contesta"),
        *("no aplica", "nao sabe", "nao respondeu", "sem resposta", "nao se aplica", "non sa", "non so"),
        *("non risponde", "nessuna risposta", "weet niet", "weet ik niet", "geen antwoord", "geen opgave"),
        *("unknown", "no data", "blank", "empty", "invalid", "failed", "failure", "parse error"),
        *("parsing error", "parse_error", "no label", "no rating", "no score", "n.d.", "no opinion"),
    )
)  # folded
# Errors of spreadsheets, which write them in the language of their user: #N/A and #NV, #VALUE! and #WERT!
_ERROR_VALUE = re.compile(r"#(n/?[adb]|nv|н/д|getting_data|[¡¿]?[^\W\d_][\w/ ]*[!?])", re.IGNORECASE)
# Texts of servers, proxies and libraries that programs store in place of an answer.
ERROR_TEXT = re.compile(
    r"^\s*(?:<!doctype html|<html[\s>]|\{\s*\"(?:error|detail|errors)\"\s*:|\[?error code:? ?\d{3}\b|error:? "
    r"\d{3}\b|http/\d\.\d \d{3}"
    r"|(?:4\d\d|5\d\d) (?:bad request|unauthorized|forbidden|not found|too many requests|internal server "
    r"error|bad gateway"
    r"|service unavailable|gateway time-?out)\b|traceback \(most recent call "
    r"last\)|(?:openai|anthropic|google|httpx|requests)\.[\w.]*(?:error|exception)\b"
    r"|(?:rate ?limit|quota) "
    r"(?:reached|exceeded)\b|rate_limit_exceeded\b|(?:model_length|content_filter|max_tokens|stop_sequence|null|undefined)\s*$"
    r"|upstream (?:connect error|request timeout)|the server had an error|that model is currently "
    r"overloaded|connection (?:error|reset|refused|timed out)\b"
    r"|request timed out\b|this model's maximum context length is)",
    re.IGNORECASE,
)
_ERROR_WORD = re.compile(r"\W*error(?:\s*:|\s+[\u2013-]\s)", re.IGNORECASE)  # "error-free" is a label
_SIGNS_ONLY = re.compile(r"[.\-_*?/\\#~\s]+")
# What models and people put around a label, closing marks by opening ones.
_AROUND = dict(zip("*_`\"'“„«「『[(【", "*_`\"'”“»」』])】", strict=True))
_BRACKETS = "()[]<>{}\"'*_ "
NUMBER_CODES = frozenset(
    sign * code
    for sign in (1, -1)
    for code in (9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9997, 9998, 9999, 99999)
)
_REFUSAL = re.compile(  # with "'" in place of the typographic apostrophe
    r"^(i'?m|i am|we're|we are)? ?(very |so |really )?(sorry|unable|not able|afraid)\b"
    r"|^(i|we|my) (sincerely )?apolog|^apologies"
    r"|^i (can ?not|can't|won't|will not|could not|couldn't|must decline|decline|refuse)\b"
    r"|^i (do not|don't) (feel|have (enough|the|an?|any|personal))\b"
    r"|^(as|being) an? (ai|artificial|large|language)\b"
    r"|^(lo siento|no puedo|desole|je suis desole|je ne peux pas)\b"
    r"|^(es tut mir leid|leider kann ich|ich kann .*nicht)\b"
    r"|\b(can ?not|can't|unable to) "
    r"(assist|help|comply|answer|rate|provide|judge|evaluate|determine|score|label|classify|decide)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?([ T].*)?|\d{1,2}[-. /](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
    r"([-. /]\d{2,4})?|\d{1,2}[./]\d{1,2}[./]\d{4}",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(
    r"[+-]?[$€£]?\d+([.,]\d+)? ?(%|/ ?\d+|out of \d+|stars?|points?|pts?\.?|€|[$])|[$€£]\d+([.,]\d+)?",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(\.\d{3})+(,\d+)?)")
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_POINT = re.compile(r"[+-]?\d+\.\d{1,2}|[+-]?\d+\.\d{4,}")
# Whole numbers are far from all others by so many spans of these, in so few cells of at least so many.
FAR, FEW_CELLS, FEWEST_NUMBERS = 3, 0.02, 20
MOST = 0.5  # share of cells above which a column is one of numbers


def number_of(text: str, decimal: str = ".") -> float | None:
    """The number that a cell contains, full-width digits included; None where it contains anything else."""
    line = text if text.isascii() else _ascii_digits(text)
    line = line.lstrip("'`") if line[:1] in ("'", "`") else line  # by which Excel keeps numbers as text
    if decimal == ",":
        line = line.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(line.strip()) else line
    elif _THOUSANDS.fullmatch(line.strip()):
        line = line.replace(",", "")
    try:
        value = float(line)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in line else None


def _ascii_digits(text: str) -> str:
    """A text with digits of ASCII; raised digits behind others are exponents or footnotes, and stay."""
    raised = [unicodedata.decomposition(char).startswith(("<super>", "<sub>")) for char in text]
    if any(raised) and not all(raised):
        return text
    return unicodedata.normalize("NFKC", visible(text)).replace("\u2212", "-").replace("\u2019", "'")


def key_of(text: str) -> str:
    """What tells labels apart: all spellings of a number or word have one key, also as models adorn them."""
    value = number_of(text)
    if value is not None:
        return f"{value:.12g}"
    key = " ".join(fold(text).split())
    bare = _without_ornament(key)
    return key if bare == key else key_of(bare)


def label_key(text: str) -> str:
    """What tells the labels of a scheme apart, which may be written with hyphens or underscores, too."""
    return plain(key_of(text))


def _without_ornament(text: str) -> str:
    """A label without the quotes, emphasis or brackets around it, or the full stop behind it."""
    bare = text.rstrip(".\u3002") or text
    while len(bare) > 2 and _AROUND.get(bare[0]) == bare[-1]:
        bare = bare[1:-1].strip()
    return bare


def is_nothing(text: str) -> bool:
    """Whether a cell of a text file is empty, or has one of the marks of `NOTHING`."""
    return text.casefold() in NOTHING


def is_code(text: str) -> bool:
    """Whether a text usually means that there is no answer: a code, an error, a sentence of refusal."""
    key = " ".join(fold(text).split())
    inner = key.strip(_BRACKETS)
    if {key, inner, inner.rstrip(".!"), inner.replace("_", " ")} & CODES or _SIGNS_ONLY.fullmatch(key):
        return True
    if not inner or ERROR_TEXT.match(text) or _ERROR_WORD.match(text):  # {} and [] contain nothing
        return True
    return _ERROR_VALUE.fullmatch(key) is not None or is_refusal(key)


def is_error_value(text: str) -> bool:
    """Whether a text is an error as spreadsheets write it, in capitals and in any language."""
    return text.isupper() and _ERROR_VALUE.fullmatch(text) is not None


def is_refusal(text: str) -> bool:
    """Whether a text is a sentence by which people and models refuse to answer."""
    return _REFUSAL.search(" ".join(fold(text).split())) is not None


def is_date(text: str) -> bool:
    """Whether a text is a date, as spreadsheets make them of 3-4 or 1/2."""
    return _DATE.fullmatch(text) is not None


def has_unit(text: str) -> bool:
    """Whether a text is a number with a sign of percent, a maximum or another unit."""
    return _WITH_UNIT.fullmatch(text) is not None


def number_codes(values: Sequence[float]) -> list[float]:
    """Numbers that are probably codes for no answer: usual ones, far outside of all others."""
    # "Far" is below zero where nothing else is, or further from the nearest other value than these are apart,
    # so that 9 on a scale to 10, or 99 on one to 100, stays what it is.
    candidates = sorted(value for value in set(values) if value in NUMBER_CODES)
    answers = sorted(set(values) - set(candidates))
    if len(answers) < 2:
        return []
    if answers[0] < 0:  # below a scale from 1, -1 to -8 are codes of surveys, unless they mirror the scale
        below = [value for value in answers if value < 0 and value > -9 and value.is_integer()]
        positive = [value for value in answers if value not in below]
        if len(positive) > max(len(below), 1) and positive[0] >= 1:
            candidates, answers = sorted([*below, *candidates]), positive
    if not candidates:
        return []
    low, high = answers[0], answers[-1]
    reach = high - low + 1
    return [
        value
        for value in candidates
        if value < min(low - reach, 0) or value < 0 <= low or value > high + reach
    ]


def mostly_numbers(is_number: NDArray[np.bool_], counts: NDArray[np.int64]) -> bool:
    """Whether a column is one of numbers: most of its cells are, and at least two different ones."""
    total = int(counts.sum())
    return total > 0 and int(is_number.sum()) >= 2 and int(counts[is_number].sum()) > MOST * total


def writes_decimal_commas(texts: Sequence[str]) -> bool:
    """Whether numbers of a column have commas for their decimal points: some have, and no cell denies it."""
    with_comma = [text for text in texts if _DECIMAL_COMMA.fullmatch(text) and "," in text]
    if not with_comma:
        return False
    # 1,234 may be a thousand or one; without a second kind of decimals it is left to the user.
    decisive = any(_ONE_GROUP.fullmatch(text) is None for text in with_comma)
    return decisive and not any(_POINT.fullmatch(text) for text in texts)


def undecided_comma(texts: Sequence[str]) -> str | None:
    """A number of a column such as 1,234, where no cell says whether commas are those of decimals."""
    with_comma = [text for text in texts if "," in text and number_of(text) is not None]
    are_numbers = with_comma and sum(number_of(text) is not None for text in texts) * 2 > len(texts)
    is_open = are_numbers and all(_ONE_GROUP.fullmatch(text) for text in with_comma)
    return with_comma[0] if is_open and not any(_POINT.fullmatch(text) for text in texts) else None


def far_numbers(values: NDArray[np.float64]) -> list[tuple[list[float], float, float]]:
    """Few whole numbers far beyond all others, such as 70 on a scale to 10, and the range of these."""
    present = values[np.isfinite(values)]
    if len(present) < FEWEST_NUMBERS or (present % 1 != 0).any():
        return []
    groups = []
    for sign in (1.0, -1.0):  # beyond the greatest, and below the least
        distinct, counts = np.unique(sign * present, return_counts=True)
        spans = distinct[:-1] - distinct[0]
        cells_beyond = np.cumsum(counts[::-1])[::-1][1:]
        is_far = (np.diff(distinct) > FAR * spans) & (spans > 0)
        is_far &= cells_beyond <= max(1, FEW_CELLS * len(present))
        if is_far.any():
            at = int(is_far.argmax())
            low, high = sorted((sign * distinct[[0, at]]).tolist())
            groups.append(((sign * distinct[at + 1 :]).tolist(), low, high))
    return groups
