"""Forms of Spanish words by rule, with the exceptions that the file of forms lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Forms = Mapping[str, Any]

ENDINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "ar": {
        "present": ("o", "as", "a", "amos", "áis", "an"),
        "subjunctive": ("e", "es", "e", "emos", "éis", "en"),
        "preterite": ("é", "aste", "ó", "amos", "asteis", "aron"),
        "imperfect": ("aba", "abas", "aba", "ábamos", "abais", "aban"),
        "past_subjunctive": ("ara", "aras", "ara", "áramos", "arais", "aran"),
    },
    "er": {
        "present": ("o", "es", "e", "emos", "éis", "en"),
        "subjunctive": ("a", "as", "a", "amos", "áis", "an"),
        "preterite": ("í", "iste", "ió", "imos", "isteis", "ieron"),
        "imperfect": ("ía", "ías", "ía", "íamos", "íais", "ían"),
        "past_subjunctive": ("iera", "ieras", "iera", "iéramos", "ierais", "ieran"),
    },
}
ENDINGS["ir"] = ENDINGS["er"] | {"present": ("o", "es", "e", "imos", "ís", "en")}
AFTER_INFINITIVE = {
    "future": ("é", "ás", "á", "emos", "éis", "án"),
    "conditional": ("ía", "ías", "ía", "íamos", "íais", "ían"),
}
STRESSED = (0, 1, 2, 5)  # persons whose stem bears the stress, in the present
THIRD = (2, 5)
_SOFT = "eiéí"
_ACCENTED = str.maketrans("áéíóú", "aeiou")


def forms(part: str, word: str, irregular: Forms) -> dict[str, str]:
    """Return the forms of a word by their names; any other part has the one form that it is.

    The first word is inflected (traje de baño).

    Parameters
    ----------
    part : {"masculine", "feminine", "person", "adjective", "verb", "phrase"}
        Nouns by gender; ``person`` has four forms, as adjectives have (niño, niña, niños, niñas).
    word : str
    irregular : dict
        ``plurals``; ``feminines``; ``participles``; ``stems``: change of the stressed vowel by verb, such as
        e>ie.

    Raises
    ------
    ValueError
        The word is no infinitive although it is to be a verb.
    """
    head, space, rest = word.partition(" ")
    return {name: form + space + rest for name, form in _inflected(part, head, irregular).items()}


def _inflected(part: str, word: str, irregular: Forms) -> dict[str, str]:
    if part in ("masculine", "feminine"):
        return {"singular": word, "plural": _plural(word, irregular)}
    if part in ("person", "adjective"):
        feminine = irregular["feminines"].get(word) or _feminine(word)
        return {
            "masculine": word,
            "feminine": feminine,
            "masculine_plural": _plural(word, irregular),
            "feminine_plural": _plural(feminine, irregular),
        }
    return _verb(word, irregular) if part == "verb" else {"plain": word}


def _plural(word: str, irregular: Forms) -> str:
    if word in irregular["plurals"]:
        return str(irregular["plurals"][word])
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if re.search(r"[áéíóú][ns]$", word):
        return word[:-2] + word[-2:].translate(_ACCENTED) + "es"
    return word + "es"


def _feminine(word: str) -> str:
    if word.endswith("o"):
        return word[:-1] + "a"
    if re.search(r"(?:or|[áéíó]n|[é]s)$", word):
        return word[:-2] + word[-2:].translate(_ACCENTED) + "a"
    return word


def _verb(verb: str, irregular: Forms) -> dict[str, str]:
    stem, ending = verb[:-2], verb[-2:]
    if ending not in ENDINGS:
        raise ValueError(f"'{verb}' is no infinitive in -ar, -er or -ir")
    stressed, weak = _stems(stem, ending, irregular["stems"].get(verb))
    made = {"infinitive": verb}
    for tense, endings in ENDINGS[ending].items():
        for person, tail in enumerate(endings):
            base = stem
            if tense in ("present", "subjunctive") and person in STRESSED:
                base = stressed
            elif (
                (tense == "preterite" and person in THIRD)
                or tense == "past_subjunctive"
                or (tense == "subjunctive" and ending == "ir")
            ):
                base = weak
            made[f"{tense}_{person}"] = _joined(base, tail, ending)
    for tense, endings in AFTER_INFINITIVE.items():
        made |= {f"{tense}_{person}": verb + tail for person, tail in enumerate(endings)}
    made["gerund"] = stem + "ando" if ending == "ar" else weak + "iendo"
    made["imperative_4"] = verb[:-1] + "d"
    participle = irregular["participles"].get(verb, stem + ("ado" if ending == "ar" else "ido"))
    made |= {f"participle_{end}": participle[:-1] + end for end in ("o", "a", "os", "as")}
    return made


def _stems(stem: str, ending: str, change: str | None) -> tuple[str, str]:
    """Return the stem under stress, and the one of thirds of the preterite in verbs of -ir."""
    if change is None:
        return stem, stem
    old, new = change.split(">")
    head, _, tail = stem.rpartition(old)
    weak = head + {"e": "i", "o": "u"}.get(old, old) + tail if ending == "ir" else stem
    return head + new + tail, weak


def _joined(stem: str, tail: str, ending: str) -> str:
    """Write stem and ending so that the last consonant sounds as in the infinitive."""
    soft = tail[0] in _SOFT
    if ending == "ar" and soft:
        for old, new in (("c", "qu"), ("g", "gu"), ("z", "c")):
            if stem.endswith(old):
                return stem[:-1] + new + tail
    if ending != "ar" and not soft and tail[0] in "aoáó":
        if stem.endswith("gu"):
            return stem[:-1] + tail
        if stem.endswith("g"):
            return stem[:-1] + "j" + tail
        if re.search(r"[aeiou]c$", stem):
            return stem[:-1] + "zc" + tail
        if stem.endswith("c"):
            return stem[:-1] + "z" + tail
    return stem + tail
