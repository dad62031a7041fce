"""Perturbed items that equal their originals."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import UNPERTURBED, as_text, visible

from ..judged import NotApplicableError
from ..registry import Check, Question, check, highest
from ..shares import evidence

UNCHANGED_COPIES = Question(
    "CJ402",
    "unchanged_copies",
    "Perturbed items equal to their originals",
    "Does every perturbed item differ from its original in more than white space?",
    "Robustness to the perturbation is measured on items without one, and looks better than it is.",
    "Perturb these items again, or exclude them from comparisons with their originals.",
    "never",
)
KEYS = ("item_id", "base_item_id", "condition", "media_sha256")
_SPACE = re.compile(r"\s+")


@check(UNCHANGED_COPIES)
def unchanged_copies(items: pd.DataFrame) -> Check:
    """Compare each perturbed item with its original, white space and invisible characters aside."""
    if not {"condition", "base_item_id"} <= set(items):
        raise NotApplicableError("The items name no perturbed copies (condition, base_item_id).")
    condition = as_text(items["condition"]).fillna(UNPERTURBED)
    copies = items[condition.ne(UNPERTURBED).to_numpy() & as_text(items["base_item_id"]).notna().to_numpy()]
    texts = [str(name) for name in items if str(name) not in KEYS and _is_text(items[name])]
    originals = (
        items.assign(item_id=as_text(items["item_id"])).drop_duplicates("item_id").set_index("item_id")
    )
    base = as_text(copies["base_item_id"])
    copies = copies[base.isin(originals.index).to_numpy(dtype=bool)]
    if copies.empty or not texts:
        raise NotApplicableError("No perturbed item stands with its original.")
    same, spaced = np.ones(len(copies), dtype=bool), np.ones(len(copies), dtype=bool)
    for name in texts:
        own = as_text(copies[name]).fillna("").to_numpy(dtype=object)
        other = (
            as_text(originals[name])
            .fillna("")
            .reindex(as_text(copies["base_item_id"]))
            .to_numpy(dtype=object)
        )
        same &= own == other
        spaced &= np.array(
            [_squeezed(a) == _squeezed(b) for a, b in zip(own, other, strict=True)], dtype=bool
        )
    kinds = as_text(copies["condition"])
    table = pd.DataFrame({"label": kinds.to_numpy(), "same": same, "spaced": spaced}).groupby(
        "label", sort=False
    )
    counts = table.agg(n=("spaced", "sum"), identical=("same", "sum"), of=("spaced", "size")).reset_index()
    counts = counts.assign(judge="items", prompt="", estimate=counts["n"] / counts["of"]).astype(
        {"judge": "string", "prompt": "string"}
    )
    counts = counts[["judge", "prompt", "label", "n", "identical", "of", "estimate"]]
    most = highest(counts, counts["estimate"])
    if not spaced.any():
        return UNCHANGED_COPIES.answer(
            counts, "pass", f"All {len(copies):,} perturbed items differ from their originals."
        )
    finding = (
        f"{int(spaced.sum()):,} of {len(copies):,} perturbed items equal their originals, "
        f"{int((spaced & ~same).sum()):,} of "
        f"them but for white space or invisible characters; the most are {int(most['n']):,} of "
        f"{int(most['of']):,} with "
        f"condition {most['label']!r}."
    )
    return UNCHANGED_COPIES.answer(
        counts, "error", finding, rows=evidence(copies, spaced, ("base_item_id", "condition", "text"))
    )


def _is_text(column: pd.Series[object]) -> bool:
    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column))


def _squeezed(text: str) -> str:
    return _SPACE.sub("", visible(text))
