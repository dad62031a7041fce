"""DataFrames of other libraries, accepted wherever a pandas DataFrame is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd

P = ParamSpec("P")
R = TypeVar("R")
LIBRARIES = ("polars", "pyarrow", "duckdb", "_duckdb")
ORIGIN, SIMULATED = "origin", "simulated"  # column of tables, and its value in rows that a simulator wrote


def any_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of DataFrames accept those of polars, pyarrow and DuckDB, and mark what is simulated."""

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        rows: list[Any] = [to_pandas(value) for value in args]
        options: dict[str, Any] = {name: to_pandas(value) for name, value in kwargs.items()}
        return cast("R", _with_origin(function(*rows, **options), [*rows, *options.values()]))

    return accepting


def _with_origin(result: Any, sources: Iterable[Any]) -> Any:
    """What a function returned, with the judges that are real where its tables have simulated rows."""
    if isinstance(result, list):
        return [_with_origin(part, sources) for part in result]
    if not hasattr(result, "real_judges") or result.real_judges is not None:
        return result
    judges = [names for source in sources if (names := real_judges_of(source)) is not None]
    return replace(result, real_judges=tuple(dict.fromkeys(sum(judges, ())))) if judges else result


def is_simulated(table: pd.DataFrame) -> np.ndarray:
    """Flag the rows, shape (n,), that a simulator marked as its own."""
    if ORIGIN not in table:
        return np.zeros(len(table), dtype=bool)
    return (table[ORIGIN].astype("string") == SIMULATED).fillna(False).to_numpy(dtype=bool)


def real_judges_of(source: Any) -> tuple[str, ...] | None:
    """Judges of a table, or of what was computed from it, whose rows are not simulated; None if none is."""
    if isinstance(source, list):
        return next((names for part in source if (names := real_judges_of(part)) is not None), None)
    if not isinstance(source, pd.DataFrame):
        return cast("tuple[str, ...] | None", getattr(source, "real_judges", None))
    mask = is_simulated(source)
    if not mask.any():
        return None
    column = source.loc[~mask, "judge_id"] if "judge_id" in source else pd.Series(dtype="string")
    return tuple(str(name) for name in column.dropna().unique())


def to_pandas(value: Any) -> Any:
    """Return a DataFrame of another library as one of pandas; anything else as it is."""
    if isinstance(value, pd.DataFrame) or type(value).__module__.partition(".")[0] not in LIBRARIES:
        return value
    import narwhals as nw  # imported for these frames alone

    frame = nw.from_native(value, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else value
