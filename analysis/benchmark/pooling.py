"""Tables that take perturbed copies of items together with the items as they were."""

from __future__ import annotations

from collections.abc import Sequence

from conjury.inference.conditions import UNPERTURBED

from .scoring import Scored
from .units import CONDITION, filled_text


def pooled_notes(scored: Scored, by: Sequence[str]) -> list[str]:
    """Say where a table takes items as they were and copies of them together."""
    if CONDITION not in scored.frame or CONDITION in by:
        return []
    kinds = scored.frame[CONDITION]
    perturbed = ~filled_text(kinds).fillna(UNPERTURBED).eq(UNPERTURBED).to_numpy(dtype=bool)
    if not perturbed.any() or perturbed.all():
        return []
    n = int(perturbed.sum())
    return [
        f"{n:,} answers to perturbed copies are pooled with those to items as they were; name "
        f"'{CONDITION}' in by to tell them apart."
    ]
