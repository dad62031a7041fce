"""Winning rates over epsilon: how much cheaper or faster a model must be to be let in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...results import Result
from .decide import PASSING, Evidence, verdict

KEYS = ["dimension", "scoring", "model"]
LEAST, STEPS = 0.3, 60  # a curve reaches at least so far, in so many steps


def epsilon_curve(result: Result, epsilons: Sequence[float] | None = None) -> Result:
    """Test again with other values of epsilon, from the table of annotators alone.

    Parameters
    ----------
    result : Result
        As from `alt_test`.
    epsilons : sequence of float, optional
        By default 0, 0.005, ..., 0.3.

    Returns
    -------
    Result
        ``frame``: ``dimension, scoring, model, epsilon, winning_rate, passes``;
        ``extra["smallest"]``: ``dimension, scoring, model, smallest_epsilon``, with which the model passes.

    Raises
    ------
    InputError
        For a result of another analysis, or an epsilon that is not between -1 and 1.

    Examples
    --------
    >>> from conjury.analysis.raters import alt_test
    >>> rows = [(name, "model" if name == "gpt" else "human", item, item % 5)
    ...         for name in ("ann", "bob", "cy", "gpt") for item in range(40)]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> epsilon_curve(alt_test(table), [0.0, 0.1]).frame["winning_rate"].tolist()
    [0.0, 1.0]
    """
    if result.kind != "alt_test":
        raise InputError(
            f"An epsilon curve needs a result of alt_test; this one is {result.kind!r}: run alt_test."
        )
    grid = np.array(np.arange(61) / 200 if epsilons is None else list(epsilons), dtype=float)
    if not len(grid) or not (np.abs(grid) <= 1).all():
        raise InputError("epsilons are differences of shares; give one or more between -1 and 1.")
    q_fdr, multiplicity = result.settings["q_fdr"], result.settings["multiplicity"]
    parts = []
    for keys, own in result.extra["annotators"].groupby(KEYS, sort=False):
        found = _evidence(own[own["left_out"].isna()])
        rates = [float(verdict(found, float(value), q_fdr, multiplicity).winning_rate) for value in grid]
        part = pd.DataFrame({"epsilon": grid, "winning_rate": rates})
        for at, (name, value) in enumerate(zip(KEYS, keys, strict=True)):
            part.insert(at, name, str(value))
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    passes = (frame["winning_rate"] >= PASSING).astype("boolean").mask(frame["winning_rate"].isna())
    settings: dict[str, Any] = {"q_fdr": q_fdr, "multiplicity": multiplicity,
                                "epsilon": result.settings["epsilon"]}  # fmt: skip
    smallest = result.frame[[*KEYS, "smallest_epsilon"]].copy()
    return Result(
        frame.assign(passes=passes), "epsilon_curve", tuple(result.notes), settings, {"smallest": smallest}
    )


def epsilons(result: Result) -> list[float]:
    """Values of epsilon from 0 until every model that can pass does: up to 0.3, 0.6, 0.9 or 1."""
    smallest = result.frame["smallest_epsilon"].to_numpy(dtype=float)
    top = float(np.max(np.append(smallest[np.isfinite(smallest)], LEAST)))
    end = min(float(np.ceil(round(top / LEAST, 6))) * LEAST, 1.0)
    return [round(end * k / STEPS, 6) for k in range(STEPS + 1)]


def with_curve(result: Result) -> Result:
    """Add the curve over `epsilons` to a result of `alt_test`, as the further table ``epsilon``."""
    return replace(result, extra={**result.extra, "epsilon": epsilon_curve(result, epsilons(result)).frame})


def _evidence(own: pd.DataFrame) -> Evidence:
    names = ("n_items", "n_clusters", "rho_model", "rho_human", "difference", "std_error")
    return Evidence(*(own[name].to_numpy(dtype=float) for name in names))
