"""Answers drawn at random from the shapes of the corpus, in surroundings that change no verdict."""

from __future__ import annotations

import random
import runpy
from collections.abc import Iterator
from typing import Any

from answer_corpus import FOLDER, UNPARSED, CorpusAnswer

OPTIONS = (
    "A|B",
    "B|A",
    "1|2",
    "X|Y",
    "P|Q",
    "First|Second",
    "Response A|Response B",
    "Option 1|Option 2",
    "Left|Right",
)
LETTERS = ("A|B", "B|A", "X|Y", "P|Q", "M|N")
LABEL_SETS = (
    "toxic|safe",
    "spam|ham|other",
    "positive|negative|neutral",
    "pun|irony|satire",
    "yes|no",
    "harmful|harmless",
)
SCALES = ((1, 5), (1, 7), (1, 10), (0, 4), (0, 100))
RATINGS = (
    "Rating: {n}",
    "Score: {n}/{m}",
    "**Rating:** {n}",
    "Rating: [[{n}]]",
    "[[{n}]]",
    "The rating is {n}.",
    "I give it a {n}.",
    "Final score: {n}",
    "{n}/{m}",
    "{n} out of {m}",
    "Overall score: {n}",
    "I rate this a {n} out of {m}.",
    "<score>{n}</score>",
    "\\boxed{{{n}}}",
    "Score ({l}-{m}): {n}",
    "{n}",
    "**{n}**",
    "My rating: {n}",
    "It deserves a {n}.",
    "Rating = {n}",
    "Grade: {n} points",
    "Verdict: {n}",
)
NO_RATINGS = (
    "Rating: {n}-{k}",
    "{n} to {k}",
    "Rating: {n} or {k}",
    "Rating: {n}+",
    "Rating: {o}",
    "Between {n} and {k}",
    "Rating: {n}/{o}",
    "I would not give it a {n}.",
    "Rating: at least {n}",
    "Rating: {n}\nRating: {k}",
    "Rating: >{n}",
    "It lists {n} reasons.",
    "I would give it a {n} if it were shorter.",
)
REMARKS = (
    "Both are easy to read.",
    "I read each of them twice.",
    "The question asks for a source.",
    "There are 3 errors in the first and 2 in the second.",
    "The topic is a difficult one.",
    "One is longer than the other.",
    "A reader would like to know more.",
    "It took 4 days.",
    "In 2019 this was different.",
    "Sources matter here.",
    "The tone is friendly.",
)
NAMED_REMARKS = (
    "{n} {a} cites two sources.",
    "{n} {b} is longer.",
    "In {n} {a} the dates are missing.",
    "{n} {b} repeats the question.",
    "{n} {a} and {n} {b} are both polite.",
    "{n} {b} has an error in its first line.",
    "{n} {a} mentions a study.",
    "The author of {n} {b} is unknown.",
)
MARKS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<thinking>", "</thinking>"),
)
ADORNED = ("{}", "{}", "{}", " {}", "{}\n", "{}  ", "\n{}", "\u200b{}", "{}\n\n", "**{}**", "> {}")


def variants(count: int, seed: int = 1) -> Iterator[CorpusAnswer]:
    """Yield answers with known readings; the same seed gives the same answers."""
    shapes = runpy.run_path(str(FOLDER / "make_first_half.py"))
    draws = (_statement, _comparison, _unclear, _foreign, _corrected, _doubled, _label, _rating, _no_rating)
    for number in range(count):
        drawn = random.Random(f"{seed}:{number}")
        yield drawn.choice(draws)(drawn, shapes)


def _around(drawn: random.Random, text: str, remarks: tuple[str, ...], after: bool = True) -> str:
    """Put remarks before and behind, which say nothing of the verdict, or reasoning in marks before it."""
    before = [drawn.choice(remarks) for _ in range(drawn.choice((0, 0, 1, 2, 3)))]
    behind = [drawn.choice(remarks) for _ in range(drawn.choice((0, 0, 0, 1, 2)))] if after else []
    text = "\n\n".join(part for part in (" ".join(before), text, " ".join(behind)) if part)
    if drawn.random() < 0.1:
        start, end = drawn.choice(MARKS)
        thought = drawn.choice(("Answer: A?", "Rating: 2", "I choose B.", "Label: other"))
        text = f"{start}{thought} Hm.{end}\n{text}"
    return text


def _remarks(drawn: random.Random, first: str, second: str) -> tuple[str, ...]:
    noun = drawn.choice(("Answer", "Response", "Text", "Option", "Post"))
    return (*REMARKS, *(remark.format(n=noun, a=first, b=second) for remark in NAMED_REMARKS))


def _statement(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    options = drawn.choice(OPTIONS)
    names = options.split("|")
    name = drawn.choice(names)
    text = drawn.choice(shapes["STATEMENTS"]).format(w=name)
    remarks = REMARKS if len(names[0]) > 1 else _remarks(drawn, *names)
    return CorpusAnswer("statement", "pair", "|".join(names), _around(drawn, text, remarks), name, "")


def _comparison(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    winner, loser = drawn.sample(names, 2)
    text = drawn.choice(shapes["ENGLISH_COMPARISONS"]).format(
        n=drawn.choice(shapes["NOUNS"]), w=winner, l=loser
    )
    return CorpusAnswer(
        "comparison", "pair", "|".join(names), _around(drawn, text, _remarks(drawn, *names)), winner, ""
    )


def _unclear(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    first, second = drawn.sample(names, 2)
    template, _ = drawn.choice(shapes["ENGLISH_UNCLEAR"])
    text = template.format(n=drawn.choice(shapes["NOUNS"]), a=first, b=second)
    return CorpusAnswer(
        "no verdict", "pair", "|".join(names), _around(drawn, text, _remarks(drawn, *names)), UNPARSED, ""
    )


def _foreign(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    names = drawn.choice(LETTERS[:2]).split("|")
    winner, loser = drawn.sample(names, 2)
    words = drawn.choice(list(shapes["LANGUAGES"].values()))
    key = drawn.choice(
        (
            "answer",
            "final",
            "choice",
            "is",
            "better",
            "worse",
            "prefer",
            "choose",
            "compared",
            "not",
            "neither",
            "vague",
            "if",
        )
    )
    reading = UNPARSED if key in ("neither", "vague", "if") else winner
    text = words[key].format(w=winner, l=loser, a=winner, b=loser)
    text = f"{text}: {winner}" if key in ("answer", "final", "choice") else text
    return CorpusAnswer(
        "other languages", "pair", "|".join(names), _around(drawn, text, REMARKS), reading, ""
    )


def _corrected(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    winner, loser = drawn.sample(names, 2)
    text = drawn.choice(
        (
            "Answer: {l}. No, wait, the answer is {w}.",
            "{l}... no, {w}.",
            "Answer: {l}\nCorrection: {w}",
            "I choose {l}. On second thought, I choose {w}.",
        )
    )
    return CorpusAnswer("correction", "pair", "|".join(names), text.format(l=loser, w=winner), winner, "")


def _doubled(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    names = drawn.choice(OPTIONS).split("|")
    winner, loser = drawn.sample(names, 2)
    one, two = (drawn.choice(shapes["STATEMENTS"]).format(w=name) for name in (winner, loser))
    gap = drawn.choice(REMARKS)
    return CorpusAnswer("two verdicts", "pair", "|".join(names), f"{one}\n\n{gap}\n\n{two}", UNPARSED, "")


def _label(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    options = drawn.choice(LABEL_SETS)
    name = drawn.choice(options.split("|"))
    statements = (
        *shapes["STATEMENTS"][:11],
        "Label: {w}",
        "Category: {w}",
        "{w}",
        "**{w}**",
        "Classification: {w}.",
    )
    text = drawn.choice(statements).format(w=drawn.choice((name, name.capitalize())))
    return CorpusAnswer("label", "label", options, _around(drawn, text, REMARKS), name, "")


def _rating(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    low, high = drawn.choice(SCALES)
    number = drawn.randint(low, high)
    text = drawn.choice(RATINGS).format(n=number, m=high, l=low)
    return CorpusAnswer("rating", "rating", f"{low}..{high}", _around(drawn, text, REMARKS), str(number), "")


def _no_rating(drawn: random.Random, shapes: dict[str, Any]) -> CorpusAnswer:
    low, high = drawn.choice(SCALES)
    first, second = sorted(drawn.sample(range(low, high + 1), 2))
    text = drawn.choice(NO_RATINGS).format(n=first, k=second, o=high + drawn.randint(1, 9))
    return CorpusAnswer("no rating", "rating", f"{low}..{high}", _around(drawn, text, REMARKS), UNPARSED, "")
