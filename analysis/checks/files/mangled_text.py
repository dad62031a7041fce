"""Text that was damaged on its way into the table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text

from ..judged import NotApplicableError
from ..registry import Check, Question, check
from ..shares import evidence

MANGLED_TEXT = Question(
    "CJ404",
    "mangled_text",
    "Damaged text",
    "Are characters, cells and ids as they were written?",
    "Judges saw other texts than the authors wrote, and tables may join on ids that a spreadsheet changed.",
    "Read the source again as UTF-8, keep ids as text, and export without a limit on the length of cells.",
    "rule",
)
MOJIBAKE = re.compile(
    "\u00c3[\u0080-\u00bf\u0192\u201a\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u0152]|\u00e2\u20ac[\u0090-\u00bf\u02dc\u0153\u2122\u201c\u201d\u0152\u0153]|\u00c2[\u00a0-\u00bf]"
)
REPLACED = re.compile("\ufffd")
ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5}|#x[0-9a-f]{2,4});", re.IGNORECASE)
DATE_LIKE = re.compile(
    r"\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:-\d{2,4})?|\d\.\d+E\+\d+|\d{4}-\d\d-\d\d "
    r"00:00:00"
)
NOTHING = re.compile(r"(?:nan|none|null|undefined|#n/?a|#ref!|#name\?|\[object object\])", re.IGNORECASE)
LIMITS = (255, 32_767)  # characters at which programs cut a cell
CUT = 3  # cells of exactly that length, none being longer, that are no accident


@check(MANGLED_TEXT)
def mangled_text(items: pd.DataFrame) -> Check:
    """Search for wrongly decoded characters, entities, cells cut at a limit, and ids that became dates."""
    texts = [
        str(name)
        for name in items
        if str(name) != "item_id" and not pd.api.types.is_numeric_dtype(items[name])
    ]
    found = [
        (row, "id that a spreadsheet changed")
        for row, name in enumerate(as_text(items["item_id"]).fillna(""))
        if DATE_LIKE.fullmatch(str(name))
    ]
    for name in texts:
        column = as_text(items[name]).fillna("")
        found += [(row, kind) for row, text in enumerate(column) for kind in damage(str(text))]
        length = column.str.len().to_numpy()
        at_limit = (
            np.flatnonzero(length == length.max(initial=0))
            if len(length) and int(length.max()) in LIMITS
            else []
        )
        found += (
            [(int(row), "text cut at the length of a cell") for row in at_limit]
            if len(at_limit) >= CUT
            else []
        )
    if items.empty:
        raise NotApplicableError("There are no items.")
    kinds = pd.DataFrame(found, columns=["row", "label"]).drop_duplicates()
    counts = kinds.groupby("label", sort=False).size().rename("n").reset_index()
    table = counts.assign(judge="items", prompt="", of=len(items), estimate=counts["n"] / len(items))
    table = table[["judge", "prompt", "label", "n", "of", "estimate"]].astype(
        {"judge": "string", "prompt": "string"}
    )
    if kinds.empty:
        return MANGLED_TEXT.answer(
            table, "pass", f"No damage was found in the texts of {len(items):,} items."
        )
    flag = np.isin(np.arange(len(items)), kinds["row"].to_numpy())
    finding = (
        f"{int(flag.sum()):,} of {len(items):,} items: "
        f"{', '.join(f'{row.label} in {row.n:,}' for row in table.itertuples())}."
    )
    shown = items[flag].assign(found=kinds.groupby("row", sort=True)["label"].agg("; ".join).to_numpy())
    return MANGLED_TEXT.answer(
        table, "warning", finding, rows=evidence(shown, np.ones(len(shown), dtype=bool), ("found", "text"))
    )


def damage(text: str) -> list[str]:
    """Kinds of damage in a text, in words.

    Examples
    --------
    >>> damage("Caf\u00c3\u00a9 &amp; bar")
    ['wrongly decoded characters', 'HTML entities']
    """
    found = {
        "wrongly decoded characters": MOJIBAKE.search(text),
        "replacement characters": REPLACED.search(text),
        "HTML entities": ENTITY.search(text),
        "a missing value as text": NOTHING.fullmatch(text.strip()),
    }
    return [name for name, match in found.items() if match]
