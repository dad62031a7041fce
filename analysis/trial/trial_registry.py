"""Parts of trials: processes that draw data with known true values, and methods that estimate them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from inspect import getdoc, signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pandas as pd

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import InputError, did_you_mean, listed

Function = TypeVar("Function", bound=Callable[..., Any])
FOLDERS = [f"{__package__}.{folder}" for folder in ("processes", "methods", "passport")]
PARTS: dict[str, Registry[Callable[..., Any]]] = {
    kind: Registry("conjury.trials", FOLDERS) for kind in ("process", "method", "measure")
}


@dataclass(frozen=True)
class Drawn:
    """Data of one draw and what is true of them.

    Parameters
    ----------
    data : object
        Whatever the methods of a trial take, most often a data frame.
    truth : DataFrame
        ``estimand, quantity, truth``: one true value for each estimand (which population it is about) and
        quantity (which number). A method's estimate of a quantity is compared with each of its true values.

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0.1, 0.3]})
    >>> Drawn(data, true_values(population={"mean": 0.25})).truth["truth"].tolist()
    [0.25]
    """

    data: Any
    truth: pd.DataFrame


def true_values(**estimands: dict[str, float]) -> pd.DataFrame:
    """Lay out the true values of a draw.

    Parameters
    ----------
    **estimands : dict of str to float
        For each estimand, from its quantities to their true values.

    Returns
    -------
    DataFrame
        ``estimand, quantity, truth``, one row per true value.

    Examples
    --------
    >>> true_values(population={"mean": 0.25}, sample={"mean": 0.2}).values.tolist()
    [['population', 'mean', 0.25], ['sample', 'mean', 0.2]]
    """
    rows = [
        (estimand, quantity, value)
        for estimand, values in estimands.items()
        for quantity, value in values.items()
    ]
    return pd.DataFrame(rows, columns=["estimand", "quantity", "truth"])


def process(name: str) -> Callable[[Function], Function]:
    """Register a process: a function of a generator and parameters that returns a `Drawn`.

    Parameters
    ----------
    name : str
        Name of the process in trial files.

    Returns
    -------
    callable
        A decorator of the function.

    Examples
    --------
    >>> @process("two_groups")
    ... def two_groups(rng, *, rows=100, effect=0.1):
    ...     group = rng.integers(2, size=rows)
    ...     data = pd.DataFrame({"group": group, "y": effect * group + rng.normal(size=rows)})
    ...     return Drawn(data, true_values(population={"difference": effect}))
    """
    return _register("process", name)


def method(name: str) -> Callable[[Function], Function]:
    """Register a method: a function of the data and options that returns a table of estimates.

    The table has the columns ``quantity, estimate`` and, as far as the method gives them, ``std_error, lower,
    upper, p``. A method with a parameter ``rng`` is given a generator, one with ``alpha`` the level of the
    trial. What it raises is counted as a failure; `MissingDependency` excludes it from the trial.

    Parameters
    ----------
    name : str
        Name of the method in trial files.

    Returns
    -------
    callable
        A decorator of the function.

    Examples
    --------
    >>> @method("difference_of_means")
    ... def difference_of_means(data):
    ...     means = data.groupby("group")["y"].mean()
    ...     return pd.DataFrame({"quantity": ["difference"], "estimate": [means[1] - means[0]]})
    """
    return _register("method", name)


def measure(name: str) -> Callable[[Function], Function]:
    """Register a performance measure: from `numerics.performance.Draws` to ``Measured``.

    Parameters
    ----------
    name : str
        Name of the measure in trial files.

    Returns
    -------
    callable
        A decorator of the function.

    Examples
    --------
    >>> import numpy as np
    >>> from conjury.analysis.numerics.performance import mean
    >>> @measure("mean_absolute_error")
    ... def mean_absolute_error(draws):
    ...     return mean(np.abs(draws.errors))
    """
    return _register("measure", name)


def _register(kind: str, name: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        PARTS[kind].registered[name] = function
        return function

    return register


def find(kind: str, name: str, folder: Path | None = None) -> Callable[..., Any]:
    """The function of a registered name, or of ``module:function``, also of a module in ``folder``."""
    module, colon, function = name.partition(":")
    if not colon:
        functions = PARTS[kind]
        if name not in functions:
            raise InputError(
                f"{kind} '{name}' is unknown{did_you_mean(name, functions)}; name one of "
                f"{listed(sorted(functions), 40)}, or your own function as module:function."
            )
        return functions[name]
    try:
        target = getattr(_module(module, folder), function)
    except ImportError as error:
        raise InputError(
            f"{kind} '{name}': module {module} cannot be imported ({error}); put {module}.py next to the "
            "trial file, or correct the name."
        ) from None
    except AttributeError:
        raise InputError(
            f"{kind} '{name}': module {module} has no function {function}; correct the name."
        ) from None
    if not callable(target):
        raise InputError(f"{kind} '{name}' is not a function; give one.")
    return target  # type: ignore[no-any-return]


@dataclass(frozen=True)
class TrialPart:
    """A process, method or measure that trial files can name."""

    kind: str
    name: str
    # with their defaults; those that a trial gives, such as the generator and the data, are left out
    parameters: str
    about: str


def described_parts() -> list[TrialPart]:
    """Parts of trial files by name, with parameters and first sentences, but for those of the passport."""
    return [
        TrialPart(kind, name, _parameters(functions[name]), (getdoc(functions[name]) or "").split("\n")[0])
        for kind, functions in PARTS.items()
        for name in sorted(functions)
        if not name.startswith("passport_")
    ]


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in signature(function).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    )


def _module(name: str, folder: Path | None) -> ModuleType:
    """A module by name; that of a file beside the trial file, as it is now, comes first."""
    if folder is not None and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    file = None if folder is None else folder / f"{name}.py"
    if file is None or not file.is_file():
        return import_module(name)
    return _loaded(name, file, file.read_bytes())


@cache
def _loaded(name: str, file: Path, content: bytes) -> ModuleType:
    """A module from a file; two files of one name, or of two contents, are two modules."""
    # It is compiled here, since Python's cache of compiled files confuses contents of one size and second.
    module = ModuleType(f"{name}_{sha256(bytes(file) + content).hexdigest()[:8]}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # dataclasses look themselves up
    exec(compile(content, str(file), "exec"), module.__dict__)
    return module
