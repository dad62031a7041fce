"""The bridge to R; with ``r_values.py``, which converts its values, the only module that knows rpy2.

R runs inside this process and in one thread at a time: a lock guards every call, so that ``call`` may be
used from any thread and from notebooks. Nothing is imported or started before the first call.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from conjury.inference.errors import ConjuryError, MissingDependency
from conjury.inference.tables.files import R_SOURCES

from .values import conversion_rules

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
    """An error raised by R, with R's own message and the call that failed.

    Attributes
    ----------
    r_message, r_call : str
        What R said, and where; the call is empty where R does not name one.
    """

    def __init__(self, message: str, call: str = "") -> None:
        self.r_message, self.r_call = message, call
        super().__init__(f"R says: {message} (in {call})" if call else f"R says: {message}")


class RWarning(UserWarning):
    """A warning raised by R."""


@dataclass(frozen=True)
class RStatus:
    """What of the R side is there.

    Attributes
    ----------
    rpy2, r : str or None
        Versions; None where absent.
    packages : dict of str to (str or None)
        Version of each package of R that an engine uses; None where absent.
    problem : str or None
        One sentence on what is missing first and how to install it; None if nothing is.
    """

    rpy2: str | None = None
    r: str | None = None
    packages: dict[str, str | None] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True)
class _Session:
    """R, started: the environment with the functions of ``R/``, and the conversion rules."""

    functions: Any
    rules: Any


def available() -> RStatus:
    """Say which of rpy2, R and its packages are there, with versions; never raises."""
    rpy2 = _rpy2_version()
    try:
        found = call("versions", packages=list(PACKAGES))
        packages = {name: _text(found["packages"][name]) for name in PACKAGES}
        absent = [name for name, version in packages.items() if version is None]
        return RStatus(rpy2, _text(found["R"]), packages, _missing_package(absent[0]) if absent else None)
    except ConjuryError as error:
        return RStatus(rpy2, problem=str(error))
    except Exception as error:
        return RStatus(rpy2, problem=f"R does not start ({error}); {_install('R')}.")


def remedy(part: str) -> str:
    """How to install "rpy2", "R" or a package of R."""
    return REMEDIES.get(part, f'apt-get install r-cran-{part.lower()}, or install.packages("{part}") in R')


def require(*packages: str) -> None:
    """Raise MissingDependency unless rpy2, R and these packages of R are installed."""
    found = call("versions", packages=list(packages))["packages"]
    for name in packages:
        if found[name] is None:
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
        given = [rules.py2rpy(value) for value in (function_name, dict(arguments))]
        captured = session.functions["call_captured"](*given, session.functions)
        found = rules.rpy2py(captured)
    return found["value"], list(found["warnings"]), list(found["messages"]), found["error"]


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
    for path in sorted(R_SOURCES.glob("*.R")):
        if path.name != "run.R":
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
