"""Printing where the encoding of a terminal or a pipe lacks letters: plain ones take their place."""

from __future__ import annotations

import codecs
import io
import sys

PLAIN = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{NO-BREAK SPACE}": " ",
    "\N{BULLET}": "*",
    "\N{FULL BLOCK}": "#",
    "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{GREEK SMALL LETTER KAPPA}": "kappa",
    "\N{GREEK SMALL LETTER ALPHA}": "alpha",
}
ESCAPED_BYTES = range(0xDC80, 0xDD00)  # what Python puts in place of bytes of a name that it cannot decode


def write_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace letters that an encoding lacks: by plain ones, and others by their code."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    if all(ord(letter) in ESCAPED_BYTES for letter in letters):
        return bytes(ord(letter) - 0xDC00 for letter in letters), error.end
    texts = [PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters]
    return "".join(texts), error.end


def accept_all_letters() -> None:
    """Let no letter end a command because the place where it is printed has none like it."""
    codecs.register_error("conjury.plain", write_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="conjury.plain")
