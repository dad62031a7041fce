"""Cases of sentences on how a study was conducted."""

from __future__ import annotations

from conjury.analysis.report.sentences import conduct_sentences
from sentence_cases.drawing import Draws, case, out_of


@case("analysed_in_words")
def analysed(draws: Draws) -> str:
    people = draws.size(1, 5)
    rows = draws.size(0, people)
    text = conduct_sentences.analysed_in_words(
        conduct_sentences.ParticipantCounts(people, rows, "who started")
    )
    assert (f"Of {people} p" in text) == (rows < people)
    assert ("All" in text) == (rows == people > 1)
    assert rows == people or f", {rows} {'is' if rows == 1 else 'are'} analysed." in text
    return text


@case("registered_in_words")
def registered(draws: Draws) -> str:
    aspects = draws.size(1, 5)
    same = draws.size(0, aspects)
    text = conduct_sentences.registered_in_words(
        conduct_sentences.RegisteredAspects(same, aspects, "registered on 2025-01-01")
    )
    assert ("all" in text) == (same == aspects > 1)
    assert same == aspects or out_of(text) == (same, aspects)
    return text
