"""Where rows are: in frames and files, which are read, or in tables of engines, which stay there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError, first_line, require_installed
from conjury.inference.readers.aliases import EXCLUDED, exclusion_reasons
from conjury.inference.tables.frames import value_in_words

from .cells import REPEAT, choice_keys, forced_size, is_repeat, warn_of_repeats, with_used_rows
from .variables import absent_column, warn_caller

if TYPE_CHECKING:
    from ibis.expr.types import Column, Table

NEEDED = (
    "Tables that are not read into memory need the extra `database` ({missing} is missing): "
    "pip install 'conjury[database]'."
)
NEEDS_MEMORY = "This needs rows in memory: give a data frame or the path of one file."
DELTA, ICEBERG, GLOB = "_delta_log", "metadata", "*?["
BY_DUCKDB = ("s3", "s3a", "s3n", "gs", "gcs", "r2", "http", "https", "hf")  # by its extension httpfs


class ReadingGuess(UserWarning):
    """Something was assumed while a file was read."""


def read_rows(data: Any, features: Collection[str] = ()) -> pd.DataFrame:
    """Rows of a frame or a file; ``features`` of a file have the levels that `conjoint` gives them."""
    if is_stored(data):
        raise InputError(NEEDS_MEMORY)
    if isinstance(data, pd.DataFrame):
        return data
    if not isinstance(data, str | Path):
        raise InputError(
            f"A table is given as {value_in_words(data)}; give a DataFrame with one row per profile, or a "
            "file's path."
        )
    if Path(data).suffix.lower() == ".parquet" and Path(data).is_file():
        from conjury.inference.tables.parquet import read_parquet

        return read_parquet(Path(data))
    from conjury.inference.readers.conjoints.attribute_levels import read_levels_of
    from conjury.inference.tables.reading import read

    table = read(data)
    named = [name for name in features if name in table.frame]
    levels, entries = read_levels_of(table.frame, named, table.rules, table.source, {})
    for entry in table.account.adding(entries).guesses():
        warn_caller(f"{data}: {entry.sentence}", ReadingGuess)
    return table.frame.assign(**{name: levels[name] for name in named})


@dataclass(frozen=True)
class StoredTable:
    """A table of an engine, and the levels that its files note, by column."""

    table: Table
    levels: Mapping[str, pd.CategoricalDtype]

    def require(self, names: Sequence[str]) -> None:
        """Raise InputError unless the table has these columns."""
        for name in names:
            if name not in self.table.columns:
                raise absent_column(name, self.table.columns)


def fetched(query: Table) -> pd.DataFrame:
    """Read the rows of a query."""
    frame: pd.DataFrame = query.to_pyarrow().to_pandas()
    return frame


def is_stored(data: Any) -> bool:
    """Whether data are a table of Ibis, or files that are not one Parquet file of this machine."""
    if isinstance(data, str | Path):
        text = str(data)
        signs = "://" in text or any(sign in text for sign in GLOB) or Path(data).is_dir()
        return signs and not Path(data).is_file()
    return type(data).__module__.partition(".")[0] == "ibis"


def is_file(data: Any) -> bool:
    """Whether data are the path of a file that is read whole; Parquet is read by columns."""
    return isinstance(data, str | Path) and not is_stored(data) and Path(data).suffix.lower() != ".parquet"


def open_stored(data: Any) -> StoredTable:
    """Open a table of Ibis, or by DuckDB files of Parquet, or a Delta or Iceberg table in a folder."""
    require_installed(("ibis", "duckdb"), NEEDED)
    if not isinstance(data, str | Path):
        return StoredTable(data, {})
    import ibis

    text, engine = str(data), ibis.duckdb.connect()
    scheme, address, _ = text.partition("://")
    try:
        if address and scheme not in BY_DUCKDB:
            import fsspec

            engine.register_filesystem(fsspec.filesystem(scheme))
        if not address and (lake := _open_lake(engine, Path(text))) is not None:
            return StoredTable(lake, {})
        files = text if address or not Path(text).is_dir() else f"{text.rstrip('/')}/**/*.parquet"
        table = _read(engine, files, folders=True)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb", "ibis") and not isinstance(
            error, ImportError | ValueError | OSError
        ):
            raise
        reason = first_line(error)
        raise InputError(
            f"{text}: no Parquet files can be read there ({reason}); check the address."
        ) from None
    if address:
        return StoredTable(table, {})
    first = min(engine.con.execute("SELECT file FROM glob(?)", [files]).fetchall())[0]
    from conjury.inference.tables.parquet import levels_of_file

    return StoredTable(table, levels_of_file(Path(first)))


def _open_lake(engine: Any, folder: Path) -> Table | None:
    """The newest version of a Delta or Iceberg table in a folder; None of other folders."""
    if (folder / DELTA).is_dir():
        require_installed(("deltalake",), "{missing} is not installed; pip install deltalake.")
        from deltalake import DeltaTable

        engine.con.register("rows", DeltaTable(str(folder)).to_pyarrow_dataset())
        table: Table = engine.table("rows")
        return table
    versions = sorted((folder / ICEBERG).glob("*.metadata.json"), key=_version)
    if not versions:
        return None
    require_installed(("pyiceberg",), "{missing} is not installed; pip install 'pyiceberg[pyarrow]'.")
    from pyiceberg.table import StaticTable

    iceberg = StaticTable.from_metadata(str(versions[-1]))
    named = {(field.field_id, field.name) for schema in iceberg.schemas().values() for field in schema.fields}
    files = list(iceberg.scan().plan_files())
    if len({number for number, _ in named}) < len(named) or any(file.delete_files for file in files):
        raise InputError(
            f"{folder}: this Iceberg table has renamed columns or rows that are marked as deleted; rewrite "
            "its data files, or give a table of Ibis."
        )
    if not files:
        raise InputError(f"{folder}: this Iceberg table has no rows; give a table with one row per profile.")
    paths = [file.file.file_path.removeprefix("file://") for file in files]
    return _read(engine, paths)


def _read(engine: Any, files: str | list[str], *, folders: bool = False) -> Table:
    """Parquet files as one table; folders named ``column=value`` may be columns."""
    table: Table = engine.read_parquet(files, hive_partitioning=folders, union_by_name=True)
    return table


def _version(metadata: Path) -> tuple[int, str]:
    """Number of a version of an Iceberg table: 2 of ``00002-....metadata.json`` and ``v2.metadata.json``."""
    digits = re.match(r"v?(\d+)", metadata.name)
    return int(digits[1]) if digits else -1, metadata.name


def without_stored_repeats(stored: StoredTable, named: Sequence[str | None]) -> StoredTable:
    """Exclude rows of repeated pairs, and of respondents who are excluded, as `without_repeats` does."""
    stored = _with_used_rows(stored, named)
    table = stored.table
    if REPEAT not in table.columns or REPEAT in named:
        return stored
    counts = fetched(table.group_by(REPEAT).agg(n=lambda t: t.count()))
    mask = is_repeat(counts)
    if not mask.any():
        return stored
    warn_of_repeats(int(counts["n"][mask].sum()), is_all=bool(mask.all()))
    values = counts[REPEAT][mask].tolist()
    return replace(stored, table=table.filter(~table[REPEAT].isin(values).fill_null(False)))


def _with_used_rows(stored: StoredTable, named: Sequence[str | None]) -> StoredTable:
    """Exclude rows with a reason in column ``excluded``, as `with_used_rows` does."""
    table = stored.table
    if EXCLUDED not in table.columns or EXCLUDED in named:
        return stored
    levels = fetched(table.select(EXCLUDED).distinct())
    marked = exclusion_reasons(levels[EXCLUDED]).notna().to_numpy(dtype=bool)
    if not marked.any():
        return stored
    is_marked = table[EXCLUDED].isin(levels[EXCLUDED][marked].tolist()).fill_null(False)
    rows = fetched(table.filter(is_marked).select(EXCLUDED))
    with_used_rows(pd.concat([rows, pd.DataFrame({EXCLUDED: [None]}, dtype=object)]))
    return replace(stored, table=table.filter(~is_marked))


def stored_chance(stored: StoredTable, outcome: str, clusters: Sequence[str]) -> float:
    """Mean outcome if levels do not matter, as `chance_of` has it."""
    table, numbers = stored.table, number_of(stored.table, outcome)
    answered = numbers.notnull()
    if "status" in table.columns:
        answered &= (table["status"].cast("string") == "ok").fill_null(False)
    value = answered.ifelse(numbers, 0.0)
    for names in choice_keys(pd.DataFrame(columns=list(table.columns)), clusters):
        keys = {f"k{number}": null_for_nan(table[name]) for number, name in enumerate(names)}
        rows = table.select(**keys, given=answered.cast("int64"), value=value)
        choices = rows.group_by(list(keys)).agg(
            size=lambda t: t.count(),
            answered=lambda t: t.given.sum(),
            total=lambda t: t["value"].sum().round(9),
            least=lambda t: t["value"].min(),
            largest=lambda t: t["value"].max(),
        )
        alike = fetched(
            choices.group_by(["size", "answered", "total"]).agg(
                n=lambda t: t.count(), least=lambda t: t.least.min(), largest=lambda t: t.largest.max()
            )
        )
        if alike["least"].min() < 0 or alike["largest"].max() > 1 or not alike["answered"].any():
            return 0.0
        n_profiles = forced_size(*(alike[name].to_numpy() for name in ("size", "answered", "total", "n")))
        if n_profiles is not None:
            return 1 / n_profiles if n_profiles else 0.0
    return 0.0


def number_of(table: Table, name: str) -> Column:
    """A column as floating-point numbers; text is refused."""
    column = table[name]
    if not (column.type().is_numeric() or column.type().is_boolean()):
        raise InputError(
            f"Column {name!r} contains text where numbers are needed; convert it, with 1 for the chosen "
            "profile and 0 for the other if it is a choice."
        )
    return null_for_nan(column).cast("float64")


def null_for_nan(column: Column) -> Column:
    """A column in which NaN, which engines tell apart from missing values, is missing."""
    import ibis

    return column.isnan().ifelse(ibis.null(), column) if column.type().is_floating() else column
