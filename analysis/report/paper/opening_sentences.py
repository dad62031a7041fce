"""What results found, in the sentences with which reports begin."""

from __future__ import annotations

from ...frames.sentences import headed
from ..finding import headline_of
from ..method_sentences import unmarked
from .facts import Facts


def findings_of(facts: Facts, *kinds: str) -> list[str]:
    """The sentence of each kind of result that has one; else its title and where its numbers are."""
    sentences: dict[str, str] = {}
    for record in facts.records(*kinds):
        if record.kind in sentences or facts.results is None:
            continue
        sentence = unmarked(headline_of(record, facts.results))
        table = f"table {record.name} of the results."
        sentences[record.kind] = sentence or headed(record.title or record.name, table)
    return list(sentences.values())
