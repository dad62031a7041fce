"""Missing answers and missing gold labels that count as agreement."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...judged import NotApplicableError
from ...labelled import NO_GOLD, labelled
from ...registry import Check, Question, check, highest
from ...shares import evidence, shares

MISSING_AS_RIGHT = Question(
    "CJ309",
    "missing_as_right",
    "Missing answers that can count as right",
    "Are there gold labels that say nothing, which a missing answer can match?",
    "Judges earn credit for answers that they did not give, and the number of scored units is too large.",
    "Exclude units without a gold label, or label them; count a missing answer as wrong, whatever the gold "
    "label.",
    "never",
)


@check(MISSING_AS_RIGHT)
def missing_as_right(
    judgments: pd.DataFrame, labels: pd.DataFrame, item_study: ItemStudy | None = None
) -> Check:
    """Count blank gold labels, and missing answers to the units that have them."""
    gold = as_text(labels["label"]).fillna("").str.strip().str.casefold()
    blank = gold.isin(NO_GOLD).to_numpy(dtype=bool)
    if not blank.any():
        counts = pd.DataFrame(
            {"judge": ["gold"], "prompt": [""], "n": [0], "of": [len(labels)], "estimate": [0.0]}
        )
        return MISSING_AS_RIGHT.answer(
            counts.iloc[:0], "pass", f"All {len(labels):,} gold labels state a class."
        )
    try:
        both = labelled(judgments, labels, item_study)
    except NotApplicableError:
        both = pd.DataFrame()
    if both.empty or both["gold"].notna().all():
        finding = f"{int(blank.sum()):,} of {len(labels):,} gold labels are blank; no judged unit has one."
        return MISSING_AS_RIGHT.answer(
            _of_gold(labels, blank), "warning", finding, rows=evidence(labels, blank, ("label_set",))
        )
    credited = (both["gold"].isna() & both["value"].isna()).to_numpy(dtype=bool)
    table = shares(both.rename(columns={"judge": "judge_id", "prompt": "prompt_id"}), credited)
    most = highest(table, table["estimate"])
    finding = (
        f"{counted(int(blank.sum()), 'gold label is', 'gold labels are')} blank, of {len(labels):,}; up to "
        f"{int(most['n']):,} of {int(most['of']):,} answers ({100 * most['estimate']:.1f}%, {most['judge']}) "
        "are missing there, "
        "and count as right where blanks are compared as text."
    )
    rows = evidence(labels, blank, ("label_set", "label"))
    return MISSING_AS_RIGHT.answer(table, "error" if credited.any() else "warning", finding, rows=rows)


def _of_gold(labels: pd.DataFrame, blank: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "judge": ["gold"],
            "prompt": [""],
            "n": [int(blank.sum())],
            "of": [len(labels)],
            "estimate": [float(blank.mean())],
        }
    )
