"""How much two ratings agree: one for the same category, less the further apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conjury.inference.columns import did_you_mean, listed
from conjury.inference.errors import InputError

from ..ratings import Floats

NAMES = ("nominal", "linear", "ordinal", "quadratic", "ratio")
ALIASES = {"identity": "nominal", "unweighted": "nominal", "interval": "quadratic"}
OWN = "own"


def canonical(name: str) -> str:
    """The one name of weights: ``identity`` is ``nominal``, ``interval`` is ``quadratic``.

    Examples
    --------
    >>> canonical("interval")
    'quadratic'
    """
    found = ALIASES.get(name, name)
    if found not in NAMES:
        known = [*NAMES, *ALIASES]
        raise InputError(
            f"There are no weights '{name}'{did_you_mean(name, known)}; there are {listed(known)}."
        )
    return found


def weight_matrix(name: str, categories: Sequence[Any], numeric: bool = True) -> Floats:
    """Agreement weights of q categories, shape (q, q): symmetric, 1 on the diagonal.

    With values x and y of two categories at positions k and l of q: ``nominal`` 1 where they are the same;
    ``linear`` ``1 - |x - y| / range``; ``quadratic`` ``1 - (x - y)^2 / range^2``; ``ordinal``
    ``1 - C(|k - l| + 1, 2) / C(q, 2)`` (Gwet 2014); ``ratio`` ``1 - ((x - y) / (x + y))^2``, brought to
    least 0. Krippendorff's alpha uses ranks for ``ordinal`` instead (see `chance_corrected.krippendorff`).

    Raises
    ------
    InputError
        For labels with other weights than ``nominal``, and for ratio weights of negative ratings.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed. Advanced Analytics.
    Cohen, J. (1968). Weighted kappa. Psychological Bulletin 70(4), 213-220. doi:10.1037/h0026256

    Examples
    --------
    >>> weight_matrix("linear", [0, 1, 2])[0]
    array([1. , 0.5, 0. ])
    """
    name = canonical(name)
    q = len(categories)
    if name == "nominal":
        return np.eye(q)
    if not numeric:
        raise InputError(f"Labels have no {name} weights, for they have no order; use nominal ones.")
    values = np.array(categories, dtype=float)
    apart = np.abs(values[:, None] - values)
    if name == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
        apart = steps * (steps + 1) / 2
    elif name == "quadratic":
        apart = apart**2
    elif name == "ratio":
        if values.min() < 0:
            raise InputError(f"Ratio weights need ratings of zero or more; there is {values.min():g}.")
        total = values[:, None] + values
        apart = np.divide(apart, total, out=np.zeros((q, q)), where=total > 0) ** 2
    return np.asarray(1 - apart / max(float(apart.max()), np.finfo(float).tiny))


def own_weights(given: Any, q: int) -> Floats:
    """Check a matrix of weights that a user made, shape (q, q)."""
    matrix = np.asarray(given, dtype=float)
    if matrix.shape != (q, q):
        raise InputError(
            f"The weights have shape {matrix.shape}; give one row and one column for each of {q} categories."
        )
    if not (np.allclose(matrix, matrix.T) and np.allclose(np.diag(matrix), 1) and (matrix <= 1).all()):
        raise InputError(
            "Weights must be symmetric, 1 on the diagonal and at most 1 elsewhere; correct them."
        )
    return matrix
