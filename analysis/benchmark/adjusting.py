"""Tables that take perturbed copies of items together with the items as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.streams import UNPERTURBED

from ..numerics.multiplicity import adjusted
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


Multiplicity = Literal["holm", "bh", "none"]
ADJUSTMENTS = ("holm", "bh", "none")


def check_adjust(adjust: str) -> None:
    """Refuse an adjustment that there is not."""
    if adjust not in ADJUSTMENTS:
        raise InputError(f"adjust is '{adjust}'; use {', '.join(ADJUSTMENTS[:-1])} or {ADJUSTMENTS[-1]}.")


def with_adjusted(frame: pd.DataFrame, family: Sequence[str], adjust: str) -> pd.DataFrame:
    """Put adjusted p values beside p."""
    made = frame["p"].astype(float)
    if adjust != "none":
        step: Any = adjust
        keys: Any = [frame[name] for name in family] or pd.Series(0, index=frame.index)
        made = made.groupby(keys, sort=False).transform(lambda p: adjusted(p.to_numpy(dtype=float), step))
    frame = frame.copy()
    frame.insert(list(frame.columns).index("p") + 1, "p_adjusted", made)
    return frame
