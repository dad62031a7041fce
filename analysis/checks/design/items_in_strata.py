"""Items that are there more than once, under other names, in other strata or with other labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted, listed
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ..registry import Check, Question, Verdict, check
from ..texts import bases, conditions, contents, excerpt, joined, near_duplicates, strata_columns

ITEMS_IN_STRATA = Question(
    "CJ112",
    "items_in_strata",
    "Repeated items",
    "Is the same item there under several names, in several strata, or with different gold labels?",
    "Repeated items are no independent observations, so standard errors are too small; an item in two strata "
    "blurs their difference, and an item with two gold labels is wrong under one of them.",
    "Keep one item of each, name true repetitions in `base_item_id`, and settle the gold labels that differ.",
    "rule",
)
SAME, NEARLY, STRATA, LABELS = (
    "same text",
    "nearly the same text",
    "in several strata",
    "different gold labels",
)
TEMPLATE = 0.2  # share of items with a near duplicate, above which texts are written from a template


@check(ITEMS_IN_STRATA)
def items_in_strata(
    items: pd.DataFrame, item_study: ItemStudy | None = None, labels: pd.DataFrame | None = None
) -> Check:
    """Count items with the same or nearly the same text, and those in other strata or with other labels."""
    frame = pd.DataFrame(
        {"item_id": as_text(items["item_id"]), "base": bases(items), "condition": conditions(items)}
    ).assign(text=contents(items, item_study))
    strata = strata_columns(items, item_study)
    frame["stratum"] = joined(items[strata].astype("string"), " / ") if strata else ""
    frame["labels"] = frame["item_id"].map(_gold(labels)).astype("string").fillna("")
    frame = frame[frame["text"].notna()].reset_index(drop=True)
    pairs = pairs_of(frame)
    template = pairs.loc[pairs["what"] == NEARLY, ["first", "second"]].stack().nunique() > TEMPLATE * len(
        frame
    )
    notes = []
    if template:
        notes.append(
            "Many texts are nearly the same, as those written from a template are, so only equal texts count."
        )
        pairs = pairs[pairs["what"] == SAME]
    shown = [SAME, NEARLY, STRATA, LABELS]
    n = dict.fromkeys(shown, 0)
    for kind in (SAME, NEARLY):
        n[kind] = int(pairs.loc[pairs["what"] == kind, "second"].nunique())
    n[STRATA] = int(pairs.loc[pairs["across"], "second"].nunique())
    n[LABELS] = int(pairs.loc[pairs["conflict"], "second"].nunique())
    table = pd.DataFrame({"judge": "", "prompt": "", "label": shown, "n": [n[kind] for kind in shown]})
    table["estimate"] = table["n"] / max(len(frame), 1)
    if pairs.empty:
        finding = f"No two of {counted(len(frame), 'item')} have the same text."
        return ITEMS_IN_STRATA.answer(table, "pass", finding, notes)
    first = pairs.iloc[0]
    finding = (
        f"{n[SAME]:,} of {counted(len(frame), 'item')} repeat{'s' * (n[SAME] == 1)} the text of another, and "
        f"{n[NEARLY]:,} nearly repeat{'s' * (n[NEARLY] == 1)} one; of these {n[STRATA]:,} are in another "
        f"stratum"
        f"{f' ({listed(strata, 3)})' if strata else ''} and {n[LABELS]:,} have another gold label. The "
        f"first are "
        f"{first['first']} and {first['second']}: \u201c{excerpt(first['text'])}\u201d."
    )
    verdict: Verdict = "error" if n[STRATA] or n[LABELS] else "warning"
    rows = pairs[["first", "second", "what", "across", "conflict"]].rename(
        columns={"second": "item_id", "first": "like", "across": "other_stratum", "conflict": "other_label"}
    )
    return ITEMS_IN_STRATA.answer(table, verdict, finding, notes, rows=rows.reset_index(drop=True))


def _gold(labels: pd.DataFrame | None) -> pd.Series[str]:
    """Gold labels of each item as one text."""
    if labels is None:
        return pd.Series(dtype="string")
    each = as_text(labels["label_set"]) + "=" + as_text(labels["label"]).fillna("")
    ordered = each.groupby(as_text(labels["item_id"])).agg(lambda parts: " ".join(sorted(parts)))
    return ordered.astype("string")


def pairs_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Pairs of different items with the same or nearly the same text; copies of one original are none."""
    groups = frame.groupby("text", sort=False).indices.values()
    same = [(places[0], other) for places in groups for other in places[1:]]
    texts = frame.drop_duplicates("text")
    near = [tuple(texts.index[list(pair)]) for pair in near_duplicates(texts["text"].tolist())]
    both = np.array([*same, *near], dtype=int).reshape(-1, 2)
    one, other = (frame.iloc[both[:, side]].reset_index(drop=True) for side in (0, 1))
    labelled = one["labels"].ne("") & other["labels"].ne("")
    pairs = pd.DataFrame(
        {
            "first": one["item_id"],
            "second": other["item_id"],
            "text": one["text"],
            "what": np.repeat([SAME, NEARLY], [len(same), len(near)]),
            "across": one["stratum"].ne(other["stratum"]),
            "conflict": labelled & one["labels"].ne(other["labels"]),
        }
    )
    return pairs[one["base"].ne(other["base"]).to_numpy(dtype=bool)].reset_index(drop=True)
