"""What results found, in the sentences with which reports begin."""

from __future__ import annotations

from contextlib import suppress

from conjury.inference.errors import ConjuryError

from ..exhibits import EXHIBITS
from .facts import Facts
from .paper_tables import unmarked


def findings_of(facts: Facts, *kinds: str) -> list[str]:
    """The sentence of each kind of result that has one; else its title and where its numbers are."""
    sentences: dict[str, str] = {}
    for record in facts.records(*kinds):
        spec = EXHIBITS.get(record.kind)
        if record.kind in sentences or facts.results is None:
            continue
        sentence = ""
        if spec is not None and spec.headline is not None:
            with suppress(ConjuryError):
                sentence = unmarked(spec.headline(facts.results.read(record), record, facts.results))
        title = record.title.rstrip(".") or record.name
        sentences[record.kind] = sentence or f"{title}: table {record.name} of the results."
    return list(sentences.values())
