"""Anchors asked again: which occasions of a run there can be."""

from __future__ import annotations

from collections.abc import Collection

from ..errors import InputError
from ..ledger import Ledger
from ..study.models import AnyStudy
from ..tables.columns import occasion_name, split_occasion


def check_anchors(study: AnyStudy, occasion: int) -> None:
    """Refuse a later occasion of a study without anchors."""
    if occasion < 1:
        raise InputError(f"--occasion {occasion}: occasions count from 1; write 2 for the first repetition.")
    if occasion > 1 and (study.instrument is None or not study.instrument.anchors):
        raise InputError(
            f"--occasion {occasion}: study {study.name} has no anchors to ask again; write their number "
            "under instrument, anchors, before the run begins."
        )


def check_occasion(
    ledger: Ledger | None, judge_id: str, names: Collection[str] | None, occasion: int
) -> None:
    """Refuse an occasion before the one that comes first has an answer of the judge."""
    if occasion == 1:
        return
    before = {occasion_name(split_occasion(name)[0], occasion - 1) for name in names or ()}
    counts = [] if ledger is None else ledger.counts_of(judge_id, before)
    if not any(count.state == "answered" for count in counts):
        raise InputError(
            f"--occasion {occasion}: judge {judge_id} has no answers of occasion {occasion - 1} to compare "
            "with; collect these first."
        )
