"""The procedure of a question as text: stop checks, first sentences, what must not be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..frames.kinds import Procedure, claims_of, label_limits, procedures

HEAD = (
    "How to answer a question with conjury, for assistants and people. Stop checks come before any number; "
    "the first sentence of a report is that of the state; a sentence that must not be written is not written "
    "in other words either. Numbers, states and sentences are taken from the command's --json (`answer`, "
    "`verdict`, `settings.state`, `labels`, `notes`), never from the judge's scores."
)


def procedure_text(names: Sequence[str] = ()) -> str:
    """The procedures of some questions, by default of all, in Markdown."""
    parts = [_lines(procedures()[name]) for name in names or procedures()]
    lines = ["# Procedure", "", HEAD, *(line for part in parts for line in part)]
    limits = [f"- {limit.text}" for limit in label_limits().values()]
    intro = "`claims()` of a result adds those that apply:"
    return "\n".join([*lines, "", "## What labels take from claims", "", intro, "", *limits]) + "\n"


def procedure_records(names: Sequence[str] = ()) -> dict[str, Any]:
    """The same for programs, with what results of each kind say and do not say."""
    records = {}
    for name in names or procedures():
        procedure = procedures()[name]
        claims = claims_of(procedure.kind, {})
        records[name] = {**asdict(procedure), "claims": asdict(claims) if claims else None}
    return records


def _lines(procedure: Procedure) -> Iterator[str]:
    claims = claims_of(procedure.kind, {})
    yield from (
        "",
        f"## {procedure.name.capitalize()}: {procedure.question}",
        "",
        f"    {procedure.command}",
        "",
    )
    if claims is not None:
        yield from (f"- It says: {claims.says}", f"- It does not say: {claims.does_not_say}", "")
    yield from ("Stop checks, before any number:", "")
    for number, stop in enumerate(procedure.stops, start=1):
        yield f'{number}. {stop.check} First sentence: "{stop.say}" Next: {stop.next}'
    yield from ("", "| state | means | first sentence | never write | next |", "|---|---|---|---|---|")
    for state in procedure.states.values():
        never = " ".join(f'"{text}"' for text, _ in state.never)
        yield f"| {state.name} | {state.means} | {state.begins} | {never} | {state.next} |"
