"""Faults of files: each as what it does to cells, how the file is written, and what is right."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

Cells = Callable[[pd.DataFrame], pd.DataFrame]
Bytes = Callable[[pd.DataFrame], bytes]
ROW = 5  # whose cell of the judge has the fault, from 0
NUMBERS, LABELS = ("ratings", "decimals"), ("labels", "words", "raters")
EVERY = (*NUMBERS, *LABELS)
NO_ANSWER = "which may be no answer"


@dataclass(frozen=True)
class Fault:
    """One fault: rows of the judge without an answer, and the fragment of a refusal with its remedy."""

    name: str
    kinds: Sequence[str] = EVERY
    cells: Cells = lambda frame: frame
    content: Bytes = lambda frame: as_text(frame)
    file: str = "table.csv"
    gone: Sequence[int] = ()
    refusal: str | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)  # with which the number is right
    is_wide: bool = False  # whether the fault is one of wide tables only


def missing(name: str, kinds: Sequence[str], code: Any, **how: Any) -> Fault:
    """A code in one cell that may be no answer: asked about, and missing where it is stated to be."""
    stated = {"refusal": NO_ANSWER, "rules": {"missing": (code,)}, "gone": (ROW,)}
    return Fault(name, kinds, cell(code), **{**stated, **how})


def as_text(frame: pd.DataFrame, **how: Any) -> bytes:
    """A table as CSV in UTF-8."""
    encoding = how.pop("encoding", "utf-8")
    return str(frame.to_csv(index=False, lineterminator=how.pop("end", "\n"), **how)).encode(encoding)


def cell(text: Any, row: int = ROW, column: str = "judge") -> Cells:
    """The table with one cell replaced."""

    def replaced(frame: pd.DataFrame) -> pd.DataFrame:
        cells = frame.astype(object)
        cells.loc[cells.index[row], column] = text
        return cells

    return replaced


def changed(change: Callable[[str], Any], every: int = 1, column: str = "judge") -> Cells:
    """The table with every so manieth cell of a column changed."""

    def replaced(frame: pd.DataFrame) -> pd.DataFrame:
        cells = frame.astype(object)
        cells[column] = [change(text) if row % every == 0 else text for row, text in enumerate(cells[column])]
        return cells

    return replaced


def lines(change: Callable[[list[str]], list[str]], **how: Any) -> Bytes:
    """A CSV whose lines are changed."""
    return lambda frame: "".join(
        f"{line}\n" for line in change(as_text(frame, **how).decode().splitlines())
    ).encode()


def binary(write: Callable[[pd.DataFrame, io.BytesIO], Any]) -> Bytes:
    """A file as a function of pandas writes it."""

    def written(frame: pd.DataFrame) -> bytes:
        buffer = io.BytesIO()
        write(frame, buffer)
        return buffer.getvalue()

    return written


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of numbers as numbers."""
    numbers = {
        str(name): pd.to_numeric(frame[name])
        for name in frame
        if name != "item" and _are_numbers(frame[name])
    }
    return frame.assign(**numbers)


def _are_numbers(column: pd.Series[Any]) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().all())


def statistics_file(ending: str, **how: Any) -> Bytes:
    """A file of SPSS or Stata with labelled codes in place of words."""

    def written(frame: pd.DataFrame) -> bytes:
        import tempfile

        import pyreadstat

        columns, labels = {}, {}
        for name in frame:
            if name in ("item", "item_id", "judge_id", "judge_kind") or _are_numbers(frame[name]):
                columns[name] = typed(frame)[name]
                continue
            texts = sorted(set(frame[name].dropna()))
            labels[str(name)] = dict(enumerate(texts, 1))
            codes = {text: code for code, text in labels[str(name)].items()}
            columns[name] = frame[name].map(codes).astype(float)
        write: Any = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
        word = "variable_value_labels"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table{ending}"
            write(pd.DataFrame(columns), str(path), **{word: labels}, **how)
            return path.read_bytes()

    return written


def workbook(*sheets: str, above: int = 0, merged: str = "") -> Bytes:
    """A workbook with the table in its first sheet, below some lines."""

    def written(frame: pd.DataFrame) -> bytes:
        buffer = io.BytesIO()
        with pd.ExcelWriter(buffer, engine="openpyxl") as book:
            for place, sheet in enumerate(sheets or ("Sheet1",)):
                (typed(frame) if place == 0 else pd.DataFrame({"note": ["see sheet 1"]})).to_excel(
                    book, sheet_name=sheet, index=False, startrow=above
                )
            if above:
                book.book.active["A1"] = "Ratings of the second round"
            if merged:
                book.book.active.merge_cells(merged)
        return buffer.getvalue()

    return written


def json_rows(frame: pd.DataFrame, is_lines: bool = True) -> bytes:
    """Rows as JSON."""
    records = [
        {name: None if pd.isna(value) else value for name, value in record.items()}
        for record in typed(frame).to_dict("records")
    ]
    if is_lines:
        return "\n".join(
            json.dumps(record, ensure_ascii=False, default=_plain) for record in records
        ).encode()
    return json.dumps(records, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.item()


def packed(frame: pd.DataFrame) -> bytes:
    """A CSV in gzip."""
    return gzip.compress(as_text(frame))


def quoted(frame: pd.DataFrame) -> bytes:
    """A CSV with all cells in quotes."""
    return as_text(frame, quoting=csv.QUOTE_ALL)
