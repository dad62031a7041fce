"""Columns brought to their declared type; the names, levels and random streams that tables share."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import InputError, Problems, counted, did_you_mean, listed, sentences_of
from .limits import read_json
from .row_numbers import row_words

_INVISIBLE = "\u00ad\u061c\u0640\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670]+")
_SIGNS = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019", "-------''")
_JOINTS = re.compile(r"[\s_/-]+")


def names_of(names: str | Sequence[str] | None) -> list[str]:
    """Names from one name, several or none."""
    return [names] if isinstance(names, str) else list(names or ())


def visible(text: str) -> str:
    """Drop characters that take no space on a screen."""
    return text if text.isascii() else _INVISIBLE_RUN.sub("", text)


def fold(text: str) -> str:
    """Fold case, accents, dashes, compatibility forms such as full-width letters; drop what is invisible."""
    # Letters of other scripts that look alike are kept apart: a Cyrillic letter is no Latin one.
    return text.lower() if text.isascii() else _compatible(text).casefold()


def fold_beside(text: str) -> tuple[str, str]:
    """Return the folded text, and the same with its capitals, of the same length."""
    letters = text if text.isascii() else _compatible(text)
    folded = letters.casefold()
    if len(folded) == len(letters):
        return folded, letters
    pairs = [(letter.casefold(), letter) for letter in letters]
    return folded, "".join(letter if len(small) == 1 else small for small, letter in pairs)


def _compatible(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKD", visible(text))).translate(_SIGNS)


def plain(text: str) -> str:
    """Fold ``text`` and write spaces, underscores, slashes and hyphens between words as one space."""
    return _JOINTS.sub(" ", fold(text)).strip()


UNPERTURBED = "none"
KINDS = ("orthographic", "drift", "preserving", "dialect")  # of perturbations
PAPER_KINDS = {"ortho": "orthographic", "sem_drift": "drift", "sem_pres": "preserving", "cultural": "dialect"}
FEW_PAIRS = 10  # fewer items and their copies show little about judges


def copy_id(item: Any, condition: Any) -> Any:
    """Return the id of the copy of an item under a condition; of columns, those of all rows."""
    return item + "__" + condition


_OCCASION = "__occasion_"


def occasion_name(name: str, occasion: int) -> str:
    """Name a pair or item as it is asked again on an occasion; on the first it has its own name."""
    return name if occasion == 1 else f"{name}{_OCCASION}{occasion}"


def split_occasion(name: str) -> tuple[str, int]:
    """Return the pair or item of such a name, and the occasion."""
    base_name, mark, number = name.rpartition(_OCCASION)
    return (base_name, int(number)) if mark and number.isdecimal() else (name, 1)


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of a seed and a path of names."""
    key = tuple(zlib.crc32(name.encode()) for name in names)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


Levels = Mapping[str, Sequence[str]]
NAMES = {  # role -> name of the companion, of NAME and of the ending of the table (.parquet, .csv, .csv.gz)
    "truth": "{name}.truth{ending}",
    "items": "{name}.items{ending}",
    "labels": "{name}.labels{ending}",
    "perturbed": "{name}.perturbed{ending}",
    "refused": "{name}.refused{ending}",
    "responses": "{name}_responses{ending}",
    "strata": "{name}_strata{ending}",
    "levels": "{name}.levels.json",
    "sheet": "{name}.html",
}
_ENDING = re.compile(r"(\.parquet|\.csv\.gz|\.csv)$", flags=re.IGNORECASE)


def companion(path: str | Path, role: str) -> Path:
    """Where the companion of a table lies: NAME.truth.parquet for NAME.parquet, by the role of ``NAMES``."""
    path = Path(path)
    match = _ENDING.search(path.name)
    ending = match.group() if match else path.suffix
    name = path.name.removesuffix(ending)
    return path.with_name(NAMES[role].format(name=name, ending=ending))


def responses_beside(path: str | Path) -> Path | None:
    """Find the raw answers of a table: NAME_responses beside it, or responses.parquet in its folder."""
    candidates = (companion(path, "responses"), Path(path).with_name("responses.parquet"))
    return next((file for file in candidates if file.is_file()), None)


def load_levels(path: str | Path) -> dict[str, list[str]]:
    """Read a JSON levels file."""
    # Three shapes are known: `{"slur": ["none", ...], ...}`, `{"factor_levels": {"slur": [...]}}` and
    # `{"columns": {"slur": {"levels": [...]}, ...}}`, where columns without levels may contain null.
    path = Path(path)
    content = read_json(path, "correct the file of levels")
    return {column: _distinct(column, levels, path) for column, levels in _entries(content, path).items()}


def resolve_levels(path: str | Path, levels: Levels | str | Path | None) -> Levels:
    """Return the levels of a table file: those given, or those of NAME.levels.json next to NAME.csv."""
    if isinstance(levels, Mapping):
        return levels
    if levels is not None:
        return load_levels(levels)
    path = Path(path)
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        return {}
    beside = companion(path, "levels")
    return load_levels(beside) if beside.is_file() else {}


def _entries(content: Any, path: Path) -> dict[str, Any]:
    if isinstance(content, dict) and isinstance(content.get("columns"), dict):
        columns = content["columns"].items()
        return {
            name: entry["levels"]
            for name, entry in columns
            if isinstance(entry, dict) and entry.get("levels")
        }
    if isinstance(content, dict) and isinstance(content.get("factor_levels"), dict):
        return dict(content["factor_levels"])
    if isinstance(content, dict):
        return content
    raise InputError(
        f'{path}: a levels file is an object such as {{"column": ["reference", "other"]}}; write that.'
    )


def _distinct(column: str, levels: Any, path: Path) -> list[str]:
    if not isinstance(levels, list) or not levels or isinstance(levels[0], (dict, list)):
        raise InputError(f"{path}: the levels of '{column}' are not a list; write them as [\"first\", ...].")
    names = [str(level) for level in levels]
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{path}: level '{name}' of '{column}' is listed twice; list each level once.")
    return names


Column = pd.Series
Mask = npt.NDArray[np.bool_]

NAMED = 5  # distinct cells of a column that are refused one by one
EXACT = 2.0**53  # beyond it a float no longer distinguishes neighbouring whole numbers
TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def describe_rows(column: str, bad: Mask, source: str = "") -> str:
    """Name the first offending data row, counted from 1 without the header, and how many follow."""
    rows = np.flatnonzero(bad)
    n_others = len(rows) - 1
    more = f" (and {n_others:,} more row{'s' if n_others > 1 else ''})" if n_others else ""
    return f"row {row_words(source, rows[0])} of column '{column}'{more}"


def in_table(row: npt.NDArray[np.int64], bad: Mask) -> Mask:
    """Flag the rows of the table where ``bad`` is true; ``row`` contains their numbers."""
    flagged = np.zeros(int(row.max()) + 1, dtype=bool)
    flagged[row[bad]] = True
    return flagged


def refuse(source: str, column: str, bad: Mask, problem: str, remedy: str) -> NoReturn:
    """Raise the InputError for the first row where ``bad`` is true; ``bad`` has one entry per row."""
    raise InputError(f"{source}: {describe_rows(column, bad, source)} {problem}; {remedy}.")


def refuse_each(
    values: Column[Any], bad: Mask, source: str, problem: Callable[[Any], str], remedy: str
) -> None:
    """Refuse a column for each of its first distinct cells that are bad, where there is any."""
    if not bad.any():
        return
    codes, uniques = pd.factorize(values[bad].astype(str))
    problems, place = Problems(), np.flatnonzero(bad)
    for code, cell in enumerate(uniques[:NAMED]):
        rows = np.zeros(len(bad), dtype=bool)
        rows[place[codes == code]] = True
        n_more = len(uniques) - NAMED if code == NAMED - 1 else 0
        more = f"; {counted(n_more, 'other text')} of this column cannot be read either" if n_more > 0 else ""
        with problems.also():
            refuse(source, str(values.name), rows, problem(cell), remedy + more)
    problems.refuse()


def coerce(values: Column[Any], kind: str, source: str, levels: Sequence[str] = ()) -> Column[Any]:
    """Bring one column to the dtype of its kind."""
    if kind == "label":
        return _to_label(values, levels, source)
    return _COERCERS[kind](values, source)


def as_text(values: Column[Any]) -> Column[Any]:
    """Return values as ``string``; whole numbers lose their decimal point, missing stays missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values.astype("string")
    codes, uniques = _factorize(values)
    texts = pd.array([_text(unique) for unique in uniques] + [pd.NA], dtype="string")
    return pd.Series(texts.take(codes), index=values.index, name=values.name)


def by_distinct(values: Column[Any], function: Callable[[Any], Any]) -> Column[Any]:
    """What a function gives for each cell, called once for equal cells; missing where a cell is."""
    return values.map({cell: function(cell) for cell in values.dropna().unique()})


def _factorize(values: Column[Any]) -> tuple[npt.NDArray[np.int64], Any]:
    """Codes and distinct values; lists and other nested values are distinguished by their text."""
    try:
        return pd.factorize(values)
    except TypeError:  # unhashable
        return pd.factorize(values.map(str, na_action="ignore"))


def _text(value: object) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _to_label(values: Column[Any], levels: Sequence[str], source: str) -> Column[Any]:
    codes, uniques = _factorize(values)
    texts = [_text(unique) for unique in uniques]
    positions = pd.Index(list(levels), dtype="str").get_indexer(pd.Index(texts, dtype="str"))
    unknown = np.append(positions < 0, False)[codes]
    if unknown.any():
        cells = pd.Series([texts[code] for code in codes], name=values.name)
        refuse_each(
            cells,
            unknown,
            source,
            lambda cell: f"contains '{cell}', which is not one of its levels{did_you_mean(cell, levels)}",
            f"use one of: {listed(levels)}",
        )
    new = pd.Categorical.from_codes(
        np.append(positions, -1)[codes], categories=pd.Index(list(levels), dtype="str"), ordered=False
    )
    return pd.Series(new, index=values.index, name=values.name)


def _numbers(values: Column[Any], source: str) -> Column[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    parsed: Column[Any] = pd.to_numeric(values, errors="coerce")
    bad = np.asarray(parsed.isna() & values.notna())
    remedy = "write a number or leave the cell empty"
    refuse_each(values, bad, source, lambda cell: f"contains '{cell}', which is not a number", remedy)
    return parsed


def _to_number(values: Column[Any], source: str) -> Column[Any]:
    return _numbers(values, source).astype("Float64").astype("float64")


def _to_integer(values: Column[Any], source: str) -> Column[Any]:
    parsed = _numbers(values, source)
    if not pd.api.types.is_integer_dtype(parsed.dtype):
        floats = parsed.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        bad = ~np.isnan(floats) & ((floats != np.rint(floats)) | (np.abs(floats) > EXACT))
        if bad.any():
            value = floats[np.flatnonzero(bad)[0]]
            problem = f"contains {value:g}, which is not a whole number"
            refuse(source, str(values.name), bad, problem, "write a whole number or leave the cell empty")
    return parsed.astype("Int64")


def _to_binary(values: Column[Any], source: str) -> Column[Any]:
    remedy = "write 1 for the chosen profile, 0 for the other, and nothing where there was no choice"
    try:
        numbers = _numbers(values, source).astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    except InputError as error:
        problems = Problems()
        problems.sentences += [f"{text.partition(';')[0]}; {remedy}." for text in sentences_of(error)]
        problems.refuse()
    bad = ~np.isnan(numbers) & (numbers != 0) & (numbers != 1)
    if bad.any():
        value = numbers[np.flatnonzero(bad)[0]]
        refuse(source, str(values.name), bad, f"contains {value:g}, which is neither 0 nor 1", remedy)
    return pd.Series(numbers, index=values.index, name=values.name).astype("Int8")


def _to_boolean(values: Column[Any], source: str) -> Column[Any]:
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.astype("boolean")
    texts = as_text(values).str.casefold()
    parsed = texts.map(TRUTH).astype("boolean")
    bad = np.asarray(parsed.isna() & values.notna())
    if bad.any():
        value = values.iloc[int(np.flatnonzero(bad)[0])]
        refuse(source, str(values.name), bad, f"contains '{value}'", "write true or false")
    return parsed


def _to_timestamp(values: Column[Any], source: str) -> Column[Any]:
    if pd.api.types.is_numeric_dtype(values.dtype) and bool(values.notna().any()):
        bad = np.asarray(values.notna())
        refuse(source, str(values.name), bad, "contains a bare number", "write ISO 8601 times in UTC")
    times = values if pd.api.types.is_datetime64_any_dtype(values.dtype) else values.astype(object)
    parsed: Column[Any] = pd.to_datetime(times, utc=True, errors="coerce", format="ISO8601")
    bad = np.asarray(parsed.isna() & values.notna())
    if bad.any():
        value = values.iloc[int(np.flatnonzero(bad)[0])]
        remedy = "write ISO 8601 times in UTC, such as 2026-01-31T12:00:00Z"
        refuse(source, str(values.name), bad, f"contains '{value}', which is not a time", remedy)
    return parsed.astype("datetime64[us, UTC]")


_COERCERS: dict[str, Callable[[Column[Any], str], Column[Any]]] = {
    "string": lambda values, source: as_text(values),
    "binary": _to_binary,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "timestamp": _to_timestamp,
    "id": lambda values, source: values if pd.api.types.is_integer_dtype(values.dtype) else as_text(values),
    "free": lambda values, source: values,
}


def rows_of(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows of a table, with None for missing values."""
    # Iterating a column of text converts cell by cell, which takes several times as long as the whole column.
    return zip(*(table[name].array.to_numpy(object, na_value=None) for name in table), strict=True)


def json_value(value: Any) -> Any:
    """A cell as JSON has it: numbers of numpy as those of Python, None for what is missing or not finite."""
    if value is None or value is pd.NA:
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)
