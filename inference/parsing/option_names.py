"""The names that an answer may give to an option or a label, and the probabilities of their first tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from ..errors import InputError
from ..tables.columns import fold, plain
from .spec import Answer, LabelSpec, Mass

Value = TypeVar("Value", bound=Hashable)


def first_token(answer: Answer) -> Mapping[str, Any] | None:
    """First token of an answer that is not blank; None where no log-probabilities came."""
    for token in answer.tokens:
        name = token.get("token") if isinstance(token, dict) else None
        if isinstance(name, str) and not is_blank(name):
            return token
    return None


def token_at(answer: Answer, key: str) -> Mapping[str, Any] | None:
    """Token that starts the value of ``key`` in a JSON answer that contains the key once; else None."""
    if not answer.tokens:
        return None
    places = list(re.finditer(rf'"{re.escape(key)}"\s{{0,20}}:[\s"]{{0,20}}', answer.text))
    names = [token.get("token") if isinstance(token, dict) else None for token in answer.tokens]
    if len(places) != 1 or not all(isinstance(name, str) for name in names):
        return None
    written = "".join(map(str, names))
    shift = written.find(answer.text)
    if shift < 0:
        return None
    position = 0
    for token, name in zip(answer.tokens, map(str, names), strict=True):
        end = position + len(name)
        if end > places[0].end() + shift:
            lead = len(name) - len(name.lstrip(' "\n\t:'))
            return token if position + lead == places[0].end() + shift else None
        position = end
    return None


def masses(token: Mapping[str, Any], name: Callable[[str], Value | None]) -> dict[Value, float]:
    """Sum the probabilities of the listed tokens by the value that each names."""
    # Tokens that differ in case or in a leading space name the same value.
    totals: dict[Value, float] = {}
    for word, probability in _listed(token).items():
        value = name(word)
        if value is not None:
            totals[value] = totals.get(value, 0.0) + probability
    return totals


def _listed(token: Mapping[str, Any]) -> dict[str, float]:
    """Return the probabilities of the tokens that are listed, the chosen one among them."""
    top = token.get("top_logprobs")
    listed: dict[str, float] = {}
    for entry in [*top, token] if isinstance(top, list) else [token]:
        if not isinstance(entry, dict):
            continue
        word, logprob = entry.get("token"), entry.get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float) and logprob == logprob:
            listed.setdefault(word, math.exp(min(logprob, 0.0)))
    return listed


LONG_LIST = 5  # listed tokens from which on a value that is not among them has next to no probability


def share(mass: Mapping[Value, float], value: Value, token: Mapping[str, Any], n_values: int) -> Mass:
    """Probability of ``value`` among all values, and the mass outside of them."""
    # Where few tokens are listed, perhaps the chosen one alone, and not all values are among them, the others
    # may have all that is left: the probability is then the lower bound of a listed value, or the upper bound
    # of one that is not listed.
    total = sum(mass.values())
    if total <= 0:
        return Mass(None, 1.0)
    listed = _listed(token)
    if len(mass) >= n_values or len(listed) >= LONG_LIST:
        return Mass(mass.get(value, 0.0) / total, max(0.0, 1.0 - total))
    remainder = max(0.0, 1.0 - sum(listed.values()))
    return Mass(mass.get(value, remainder) / (total + remainder), bound=True)


ORNAMENT = "*_`\"'“”«»()[]{}<>.,:;!#|~\\ \t\n"
LONGEST_NAME = 120  # a longer text names no label
SUBJECTS = (
    *("post", "option", "profile", "candidate", "text", "item", "image"),
    *("publicacion", "opcion", "perfil", "texto", "imagen", "المنشور", "الخيار", "النص"),
)
TITLES = (
    *("answer", "response", "choice", "verdict", "decision", "label", "category", "classification"),
    *("respuesta", "eleccion", "veredicto", "etiqueta", "categoria", "clasificacion"),
    *("الاجابة", "الجواب", "القرار", "التصنيف", "الفئة"),
)
_BLANKS = " \tĠĊ▁\n\r"  # a leading space or line break, as tokenizers of several families write it
_BLANK_BYTES = re.compile(r"<0x(?:20|0A|0D|09)>")
_BULLET = re.compile(r"^(?:[-•]\s+)+")


def token_word(token: str) -> str:
    """Fold a token, without the spaces and ornaments at its ends; empty for a token of spaces."""
    return fold(_BLANK_BYTES.sub("", token).strip(_BLANKS)).strip(ORNAMENT)


def is_blank(token: str) -> bool:
    """Whether a token is nothing but spaces and line breaks."""
    return not _BLANK_BYTES.sub("", token).strip(_BLANKS)


@dataclass(frozen=True, eq=False, slots=True)
class ValueNames:
    """Names of several values."""

    values: Mapping[str, str]  # value by plain name
    pattern: str  # regular expression of any of the names in folded text
    nouns: str  # regular expression of what a subject is called before its name, with what parts the two
    _title: re.Pattern[str]

    @lru_cache(maxsize=100_000)  # noqa: B019 - names are cached as well
    def bare(self, text: str) -> str | None:
        """Find the value that ``text`` names alone, ornaments and a word before it aside."""
        if len(text) > LONGEST_NAME:
            return None
        name = plain(_BULLET.sub("", text.strip(ORNAMENT))).strip(ORNAMENT)
        if name in self.values:
            return self.values[name]
        title = self._title.match(name)
        return self.values.get(name[title.end() :].strip(ORNAMENT)) if title else None

    @lru_cache(maxsize=100_000)  # noqa: B019 - names are cached as well
    def word(self, token: str) -> str | None:
        """Find the value that one token names."""
        return self.values.get(plain(token_word(token)))

    def value(self, name: str) -> str:
        """Value of a name that ``pattern`` matched."""
        return self.values[plain(name)]


@lru_cache(maxsize=256)
def option_names(options: tuple[str, ...], noun: str = "") -> ValueNames:
    """Names of the options of a choice."""
    return _names(((option, (option,)) for option in options), noun)


@lru_cache(maxsize=256)
def label_names(labels: tuple[LabelSpec, ...]) -> ValueNames:
    """Names of labels: their ids, what they are called, and their aliases."""
    return _names(((each.id, (each.id, each.label, *each.aliases)) for each in labels), "")


@lru_cache(maxsize=256)
def exact_names(labels: tuple[LabelSpec, ...]) -> Mapping[str, str]:
    """Ids of labels by their ids and by what they are called, both as they are spelled."""
    return {label.label: label.id for label in labels if label.label} | {
        label.id: label.id for label in labels
    }


def _names(pairs: Iterable[tuple[str, tuple[str, ...]]], noun: str) -> ValueNames:
    values: dict[str, str] = {}
    for value, names in pairs:
        for name in map(plain, names):
            if name and values.setdefault(name, value) != value:
                raise InputError(
                    f"'{values[name]}' and '{value}' of the response form share the name '{name}'; "
                    "give each its own names and aliases."
                )
    longest_first = sorted(values, key=len, reverse=True)
    pattern = "|".join(r"[\s_/-]{1,3}".join(map(re.escape, name.split())) for name in longest_first)
    nouns = _before_name({*SUBJECTS, plain(noun)} - {""})
    titles = re.compile(_before_name({*SUBJECTS, *TITLES, plain(noun)} - {""}))
    return ValueNames(values, rf"(?:{pattern})(?!\w)", nouns, titles)


def _before_name(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return rf"(?:(?:the|el|la)\s)?(?:{'|'.join(map(re.escape, longest_first))})[\s:#*_\"'(\[]{{1,6}}"
