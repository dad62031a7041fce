"""Files of SPSS and Stata: their cells, value labels and missing codes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ....errors import InputError, listed
from ..account import AccountEntry
from ..cell_rules import key_of
from ..reading_rules import ReadingRules
from ..typed_files import load_library
from .statistics_process import REFUSED

CHILD = Path(__file__).with_name("statistics_process.py")


def read_spss(data: bytes, options: ReadingRules, source: str) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A file of SPSS: declared missing values are missing, labelled values are their labels."""
    return _read_labelled(data, options.missing, source, "read_sav", ".sav", "A file of SPSS")


def read_stata(data: bytes, options: ReadingRules, source: str) -> tuple[pd.DataFrame, list[AccountEntry]]:
    """A file of Stata: missing codes are missing, labelled values are their labels."""
    if data.startswith(b"<stata_dta>") and not data.rstrip().endswith(b"</stata_dta>"):
        raise InputError(f"{source}: the file cannot be read (its end is missing); copy it again.")
    return _read_labelled(data, options.missing, source, "read_dta", ".dta", "A file of Stata")


def _read_labelled(
    data: bytes, missing: Sequence[str], source: str, function: str, ending: str, words: str
) -> tuple[pd.DataFrame, list[AccountEntry]]:
    load_library("pyreadstat", words, "pyreadstat")
    content = _content_of(data, source, function, ending)
    try:
        frame = pd.DataFrame(content["columns"])
    except ValueError as error:
        raise _damage(source, str(error)) from None
    entries: list[AccountEntry] = []
    declared: Mapping[str, Any] = content["declared"]
    missing_keys = {key_of(text) for text in missing}
    for name, labels in content["labels"].items():
        if name in frame:
            answers = {
                value: label for value, label in labels.items() if not _is_in(value, declared.get(name))
            }
            missing_numbers = {
                value: f"{value:.15g}"
                for value in frame[name].dropna().unique().tolist()
                if isinstance(value, int | float)
                and value not in answers
                and key_of(f"{value:.15g}") in missing_keys
            }
            frame[name] = _with_labels(
                frame[name], missing_numbers | answers, content["measures"].get(name, ""), entries
            )
    if declared:
        names = listed(f"'{name}'" for name in declared)
        entries.append(
            AccountEntry("missing", f"Values that the file declares as missing are missing in {names}.")
        )
    return frame.replace("", None).infer_objects(), entries


def _is_in(value: Any, ranges: Any) -> bool:
    """Whether a value is declared as missing."""
    is_number = isinstance(value, int | float)
    return any(
        each["lo"] <= value <= each["hi"]
        for each in ranges or ()
        if isinstance(each["lo"], int | float) == is_number
    )


def _content_of(data: bytes, source: str, function: str, ending: str) -> Mapping[str, Any]:
    """What the library reads, in a process of its own: a damaged file can end the process that reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path, result = Path(folder) / f"table{ending}", Path(folder) / "content"
        path.write_bytes(data)  # the library reads from names of files only
        command = [sys.executable, "-P", str(CHILD), function, str(path), str(result)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if ended.returncode == 0:
            content: Mapping[str, Any] = pickle.loads(result.read_bytes())
            return content
    reason = ended.stderr.decode(errors="replace").strip().splitlines()
    if ended.returncode == REFUSED and reason:
        raise _damage(source, reason[-1])
    raise _damage(source, "its reader ended without a reason")


def _damage(source: str, reason: str) -> InputError:
    return InputError(f"{source}: the file cannot be read ({reason}); save it again.")


def _with_labels(
    column: pd.Series[Any], labels: Mapping[Any, str], measure: str, entries: list[AccountEntry]
) -> pd.Series[Any]:
    """Values as their labels in the order of the values, where all have one; else as they are."""
    values = column.dropna().unique().tolist()
    bare = [value for value in values if value not in labels]
    if bare:
        ends = listed(
            f"{value:.15g} '{label}'" if isinstance(value, float) else f"{value} '{label}'"
            for value, label in labels.items()
        )
        entries.append(
            AccountEntry(
                "types", f"Column '{column.name}' keeps its numbers; only some have labels ({ends})."
            )
        )
        return column
    order = [labels[value] for value in sorted(labels)]
    if len(set(order)) < len(order):
        return column
    return pd.Series(
        pd.Categorical(column.map(dict(labels)), categories=order, ordered=measure == "ordinal"),
        index=column.index,
        name=column.name,
    )
