"""Archives: one table inside is read, several are named, and damage is one sentence."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import pytest

import conjury
from conjury.inference.errors import InputError

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
