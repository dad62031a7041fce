"""Refusals in words: phrases at the start of an answer, kept as data with a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from ..errors import InputError
from ..tables.files import ROOT
from ..tables.folding import fold

PHRASES = ROOT / "data" / "refusals.yaml"
SEARCHED = 400
FIRST_UNSPACED = "\u2e80"  # from here on scripts put no spaces between words


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that open a refusal.

    Attributes
    ----------
    version : str
    pattern : pattern
        Matches at the start of folded text; the group ``phrase`` is what refuses.
    """

    version: str
    pattern: re.Pattern[str]


@cache
def load_phrases(path: Path = PHRASES) -> Phrases:
    """Read a list of phrases: ``openers`` may come before those of ``refusals``, by language."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        openers, refusals = (
            sorted({fold(phrase) for phrases in content[part].values() for phrase in phrases}, key=len)[::-1]
            for part in ("openers", "refusals")
        )
        version = str(content["version"])
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path}: a list of refusals needs a version, and openers and refusals by language; "
            "see data/refusals.yaml."
        ) from None
    opening, refusing = ("|".join(map(_whole_words, phrases)) for phrases in (openers, refusals))
    return Phrases(version, re.compile(rf"\W{{0,9}}(?:(?:{opening})\W{{0,4}}){{0,5}}(?P<phrase>{refusing})"))


def _whole_words(phrase: str) -> str:
    spaced = phrase[-1] < FIRST_UNSPACED
    return re.escape(phrase) + (r"(?!\w)" if spaced else "")


def refusal_phrase(text: str) -> str:
    """Find the phrase by which an answer refuses at its start; empty where it does not."""
    found = load_phrases().pattern.match(fold(text[:SEARCHED]))
    return found["phrase"] if found else ""


def refusal_version() -> str:
    """Version of the list of phrases."""
    return load_phrases().version
