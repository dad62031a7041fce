"""Text that programs have changed: wrong encodings, entities, cut cells, and what spreadsheets rewrite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text, fold
from conjury.inference.tables.reading.cell_rules import is_error_value

from ...frames.notes import Note
from ..item_texts import excerpt, texts_of
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check

MANGLED_TEXT = Question(
    code="CJ404",
    name="mangled_text",
    title="Corrupted text",
    text="Were texts, labels or ids changed by an encoding, a spreadsheet or an export?",
    consequence="Models judge a text that differs from the original, and altered labels or ids match no "
    "others, so their rows count as wrong or are lost.",
    remedy="Read the file again in its encoding (UTF-8), export it without a spreadsheet, and restore "
    "truncated or altered cells from their source.",
    alarms="rule",
)
NOTHING = "There are no texts, labels or ids of items."
ENCODING, REPLACED, ENTITY, CONTROL = (
    "wrong encoding",
    "replacement character",
    "HTML entity",
    "control character",
)
CUT, DATE, NUMBER, ERROR_VALUE, MISSING = (
    "cell at the limit of a format",
    "date in place of a label or id",
    "number in another form",
    "spreadsheet error",
    "word for a missing value",
)
KINDS = (ENCODING, REPLACED, ENTITY, CONTROL, CUT, DATE, NUMBER, ERROR_VALUE, MISSING)
LIMITS = {255: 3, 32_767: 1, 65_535: 1}  # characters of a cell, and how many cells have to end there
RARE = 0.2  # values of another form than the rest of a column are at most this share of it

_MOJIBAKE = re.compile(
    "[\u00c2-\u00f4](?:[\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122])"
)
_ENTITY = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5}|#x[0-9a-fA-F]{2,5}|[aeiounAEIOUN](?:acute|grave|uml|tilde));"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|_x000[dD]_")
_DATE = re.compile(
    r"\d{1,2}[-/. ]?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?:[-/. ]\d{2,4})?"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/. ]\d{1,4}"
    r"|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{4}-\d{2}-\d{2}(?:[ T]00:00:00)?",
    re.IGNORECASE,
)
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?E\+?\d+", re.IGNORECASE)
_FLOAT = re.compile(r"\d+\.0+")
SURELY_MISSING = ("nan", "nat", "null", "<na>", "undefined", "#n/a")
PERHAPS_MISSING = ("none", "na", "n/a", "missing", "-")


@check(MANGLED_TEXT)
def mangled_text(
    items: pd.DataFrame | None = None, labels: pd.DataFrame | None = None, item_study: ItemStudy | None = None
) -> Check:
    """List mangled texts of items, and mangled labels and ids, by kind."""
    scheme = {fold(name) for name in _scheme(item_study)}
    parts = [pd.DataFrame(columns=["table", "column", "item_id", "kind", "text"])]
    n = 0
    if items is not None:
        try:
            texts = texts_of(items, item_study)
        except NotApplicableError:
            texts = pd.DataFrame(index=items.index)
        for column in texts:
            n += int(texts[column].notna().sum())
            parts.append(_rows("items", str(column), items["item_id"], texts[column], in_texts))
        n += len(items)
        parts.append(_rows("items", "item_id", items["item_id"], items["item_id"], in_ids))
    if labels is not None:
        n += len(labels)
        raw = labels["raw"] if "raw" in labels else labels["label"]
        parts.append(
            _rows("labels", "label", labels["item_id"], raw, lambda values: in_labels(values, scheme))
        )
    if not n:
        return MANGLED_TEXT.not_applicable(NOTHING)
    rows = pd.concat(parts, ignore_index=True).astype("string")
    counts = rows["kind"].value_counts()
    table = pd.DataFrame(
        {"judge": "", "prompt": "", "kind": KINDS, "n": [int(counts.get(k, 0)) for k in KINDS]}
    )
    table = table.assign(label=table["kind"], estimate=table["n"] / n)
    if rows.empty:
        return MANGLED_TEXT.answer(
            table, "pass", Note.of("None of {cells} appears corrupted.", cells=counted(n, "cell"))
        )
    named = "; ".join(f"{row['kind']}: {int(row['n']):,}" for _, row in table[table["n"] > 0].iterrows())
    first = rows.iloc[0]
    finding = Note.of(
        "{cells} of {n:,} {verb} mangled ({named}). The first is column {name} of item "
        "{item_id}: \u201c{text}\u201d.",
        cells=counted(len(rows), "cell"),
        n=n,
        verb="looks" if len(rows) == 1 else "look",
        named=named,
        name=first["column"],
        item_id=first["item_id"],
        text=first["text"],
    )
    grave = (rows["table"].eq("labels") | rows["column"].eq("item_id")).any() or len(rows) > 0.05 * n
    verdict: Verdict = "error" if grave else "warning"
    return MANGLED_TEXT.answer(table, verdict, finding, rows=rows)


def _scheme(study: ItemStudy | None) -> Iterator[str]:
    for labels in study.label_sets.values() if study is not None else ():
        for level in labels.labels:
            yield from (level.id, level.label, *level.aliases)
    for level in study.gold.levels if study is not None and study.gold is not None else ():
        yield from (level.id, level.label, *level.aliases)


Finder = Callable[[Sequence[str]], list[str]]


def _rows(table: str, column: str, items: pd.Series, values: pd.Series, find: Finder) -> pd.DataFrame:
    texts = as_text(values).fillna("").tolist()
    kinds = find(texts)
    frame = pd.DataFrame({"item_id": as_text(items).to_numpy(), "kind": kinds, "text": texts})
    frame = frame[frame["kind"].ne("")]
    return frame.assign(table=table, column=column, text=frame["text"].map(excerpt))


def in_texts(texts: Sequence[str]) -> list[str]:
    """The kind of damage of each text, empty where there is none."""
    longest = max(map(len, texts), default=0)
    cut = longest in LIMITS and sum(len(text) == longest for text in texts) >= LIMITS[longest]
    return [CUT if cut and len(text) == longest else in_text(text) for text in texts]


def in_text(text: str) -> str:
    """The kind of damage of one text, empty where there is none."""
    if "\ufffd" in text:
        return REPLACED
    if not text.isascii() and is_misread(text):
        return ENCODING
    if "&" in text and _ENTITY.search(text):
        return ENTITY
    if _CONTROL.search(text):
        return CONTROL
    if is_error_value(text.strip()):
        return ERROR_VALUE
    return MISSING if text.strip().casefold() in (*SURELY_MISSING, "none") else ""


def is_misread(text: str) -> bool:
    """Whether a part of a text is UTF-8 that was read as Windows-1252 or Latin-1."""
    for match in _MOJIBAKE.finditer(text):
        part = text[match.start() : match.start() + 4]
        for size in (4, 3, 2):
            for encoding in ("cp1252", "latin-1"):
                try:
                    real = part[:size].encode(encoding).decode("utf-8")
                except UnicodeError:
                    continue
                if len(real) == 1:
                    return True
    return False


def in_ids(values: Sequence[str]) -> list[str]:
    """The kind of damage of each id: forms that a spreadsheet writes and few other ids have."""
    usual = len(values) * RARE
    kinds = [_rewriting(value) for value in values]
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    return [kind if counts[kind] <= usual or kind == ERROR_VALUE else "" for kind in kinds]


def in_labels(values: Sequence[str], scheme: set[str]) -> list[str]:
    """The kind of damage of each label; those of the scheme are as they should be."""
    usual = len(values) * RARE
    kinds = []
    for value in values:
        form = value.strip().casefold()
        if fold(value) in scheme or not form:
            kinds.append("")
        elif form in SURELY_MISSING or (form in PERHAPS_MISSING and scheme):
            kinds.append(MISSING)
        else:
            kinds.append(_rewriting(value) or (in_text(value) if not value.isascii() or "&" in value else ""))
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    return [kind if counts[kind] <= usual or kind in (MISSING, ERROR_VALUE) else "" for kind in kinds]


def _rewriting(value: str) -> str:
    text = value.strip()
    if is_error_value(text):
        return ERROR_VALUE
    if _DATE.fullmatch(text):
        return DATE
    return NUMBER if _SCIENTIFIC.fullmatch(text) or _FLOAT.fullmatch(text) else ""
