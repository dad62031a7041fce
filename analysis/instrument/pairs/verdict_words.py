"""Words, sentences and signs that are verdicts on two answers."""

from __future__ import annotations

import re
from dataclasses import replace

from conjury.inference.errors import listed, quoted
from conjury.inference.tables.reading.answers.compared_answers import ComparedAnswers

LETTERS = {"a": 1.0, "b": 0.0, "1": 1.0, "2": 0.0}
NOUNS = ("model", "answer", "response", "assistant", "system", "output", "option")
WORDS_A = {f"{noun} {name}": points for noun in NOUNS for name, points in LETTERS.items()}
FIRST = {"first": 1.0, "second": 0.0, "left": 1.0, "right": 0.0, "position 1": 1.0, "position 2": 0.0}
TIES = ("tie", "ties", "tied", "both", "equal", "draw", "same", "neither", "tie bothbad", "bothbad",
        "both bad", "tie both bad", "c", "0 5", "1 5")  # fmt: skip
# What names positions, which a sentence on "the first answer" does not tell from the answer of column a.
_OF_POSITION = re.compile(r"\b(?:first|second|left|right|former|latter|1st|2nd|position)\b", re.IGNORECASE)
_EQUAL = re.compile(r"\W*(?:a\s*(?:=+|≈|~)\s*b|b\s*(?:=+|≈|~)\s*a)\W*", re.IGNORECASE)


def word_of(text: str) -> str:
    """A cell without case and signs, such as those of [[A]]."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def word_in(text: str) -> str:
    """The verdict in a sentence or in signs, as answers of models are read: a, b or tie; else empty."""
    from conjury.inference.parsing import Answer, ResponseSpec, read_answer  # whose patterns few tables need
    from conjury.inference.parsing.reasoning import without_reasoning

    if _EQUAL.fullmatch(text):
        return "tie"
    answer = without_reasoning(text)
    if _OF_POSITION.search(answer):
        return ""
    return str(read_answer(Answer(answer), ResponseSpec("choice"), {})[0].value or "").casefold()


def in_words(answers: ComparedAnswers, names: set[str]) -> tuple[ComparedAnswers, list[str]]:
    """Verdicts with words in place of sentences and signs such as A>B, and what became of which."""
    vocabulary = {*TIES, *WORDS_A, *LETTERS, *FIRST}
    unread = [
        name for name in answers.classes if word_of(name) not in vocabulary and name.casefold() not in names
    ]
    words = {name: word for name in unread if (word := word_in(name))}
    if not words:
        return answers, []
    texts = listed((f"{quoted(name)} as '{word}'" for name, word in words.items()), 4)
    classes = tuple(words.get(name, name) for name in answers.classes)
    return replace(answers, classes=classes), [f"Verdicts are read as answers of models are: {texts}."]
