"""Texts of items as judges see them, and what else checks of items have in common."""

from __future__ import annotations

import pandas as pd

from conjury.inference.readers.judgments import with_texts
from conjury.inference.study.models import AnyStudy
from conjury.inference.tables.columns import UNPERTURBED, as_text

from .judged import NotApplicableError

PLACEHOLDER = "(made up)"  # ends texts of simulated items
TEXTS = (
    "text",
    "lines",
    "response",
    "question",
    "topic",
)  # columns that contain texts where no study names them
MEDIA = ("media_sha256", "media")
PLACEHOLDERS = "Texts of these items are placeholders of a simulation."
NO_TEXTS = "The table of items contains no texts."


def texts_of(items: pd.DataFrame, study: AnyStudy | None) -> pd.DataFrame:
    """Columns of items that judges see as text; NotApplicableError where there are none or placeholders."""
    named = study.collect.fields if study is not None else None
    frame = with_texts(items)
    columns = [name for name in named or TEXTS if name in frame and name not in MEDIA]
    if named is None and "text" in columns:
        columns = [name for name in columns if name != "lines"]
    texts = pd.DataFrame({name: as_text(frame[name]) for name in columns}, index=items.index)
    texts = texts.loc[:, texts.notna().any()]
    if texts.empty or not texts.shape[1]:
        raise NotApplicableError(NO_TEXTS)
    made_up = texts.apply(lambda column: column.str.rstrip().str.endswith(PLACEHOLDER)).fillna(False)
    if made_up.any(axis=1).mean() > 0.5:
        raise NotApplicableError(PLACEHOLDERS)
    return texts


def rows_by_item(items: pd.DataFrame) -> pd.DataFrame:
    """The first row of each item, by its id as text."""
    return items.assign(item_id=as_text(items["item_id"])).drop_duplicates("item_id").set_index("item_id")


def requests_of_items(requests: pd.DataFrame) -> pd.DataFrame:
    """Requests with their item and ``prompt`` as text."""
    prompts = as_text(requests["prompt_id"]).fillna("")
    return requests.assign(item_id=as_text(requests["item_id"]), prompt=prompts)


def message_of(request: object) -> str:
    """All that a request, a row, tells a judge."""
    parts = (getattr(request, "system", ""), getattr(request, "user", ""))
    return "\n".join(part for part in parts if isinstance(part, str))


def bases(items: pd.DataFrame) -> pd.Series[str]:
    """The original of each item: ``base_item_id`` where there is one, else the item."""
    names = as_text(items["item_id"])
    if "base_item_id" not in items:
        return names
    return as_text(items["base_item_id"]).fillna(names)


def conditions(items: pd.DataFrame) -> pd.Series[str]:
    """What was done to each item, "none" for originals."""
    if "condition" not in items:
        return pd.Series(UNPERTURBED, index=items.index, dtype="string")
    return as_text(items["condition"]).fillna(UNPERTURBED)


def join_texts(frame: pd.DataFrame, mark: str) -> pd.Series[str]:
    """The texts of each row as one text, with a mark between them; missing ones are empty."""
    rows = frame.fillna("").itertuples(index=False, name=None)
    return pd.Series(pd.array([mark.join(row) for row in rows], dtype="string"), index=frame.index)


def excerpt(text: str, most: int = 60) -> str:
    """The beginning of a text for a sentence, with what is invisible as its code."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text.replace("\n", " "))
    return line if len(line) <= most else f"{line[: most - 1]}\u2026"
