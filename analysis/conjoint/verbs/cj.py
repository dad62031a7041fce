"""Any estimate by groups: ``cj(..., by=...)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from conjury.inference.errors import InputError

from ...frames.formula import Formula
from .. import run
from ..estimates import Estimates
from ..request import make_request
from ..run import Data
from .amce import amce
from .differences import amce_diffs, mm_diffs
from .frequencies import cj_freqs
from .marginal_means import mm

Estimate = Literal["amce", "mm", "frequencies", "amce_differences", "mm_differences"]
_VERBS: dict[str, Callable[..., Estimates]] = {
    "amce": amce,
    "mm": mm,
    "frequencies": cj_freqs,
    "amce_differences": amce_diffs,
    "mm_differences": mm_diffs,
}


def cj(
    data: Data,
    formula: str | Formula,
    id: str | Sequence[str] | None = None,
    *,
    estimate: Estimate = "amce",
    by: str | list[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate AMCEs, marginal means, frequencies or differences, in each group of ``by``.

    Parameters
    ----------
    data, formula, id, **options
        As in `amce`, `mm`, `cj_freqs`, `amce_diffs` and `mm_diffs`.
    estimate : {"amce", "mm", "frequencies", "amce_differences", "mm_differences"}
    by : str or list of str, optional
        Grouping columns. Levels of several are joined by "***", as cregg does.

    Returns
    -------
    Estimates
        With a first column ``by`` and one column for each grouping. Groups that share
        clusters keep their covariance in ``vcov``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"y": [1, 0, 1, 0, 0, 0, 1, 0], "a": list("xyxyxyxy"), "g": list("mmmmffff")})
    >>> cj(data, "y ~ a", estimate="mm", by="g").frame["estimate"].tolist()
    [0.5, 0.0, 1.0, 0.0]
    """
    verb = verb_of(estimate, by)
    if verb.startswith("cj_") and verb != "cj_freqs":
        return run.estimate(make_request(verb, formula, id=id, by=by, **options), data)
    grouping = {"by": by} if by else {}
    return _VERBS[estimate](data, formula, id=id, **grouping, **options)


def verb_of(estimate: str, by: str | Sequence[str] | None) -> str:
    """Name the verb behind a call of `cj`."""
    if estimate not in _VERBS:
        raise InputError(f"There is no estimate {estimate!r}; the estimates are {', '.join(_VERBS)}.")
    if estimate.endswith("_differences") and not isinstance(by, str):
        raise InputError(f"estimate={estimate!r} compares the levels of one column; give by='column'.")
    return f"cj_{estimate}" if by and estimate in ("amce", "mm") else _VERBS[estimate].__name__
