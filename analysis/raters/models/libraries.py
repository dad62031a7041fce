"""The one place that imports the Bayesian stack, which needs Python 3.12 and the extra ``bayes``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from conjury.inference.errors import MissingDependency


def library(name: str) -> ModuleType:
    """Import ``pymc``, ``pytensor``, ``nutpie``, ``arviz``, ``numba`` or a module of theirs.

    Examples
    --------
    >>> library("no_such_sampler")
    Traceback (most recent call last):
        ...
    conjury.inference.errors.MissingDependency: Bayesian models need no_such_sampler (Python 3.12 or \
later); install it with: pip install 'conjury[bayes]'.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"Bayesian models need {error.name or name} (Python 3.12 or later); install it with: "
            "pip install 'conjury[bayes]'."
        ) from error


def has(name: str) -> bool:
    """Whether a library can be imported."""
    try:
        library(name)
    except MissingDependency:
        return False
    return True
