"""Answers of judges read by conjury and by the parsers of other programs, as these publish them.

Prints a page and writes it to results/READING.md; docs/project/reading.md has the figure. The corpus is
tests/fixtures/answers, in five parts; all but the first were written before a look at what is read of them.
What other programs look for is quoted as the patterns that they publish; where one asks its judge for a form
of its own (such as "ANSWER: B"), it is measured on answers that were not asked for it. A pattern
that has no form for a kind of answer reads none of them. Its letters stand for the options in their order.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import listed, page, publish, table, versions

# isort: split
from answer_corpus import CorpusAnswer, outcome, read_corpus

from conjury.analysis.figures.theme import DARK, LIGHT, new_figure, styled
from conjury.analysis.numerics.intervals import wilson
from conjury.inference.parsing import ResponseSpec

ALPHA = 0.05
HALVES = {
    "first_half.csv": "first half",
    "second_half.csv": "second half",
    "third_part.csv": "third part",
    "unseen_part.csv": "unseen part",
    "fourth_part.csv": "fourth part",
}
Read = Callable[[str, ResponseSpec], "str | float | None"]


@dataclass(frozen=True)
class PublishedParser:
    """A parser of another program: where it is published, and what it reads from a text."""

    name: str
    source: str
    read: Read


def _names(response: ResponseSpec) -> tuple[str, ...]:
    return response.options if response.form == "choice" else tuple(label.id for label in response.labels)


def _option(response: ResponseSpec, number: int) -> str | None:
    names = _names(response)
    return names[number] if 0 <= number < len(names) else None


def _named(response: ResponseSpec, word: str) -> str | None:
    """The option that a word is, else the one for which a letter stands."""
    names = _names(response)
    for name in names:
        if name.casefold() == word.strip().casefold():
            return name
    return _option(response, ord(word.upper()) - ord("A")) if len(word) == 1 and word.isalpha() else None


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1] if match else None


def mt_bench(text: str, response: ResponseSpec) -> str | float | None:
    """Read [[A]], [[B]] anywhere, A first; of a rating [[7]], else [7]."""
    if response.form == "ratings":
        return _number(_first(r"\[\[(\d+\.?\d*)\]\]", text) or _first(r"\[(\d+\.?\d*)\]", text))
    return next(
        (_option(response, place) for place, mark in enumerate(("[[A]]", "[[B]]", "[[C]]")) if mark in text),
        None,
    )


def inspect_answer(text: str, response: ResponseSpec) -> str | float | None:
    """Read what follows ANSWER: a letter, a word, or the rest of the line."""
    if response.form == "ratings":
        return _number((_first(r"(?i)ANSWER\s*:\s*([^\n]+)", text) or "").strip())
    letter = _first(r"(?i)ANSWER\s*:\s*([A-Za-z])(?:[^\w]|\n|$)", text)
    word = letter or _first(r"(?i)ANSWER\s*:\s*([^\n]+)", text)
    return _named(response, word.strip()) if word else None


def lm_eval(text: str, response: ResponseSpec) -> str | float | None:
    """Read the first option that is named, else the letter behind a colon; the number behind ####."""
    if response.form == "ratings":
        return _number((_first(r"#### (\-?[0-9\.\,]+)", text) or "").replace(",", "") or None)
    names = _names(response)
    match = re.search("|".join(re.escape(name) for name in names), text)
    if match:
        return match[0]
    letters = "".join(chr(ord("A") + place) for place in range(len(names)))
    letter = _first(rf":[\s]*([{letters}])", text)
    return _named(response, letter) if letter else None


def promptfoo(text: str, response: ResponseSpec) -> str | float | None:
    """Read the first integer as the index of the best; of a rating "score" of a JSON object."""
    if response.form == "ratings":
        start = text.find("{")
        try:
            record: Any = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else {}
        except ValueError:
            record = {}
        score = record.get("score") if isinstance(record, dict) else None
        return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None
    if response.form != "choice":
        return None
    digits = re.search(r"\d+", text.strip())
    return _option(response, int(digits[0])) if digits and len(digits[0]) < 4 else None


def alpaca_eval(text: str, response: ResponseSpec) -> str | float | None:
    """Read the first of "Output (a)" and "Output (b)" that begins a line."""
    match = re.search(r"(?:^|\n) ?Output \((a|b)\)", text)
    return _option(response, "ab".index(match[1])) if match and response.form == "choice" else None


PARSERS = (
    PublishedParser("FastChat / MT-Bench", "fastchat/llm_judge/common.py", mt_bench),
    PublishedParser("inspect_ai", "inspect_ai/_util/pattern.py, answer()", inspect_answer),
    PublishedParser(
        "lm-evaluation-harness", "lm_eval/filters/extraction.py, multi_choice_regex and regex", lm_eval
    ),
    PublishedParser("promptfoo", "src/matchers/comparison.ts; score of llm-rubric", promptfoo),
    PublishedParser("AlpacaEval", "alpaca_eval configurations, regex_parser", alpaca_eval),
)


def by_parser(answer: CorpusAnswer, parser: PublishedParser) -> Counter[str]:
    """Count what a parser reads of an answer; of several fields each is read by itself."""
    values: list[str | float | None] = []
    for response in answer.responses:
        scales = response.scales or (None,)
        values += [parser.read(answer.text, response) for _ in scales]
    return outcome(answer.right, tuple(values))


def rate(count: int, trials: int) -> tuple[float, float, float]:
    """Return a rate in per cent with its interval."""
    low, high = wilson(np.array([count / trials]), np.array([float(trials)]), ALPHA)
    return 100 * count / trials, 100 * float(low[0]), 100 * float(high[0])


def _cells(counts: Counter[str]) -> list[str]:
    answers = counts["read"] + counts["wrong"] + counts["unread"]
    cells = []
    for count, trials in ((counts["read"], counts["readable"]), (counts["wrong"], answers)):
        cells.append("" if not trials else "{:.1f}% ({:.1f} to {:.1f})".format(*rate(count, trials)))
    return cells


def measured(corpus: dict[str, list[CorpusAnswer]]) -> list[dict[str, Any]]:
    """Return the counts of each program, half and form of answer."""
    rows = []
    for half, answers in corpus.items():
        for name in ("conjury", *(parser.name for parser in PARSERS)):
            parser = next((parser for parser in PARSERS if parser.name == name), None)
            forms: dict[str, Counter[str]] = {}
            for answer in answers:
                found = outcome(answer.right, answer.read()) if parser is None else by_parser(answer, parser)
                forms.setdefault(answer.form, Counter()).update(found)
            rows += [
                {"program": name, "half": half, "form": form, **counts} for form, counts in forms.items()
            ]
    return rows


def total(rows: Sequence[dict[str, Any]], **where: str) -> Counter[str]:
    """Sum the counts of the rows that agree with some fields."""
    counts: Counter[str] = Counter()
    for row in rows:
        if all(row[name] == value for name, value in where.items()):
            counts.update({name: row.get(name, 0) for name in ("read", "wrong", "unread", "readable")})
    return counts


def shapes(answers: Sequence[CorpusAnswer]) -> str:
    """Write both rates of conjury for each shape of answer."""
    counts: dict[str, Counter[str]] = {}
    for answer in answers:
        counts.setdefault(answer.shape.replace("_", " "), Counter()).update(
            outcome(answer.right, answer.read())
        )
    rows = [[shape, *_cells(found)] for shape, found in counts.items()]
    return table(["shape", "read, of readable answers", "read wrongly, of all"], rows)


def report(rows: Sequence[dict[str, Any]], corpus: dict[str, list[CorpusAnswer]]) -> str:
    """Write the page."""
    programs = list(dict.fromkeys(row["program"] for row in rows))
    parts = []
    for half in corpus:
        cells = [[name, *_cells(total(rows, program=name, half=half))] for name in programs]
        parts += [
            f"## {half.capitalize()}",
            table(["program", "read, of readable answers", "read wrongly, of all"], cells),
        ]
    forms = list(dict.fromkeys(row["form"] for row in rows))
    cells = [
        [half, form, *_cells(total(rows, program="conjury", half=half, form=form))]
        for half in corpus
        for form in forms
    ]
    parts += [
        "## Forms of answer, conjury",
        table(["half", "form", "read, of readable answers", "read wrongly, of all"], cells),
    ]
    for half, answers in corpus.items():
        parts += [f"## Shapes of the {half}, conjury", shapes(answers)]
    sources = "\n".join(f"- {parser.name}: `{parser.source}`" for parser in PARSERS)
    facts = {
        "Data": "; ".join(f"{half}: {len(answers):,} answers" for half, answers in corpus.items()),
        "Intervals": "Wilson, 95%; a value for each dimension of an answer counts",
        "Versions": listed(versions(("conjury",))),
    }
    return page(
        "Benchmarks of reading",
        facts,
        *parts,
        "## Sources of the patterns",
        sources,
        by="python benchmarks/reading.py",
    )


def figure(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Draw both rates of each program on the second half, in the colours of both themes."""
    programs = list(dict.fromkeys(row["program"] for row in rows))[::-1]
    counts = [total(rows, program=name, half="second half") for name in programs]
    panels = (("Read rightly, of readable answers", "read"), ("Read wrongly, of all answers", "wrong"))
    for theme in (LIGHT, DARK):
        with styled(theme):
            drawn = new_figure(7.2, 2.9)
            for axes, (title, part) in zip(drawn.subplots(1, 2, sharey=True), panels, strict=True):
                for place, found in enumerate(counts):
                    answers = found["read"] + found["wrong"] + found["unread"]
                    trials = found["readable"] if part == "read" else answers
                    estimate, low, high = rate(found[part], trials)
                    colour = theme.palette[0] if programs[place] == "conjury" else theme.muted
                    axes.plot([low, high], [place, place], color=colour, linewidth=2)
                    axes.plot([estimate], [place], "o", color=colour, markersize=6)
                axes.set_title(title, fontsize=9, loc="left")
                axes.set_xlim(-2, 100 if part == "read" else 32)
                axes.set_ylim(-0.6, len(programs) - 0.4)
                axes.set_xlabel("Per cent, with 95% intervals")
                axes.set_yticks(range(len(programs)), programs)
            drawn.savefig(folder / f"reading-{theme.name}.png", dpi=200)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every twentieth answer, and nothing is written")
    parser.add_argument("--figure", type=Path, help="folder for the figure of the second half")
    options = parser.parse_args()
    quick = options.quick
    corpus = {half: read_corpus(name)[:: 20 if quick else 1] for name, half in HALVES.items()}
    rows = measured(corpus)
    publish("READING", report(rows, corpus), written=not quick)
    if options.figure is not None:
        figure(rows, options.figure)


if __name__ == "__main__":
    main()
