"""Personal data in texts that rules can recognise: addresses, numbers and names of accounts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address


@dataclass(frozen=True)
class PersonalKind:
    """A kind of personal data: its pattern, and what a match has to fulfil besides."""

    name: str
    pattern: re.Pattern[str]
    is_valid: Callable[[str], bool] = lambda text: True


@dataclass(frozen=True)
class PersonalMatch:
    """Personal data in a text: its kind and place."""

    kind: str
    start: int
    end: int
    text: str


def _digits(text: str) -> str:
    return "".join(re.findall(r"\d", text))


def _is_card(text: str) -> bool:
    """Whether the last digit of a card number is the check digit of Luhn, and the first that of a card."""
    digits = [int(digit) for digit in _digits(text)][::-1]
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(digits)]
    return 13 <= len(digits) <= 19 and digits[-1] in (2, 3, 4, 5, 6) and sum(doubled) % 10 == 0


def _is_account(text: str) -> bool:
    """Whether the check digits of an international account number (ISO 13616) are right."""
    compact = re.sub(r"\s", "", text).upper()
    turned = "".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])
    return 15 <= len(compact) <= 34 and int(turned) % 97 == 1


def _is_phone(text: str) -> bool:
    """Whether digits are a telephone number: with a country code, or in groups; no date and no amount."""
    digits = _digits(text)
    international = text.startswith(("+", "00"))
    is_date = re.fullmatch(
        r"\(?(?:\d{4}[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ]\d{2,4})\)?", text
    )
    is_amount = re.fullmatch(r"\d{1,3}(?:[ .]\d{3})+", text)
    groups = len(re.findall(r"\d+", text))
    if is_date or is_amount:
        return False
    return (9 if international else 10) <= len(digits) <= 15 and (international or groups > 1)


def _is_address(text: str) -> bool:
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return False


KINDS = (  # in the order in which they are searched; what one kind has taken is no other
    PersonalKind("e-mail", re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]+\.)+[^\W\d_]{2,24}\b")),
    PersonalKind("account number", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}\b"), _is_account),
    PersonalKind("card number", re.compile(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])"), _is_card),
    PersonalKind("IP address", re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"), _is_address),
    PersonalKind(
        "social security number",
        re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"),
    ),
    PersonalKind(
        "telephone number",
        re.compile(
            r"(?<![\w.,/+-])(?:\+|00)?\(?\d{1,15}\)?"
            r"(?:(?:[ ./-]{1,2}|(?<=\)))\(?\d{1,10}\)?){0,6}(?![\w%]|[.,]\d)"
        ),
        _is_phone,
    ),
    PersonalKind(
        "profile address",
        re.compile(
            r"\b(?:https?://)?(?:www\.)?(?:twitter|x|facebook|instagram|tiktok|t|linkedin)\.(?:com|me)/(?:in/)?[\w.@-]{2,}",
            re.IGNORECASE,
        ),
    ),
    PersonalKind("account name", re.compile(r"(?<![\w@/.])@[A-Za-z_](?:[\w.]{1,28}\w)")),
)


def personal_data(text: str) -> list[PersonalMatch]:
    """Personal data in a text, in order of appearance; names of people are not recognised."""
    matches: list[PersonalMatch] = []
    for match in _matches(text):
        if all(match.end <= before.start or match.start >= before.end for before in matches):
            matches.append(match)
    return sorted(matches, key=lambda match: match.start)


def _matches(text: str) -> Iterator[PersonalMatch]:
    for kind in KINDS:
        for match in kind.pattern.finditer(text):
            if kind.is_valid(match.group().strip()):
                yield PersonalMatch(kind.name, match.start(), match.end(), match.group())


def masked(text: str) -> str:
    """A text with the kind of personal data in place of each."""
    parts, end = [], 0
    for match in personal_data(text):
        parts += [text[end : match.start], f"[{match.kind}]"]
        end = match.end
    return "".join([*parts, text[end:]])
