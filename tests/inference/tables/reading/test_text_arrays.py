"""What is told from the bytes of texts is what rules about single texts say."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa

from conjury.inference.tables.reading.cell_rules import SPELLINGS_OF_NOTHING
from conjury.inference.tables.reading.text_arrays import (
    IDS,
    MarkTable,
    has_fractions,
    has_ids,
    needs_trimming,
    single_digits,
    with_gaps,
)

MARKS = [mark for mark in SPELLINGS_OF_NOTHING if mark]
IDS_OF_TEXTS = [
    "01",
    "-05",
    "+05",
    "00",
    "1234567890123456",
    "-1234567890123456",
    "007",
    "1234567890123456789",
]
NUMBERS = [
    *("1", "9", "5", "0", "-0", "+5", "-0.5", "0.5", ".5", "-.5", "1e-05", "12.34567890123456"),
    *("0.1234567890123456", "1.234567890123456", "123.4567890123456", *IDS_OF_TEXTS),
]
TEXTS = ["", "NA", "na", "nan", "<NA>", "no", "n", "nein", "é", " x", "x ", "x", "n" * 258, *NUMBERS]


def drawn(texts: list[str], draws: random.Random) -> tuple[list[str | None], pa.Array]:
    """Cells, some of them missing, and the same as an array, now and then as a part of a longer one."""
    cells = [draws.choice(texts) if draws.random() > 0.1 else None for _ in range(draws.randint(1, 6))]
    if draws.random() < 0.3:
        return cells, pa.array(["first", *cells, "last"], type=pa.large_string()).slice(1, len(cells))
    return cells, pa.array(cells, type=pa.large_string())


def test_marks_and_blanks_are_those_of_single_texts():
    draws, table = random.Random(1), MarkTable(MARKS)
    for _ in range(1500):
        cells, array = drawn(TEXTS, draws)
        texts = [cell for cell in cells if cell is not None]
        rows, marks = table.rows_of(array.drop_null())
        assert marks.to_pylist() == [text for text in texts if text in MARKS]
        assert [texts[row] for row in rows] == marks.to_pylist()
        if any(text != text.strip() for text in texts):
            assert needs_trimming(array)
        is_missing = np.array([cell in ("", "NA") for cell in cells])
        expected = [None if mask else cell for cell, mask in zip(cells, is_missing, strict=True)]
        assert with_gaps(array, is_missing).to_pylist() == expected


def test_ids_fractions_and_digits_are_those_of_single_numbers():
    draws = random.Random(2)
    for _ in range(1500):
        cells, array = drawn(NUMBERS, draws)
        texts = [cell for cell in cells if cell is not None]
        assert has_ids(array) == any(re.search(IDS, text) for text in texts)
        assert has_fractions(array) == any(set(text) & set(".eE") for text in texts)
        digits = single_digits(array)
        if texts and all(re.fullmatch(r"\d", text) for text in texts):
            assert digits is not None
            assert [None if np.isnan(digit) else str(int(digit)) for digit in digits] == cells
        else:
            assert digits is None
