"""Bodies made small: requests many to a block, answers with the first of their kind as a dictionary."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass
from typing import Any

LEVEL = 1
MEMORY = 5  # of zlib; an answer is small, and setting up its tables would cost more than filling them
BLOCK = 32  # bodies of requests that are compressed together
WINDOW = 32768  # bytes of a dictionary that zlib looks at

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class Panel:
    """A judge under a prompt, with the dictionary of their responses."""

    id: int
    judge_id: str
    prompt_id: str
    response_dictionary: bytes | None


class Panels:
    """The panels of a ledger, by number and by judge and prompt; the writer adds to them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._by_id: dict[int, Panel] = {}
        self._by_name: dict[tuple[str, str], Panel] = {}

    def forget(self) -> None:
        """Read them again, since a transaction that may have added some was undone."""
        self._by_id.clear()
        self._by_name.clear()

    def at(self, number: int) -> Panel:
        """Return a panel by its number."""
        if number not in self._by_id:
            self._read()
        return self._by_id[number]

    def of(self, judge_id: str, prompt_id: str) -> Panel:
        """Return the panel of a judge and a prompt, made where it is new."""
        panel = self._by_name.get((judge_id, prompt_id))
        if panel is None:
            self._read()
            panel = self._by_name.get((judge_id, prompt_id))
        if panel is None:
            self._db.execute("INSERT INTO panels (judge_id, prompt_id) VALUES (?, ?)", (judge_id, prompt_id))
            self._read()
            panel = self._by_name[judge_id, prompt_id]
        return panel

    def response_dictionary(self, panel: Panel, body: bytes) -> bytes:
        """Return the dictionary of a panel's responses, which is ``body`` where it is the first."""
        if panel.response_dictionary is None:
            panel.response_dictionary = body[-WINDOW:]
            self._db.execute(
                "UPDATE panels SET response_dictionary = ? WHERE id = ?",
                (panel.response_dictionary, panel.id),
            )
        return panel.response_dictionary

    def _read(self) -> None:
        for row in self._db.execute("SELECT id, judge_id, prompt_id, response_dictionary FROM panels"):
            panel = Panel(*row)
            self._by_id[panel.id] = panel
            self._by_name[panel.judge_id, panel.prompt_id] = panel


def pack(content: bytes, dictionary: bytes = b"") -> bytes:
    """Compress ``content``."""
    if dictionary:
        packer = zlib.compressobj(
            LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY, zlib.Z_DEFAULT_STRATEGY, dictionary
        )
    else:
        packer = zlib.compressobj(LEVEL)
    return packer.compress(content) + packer.flush()


def unpack(blob: bytes, dictionary: bytes = b"") -> bytes:
    """Return what was packed."""
    try:
        unpacker = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
        content = unpacker.decompress(blob) + unpacker.flush()
    except (zlib.error, TypeError) as error:  # a TypeError where the column holds no blob
        raise ValueError(str(error)) from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it does not end where it should")
    return content


def digest(content: bytes) -> bytes:
    """Return the SHA-256 of ``content``."""
    return hashlib.sha256(content).digest()


def write_json(value: Any) -> str:
    """Return ``value`` as compact JSON, its keys in their own order."""
    return _ENCODER.encode(value)
