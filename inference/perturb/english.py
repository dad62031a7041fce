"""Forms of English words by rule, with the exceptions that the file of forms lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Forms = Mapping[str, Any]

_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_CLOSED = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")
_VOWELS = re.compile(r"[aeiouy]+")


def forms(part: str, word: str, irregular: Forms) -> dict[str, str]:
    """Return the forms of a noun, verb or adjective by their names; any other word has the one that it is.

    The last word of a noun is inflected (parking lot) and the first of a verb (give up).

    Parameters
    ----------
    part : {"noun", "verb", "adjective", "phrase"}
    word : str
    irregular : dict
        ``nouns``: plural by noun; ``verbs``: past and participle by verb; ``adjectives``: comparative and
        superlative by adjective; ``doubling``: verbs of several syllables that double their last letter.
    """
    if part == "noun":
        head, space, last = word.rpartition(" ")
        plural = irregular["nouns"].get(last) or _with_s(last)
        both = {"singular": word, "plural": head + space + plural}
        return both | {f"{name}_genitive": f"{form}'s" for name, form in both.items() if form[-1] != "s"}
    if part == "verb":
        first, space, rest = word.partition(" ")
        return {name: form + space + rest for name, form in _verb(first, irregular).items()}
    if part == "adjective":
        return {"plain": word, **_degrees(word, irregular)}
    return {"plain": word}


def _with_s(word: str) -> str:
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")


def _verb(verb: str, irregular: Forms) -> dict[str, str]:
    stem = verb + verb[-1] if _CLOSED.match(verb) or verb in irregular["doubling"] else verb
    regular = _with_ed(stem, verb)
    past, participle = irregular["verbs"].get(verb, (regular, regular))
    third = verb + "es" if verb.endswith("o") else _with_s(verb)
    return {
        "base": verb,
        "third": irregular["thirds"].get(verb, third),
        "past": past,
        "participle": participle,
        "ing": _with_ing(stem, verb),
    }


def _with_ed(stem: str, verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if _CONSONANT_Y.search(verb) else stem + "ed"


def _with_ing(stem: str, verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    silent = verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and len(verb) > 2
    return verb[:-1] + "ing" if silent else stem + "ing"


def _degrees(word: str, irregular: Forms) -> dict[str, str]:
    if word in irregular["adjectives"]:
        comparative, superlative = irregular["adjectives"][word]
        return {"comparative": comparative, "superlative": superlative}
    syllables = len(_VOWELS.findall(word[:-1] if word.endswith("e") else word))
    if syllables > 1 and not _CONSONANT_Y.search(word):
        return {"comparative": f"more {word}", "superlative": f"most {word}"}
    if _CONSONANT_Y.search(word):
        stem = word[:-1] + "i"
    elif word.endswith("e"):
        stem = word[:-1]
    else:
        stem = word + word[-1] if _CLOSED.match(word) else word
    return {"comparative": stem + "er", "superlative": stem + "est"}
