"""The encoding of a file of text, recognised or as stated."""

from __future__ import annotations

import codecs
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ....errors import InputError
from ..account import AccountEntry

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WINDOWS = "cp1252"


def is_utf8(data: bytes, encoding: str | None) -> bool:
    """Whether bytes are text in UTF-8, and are not said to be anything else."""
    if (encoding or _unicode_of(data)).lower() not in ("utf-8", "utf8") or b"\0" in data:
        return False
    if data.isascii():
        return True
    ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(data)]).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def decode_text(data: bytes, encoding: str | None, source: str, entries: list[AccountEntry]) -> str:
    """Text of bytes: in the encoding that is stated, else UTF-16 by its marks, UTF-8, or Western European."""
    if encoding is None:
        encoding = _unicode_of(data)
    try:
        text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise InputError(
            f"--encoding {encoding} is unknown; use utf-8, utf-16, cp932 or latin-1, as the program wrote it."
        ) from None
    except UnicodeError:
        if encoding != "utf-8" or not _is_western(data):
            raise InputError(
                f"{source}: the file is not {encoding.upper()} text; name its encoding, such as --encoding "
                "cp932 (Shift JIS), cp1251 (Cyrillic) or latin-1, or save it as CSV in UTF-8."
            ) from None
        text = data.decode(WINDOWS)
        entries.append(
            AccountEntry(
                "source",
                "The file is not UTF-8 and was read as Windows-1252 (Western European).",
                option="--encoding",
            )
        )
    if "\0" in text:
        raise InputError(f"{source}: this is not a text file; correct the ending of its name.")
    return text


def _unicode_of(data: bytes) -> str:
    """UTF-16 by its mark or by every second byte being zero, else UTF-8."""
    if data.startswith(UTF16):
        return "utf-16"
    head = np.frombuffer(data[:2000], dtype=np.uint8)
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) >= 8 and (head[first::2] == 0).mean() > 0.7:
            return name
    return "utf-8"


def _is_western(data: bytes) -> bool:
    """Whether bytes beyond ASCII are single accented letters within words, as in Windows-1252."""
    # Shift JIS, GBK and Cyrillic text has runs of such bytes; detectors that guess from few bytes err.
    try:
        text = data.decode(WINDOWS)
    except UnicodeError:
        return False
    runs = Counter(len(run) for run in re.findall(r"[^\x00-\x7f]+", text))
    letters = "".join(re.findall(r"[^\x00-\x7f]", text))
    usual = sum(
        char.isalpha() or char in "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u20ac\u00a0\u00b0"
        for char in letters
    )
    return sum(n for length, n in runs.items() if length <= 2) >= 0.9 * runs.total() and usual >= 0.9 * len(
        letters
    )
