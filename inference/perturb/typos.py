"""Slips of the fingers: a neighbouring key, a letter left out, two letters in the wrong order."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import pairwise

ROWS = {
    "en": ((0.0, "qwertyuiop"), (0.25, "asdfghjkl"), (0.75, "zxcvbnm")),
    "es": ((0.0, "qwertyuiop"), (0.25, "asdfghjklñ"), (0.75, "zxcvbnm")),
}
HOW = ("neighbour", "deletion", "transposition")
SHORTEST = 3  # letters of a word that may lose one


@cache
def neighbours(language: str) -> dict[str, str]:
    """Return the letters beside each letter on the keyboard of a language: QWERTY, with ñ for Spanish.

    Two keys are neighbours in one row if no key lies between them, and in adjoining rows if their centres
    are less than one key apart.

    Examples
    --------
    >>> neighbours("en")["q"], neighbours("es")["l"]
    ('wa', 'opkñ')
    """
    keys = [
        (row, shift + place, letter)
        for row, (shift, letters) in enumerate(ROWS[language])
        for place, letter in enumerate(letters)
    ]
    return {
        letter: "".join(
            other
            for its_row, its_x, other in keys
            if (its_row == row and abs(its_x - x) == 1) or (abs(its_row - row) == 1 and abs(its_x - x) < 1)
        )
        for row, x, letter in keys
    }


def slips(word: str, language: str) -> dict[str, list[str]]:
    """List what a word may be mistyped as, by kind of slip; every one differs from the word.

    A letter with an accent may lose it, or become a neighbour of the bare letter. Capitals keep their
    places, and a word of fewer than three letters loses none.

    Examples
    --------
    >>> slips("Ola", "es")["transposition"]
    ['Loa', 'Oal']
    """
    letters = [place for place, letter in enumerate(word) if letter.isalpha()]
    made = {
        "neighbour": [
            word[:place] + _cased(word[place], other) + word[place + 1 :]
            for place in letters
            for other in _beside(word[place].lower(), language)
        ],
        "deletion": [
            word[:place] + word[place + 1 :] for place in (letters if len(letters) >= SHORTEST else [])
        ],
        "transposition": [
            word[:left]
            + _cased(word[left], word[right])
            + _cased(word[right], word[left])
            + word[right + 1 :]
            for left, right in pairwise(letters)
            if right == left + 1
        ],
    }
    kept = {how: [new for new in dict.fromkeys(found) if new != word] for how, found in made.items()}
    return {how: found for how, found in kept.items() if found}


def _beside(letter: str, language: str) -> str:
    keys = neighbours(language)
    if letter in keys:
        return keys[letter]
    bare = unicodedata.normalize("NFD", letter)[0]
    return bare + keys[bare] if bare in keys else ""


def _cased(like: str, letter: str) -> str:
    changed = letter.upper() if like.isupper() else letter.lower()
    return changed if len(changed) == 1 else letter
