"""The bridge to R, the only module that knows rpy2: calls under a lock, and values to R and back."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import ConjuryError, InputError, MissingDependency
from conjury.inference.tables.files import R_SOURCES
from conjury.inference.tables.frames import value_in_words

NA_INTEGER = -(2**31)  # R's missing integer is the least one
# R distinguishes NA from other NaNs by 1954 in the lower word.
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
    raise InputError(f"{value_in_words(value)} cannot go to R; give numbers, text or a DataFrame.")


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
        integers = values.fillna(False).to_numpy(dtype=np.int64)
        return ri.baseenv["as.logical"](ri.IntSexpVector.from_memoryview(_integers(integers, missing)))
    if pd.api.types.is_integer_dtype(values.dtype):
        integers = values.fillna(0).to_numpy(dtype=np.int64)
        largest = int(np.abs(integers).max(initial=0))
        if largest < 2**31:
            return ri.IntSexpVector.from_memoryview(_integers(integers, missing))
        if largest > 2**53:
            raise InputError(
                f"Column {name!r} contains integers beyond 2^53, which R cannot store; make it text."
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


logger = logging.getLogger(__name__)
logging.getLogger("rpy2").addHandler(logging.NullHandler())  # no remarks on a missing R on the terminal

PACKAGES = ("survey", "sandwich", "lmtest", "clubSandwich", "lme4", "cregg")
REMEDIES = {
    "rpy2": "pip install 'conjury[r]'",
    "R": "apt-get install r-base-core, or see r-project.org",
    "cregg": 'remotes::install_github("leeper/cregg") in R',
}

_LOCK = threading.RLock()
_started: _Session | None = None


class RError(ConjuryError):
    """An error raised by R, with R's own message and the call that failed."""

    def __init__(self, message: str, call: str = "") -> None:
        self.r_message, self.r_call = message, call
        super().__init__(f"R says: {message} (in {call})" if call else f"R says: {message}")


class RWarning(UserWarning):
    """A warning raised by R."""


@dataclass(frozen=True)
class RStatus:
    """What of the R side is there."""

    # rpy2, r: Versions; None where absent.
    rpy2: str | None = None
    r: str | None = None
    # version of each package of R that an engine uses; None where absent
    packages: dict[str, str | None] = field(default_factory=dict)
    # one sentence on what is missing first and how to install it; None if nothing is
    problem: str | None = None


@dataclass(frozen=True)
class _Session:
    """R, started: the environment with the functions of ``R/``, and the conversion rules."""

    functions: Any
    rules: Any


def available() -> RStatus:
    """State which of rpy2, R and its packages are there, with versions; never raises."""
    rpy2 = _rpy2_version()
    try:
        versions = call("versions", packages=list(PACKAGES))
        packages = {name: _text(versions["packages"][name]) for name in PACKAGES}
        absent = [name for name, version in packages.items() if version is None]
        return RStatus(rpy2, _text(versions["R"]), packages, _missing_package(absent[0]) if absent else None)
    except ConjuryError as error:
        return RStatus(rpy2, problem=str(error))
    except Exception as error:
        return RStatus(rpy2, problem=f"R does not start ({error}); {_install('R')}.")


def versions_by_rscript() -> dict[str, str]:
    """Versions of R and of its packages by asking R itself, without rpy2; empty where there is no R."""
    names = ", ".join(f'"{name}"' for name in PACKAGES)
    code = (
        'cat("R", as.character(getRversion()), "\n"); '
        f"for (name in c({names})) if (nzchar(system.file(package = name))) "
        'cat(name, as.character(packageVersion(name)), "\n")'
    )
    try:
        ended = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return {}
    pairs = [line.split() for line in ended.stdout.splitlines()]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0] in ("R", *PACKAGES)}


def remedy(part: str) -> str:
    """How to install "rpy2", "R" or a package of R."""
    return REMEDIES.get(part, f'apt-get install r-cran-{part.lower()}, or install.packages("{part}") in R')


def require(*packages: str) -> None:
    """Raise MissingDependency unless rpy2, R and these packages of R are installed."""
    versions = call("versions", packages=list(packages))["packages"]
    for name in packages:
        if versions[name] is None:
            raise MissingDependency(_missing_package(name))


def call(function_name: str, /, **arguments: Any) -> Any:
    """Call a function of the folder ``R/`` and bring back its value."""
    with _LOCK:
        value, signalled, messages, error = _call_locked(_session(), function_name, arguments)
    for text in messages:
        logger.info("R: %s", text.strip())
    for text in signalled:
        warnings.warn(text, RWarning, stacklevel=2)
    if error is not None:
        raise RError(error["message"][0].strip(), error["call"][0])
    return value


def _call_locked(
    session: _Session, function_name: str, arguments: Mapping[str, Any]
) -> tuple[Any, list[str], list[str], dict[str, Any] | None]:
    from rpy2.rinterface_lib.openrlib import rlock
    from rpy2.robjects.conversion import localconverter

    with rlock, localconverter(session.rules) as rules:
        converted_arguments = [rules.py2rpy(value) for value in (function_name, dict(arguments))]
        captured = session.functions["call_captured"](*converted_arguments, session.functions)
        result = rules.rpy2py(captured)
    return result["value"], list(result["warnings"]), list(result["messages"]), result["error"]


def _session() -> _Session:
    global _started
    if _started is None:
        _started = _start()
    return _started


def _start() -> _Session:
    if _rpy2_version() is None:
        raise MissingDependency(f"The R engines need the Python package rpy2; {_install('rpy2')}.")
    try:
        with warnings.catch_warnings(), _library_path_kept():
            warnings.simplefilter("ignore")
            from rpy2 import rinterface

            rinterface.initr()
    except Exception as error:
        raise MissingDependency(f"R is not installed or cannot be loaded; {_install('R')}.") from error
    environment = rinterface.baseenv["new.env"](parent=rinterface.globalenv)
    for path in R_SOURCES:
        rinterface.baseenv["sys.source"](rinterface.StrSexpVector([str(path)]), envir=environment)
    if not environment["use_utf8"]()[0]:
        warnings.warn(
            "R runs without a UTF-8 locale; labels beyond ASCII may be lost.", RWarning, stacklevel=4
        )
    return _Session(environment, conversion_rules())


@contextmanager
def _library_path_kept() -> Iterator[None]:
    """Undo what R's start does to the library path: programs started later must not load R's libraries."""
    name = "LD_LIBRARY_PATH"
    before = os.environ.get(name)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _rpy2_version() -> str | None:
    try:
        return metadata.version("rpy2")
    except metadata.PackageNotFoundError:
        return None


def _missing_package(name: str) -> str:
    return f"The R package {name} is not installed; {_install(name)}."


def _install(part: str) -> str:
    return f"install it with: {remedy(part)}"


def _text(value: Any) -> str | None:
    return None if value is None else str(value[0])
