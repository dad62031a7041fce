"""Phrases by which an answer refuses, in a list that ships and has a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from ...errors import InputError
from ...tables.columns import fold
from ...tables.files import ROOT
from ..answer_words import is_unspaced

PHRASES = ROOT / "data" / "refusals.yaml"
SEARCHED = 400  # a refusal stands at the beginning of an answer


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that open a refusal."""

    version: str
    pattern: re.Pattern[str]  # matches at the start of folded text; the group `phrase` is what refuses


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
    return re.escape(phrase) + ("" if is_unspaced(phrase[-1]) else r"(?!\w)")


def refusal_phrase(text: str) -> str:
    """Find the phrase by which an answer refuses at its start; empty where it does not."""
    match = load_phrases().pattern.match(fold(text[:SEARCHED]))
    return match["phrase"] if match else ""


def refusal_version() -> str:
    """Return the version of the list of phrases by which refusals are recognised.

    Returns
    -------
    str
        Version as the list states it, a date.

    Examples
    --------
    >>> refusal_version() >= "2026-11-22"
    True
    """
    return load_phrases().version
