"""Faults of cells: codes, words among numbers, spellings."""

from __future__ import annotations

import pandas as pd

from .faulty_files import EVERY, LABELS, NUMBERS, ROW, Fault, as_text, cell, changed, quoted, workbook

NO_ANSWER = "which may be no answer"
CODES = (
    ".",
    "-",
    "--",
    "?",
    "N/A",
    "n.a.",
    "#N/A",
    "#NULL!",
    "None",
    "null",
    "NULL",
    "(missing)",
    "missing",
    "no answer",
    "refused",
    "\\N",
    "don't know",
    "undefined",
    "error",
    "#DIV/0!",
    "skipped",
)
SIBLINGS = (
    "..",
    "*",
    "NONE",
    "n/a ",
    "#VALUE!",
    "NIL",
    "Unknown",
    "no response",
    "not applicable",
    "\u2014",
    "\u2013",
    "#REF!",
)
REFUSALS = (
    "I'm sorry, but I can't assist with that.",
    "I\u2019m sorry, I cannot rate this text.",
    "As an AI language model, I have no opinion.",
    "I cannot help with that request",
    "Sorry, I am unable to judge this.",
)
NUMBER_CODES = ("-99", "-9", "999", "9999", "-999", "-77", "99", "-88")
MARKS = ("", " ", "NA", "NaN", "nan", "<NA>", "na")


MISSING = [
    *(Fault(f"mark {mark!r}", EVERY, cell(mark), gone=(ROW,)) for mark in MARKS),
    *(
        Fault(
            f"code {code!r}",
            ("labels", "ratings", "words"),
            cell(code),
            refusal=NO_ANSWER,
            rules={"missing": (code,)},
            gone=(ROW,),
        )
        for code in (*CODES, *SIBLINGS)
    ),
    *(
        Fault(
            f"refusal {text[:12]!r}",
            ("labels", "ratings", "raters"),
            cell(text),
            refusal=NO_ANSWER,
            rules={"missing": (text,)},
            gone=(ROW,),
        )
        for text in REFUSALS
    ),
    *(
        Fault(
            f"number {code}", NUMBERS, cell(code), refusal=NO_ANSWER, rules={"missing": (code,)}, gone=(ROW,)
        )
        for code in NUMBER_CODES
    ),
]
WORDS = [
    *(
        Fault(
            f"word {text!r}",
            NUMBERS,
            cell(text),
            refusal="most of its cells are numbers",
            rules={"missing": (text,)},
            gone=(ROW,),
        )
        for text in ("seven", "7/10", "3-4", "4 stars", "about 5", "5 (good)", "4,5,6")
    ),
    Fault(
        "date of Excel",
        NUMBERS,
        cell(pd.Timestamp("2024-03-04")),
        content=workbook(),
        file="table.xlsx",
        refusal=NO_ANSWER,
        rules={"missing": ("2024-03-04",)},
        gone=(ROW,),
    ),
    Fault(
        "date",
        NUMBERS,
        cell("2024-03-04"),
        refusal=NO_ANSWER,
        rules={"missing": ("2024-03-04",)},
        gone=(ROW,),
    ),
    Fault(
        "code -1 of surveys",
        ("ratings",),
        cell("-1"),
        refusal=NO_ANSWER,
        rules={"missing": ("-1",)},
        gone=(ROW,),
    ),
    Fault(
        "code -5 of surveys",
        ("ratings",),
        cell("-5"),
        refusal=NO_ANSWER,
        rules={"missing": ("-5",)},
        gone=(ROW,),
    ),
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
    Fault(
        "letters like digits",
        ("ratings",),
        cell("l"),
        refusal="most of its cells are numbers",
        rules={"missing": ("l",)},
        gone=(ROW,),
    ),
    Fault("tabs within", EVERY, changed(lambda text: f"{text}\t", 2), content=quoted),
    Fault("lines within", EVERY, changed(lambda text: f"{text}\n", 2), content=quoted),
]
NUMBERS_AS_TEXT = [
    Fault(
        "decimal commas",
        ("decimals",),
        lambda frame: frame.map(lambda text: text.replace(".", ",")),
        content=lambda frame: as_text(frame, sep=";"),
    ),
    Fault(
        "decimal commas in quotes",
        ("decimals",),
        lambda frame: frame.map(lambda text: text.replace(".", ",")),
    ),
    Fault(
        "decimal commas in tabs",
        ("decimals",),
        lambda frame: frame.map(lambda text: text.replace(".", ",")),
        content=lambda frame: as_text(frame, sep="\t"),
    ),
]
