"""Columns brought to their declared type; what does not fit is refused by row, value and remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import InputError, did_you_mean, listed

Column = pd.Series
Mask = npt.NDArray[np.bool_]

EXACT = 2.0**53  # beyond it a float no longer tells neighbouring whole numbers apart
TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def where(column: str, bad: Mask) -> str:
    """Name the first offending data row, counted from 1 without the header, and how many follow."""
    rows = np.flatnonzero(bad)
    others = len(rows) - 1
    more = f" (and {others:,} more row{'s' if others > 1 else ''})" if others else ""
    return f"row {rows[0] + 1} of column '{column}'{more}"


def refuse(source: str, column: str, bad: Mask, problem: str, remedy: str) -> NoReturn:
    """Raise the InputError for the first row where ``bad`` is true; ``bad`` has one entry per row."""
    raise InputError(f"{source}: {where(column, bad)} {problem}; {remedy}.")


def coerce(values: Column[Any], kind: str, source: str, levels: Sequence[str] = ()) -> Column[Any]:
    """Bring one column to the dtype of its kind."""
    if kind == "label":
        return _to_label(values, levels, source)
    return _COERCERS[kind](values, source)


def as_text(values: Column[Any]) -> Column[Any]:
    """Return values as ``string``; whole numbers lose their decimal point, missing stays missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values.astype("string")
    codes, uniques = _distinct(values)
    texts = pd.array([_text(unique) for unique in uniques] + [pd.NA], dtype="string")
    return pd.Series(texts.take(codes), index=values.index, name=values.name)


def _distinct(values: Column[Any]) -> tuple[npt.NDArray[np.int64], Any]:
    """Codes and distinct values; lists and other nested values are distinguished by their text."""
    try:
        return pd.factorize(values)
    except TypeError:  # unhashable
        return pd.factorize(values.map(str, na_action="ignore"))


def _text(value: object) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _to_string(values: Column[Any], source: str) -> Column[Any]:
    return as_text(values)


def _to_label(values: Column[Any], levels: Sequence[str], source: str) -> Column[Any]:
    codes, uniques = _distinct(values)
    texts = [_text(unique) for unique in uniques]
    known = pd.Index(list(levels), dtype="str").get_indexer(pd.Index(texts, dtype="str"))
    unknown = np.append(known < 0, False)[codes]
    if unknown.any():
        value = texts[codes[np.flatnonzero(unknown)[0]]]
        problem = f"contains '{value}', which is not one of its levels{did_you_mean(value, levels)}"
        refuse(source, str(values.name), unknown, problem, f"use one of: {listed(levels)}")
    new = pd.Categorical.from_codes(
        np.append(known, -1)[codes], categories=pd.Index(list(levels), dtype="str"), ordered=False
    )
    return pd.Series(new, index=values.index, name=values.name)


def _numbers(values: Column[Any], source: str) -> Column[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    parsed: Column[Any] = pd.to_numeric(values, errors="coerce")
    bad = np.asarray(parsed.isna() & values.notna())
    if bad.any():
        value = values.iloc[int(np.flatnonzero(bad)[0])]
        remedy = "write a number or leave the cell empty"
        refuse(source, str(values.name), bad, f"contains '{value}', which is not a number", remedy)
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
        raise InputError(str(error).partition(";")[0] + f"; {remedy}.") from None
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
    plain = values if pd.api.types.is_datetime64_any_dtype(values.dtype) else values.astype(object)
    parsed: Column[Any] = pd.to_datetime(plain, utc=True, errors="coerce", format="ISO8601")
    bad = np.asarray(parsed.isna() & values.notna())
    if bad.any():
        value = values.iloc[int(np.flatnonzero(bad)[0])]
        remedy = "write ISO 8601 times in UTC, such as 2026-01-31T12:00:00Z"
        refuse(source, str(values.name), bad, f"contains '{value}', which is not a time", remedy)
    return parsed.astype("datetime64[us, UTC]")


def _to_id(values: Column[Any], source: str) -> Column[Any]:
    return values if pd.api.types.is_integer_dtype(values.dtype) else as_text(values)


def _as_is(values: Column[Any], source: str) -> Column[Any]:
    return values


_COERCERS: dict[str, Callable[[Column[Any], str], Column[Any]]] = {
    "string": _to_string,
    "binary": _to_binary,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "timestamp": _to_timestamp,
    "id": _to_id,
    "free": _as_is,
}
