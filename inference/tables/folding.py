"""Text reduced to what its words are: no case, accents, widths or invisible characters."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = "\u00ad\u061c\u0640\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670]+")
_SIGNS = {"-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "'": "\u2018\u2019"}
_JOINTS = re.compile(r"[\s_/-]+")


def visible(text: str) -> str:
    """Drop characters that take no space on a screen."""
    return text if text.isascii() else _INVISIBLE_RUN.sub("", text)


def fold(text: str) -> str:
    """Fold case, accents, dashes, compatibility forms such as full-width letters; drop what is invisible.

    Letters of other scripts that look alike are kept apart: a Cyrillic letter is no Latin one.
    """
    if text.isascii():
        return text.lower()
    letters = _MARKS.sub("", unicodedata.normalize("NFKD", visible(text)))
    for sign, variants in _SIGNS.items():
        for variant in variants:
            letters = letters.replace(variant, sign)
    return letters.casefold()


def plain(text: str) -> str:
    """Fold ``text`` and write spaces, underscores, slashes and hyphens between words as one space."""
    return _JOINTS.sub(" ", fold(text)).strip()
