"""Faults of cells: codes, words among numbers, spellings."""

from __future__ import annotations

import pandas as pd

from .faulty_files import (
    EVERY,
    LABELS,
    NUMBERS,
    ROW,
    Fault,
    as_text,
    cell,
    changed,
    missing,
    quoted,
    workbook,
)

CODES = [".", "-", "--", "?", "N/A", "n.a.", "#N/A", "#NULL!", "None", "null", "NULL", "(missing)", "missing"]
CODES += ["refused", "\\N", "undefined", "error"]
CODES += ["no answer", "don't know", "#DIV/0!", "skipped", "..", "*", "NONE", "n/a ", "#VALUE!", "NIL"]
CODES += ["Unknown", "no response", "not applicable", "\u2014", "\u2013", "#REF!"]
REFUSALS = (
    "I'm sorry, but I can't assist with that.",
    "I\u2019m sorry, I cannot rate this text.",
    "As an AI language model, I have no opinion.",
    "I cannot help with that request",
    "Sorry, I am unable to judge this.",
)
NUMBER_CODES = ("-99", "-9", "999", "9999", "-999", "-77", "99", "-88")
MARKS = ("", " ", "NA", "NaN", "nan", "<NA>", "na")
NO_NUMBER = "most of its cells are numbers"

MISSING = [
    *(Fault(f"mark {mark!r}", EVERY, cell(mark), gone=(ROW,)) for mark in MARKS),
    *(missing(f"code {code!r}", ("labels", "ratings", "words"), code) for code in CODES),
    *(missing(f"refusal {text[:12]!r}", ("labels", "ratings", "raters"), text) for text in REFUSALS),
    *(missing(f"number {code}", NUMBERS, code) for code in NUMBER_CODES),
]
WORDS = [
    *(
        missing(f"word {text!r}", NUMBERS, text, refusal=NO_NUMBER)
        for text in ("seven", "7/10", "3-4", "4 stars", "about 5", "5 (good)", "4,5,6")
    ),
    missing(
        "date of Excel",
        NUMBERS,
        pd.Timestamp("2024-03-04"),
        content=workbook(),
        file="table.xlsx",
        rules={"missing": ("2024-03-04",)},
    ),
    missing("date", NUMBERS, "2024-03-04"),
    missing("code -1 of surveys", ("ratings",), "-1"),
    missing("code -5 of surveys", ("ratings",), "-5"),
]
SPELLINGS = [
    Fault("capitals", LABELS, changed(str.upper, 3)),
    Fault("blanks around", EVERY, changed(lambda text: f"  {text} ", 2), content=quoted),
    Fault("no-break spaces", EVERY, changed(lambda text: f"\u00a0{text}\u00a0", 2)),
    Fault("zero-width space", EVERY, changed(lambda text: f"{text}\u200b", 2)),
    Fault("mark of order in cells", EVERY, changed(lambda text: f"\ufeff{text}", 2)),
    Fault("full-width", EVERY, changed(lambda text: "".join(chr(ord(c) + 0xFEE0) for c in text), 2)),
    Fault("whole numbers with points", ("ratings",), changed(lambda text: f"{text}.0", 2)),
    Fault("plus signs", NUMBERS, changed(lambda text: f"+{text}", 2)),
    Fault("scientific", NUMBERS, changed(lambda text: f"{float(text):.4e}", 2)),
    Fault("apostrophes of Excel", NUMBERS, changed(lambda text: f"'{text}", 2)),
    Fault("Arabic digits", ("ratings",), changed(lambda text: chr(0x660 + int(text)), 2)),
    Fault("superscript digits", ("ratings",), changed(lambda text: "⁰¹²³⁴⁵⁶⁷"[int(text)], 2)),
    missing("letters like digits", ("ratings",), "l", refusal=NO_NUMBER),
    Fault("tabs within", EVERY, changed(lambda text: f"{text}\t", 2), content=quoted),
    Fault("lines within", EVERY, changed(lambda text: f"{text}\n", 2), content=quoted),
]
NUMBERS_AS_TEXT = [
    Fault(name, ("decimals",), lambda frame: frame.map(lambda text: text.replace(".", ",")), content=content)
    for name, content in (
        ("decimal commas", lambda frame: as_text(frame, sep=";")),
        ("decimal commas in quotes", as_text),
        ("decimal commas in tabs", lambda frame: as_text(frame, sep="\t")),
    )
]
