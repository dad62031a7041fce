"""Answers drawn at random from the shapes of the corpus, in surroundings that change no verdict."""

from __future__ import annotations

import random
from collections.abc import Iterator

import yaml
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
SHAPES = yaml.safe_load((FOLDER / "shapes.yaml").read_text(encoding="utf-8"))
REMARKS = SHAPES["remarks"]
SCALES = ((1, 5), (1, 7), (1, 10), (0, 4), (0, 100))


def variants(count: int, seed: int = 1) -> Iterator[CorpusAnswer]:
    """Yield answers with known readings; the same seed gives the same answers."""
    draws = (_statement, _comparison, _unclear, _foreign, _corrected, _doubled, _label, _rating, _no_rating)
    for number in range(count):
        drawn = random.Random(f"{seed}:{number}")
        yield drawn.choice(draws)(drawn)


def _around(drawn: random.Random, text: str, remarks: list[str], after: bool = True) -> str:
    """Put remarks before and behind, which say nothing of the verdict, or reasoning in marks before it."""
    before = [drawn.choice(remarks) for _ in range(drawn.choice((0, 0, 1, 2, 3)))]
    behind = [drawn.choice(remarks) for _ in range(drawn.choice((0, 0, 0, 1, 2)))] if after else []
    text = "\n\n".join(part for part in (" ".join(before), text, " ".join(behind)) if part)
    if drawn.random() < 0.1:
        start, end = drawn.choice(SHAPES["mark_pairs"])
        thought = drawn.choice(("Answer: A?", "Rating: 2", "I choose B.", "Label: other"))
        text = f"{start}{thought} Hm.{end}\n{text}"
    return text


def _remarks(drawn: random.Random, first: str, second: str) -> list[str]:
    noun = drawn.choice(("Answer", "Response", "Text", "Option", "Post"))
    return [*REMARKS, *(remark.format(n=noun, a=first, b=second) for remark in SHAPES["named_remarks"])]


def _statement(drawn: random.Random) -> CorpusAnswer:
    options = drawn.choice(OPTIONS)
    names = options.split("|")
    name = drawn.choice(names)
    text = drawn.choice(SHAPES["statements"]).format(w=name)
    remarks = REMARKS if len(names[0]) > 1 else _remarks(drawn, *names)
    return CorpusAnswer("statement", "pair", "|".join(names), _around(drawn, text, remarks), name, "")


def _comparison(drawn: random.Random) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    winner, loser = drawn.sample(names, 2)
    text = drawn.choice(SHAPES["comparisons"]).format(n=drawn.choice(SHAPES["nouns"]), w=winner, l=loser)
    return CorpusAnswer(
        "comparison", "pair", "|".join(names), _around(drawn, text, _remarks(drawn, *names)), winner, ""
    )


def _unclear(drawn: random.Random) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    first, second = drawn.sample(names, 2)
    template = drawn.choice(SHAPES["unclear"])
    text = template.format(n=drawn.choice(SHAPES["nouns"]), a=first, b=second)
    return CorpusAnswer(
        "no verdict", "pair", "|".join(names), _around(drawn, text, _remarks(drawn, *names)), UNPARSED, ""
    )


def _foreign(drawn: random.Random) -> CorpusAnswer:
    names = drawn.choice(LETTERS[:2]).split("|")
    winner, loser = drawn.sample(names, 2)
    words = drawn.choice(list(SHAPES["languages"].values()))
    key = drawn.choice(tuple(words))
    reading = UNPARSED if key in ("neither", "vague", "if") else winner
    text = words[key].format(w=winner, l=loser, a=winner, b=loser)
    text = f"{text}: {winner}" if key in ("answer", "final", "choice") else text
    return CorpusAnswer(
        "other languages", "pair", "|".join(names), _around(drawn, text, REMARKS), reading, ""
    )


def _corrected(drawn: random.Random) -> CorpusAnswer:
    names = drawn.choice(LETTERS).split("|")
    winner, loser = drawn.sample(names, 2)
    corrections = (
        "Answer: {l}. No, wait, the answer is {w}.",
        "{l}... no, {w}.",
        "Answer: {l}\nCorrection: {w}",
        "I choose {l}. On second thought, I choose {w}.",
    )
    text = drawn.choice(corrections)
    return CorpusAnswer("correction", "pair", "|".join(names), text.format(l=loser, w=winner), winner, "")


def _doubled(drawn: random.Random) -> CorpusAnswer:
    names = drawn.choice(OPTIONS).split("|")
    winner, loser = drawn.sample(names, 2)
    one, two = (drawn.choice(SHAPES["statements"]).format(w=name) for name in (winner, loser))
    gap = drawn.choice(REMARKS)
    return CorpusAnswer("two verdicts", "pair", "|".join(names), f"{one}\n\n{gap}\n\n{two}", UNPARSED, "")


def _label(drawn: random.Random) -> CorpusAnswer:
    options = drawn.choice(LABEL_SETS)
    name = drawn.choice(options.split("|"))
    forms = ("Label: {w}", "Category: {w}", "{w}", "**{w}**", "Classification: {w}.")
    statements = (*SHAPES["statements"][:11], *forms)
    text = drawn.choice(statements).format(w=drawn.choice((name, name.capitalize())))
    return CorpusAnswer("label", "label", options, _around(drawn, text, REMARKS), name, "")


def _rating(drawn: random.Random) -> CorpusAnswer:
    low, high = drawn.choice(SCALES)
    number = drawn.randint(low, high)
    text = drawn.choice(SHAPES["ratings"]).format(n=number, m=high, l=low)
    return CorpusAnswer("rating", "rating", f"{low}..{high}", _around(drawn, text, REMARKS), str(number), "")


def _no_rating(drawn: random.Random) -> CorpusAnswer:
    low, high = drawn.choice(SCALES)
    first, second = sorted(drawn.sample(range(low, high + 1), 2))
    text = drawn.choice(SHAPES["no_ratings"]).format(n=first, k=second, o=high + drawn.randint(1, 9))
    return CorpusAnswer("no rating", "rating", f"{low}..{high}", _around(drawn, text, REMARKS), UNPARSED, "")
