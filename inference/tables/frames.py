"""DataFrames of other libraries, accepted wherever a pandas DataFrame is."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pandas as pd

P = ParamSpec("P")
R = TypeVar("R")
LIBRARIES = ("polars", "pyarrow", "duckdb", "_duckdb")


def any_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of DataFrames accept those of polars, pyarrow and DuckDB, lazy ones too."""

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        rows: list[Any] = [to_pandas(value) for value in args]
        options: dict[str, Any] = {name: to_pandas(value) for name, value in kwargs.items()}
        return function(*rows, **options)

    return accepting


def to_pandas(value: Any) -> Any:
    """Return a DataFrame of another library as one of pandas; anything else as it is."""
    if isinstance(value, pd.DataFrame) or type(value).__module__.partition(".")[0] not in LIBRARIES:
        return value
    import narwhals as nw  # imported for these frames alone

    frame = nw.from_native(value, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else value
