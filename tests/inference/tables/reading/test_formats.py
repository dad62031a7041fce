"""One content in every format: the same table, the same answers, whatever the file is called."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import conjury
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.tables.reading import ReadingRules, TableReading, read, read_answers
from conjury.inference.tables.reading.companion_levels import write_with_levels
from tests.support.absent import run_without

pyreadstat = pytest.importorskip("pyreadstat", reason="extra `files`")

Writer = Callable[[pd.DataFrame, Path], Any]
TEXTS: dict[str, Writer] = {
    "plain.csv": lambda frame, path: frame.to_csv(path, index=False),
    "tabs.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "bars.txt": lambda frame, path: frame.to_csv(path, index=False, sep="|"),
    "bom.csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig"),
    "unicode.csv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", encoding="utf-16"),
    "windows.csv": lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r\n"),
    "returns.csv": lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r"),
    "quoted.csv": lambda frame, path: frame.to_csv(path, index=False, quoting=1),
    "packed.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
}
TYPED: dict[str, Writer] = {
    "book.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "survey.sav": lambda frame, path: pyreadstat.write_sav(frame.fillna({"judge": ""}), str(path)),
    "survey.dta": lambda frame, path: pyreadstat.write_dta(frame.fillna({"judge": ""}), str(path)),
    "table.parquet": lambda frame, path: frame.to_parquet(path),
    "table.feather": lambda frame, path: frame.to_feather(path),
    "rows.json": lambda frame, path: frame.to_json(path, orient="records"),
    "lines.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}
WRITERS = TEXTS | TYPED


def answers_of(reading: TableReading) -> tuple[Any, ...]:
    """What analyses see of a table: codes, classes and numbers, gaps as None."""
    labels = read_answers(
        {name: reading.frame[name] for name in ("judge", "human")}, reading.rules, source="table"
    )
    numbers = read_answers(
        {name: reading.frame[name] for name in ("score", "rating")}, ReadingRules(), source="table"
    )
    values = [[None if np.isnan(value) else round(value, 6) for value in row] for row in numbers.values]
    return labels.classes, labels.codes.tolist(), numbers.scale, values


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Tables of labels in several spellings, ratings with gaps and numbers with decimals."""
    n = draw(st.integers(8, 25))
    label = st.sampled_from(["ja", "Ja ", "nein", "vielleicht", "größer", "a,b", 'say "x"', "a;b|c"])
    judge = draw(st.lists(st.one_of(st.none(), label), min_size=n, max_size=n))
    rating = draw(st.lists(st.one_of(st.none(), st.integers(1, 7)), min_size=n, max_size=n))
    judge[0], rating[0] = "ja", 7
    return pd.DataFrame(
        {
            "item": [f"i{k:03d}" for k in range(n)],
            "judge": judge,
            "human": draw(st.lists(label, min_size=n, max_size=n)),
            "score": [k / 4 + 0.5 for k in range(n)],
            "rating": pd.Series(rating, dtype="float64"),
        }
    )


@pytest.mark.long
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_one_content_gives_one_table_in_every_format(tmp_path, table):
    expected = answers_of(read(table))
    for name, write in WRITERS.items():
        path = tmp_path / name
        write(table, path)
        reading = read(path)
        assert answers_of(reading) == expected, name
        assert reading.frame["item"].tolist() == table["item"].tolist(), name


FRAME = pd.DataFrame(
    {"item": ["a", "b", "c"], "judge": ["x", "y", "x"], "human": ["x", "y", "y"], "score": [1.5, 2.5, 3.0]}
).assign(rating=[1, 5, 7])


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_read_as_what_it_is_whatever_it_is_called(tmp_path, name):
    right, wrong = tmp_path / name, tmp_path / "something.bin"
    WRITERS[name](FRAME, right)
    wrong.write_bytes(right.read_bytes())
    reading = read(wrong)
    assert answers_of(reading) == answers_of(read(FRAME))
    assert any("whatever its name says" in line for line in reading.account.lines())
    with pytest.raises(InputError, match=r"--strict allows none.*--format"):
        read(wrong, ReadingRules(strict=True))


@pytest.mark.parametrize("name", ["plain.csv", "tabs.tsv", "table.parquet", "lines.jsonl", "book.xlsx"])
def test_standard_input_is_read_as_files_are(tmp_path, name, monkeypatch):
    WRITERS[name](FRAME, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert answers_of(read("-")) == answers_of(read(FRAME))


def test_frames_of_other_libraries_are_tables():
    for frame in (FRAME, polars.from_pandas(FRAME), polars.from_pandas(FRAME).lazy(), pa.table(FRAME)):
        assert answers_of(read(frame)) == answers_of(read(FRAME))


def test_the_first_of_several_sheets_is_a_guess_and_a_sheet_can_be_named(tmp_path):
    path = tmp_path / "book.xlsx"
    about = pd.DataFrame({"About": ["these ratings", "by me"]})
    sheets = {"round 0": FRAME.head(0), "about": about, "round 1": FRAME, "round 2": FRAME.head(1)}
    with pd.ExcelWriter(path) as book:
        for name, table in sheets.items():
            table.to_excel(book, sheet_name=name, index=False)
    sentence = "Of 3 sheets with cells the first with several columns, 'round 1', was read."
    assert sentence in read(path).account.lines()
    assert len(read(path, ReadingRules(sheet="round 2")).frame) == 1
    with pytest.raises(InputError, match=r"no sheet 'round 3'.*did you mean"):
        read(path, ReadingRules(sheet="round 3"))
    with pytest.raises(InputError, match=r"there are no rows below the header; export it again\."):
        read(path, ReadingRules(sheet="round 0"))
    FRAME.head(0).to_excel(path, index=False)
    with pytest.raises(InputError, match=r"no sheet has a row below its header; save the sheet with"):
        read(path)


def test_a_comma_that_may_separate_thousands_is_never_decided_in_silence(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("id;share;price\n1;0,250;7\n2;0,125;8\n", encoding="utf-8")
    assert read(path).frame["share"].tolist() == [0.25, 0.125]  # no thousand begins with 0
    path.write_text("id;share;price\n1;1,250;7\n2;2,125;8\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"'1,250' in column 'share' may be 1250 or 1.25; state --decimal"):
        read(path)
    assert read(path, ReadingRules(decimal=",")).frame["share"].tolist() == [1.25, 2.125]
    assert read(path, ReadingRules(decimal=".")).frame["share"].tolist() == [1250, 2125]
    path.write_text('id,share\n1,"1,250"\n2,"2,125"\n', encoding="utf-8")
    reading = read(path)
    assert reading.frame["share"].tolist() == [1250, 2125]
    assert "Commas in numbers such as '1,250' separate thousands in 'share'." in reading.account.lines()
    path.write_text("id;share\n1;1,250\n2;1,002,125\n", encoding="utf-8")
    assert read(path).frame["share"].tolist() == [1250, 1002125]
    path.write_text("id;share\n1;1,250\n2;a lot\n", encoding="utf-8")
    assert read(path).frame["share"].tolist() == ["1,250", "a lot"]  # half of the cells are texts


@pytest.mark.parametrize(("top", "is_kept"), [("high", True), ("n/a", False)])
def test_levels_of_a_file_are_stated_ones_unless_one_may_mean_no_answer(tmp_path, top, is_kept):
    levels = ("low", "middle", top)
    grade = pd.Categorical(["low", top, "middle"], levels, ordered=True)
    pd.DataFrame({"grade": grade, "name": pd.Categorical(list("abc"))}).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", typed=False).rules.levels == ({"grade": levels} if is_kept else {})


@pytest.mark.long
def test_value_labels_keep_their_order_and_declared_missing_values_are_missing(tmp_path):
    path = tmp_path / "survey.sav"
    frame = pd.DataFrame({"judge": [1.0, 3.0, 2.0, 9.0], "agree": [1.0, 2.0, 7.0, 4.0]})
    labels = {"judge": {1: "no", 2: "perhaps", 3: "yes", 9: "refused"}, "agree": {1: "none", 7: "fully"}}
    further = {"missing_ranges": {"judge": [9]}, "variable_measure": {"judge": "ordinal"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, **further)
    reading = read(path)
    judge = reading.frame["judge"]
    assert judge.isna().tolist() == [False, False, False, True]
    assert judge.cat.ordered
    assert judge.cat.categories.tolist() == ["no", "perhaps", "yes"]
    assert any("declares as missing are missing in 'judge'" in line for line in reading.account.lines())
    assert reading.frame["agree"].tolist() == [1, 2, 7, 4]
    assert any("keeps its numbers" in line for line in reading.account.lines())


@pytest.mark.parametrize(
    ("number", "stated"),
    [
        (-99.0, "-99.0"),
        *(pytest.param(*some, marks=pytest.mark.long) for some in ((-99.0, "-99"), (9999999.0, "9999999"))),
    ],
)
@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_a_value_that_is_stated_as_missing_needs_no_label(tmp_path, ending, number, stated):
    path = tmp_path / f"survey{ending}"
    frame = pd.DataFrame({"judge": [1.0, 2.0, number, 2.0], "human": [1.0, 2.0, 1.0, 2.0]})
    write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
    write(frame, str(path), variable_value_labels={name: {1: "no", 2: "yes"} for name in frame})
    reading = read(path, ReadingRules(missing=(stated,)))
    answers = read_answers({name: reading.frame[name] for name in frame}, reading.rules, source="")
    assert answers.classes == ("no", "yes")
    assert answers.codes.tolist() == [[0, 1, -1, 1], [0, 1, 0, 1]]
    sentences = [*reading.account.lines(), *(entry.sentence for entry in answers.entries)]
    assert f"1 cell '{number:.0f}' of column 'judge' counts as missing." in sentences


def test_western_letters_are_a_guess_and_other_encodings_are_asked_for(tmp_path):
    path = tmp_path / "words.csv"
    path.write_bytes("judge,human\ngrün,grün\nweiß,grün\n".encode("latin-1"))
    reading = read(path)
    assert reading.frame["judge"].tolist() == ["grün", "weiß"]
    assert any("Windows-1252" in line for line in reading.account.lines())
    path.write_bytes("judge,human\nはい,いいえ\nいいえ,はい\n".encode("cp932"))
    with pytest.raises(InputError, match="--encoding cp932"):
        read(path)
    assert read(path, ReadingRules(encoding="cp932")).frame["judge"].tolist() == ["はい", "いいえ"]


def test_headers_of_surveys_and_lines_of_excel_are_no_rows(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(
        'judge,human\n"What do\nyou see?",Your label\n'
        '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\nx,y\ny,y\n'
    )
    assert read(path).frame["judge"].tolist() == ["x", "y"]
    path.write_text("sep=;\njudge;human\nx;y\n;\n")
    assert read(path).frame.to_dict("list") == {"judge": ["x"], "human": ["y"]}


@pytest.mark.parametrize(("n", "is_title"), [(20, True), (21, False)])
def test_up_to_twenty_lines_above_a_header_are_titles(tmp_path, n, is_title):
    rows = [["A survey of 2026"]] * n + [["judge", "human"], ["x", "y"], ["y", "y"]]
    pd.DataFrame(rows).to_excel(tmp_path / "book.xlsx", index=False, header=False)
    assert (list(read(tmp_path / "book.xlsx").frame) == ["judge", "human"]) == is_title


@pytest.mark.parametrize(("place", "is_refused"), [(17, True), (16, False)])
def test_totals_are_looked_for_in_the_last_three_rows(place, is_refused):
    frame = pd.DataFrame({"item": [f"i{row}" for row in range(20)], "rating": range(20)})
    frame.loc[place, "item"] = "Total"
    with pytest.raises(InputError, match="'Total' in column 'item'") if is_refused else nullcontext():
        assert len(read(frame).frame) == 20


@pytest.mark.parametrize(("ids", "is_refused"), [(9, True), (8, False)])
def test_totals_of_a_long_table_are_a_row_for_each_rater_of_at_least_ten_ids(ids, is_refused):
    items = [f"i{item}" for item in range(ids) for _ in range(4)] + ["average"] * 4
    with pytest.raises(InputError, match="'average' in column 'item'") if is_refused else nullcontext():
        read(pd.DataFrame({"item": items, "rating": range(len(items))}))
    read(pd.DataFrame({"item": [*items[4:], *items[:4], "average"], "rating": range(len(items) + 1)}))


def test_ids_with_zeros_and_long_digits_stay_text(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("zip,long,count,share\n01234,12345678901234567890,1,0.25\n98765,1,02.0,1\n")
    frame = read(path).frame
    assert frame["zip"].tolist() == ["01234", "98765"]
    assert frame["long"].tolist() == ["12345678901234567890", "1"]
    assert frame["share"].tolist() == [0.25, 1.0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"  \n ", "the file is empty"),
        (b"a,b\n", "no rows below the header"),
        (b"a,a\n1,2\n", "column 'a' occurs twice"),
        (b"a,b\n1,2,3\n", "line 2 has 3 cells, and the header has 2 names"),
        (b'a,b\n"1,2\n', "line"),
        (b"a\0b,c\n1,2\n", "not a text file"),
        (b"PK\x03\x04broken", "damaged"),
        (b"PAR1broken", "is cut off"),
        (b"\x1f\x8b\x08broken", "gzip file is damaged"),
        (b'{"a": 1', "not valid JSON"),
        (b"[1, 2]", "row 1 is not a JSON object"),
        (b"[]", "no rows"),
        (b'{\n"a": {"b": 1}\n}', "no list of rows"),
        (b"$FL2broken", "cannot be read"),
        (b"<stata_dta>broken", "cannot be read"),
        (gzip.compress(b"a,b\n", mtime=0), "no rows below the header"),
    ],
)
def test_what_is_no_table_is_refused_with_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        read(path)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_rows_are_selected_by_cells_and_a_misspelt_cell_is_refused():
    reading = read(FRAME, ReadingRules(where={"judge": "X"}, exclude={"item": "a"}))
    assert reading.frame["item"].tolist() == ["c"]
    assert [entry.count for entry in reading.account.entries if entry.subject == "excluded"] == [1, 1]
    with pytest.raises(InputError, match="no row has 'z' in column 'judge'"):
        read(FRAME, ReadingRules(where={"judge": "z"}))
    with pytest.raises(InputError, match=r"no column 'jugde'.*did you mean 'judge'.*--where"):
        read(FRAME, ReadingRules(where={"jugde": "x"}))
    for option in ("where", "exclude", "relabel"):
        with pytest.raises(InputError, match=rf"{option} is \['judge=x'\]; give a mapping, such as "):
            conjury.judge(FRAME, "judge", "human", **{option: ["judge=x"]})


@pytest.mark.long
def test_without_its_reader_a_workbook_is_refused_with_the_extra(tmp_path):
    FRAME.to_excel(tmp_path / "book.xlsx", index=False)
    code = f"from conjury import read\nread({str(tmp_path / 'book.xlsx')!r})"
    result = run_without(["python_calamine"], code)
    assert result.returncode != 0
    assert "pip install 'conjury[files]'" in result.stderr
    assert issubclass(MissingDependency, Exception)


def test_levels_beside_a_csv_are_stated_levels(tmp_path):
    labels = ["None", "NA", "Hate", "NA", "None", "Hate"]
    frame = pd.DataFrame({"item_id": ["a", "b", "NA", "d", "e", "f"], "value": labels})
    beside = write_with_levels(frame, tmp_path / "labels.csv")
    assert beside == tmp_path / "labels.levels.json"
    reading = read(tmp_path / "labels.csv")
    assert reading.frame["value"].tolist() == labels
    assert reading.frame["item_id"].tolist()[2] == "NA"
    assert "The levels of 'item_id', 'value' are those of labels.levels.json." in reading.account.lines()
    assert not reading.account.guesses()
    missing = read(tmp_path / "labels.csv", ReadingRules(missing=["NA"]))
    assert missing.frame["value"].isna().sum() == 2
    write_with_levels(frame.assign(value="x", item_id="b"), tmp_path / "labels.csv")
    assert read(tmp_path / "labels.csv").rules.levels == {}
    assert write_with_levels(frame, tmp_path / "labels.parquet") is None


ROWS = "judge,human\n" + "yes,yes\nno,yes\nno,no\n" * 5


def archive(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["export.zip", "export.csv", "export"])
@pytest.mark.parametrize(
    "files",
    [
        {"responses.csv": ROWS},
        {"folder/responses.tsv": ROWS.replace(",", "\t"), "__MACOSX/folder/._responses.tsv": "x"},
        {"responses.csv": ROWS, "README.txt": "what this is", ".DS_Store": "x"},
        {"responses.txt": ROWS.replace(",", ";")},
        {"rows.jsonl": '{"judge": "yes", "human": "yes"}\n{"judge": "no", "human": "yes"}\n' * 5},
    ],
)
def test_the_one_table_of_an_archive_is_read(files, name, tmp_path):
    (tmp_path / name).write_bytes(archive(files))
    table = conjury.read(tmp_path / name)
    assert list(table.frame) == ["judge", "human"]
    assert table.frame["judge"].tolist()[:2] == ["yes", "no"]
    member = next(inner for inner in files if not inner.startswith(("__", ".", "README")))
    assert f"The archive has one table, '{member}', which was read." in table.account.lines()
    assert conjury.judge(tmp_path / name, "judge", "human").frame["estimate"].notna().any()


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.csv": ROWS, "b.csv": ROWS}, "an archive of 2 tables (a.csv, b.csv); unpack it and name one"),
        ({"a.pdf": b"x", "b.docx": b"y"}, "an archive of 2 files and no table (a.pdf, b.docx)"),
        ({"inner.zip": archive({"a.csv": ROWS})}, "an archive of 1 file and no table (inner.zip)"),
    ],
)
def test_an_archive_of_several_tables_or_none_is_refused_with_its_members(files, sentence, tmp_path):
    (tmp_path / "export.zip").write_bytes(archive(files))
    with pytest.raises(InputError) as refusal:
        conjury.read(tmp_path / "export.zip")
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_damaged_archive_is_refused_in_one_sentence(share, tmp_path):
    data = archive({"a.csv": ROWS})
    (tmp_path / "export.zip").write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match="the file is damaged"):
        conjury.read(tmp_path / "export.zip")


def test_an_export_within_an_archive_is_recognised_and_named_after_its_file(tmp_path):
    lines = '{"id": 1, "text": "x", "label": ["rude"]}\n{"id": 2, "text": "y", "label": ["kind"]}\n'
    (tmp_path / "doccano.zip").write_bytes(archive({"ann.jsonl": lines}))
    assert conjury.read(tmp_path / "doccano.zip").frame["judge_id"].tolist() == ["ann", "ann"]
