"""p values adjusted for several tests: Holm, Benjamini-Hochberg, Benjamini-Yekutieli."""

from __future__ import annotations

from typing import Literal

import numpy as np

Step = Literal["holm", "bh", "by"]


def adjusted(p: np.ndarray, method: Step) -> np.ndarray:
    """Adjust p values for the m tests of the last axis; NaN stays NaN and is not counted.

    Parameters
    ----------
    p : ndarray, shape (..., m)
    method : {"holm", "bh", "by"}
        Holm bounds the family-wise error rate, Benjamini-Hochberg the false discovery rate of independent
        tests, Benjamini-Yekutieli that of tests with any dependence.

    Returns
    -------
    ndarray, shape (..., m)

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6(2), 65-70.

    Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal
    Statistical Society B 57(1), 289-300. doi:10.1111/j.2517-6161.1995.tb02031.x

    Benjamini, Y., & Yekutieli, D. (2001). The control of the false discovery rate in multiple testing under
    dependency. Annals of Statistics 29(4), 1165-1188. doi:10.1214/aos/1013699998

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, np.nan]), "by").round(3)
    array([0.03, 0.06,  nan])
    """
    order = np.argsort(p, axis=-1, kind="stable")
    rising = np.take_along_axis(p, order, axis=-1)
    m = np.isfinite(p).sum(axis=-1, keepdims=True)
    rank = np.arange(1, p.shape[-1] + 1)
    if method == "holm":
        stepped = np.maximum.accumulate(np.nan_to_num(rising * (m - rank + 1), nan=0.0), axis=-1)
    else:
        harmonic = np.concatenate([[0.0], np.cumsum(1 / rank)])
        factor = m * (harmonic[m] if method == "by" else 1.0)
        scaled = np.nan_to_num(rising * factor / rank, nan=np.inf)
        stepped = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    made = np.empty_like(p)
    np.put_along_axis(made, order, np.minimum(stepped, 1.0), axis=-1)
    return np.where(np.isfinite(p), made, np.nan)
