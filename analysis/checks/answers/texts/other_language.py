"""Answers in another language or script than the item."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ....frames.notes import Note, join_notes
from ....frames.rounding import percentage
from ....frames.sentences import agreeing
from ...item_texts import rows_by_item
from ...judge_shares import answers_of_models, evidence, graded, shares
from ...judged import NotApplicableError
from ...registry import Check, Question, check, highest, who

OTHER_LANGUAGE = Question(
    code="CJ318",
    name="other_language",
    title="Answers in another language",
    text="Are free answers and explanations in the language of the item or of the prompt?",
    consequence="The judge may have misread the item; parsers written for one language miss verdicts in "
    "another.",
    remedy="Name the language of the answer in the prompt; inspect a sample of these answers; add aliases of "
    "labels in the other language.",
    alarms="rule",
)
LETTERS = 60  # in shorter answers the language is not decided
LONGEST = 600  # characters that decide
WORDS = {
    "English": "the and is of to in that it for with this as are not but they be was on or an from",
    "Spanish": "el la de que y en los se del las un por con no una su para es al lo como pero este",
    "French": "le la de et les des en un une du que est pour dans qui sur pas plus par avec ce il",
    "German": "der die und das ist nicht ein eine den von zu mit sich auf dem des im es wird als auch",
    "Portuguese": "o que de a e do da em um para é com não uma os no se na por mais as dos como mas",
    "Italian": "il di che la e in un per è una non sono con si le da come più ma dei nel della gli",
}
VOCABULARY = {language: frozenset(words.split()) for language, words in WORDS.items()}
LEAST, AHEAD = 3.0, 2.0  # function words that decide, and how many times those of the second language
SOME, MANY = 0.02, 0.2  # shares of answers beyond which the verdict is a warning, or an error
_JSON_KEY = re.compile(r'"\w+"\s*:')


@check(OTHER_LANGUAGE)
def other_language(
    responses: pd.DataFrame, requests: pd.DataFrame | None = None, items: pd.DataFrame | None = None
) -> Check:
    """Compare the language of long answers with those of the item and of the request."""
    answered = answers_of_models(responses)
    languages = as_text(answered["text"]).map(lambda text: language_of(_JSON_KEY.sub(" ", text)))
    expected = _expected_languages(answered, requests, items)
    mask = languages.ne("").to_numpy(dtype=bool) & (expected.map(len) > 0).to_numpy(dtype=bool)
    if not mask.any():
        raise NotApplicableError("No answer and item are long enough to identify their language.")
    rows, observed, allowed = answered[mask], languages[mask], expected[mask]
    is_foreign = pd.Series(
        [language not in among for language, among in zip(observed, allowed, strict=True)], dtype=bool
    ).to_numpy()
    table = shares(rows, is_foreign)
    most = highest(table, table["estimate"])
    finding = Note.of(
        "{n:,} of {answers} {verb} in another language than item and prompt, at most {share} "
        "of {of:,} ({who})",
        n=int(is_foreign.sum()),
        answers=counted(len(rows), "long answer"),
        verb=agreeing(int(is_foreign.sum()), "is", "are"),
        share=percentage(most["estimate"], 1),
        of=int(most["of"]),
        who=who(most),
    )
    if is_foreign.any():
        common = Counter(observed.to_numpy()[is_foreign].tolist()).most_common(1)[0]
        frequent = Note.of("the most frequent is {language} ({times:,})", language=common[0], times=common[1])
        finding = join_notes([finding, frequent], "; ")
    evidence_rows = rows.assign(language=observed.to_numpy())
    return OTHER_LANGUAGE.answer(
        table,
        graded(float(most["estimate"]), SOME, MANY),
        Note.of("{finding}.", finding=finding),
        rows=evidence(evidence_rows, is_foreign, ("language", "text")),
    )


def language_of(text: str) -> str:
    """The language of a text by its function words, or by its script if not Latin; empty if unclear."""
    text = text[:LONGEST]
    letters = [char for char in text if char.isalpha()]
    if len(letters) < LETTERS:
        return ""
    latin = sum(char.isascii() for char in letters)
    if latin <= 0.5 * len(letters):
        script, n = Counter(_script(char) for char in letters).most_common(1)[0]
        if script != "LATIN":
            return script.capitalize() if n > 0.6 * len(letters) else ""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    scores = dict.fromkeys(VOCABULARY, 0.0)
    for word in words:
        among = [language for language, vocabulary in VOCABULARY.items() if word in vocabulary]
        for language in among:  # words that several languages share tell less
            scores[language] += 1 / len(among)
    (first, most), (_, second) = sorted(scores.items(), key=lambda item: -item[1])[:2]
    return first if most >= LEAST and most >= AHEAD * second else ""


def _script(char: str) -> str:
    return unicodedata.name(char, "UNKNOWN").partition(" ")[0]


def _expected_languages(
    answered: pd.DataFrame, requests: pd.DataFrame | None, items: pd.DataFrame | None
) -> pd.Series[Any]:
    """Languages of the item and the messages of each answer, as a set."""
    allowed: list[set[str]] = [set() for _ in range(len(answered))]
    sources = []
    if requests is not None and "request_key" in answered:
        by_key = requests.drop_duplicates("request_key").set_index("request_key")
        sources += [
            (as_text(by_key[name]), as_text(answered["request_key"]))
            for name in ("system", "user")
            if name in by_key
        ]
    if items is not None and "text" in items and "item_id" in answered:
        sources.append((as_text(rows_by_item(items)["text"]), as_text(answered["item_id"])))
    for texts, keys in sources:
        languages = {key: language_of(text) for key, text in texts.dropna().items()}
        for place, key in enumerate(keys):
            language = languages.get(key, "")
            if language:
                allowed[place].add(language)
    return pd.Series(allowed, index=answered.index, dtype=object)
