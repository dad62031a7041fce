"""Faults of how a file is written, and files that are none of a table."""

from __future__ import annotations

import pandas as pd

from .faulty_files import (
    EVERY,
    LABELS,
    NUMBERS,
    ROW,
    Fault,
    as_text,
    binary,
    cell,
    changed,
    json_rows,
    lines,
    missing,
    packed,
    quoted,
    statistics_file,
    typed,
    workbook,
)

EXCEL = binary(lambda frame, buffer: frame.to_excel(buffer, index=False))
PARQUET = binary(lambda frame, buffer: frame.to_parquet(buffer))


def _total(rows: list[str], word: str) -> str:
    """A row of sums, whose last cells are numbers."""
    return ",".join([word, *("4.5" if _is_number(text) else "" for text in rows[2].split(",")[1:])])


def _is_number(text: str) -> bool:
    return text.replace(".", "").isdigit()


def _twice(row: str) -> str:
    return f"{row},{row.rpartition(',')[2]}"


def _case(row: str) -> str:
    last = row.rpartition(",")[2]
    return f"{row},{last.title() if last in ('human', 'human2', 'value') else 'x'}"


def _value(frame: pd.DataFrame) -> str:
    return "value" if "value" in frame else "judge"


TEXT_FILES = [
    Fault("BOM", content=lambda frame: as_text(frame, encoding="utf-8-sig")),
    Fault("UTF-16", content=lambda frame: as_text(frame, encoding="utf-16", sep="\t")),
    Fault("UTF-16 without a mark", content=lambda frame: as_text(frame, encoding="utf-16-le")),
    Fault("UTF-16 of the other order", content=lambda frame: as_text(frame, encoding="utf-16-be")),
    Fault(
        "Latin-1",
        ("labels", "raters"),
        changed(lambda text: f"{text} é"),
        content=lambda frame: as_text(
            frame.map(
                lambda text: (
                    text
                    if text.startswith("text") or text in ("human", "model", "bot", "ann")
                    else f"{text.removesuffix(' é')} é"
                )
            ),
            encoding="latin-1",
        ),
    ),
    Fault("tabs", content=lambda frame: as_text(frame, sep="\t"), file="table.tsv"),
    Fault("semicolons", content=lambda frame: as_text(frame, sep=";")),
    Fault("bars", content=lambda frame: as_text(frame, sep="|"), file="table.txt"),
    Fault("carets", content=lambda frame: as_text(frame, sep="^"), refusal="", rules={"delimiter": "^"}),
    Fault("sep= of Excel", content=lambda frame: b"sep=;\r\n" + as_text(frame, sep=";", end="\r\n")),
    Fault("quotes", content=quoted),
    Fault("carriage returns", content=lambda frame: as_text(frame, end="\r")),
    Fault("ends of Windows", content=lambda frame: as_text(frame, end="\r\n")),
    Fault("gzip", content=packed, file="table.csv.gz"),
    Fault("gzip without an ending", content=packed),
    Fault("blank lines", content=lines(lambda rows: [line for row in rows for line in (row, "")])),
    Fault("blank lines above", content=lines(lambda rows: ["", "", *rows])),
    Fault("empty rows", content=lines(lambda rows: [*rows, ",,,", ",,,"])),
    Fault("trailing separators", content=lines(lambda rows: [f"{row}," for row in rows])),
    Fault(
        "trailing separators of rows", content=lines(lambda rows: [rows[0], *(f"{row}," for row in rows[1:])])
    ),
    Fault("trailing separators of the header", content=lines(lambda rows: [f"{rows[0]},,", *rows[1:]])),
    Fault("empty columns", content=lambda frame: as_text(frame.assign(note="", other=""))),
    Fault("blanks after commas", content=lines(lambda rows: [row.replace(",", ", ") for row in rows])),
    Fault("blanks in the header", content=lines(lambda rows: [rows[0].replace(",", " , "), *rows[1:]])),
    Fault("index of pandas", content=lambda frame: frame.to_csv().encode()),
    Fault(
        "a column of long texts",
        content=lambda frame: as_text(frame.assign(text='He said "no", twice.\nThen, he left; or so.')),
    ),
    Fault("title lines", content=lines(lambda rows: ["Ratings of the second round", "", *rows])),
    Fault("title lines with separators", content=lines(lambda rows: ["Ratings of round 2,,", ",,", *rows])),
    Fault("header twice", content=lines(lambda rows: [*rows[:8], rows[0], *rows[8:]])),
    Fault("two header rows", content=lines(lambda rows: [rows[0], rows[0], *rows[1:]])),
    *(
        Fault(
            f"row of {word}",
            NUMBERS,
            content=lines(lambda rows, word=word: [*rows, *[""] * (word == "Mean"), _total(rows, word)]),
            refusal=f"'{word}'",
            rules={"exclude": {"item": stated}},
            is_wide=True,
        )
        for word, stated in (("Total", "Total"), ("Mean", "mean"), ("Summe", "Summe"))
    ),
    Fault(
        "duplicate columns", content=lines(lambda rows: [_twice(row) for row in rows]), refusal="occurs twice"
    ),
    Fault("columns that differ in case", content=lines(lambda rows: [_case(row) for row in rows])),
    Fault("open quote", content=lines(lambda rows: [*rows[:4], rows[4] + ',"x', *rows[5:]]), refusal=""),
    Fault("more cells", content=lines(lambda rows: [*rows[:4], rows[4] + ",x", *rows[5:]]), refusal="cells"),
    Fault("no header rows below", content=lines(lambda rows: rows[:1]), refusal="no rows"),
    Fault("empty file", content=lambda frame: b"", refusal="empty"),
    Fault("only blanks", content=lambda frame: b" \n\n ", refusal="empty"),
    Fault("zero bytes", content=lines(lambda rows: [*rows[:4], rows[4] + "\0", *rows[5:]]), refusal=""),
    Fault("HTML called CSV", content=lambda frame: frame.to_html().encode(), refusal="this is a page"),
    Fault("note below", content=lines(lambda rows: [*rows, "Source: invented data"]), is_wide=True),
]
OTHERS = [
    Fault("numbers in quotes", NUMBERS, content=quoted),
    Fault("titles in semicolons", content=lambda frame: b"Round 2\n\n" + as_text(frame, sep=";")),
    Fault("stated header row", content=lines(lambda rows: ["a,b,c,d", *rows]), rules={"header_row": 2}),
    Fault(
        "percent signs",
        ("decimals",),
        lambda frame: frame.assign(**{str(name): frame[name] + "%" for name in frame if name != "item"}),
        refusal="numbers with units",
        is_wide=True,
    ),
    Fault(
        "shares of a maximum",
        ("ratings",),
        lambda frame: frame.assign(**{str(name): frame[name] + "/7" for name in frame if name != "item"}),
        refusal="numbers with units",
        is_wide=True,
    ),
    missing("one date among labels", ("labels", "raters"), "2024-03-04"),
    missing("a date of a spreadsheet", ("labels", "raters"), "3-Apr"),
    Fault("items repeated", EVERY, cell("text 7", column="item"), is_wide=True),
    Fault("PDF", content=lambda frame: b"%PDF-1.7 1 0 obj", refusal="this is a PDF"),
    Fault("database", content=lambda frame: b"SQLite format 3\0", refusal="a database"),
    Fault("pickle", content=binary(lambda frame, buffer: frame.to_pickle(buffer)), refusal="pickle"),
    Fault("XML", content=lambda frame: b'<?xml version="1.0"?><rows/>', refusal="page of HTML or XML"),
    Fault(
        "Parquet cut off", content=lambda frame: PARQUET(frame)[:-40], file="table.parquet", refusal="cut off"
    ),
    Fault(
        "Excel cut off", content=lambda frame: workbook()(frame)[:-400], file="table.xlsx", refusal="damaged"
    ),
    Fault(
        "JSON cut off", content=lambda frame: json_rows(frame, False)[:-40], file="table.json", refusal="JSON"
    ),
    Fault(
        "SPSS cut off",
        content=lambda frame: statistics_file(".sav")(frame)[:-9],
        file="table.sav",
        refusal="cannot be read",
    ),
    Fault(
        "Stata cut off",
        content=lambda frame: statistics_file(".dta")(frame)[:-9],
        file="table.dta",
        refusal="cannot be read",
    ),
    Fault("booleans in JSON", ("booleans",), content=json_rows, file="table.jsonl"),
    Fault("booleans in Excel", ("booleans",), content=EXCEL, file="table.xlsx"),
    Fault("booleans in Parquet", ("booleans",), content=PARQUET, file="table.parquet"),
    Fault("booleans in text", ("booleans",)),
    Fault(
        "booleans in capitals",
        ("booleans",),
        content=lambda frame: as_text(frame).upper().replace(b"ITEM,JUDGE,HUMAN", b"item,judge,human"),
        is_wide=True,
    ),
    Fault(
        "formulas without results",
        NUMBERS,
        cell("=2+3"),
        content=EXCEL,
        file="table.xlsx",
        refusal="stored result",
    ),
]
ZEROS = [
    Fault("ids with zeros", cells=changed(lambda text: f"{int(text.split()[1]):04}", column="item")),
    Fault("long ids", cells=changed(lambda text: f"{10**17 + int(text.split()[1])}", column="item")),
]
TYPED = [
    Fault("Excel", content=workbook(), file="table.xlsx"),
    Fault("Excel called CSV", content=workbook(), file="table.csv"),
    Fault("several sheets", content=workbook("answers", "notes"), file="table.xlsx"),
    Fault("merged title", content=workbook(above=2, merged="A1:C1"), file="table.xlsx"),
    Fault("numbers as texts in Excel", NUMBERS, content=EXCEL, file="table.xlsx"),
    Fault("mixed types in Excel", NUMBERS, cells=changed(float, 2), content=EXCEL, file="table.xlsx"),
    Fault("SPSS", content=statistics_file(".sav"), file="table.sav"),
    Fault("Stata", content=statistics_file(".dta"), file="table.dta"),
    Fault(
        "user-missing of SPSS",
        ("ratings",),
        cell("9"),
        gone=(ROW,),
        file="table.sav",
        content=lambda frame: statistics_file(".sav", missing_ranges={_value(frame): [9]})(frame),
    ),
    Fault(
        "Parquet", content=binary(lambda frame, buffer: typed(frame).to_parquet(buffer)), file="table.parquet"
    ),
    Fault("texts in Parquet", content=PARQUET, file="table.parquet"),
    Fault(
        "categories in Parquet",
        LABELS,
        content=binary(lambda frame, buffer: frame.astype("category").to_parquet(buffer)),
        file="table.parquet",
    ),
    Fault(
        "Feather", content=binary(lambda frame, buffer: typed(frame).to_feather(buffer)), file="table.feather"
    ),
    Fault("JSON lines", content=json_rows, file="table.jsonl"),
    Fault("JSON", content=lambda frame: json_rows(frame, False), file="table.json"),
    Fault("JSON called CSV", content=lambda frame: json_rows(frame, False), file="table.csv"),
    *(
        Fault(
            f"pandas by {orient}",
            content=lambda frame, orient=orient: frame.to_json(orient=orient).encode(),
            file="table.json",
        )
        for orient in ("columns", "split", "index")
    ),
    Fault(
        "JSON in an object",
        content=lambda frame: b'{"data": ' + json_rows(frame, False) + b"}",
        file="table.json",
    ),
    Fault("null in JSON", cells=cell(None), content=json_rows, file="table.jsonl", gone=(ROW,)),
    Fault("empty cell in Excel", cells=cell(None), content=workbook(), file="table.xlsx", gone=(ROW,)),
    Fault("empty cell in Parquet", cells=cell(None), content=PARQUET, file="table.parquet", gone=(ROW,)),
    *(
        missing(f"text {code!r} in {name}", ("labels",), code, content=content, file=file)
        for code in ("NA", "None", ".")
        for name, content, file in (
            ("Parquet", PARQUET, "table.parquet"),
            ("JSON", json_rows, "table.jsonl"),
            ("Excel", workbook(), "table.xlsx"),
        )
    ),
    *(
        Fault(
            f"error {code} of Excel", NUMBERS, cell(code), content=workbook(), file="table.xlsx", gone=(ROW,)
        )
        for code in ("#N/A", "#DIV/0!", "#VALUE!")
    ),
]
