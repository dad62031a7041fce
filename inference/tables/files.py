"""Tables read and written, and where the files that ship with the project are."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ..errors import InputError
from .columns import Levels, coerce, resolve_levels
from .frames import any_frame
from .limits import check_columns, check_text_size, open_unpacked, opening, read_json, reading, require_file
from .parquet import MAGIC, column_names, read_parquet, write_parquet
from .reading.cell_rules import SPELLINGS_OF_NOTHING
from .reading.text_files.short_rows import short_rows, warn_of_short_rows
from .schema import fields_of, validate
from .writing import atomic_write

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "data" / "studies"
PRICES = ROOT / "data" / "prices.yaml"
EXAMPLES = ROOT / "data" / "examples"
TEMPLATES = ROOT / "data" / "templates"
RECORDED = ROOT / "data" / "recorded"
PUBLISHED = ROOT / "data" / "published"
REPLICATIONS = ROOT / "data" / "replications"  # layouts of the tables and figures of papers
QUARTO = ROOT / "quarto"
R_PACKAGE = ROOT / "R"
R_SOURCES = (  # what Python calls: the estimators of the R package, and scripts that it ships
    *(R_PACKAGE / "R" / name for name in ("fit.R", "estimators.R")),
    *(R_PACKAGE / "inst" / "engines" / name for name in ("bridge.R", "cregg.R", "errors.R")),
)
PERTURB = ROOT / "data" / "perturb"
LAYOUTS = ROOT / "data" / "layouts"
TRIALS = ROOT / "data" / "trials"
PASSPORT = TRIALS / "passport"  # trial files of every interval
PASSPORT_TABLE = PASSPORT / "passport.csv"
CLAIMS = ROOT / "data" / "claims"  # what labels and states of results license
KINDS = ROOT / "data" / "kinds"  # texts of each kind of result


def shipped_names(folder: Path) -> list[str]:
    """Names of the YAML files of a folder that ships, in alphabetical order."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


SUFFIXES = (".parquet", ".csv", ".csv.gz")
VERBATIM = {"items": ("text",), "responses": ("text",)}


def read_table(
    path: str | Path,
    table: str | None = None,
    levels: Levels | str | Path | None = None,
    notes: list[str] | None = None,
) -> pd.DataFrame:
    r"""Read a table from Parquet, CSV or gzipped CSV (comma separated, UTF-8, with a header).

    Parquet carries the order of levels. For a CSV it comes from ``levels``, else from NAME.levels.json
    next to NAME.csv, else text columns that the table does not declare get their levels in alphabetical
    order (by code point), as R's ``factor()`` gives them. Empty cells, and NA, NaN and <NA> in capitals or
    not, are missing, except where they are levels, and None is text; in the text of items and responses
    only an empty cell is missing.

    Parameters
    ----------
    path : str or Path
        A file ending in .parquet, .csv or .csv.gz.
    table : str, optional
        Name of a table of the contract, which the content is then checked against.
    levels : mapping, str or Path, optional
        Level order by column (the reference first), or a levels file, see ``load_levels``.
    notes : list of str, optional
        List to which a sentence is added where levels were put into alphabetical order.

    Returns
    -------
    DataFrame
        One row per data row of the file.

    Raises
    ------
    InputError
        The file is missing, empty, damaged or of another kind; a value is not among the levels; the
        content breaks the contract of ``table``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "posts.csv"
    >>> _ = file.write_text("post,topic\n1,work\n2,sport\n")
    >>> read_table(file, levels={"topic": ["work", "sport"]})["topic"].cat.categories.tolist()
    ['work', 'sport']
    """
    if table is None:
        return load(path, resolve_levels(path, levels), {}, notes=notes)
    kinds = {name: field.kind for name, field in fields_of(table).items()}
    frame = load(path, resolve_levels(path, levels), kinds, VERBATIM.get(table, ()), notes)
    return validate(frame, table, source=str(path))


@any_frame
def write_table(frame: pd.DataFrame, path: str | Path, *, private: bool = False) -> None:
    """Write a table as Parquet, CSV or gzipped CSV, by the ending of ``path``, without its row index.

    Parquet keeps the order of levels, used or not, and whether they are ordered; a CSV keeps neither. The
    file appears complete under its name, or the old one stays. Equal tables give equal bytes. Missing
    folders are made.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : str or Path
        A file ending in .parquet, .csv or .csv.gz.
    private : bool
        Whether the file, and its folder where that is made, is for its owner alone.

    Raises
    ------
    InputError
        The ending is another one, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "posts.parquet"
    >>> write_table(pd.DataFrame({"topic": pd.Categorical(["a"], categories=["b", "a"])}), file)
    >>> read_table(file)["topic"].cat.categories.tolist()
    ['b', 'a']
    """
    path = Path(path)
    suffix = _suffix(path)
    try:
        with atomic_write(path, private=private) as file:
            _write(frame, file, suffix)
    except OSError as error:
        problem = error.strerror or error
        raise InputError(f"{path}: cannot be written ({problem}); choose another place.") from None
    except (pa.ArrowException, TypeError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: a column has no plain type ({reason}); convert it before writing."
        ) from None


def load(
    path: str | Path,
    levels: Levels,
    kinds: Mapping[str, str],
    verbatim: Sequence[str] = (),
    notes: list[str] | None = None,
) -> pd.DataFrame:
    """Read a file and put its label columns into level order, without checking it against a table.

    The caller coerces the columns of ``kinds`` (see ``columns.coerce``). In ``verbatim`` columns only an
    empty cell is missing. ``notes`` receives a sentence on inferred levels.
    """
    path = Path(path)
    suffix = _suffix(path)
    _check_file(path)
    with reading(path):
        if suffix == ".parquet":
            frame = read_parquet(path)
        else:
            text = {name for name, kind in kinds.items() if kind in ("string", "label")}
            with opening(path):
                frame = _read_csv(path, levels, text, verbatim)
    for name in levels:
        if name in frame:
            frame[name] = coerce(frame[name], "label", str(path), levels[name])
    if suffix != ".parquet":
        infer_levels(frame, path.name, {*levels, *kinds}, [] if notes is None else notes)
    return frame


def read_without(path: Path, columns: Collection[str]) -> pd.DataFrame:
    """Read a table from Parquet without some of its columns, which take no memory then."""
    _check_file(path)
    with reading(path):
        return read_parquet(path, [name for name in column_names(path) if name not in columns])


def load_text(path: str | Path) -> pd.DataFrame:
    """Read a CSV or gzipped CSV with every column as text; only empty cells are missing."""
    path = Path(path)
    if _suffix(path) == ".parquet":
        raise InputError(f"{path}: this is a Parquet file; name a .csv or .csv.gz instead.")
    _check_file(path)
    with reading(path), opening(path):
        return _read_csv(path, {}, None, ())


def file_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder, in hexadecimal digits."""
    if Path(path).is_dir():
        files = sorted(file for file in Path(path).rglob("*") if file.is_file())
        names = (f"{file.relative_to(path).as_posix()} {file_hash(file)}" for file in files)
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_of(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record without its own field `sha256`, in hexadecimal digits."""
    content = {name: value for name, value in record.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read_sealed(path: Path, form: str | int, what: str, remedy: str) -> dict[str, Any]:
    """Read a record with its SHA-256; refuse a file that is none, or that was changed since."""
    content = read_json(path, remedy)
    if not isinstance(content, dict) or content.get("format") != form or "sha256" not in content:
        raise InputError(f"{path} is no {what}; {remedy}.")
    if hash_of(content) != content["sha256"]:
        raise InputError(
            f"{path} was changed after it was written: its SHA-256 is not the one that it states; use the "
            "file as it was written."
        )
    return content


def infer_levels(frame: pd.DataFrame, file: str, level_names: Collection[str], notes: list[str]) -> None:
    """Put text columns without a level order into alphabetical order, and note which."""
    texts: pd.Index[str] = frame.select_dtypes("string").columns
    inferred = [str(name) for name in texts if name not in level_names]
    for name in inferred:
        frame[name] = coerce(frame[name], "label", file, sorted(frame[name].dropna().unique()))
    if inferred:
        notes.append(
            f"{file}: no level order is given for {', '.join(inferred)}; their levels are alphabetical, "
            "so the alphabetically first is the reference."
        )


def _suffix(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise InputError(f"{path}: tables are files that end in {', '.join(SUFFIXES)}; convert or rename it.")


def check_ending(path: str | Path) -> None:
    """Refuse a file that is no table by its ending, before what goes into it is computed."""
    _suffix(Path(path))


def _check_file(path: Path) -> None:
    require_file(path)
    with opening(path), path.open("rb") as file:
        first = file.read(1)
    if not first:
        raise InputError(f"{path}: the file is empty; write or copy it again.")


def _write(frame: pd.DataFrame, file: IO[bytes], suffix: str) -> None:
    if suffix == ".parquet":
        write_parquet(frame, file)
    elif suffix == ".csv":
        frame.to_csv(file, index=False, lineterminator="\n")
    else:
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            frame.to_csv(packed, index=False, lineterminator="\n")


def _read_csv(path: Path, levels: Levels, text: set[str] | None, verbatim: Sequence[str]) -> pd.DataFrame:
    """Read a CSV with the columns ``text`` as text, all of them where it is None."""
    try:
        check_text_size(path)
        header = _header(path)
        missing = {
            name: [""]
            if text is None or name in verbatim
            else [mark for mark in SPELLINGS_OF_NOTHING if mark not in levels.get(name, ())]
            for name in header
        }
        dtypes: dict[Any, Any] = {
            name: "string" for name in header if text is None or name in text or name in levels
        }
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                dtype=dtypes,
                na_values=missing,
                keep_default_na=False,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
            )
        if len(header) > 1 and frame[header[-1]].isna().any():  # only then can a row be short
            warn_of_short_rows(path, short_rows(path, len(header)))
        return frame
    except pd.errors.ParserWarning:
        raise InputError(
            f"{path}: rows have more cells than the header has names; name every column."
        ) from None
    except pd.errors.EmptyDataError:
        raise InputError(
            f"{path}: the file has no header; write the column names in its first line."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the file is not UTF-8 text; save it as CSV in UTF-8.") from None
    except (pd.errors.ParserError, csv.Error) as error:
        reason = " ".join(str(error).removeprefix("Error tokenizing data.").split()).removeprefix("C error: ")
        raise InputError(f"{path}: the CSV cannot be read ({reason}); correct that line.") from None


def _header(path: Path) -> list[str]:
    with open_unpacked(path) as file:
        head = file.read(4096)
        if head.startswith(MAGIC) or b"\0" in head:
            raise InputError(f"{path}: this is not a CSV file; give it the ending of what it is.")
        file.seek(0)
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
            header = next(csv.reader(lines), [])
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise InputError(f"{path}: its columns are not separated by commas; save it as comma separated CSV.")
    check_columns(path, len(header))
    for name, count in Counter(header).items():
        if count > 1:
            raise InputError(
                f"{path}: column '{name}' occurs twice in the header; rename or drop one of them."
            )
    return header


FORMULA = r"^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"  # also the wide forms of =, +, - and @


def count_formulas(frame: pd.DataFrame) -> int:
    """Count the cells and names of columns that a spreadsheet would run; numbers are none."""
    names = _would_run(pd.Series([str(name) for name in frame], dtype="string"))
    return int(names.sum()) + sum(int(_would_run(frame[name]).sum()) for name in _text_columns(frame))


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with ' before each text that a spreadsheet would run, in cells and names of columns."""
    result = frame.copy()
    for name in _text_columns(frame):
        column = frame[name].astype("string")
        result[name] = column.mask(_would_run(column), "'" + column)
    names = pd.Series([str(name) for name in frame], dtype="string")
    result.columns = pd.Index(names.mask(_would_run(names), "'" + names))
    return result


def _text_columns(frame: pd.DataFrame) -> list[str]:
    kinds = (pd.StringDtype, pd.CategoricalDtype)
    return [
        str(name) for name in frame if frame[name].dtype == object or isinstance(frame[name].dtype, kinds)
    ]


def _would_run(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whether a spreadsheet runs a text as a formula when it opens a CSV."""
    codes, distinct = pd.factorize(column.astype("string"))
    texts = pd.Series(distinct, dtype="string")
    runs = texts.str.match(FORMULA).to_numpy(dtype=bool)
    runs[runs] = pd.to_numeric(texts[runs], errors="coerce").isna()
    return pd.Series(np.append(runs, False)[codes], index=column.index)
