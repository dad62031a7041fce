"""Values on their way to R and back: DataFrames, categoricals, missing values, lists and arrays.

Beside ``r.py`` the only module that knows rpy2; it is called while ``r.py`` holds the lock on R.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

NA_INTEGER = -(2**31)
NA_REAL = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)[0]


def conversion_rules() -> Any:
    """Rules for rpy2's ``localconverter``, which keeps them to the context of one call."""
    from rpy2.rinterface import Sexp
    from rpy2.robjects.conversion import Converter

    rules = Converter("conjury")
    rules.py2rpy.register(object, _to_r)
    rules.py2rpy.register(Sexp, lambda value: value)
    rules.rpy2py.register(Sexp, _from_r)
    return rules


def _to_r(value: Any) -> Any:
    from rpy2 import rinterface as ri

    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return ri.NULL
    if isinstance(value, pd.DataFrame):
        return _frame_to_r(value)
    if isinstance(value, Mapping):
        return _named(ri.ListSexpVector([_to_r(item) for item in value.values()]), value)
    if isinstance(value, np.ndarray):
        vector = _column_to_r("array", pd.Series(value.ravel(order="F")))
        if value.ndim > 1:
            vector.do_slot_assign("dim", ri.IntSexpVector(value.shape))
        return vector
    if isinstance(value, (bool, int, float, str)):
        return _column_to_r("argument", pd.Series([value]))
    if isinstance(value, Sequence):
        kinds = {type(item) for item in value}
        if kinds and (kinds <= {str} or kinds <= {int, float} or kinds <= {bool}):
            return _column_to_r("argument", pd.Series(list(value)))
        return ri.ListSexpVector([_to_r(item) for item in value])
    raise InputError(
        f"A value of type {type(value).__name__} cannot go to R; give numbers, text or a DataFrame."
    )


def _frame_to_r(frame: pd.DataFrame) -> Any:
    from rpy2 import rinterface as ri

    columns = ri.ListSexpVector([_column_to_r(str(name), frame[name]) for name in frame.columns])
    rows = ri.baseenv["seq_len"](ri.IntSexpVector([len(frame)]))
    kind = {"class": ri.StrSexpVector(["data.frame"]), "row.names": rows}
    return ri.baseenv["structure"](_named(columns, frame.columns), **kind)


def _named(vector: Any, names: Any) -> Any:
    from rpy2 import rinterface as ri

    vector.do_slot_assign("names", ri.StrSexpVector([str(name) for name in names]))
    return vector


def _column_to_r(name: str, values: pd.Series[Any]) -> Any:
    from rpy2 import rinterface as ri

    if values.dtype == object:
        values = values.convert_dtypes()
    missing = values.isna().to_numpy()
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, levels = values.cat.codes.to_numpy(), [str(level) for level in values.cat.categories]
        if len(set(levels)) < len(levels):
            raise InputError(f"Column {name!r} has levels that read alike as text; rename one of them.")
        factor = ri.IntSexpVector.from_memoryview(_integers(codes + np.int64(1), missing))
        kind = {"levels": ri.StrSexpVector(levels), "class": ri.StrSexpVector(["factor"])}
        return ri.baseenv["structure"](factor, **kind)
    if pd.api.types.is_bool_dtype(values.dtype):
        whole = values.fillna(False).to_numpy(dtype=np.int64)
        return ri.baseenv["as.logical"](ri.IntSexpVector.from_memoryview(_integers(whole, missing)))
    if pd.api.types.is_integer_dtype(values.dtype):
        whole = values.fillna(0).to_numpy(dtype=np.int64)
        largest = int(np.abs(whole).max(initial=0))
        if largest < 2**31:
            return ri.IntSexpVector.from_memoryview(_integers(whole, missing))
        if largest > 2**53:
            raise InputError(
                f"Column {name!r} holds integers beyond 2^53, which R cannot hold; make it text."
            )
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_complex_dtype(values.dtype):
        real = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return ri.FloatSexpVector.from_memoryview(memoryview(np.where(missing, NA_REAL, real)))
    if pd.api.types.is_string_dtype(values.dtype):
        codes, texts = pd.factorize(values)
        places = ri.IntSexpVector.from_memoryview(_integers(codes + np.int64(1), missing))
        return ri.baseenv["["](ri.StrSexpVector([str(text) for text in texts]), places)
    raise InputError(
        f"Column {name!r} has dtype {values.dtype}, which R does not take; make it text or a number."
    )


def _integers(values: np.ndarray, missing: np.ndarray) -> memoryview:
    return memoryview(np.where(missing, NA_INTEGER, values).astype(np.int32))


def _from_r(value: Any) -> Any:
    from rpy2 import rinterface as ri

    if isinstance(value, type(ri.NULL)):
        return None
    if isinstance(value, ri.ListSexpVector):
        names = _from_r(value.names)
        if "data.frame" in value.rclass:
            columns = [_column_from_r(column) for column in value]
            return pd.concat(columns, axis=1, keys=list(names)) if columns else pd.DataFrame()
        items = [_from_r(item) for item in value]
        return items if names is None else dict(zip(names, items, strict=True))
    if isinstance(value, (ri.BoolSexpVector, ri.IntSexpVector, ri.FloatSexpVector, ri.StrSexpVector)):
        text = isinstance(value, ri.StrSexpVector)
        array = np.array(_texts(value), dtype=object) if text else _column_from_r(value).to_numpy()
        shape = _attribute(value, "dim")
        return array if shape is None else array.reshape(tuple(shape), order="F")
    return "\n".join(ri.baseenv["deparse"](value))


def _column_from_r(value: Any) -> pd.Series[Any]:
    from rpy2 import rinterface as ri

    if isinstance(value, ri.StrSexpVector):
        return pd.Series(_texts(value), dtype="string")
    if isinstance(value, ri.FloatSexpVector):
        return pd.Series(_flat(value, np.float64))
    codes = _flat(value, np.int64)
    missing = codes == NA_INTEGER
    levels = _attribute(value, "levels")
    if levels is not None:
        places = np.where(missing, -1, codes - 1)
        ordered = "ordered" in value.rclass
        return pd.Series(pd.Categorical.from_codes(places, categories=pd.Index(levels), ordered=ordered))
    kind = bool if isinstance(value, ri.BoolSexpVector) else np.int64
    if not missing.any():
        return pd.Series(codes.astype(kind))
    masked = pd.array(np.where(missing, 0, codes).astype(kind))
    masked[missing] = pd.NA
    return pd.Series(masked)


def _texts(value: Any) -> list[str | None]:
    from rpy2.rinterface import NA_Character

    return [None if item is NA_Character else item for item in value]


def _flat(value: Any, kind: type) -> np.ndarray:
    return np.array(value.memoryview(), dtype=kind).ravel(order="F")


def _attribute(value: Any, name: str) -> Any:
    return _from_r(value.do_slot(name)) if name in value.list_attrs() else None
