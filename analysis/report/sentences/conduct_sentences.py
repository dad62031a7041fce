"""Sentences on how a study was conducted: people analysed, and aspects as registered."""

from __future__ import annotations

from dataclasses import dataclass

from conjury.inference.errors import counted

from ...frames.sentences import agreeing, agreeing_with_part, capitalised, out_of, sentence
from ..table_format import whole


@dataclass(frozen=True)
class ParticipantCounts:
    """How many people took part, and how many of them are analysed."""

    people: int
    analysed: int
    began: str  # who started, or in the data


@sentence
def analysed_in_words(values: ParticipantCounts) -> str:
    """How many people are analysed."""
    people = f"{counted(values.people, 'person', 'people')} {values.began}"
    if values.analysed == values.people:
        all_of = "The person" if values.people == 1 else f"All {whole(values.people)} people"
        return f"{all_of} {values.began} {agreeing(values.people, 'is', 'are')} analysed."
    return f"Of {people}, {whole(values.analysed)} {agreeing(values.analysed, 'is', 'are')} analysed."


@dataclass(frozen=True)
class RegisteredAspects:
    """How many aspects of a study are as registered."""

    same: int
    aspects: int
    made: str  # when, with the digest of the registration


@sentence
def registered_in_words(values: RegisteredAspects) -> str:
    """How many aspects are as registered."""
    if values.same == values.aspects:
        every = "the one aspect is" if values.aspects == 1 else f"all {values.aspects} aspects are"
        return f"As registered: {every} as {values.made}."
    are = agreeing_with_part(values.same, values.aspects, "is", "are")
    return f"{capitalised(out_of(values.same, values.aspects, 'aspect'))} {are} as {values.made}."
