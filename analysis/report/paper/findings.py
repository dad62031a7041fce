"""What results found, in the sentences with which reports begin."""

from __future__ import annotations

from contextlib import suppress

from conjury.inference.errors import ConjuryError

from ..exhibits import KINDS
from .facts import Facts
from .tables import unmarked


def findings_of(facts: Facts, *kinds: str) -> list[str]:
    """The sentence of each kind of result that has one; else its title and where its numbers are."""
    found: dict[str, str] = {}
    for record in facts.records(*kinds):
        known = KINDS.get(record.kind)
        if record.kind in found or facts.results is None:
            continue
        sentence = ""
        if known is not None and known.headline is not None:
            with suppress(ConjuryError):
                sentence = unmarked(known.headline(facts.results.read(record), record, facts.results))
        title = record.title.rstrip(".") or record.name
        found[record.kind] = sentence or f"{title}: table {record.name} of the results."
    return list(found.values())
