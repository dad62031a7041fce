"""The same analysis by several engines, side by side."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, MissingDependency

from .conjoint.engines.solution import ENGINES
from .fit import Group, Options, fit_group

if TYPE_CHECKING:
    from conjury.inference.study import Analysis, Study

KEYS = ["feature", "level"]


@dataclass(frozen=True)
class Comparison:
    """Estimates by engine (a row a level), and a summary (a row an engine)."""

    estimates: pd.DataFrame
    summary: pd.DataFrame


def compare_engines(
    study: Study, analysis: Analysis, group: Group, engines: Sequence[str], alpha: float = 0.05
) -> Comparison:
    """Run one analysis of one group with each engine, timed after a first run that loads the engine.

    Parameters
    ----------
    study, analysis, group
        As for `fit.fit_group`.
    engines : sequence of str
        The first is what the others are compared with. One whose program is missing is
        listed as not available, with the reason.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For an unknown engine, or when the first one is not available.
    """
    unknown = next((name for name in engines if name not in ENGINES), None)
    if unknown is not None or not engines:
        raise InputError(f"There is no engine {unknown!r}; the engines are {', '.join(ENGINES)}.")
    tables: dict[str, pd.DataFrame] = {}
    rows = []
    for engine in dict.fromkeys(engines):
        options = Options(engine=engine, alpha=alpha, draws=0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit_group(study, analysis, group, options)
                start = time.perf_counter()
                frame, _ = fit_group(study, analysis, group, options)
                seconds = time.perf_counter() - start
        except MissingDependency as error:
            rows.append({"engine": engine, "available": False, "note": str(error)})
            continue
        tables[engine] = frame
        rows.append({"engine": engine, "available": True, "seconds": seconds, "note": ""})
    first = engines[0]
    if first not in tables:
        raise InputError(f"Engine {first!r} is not available, and the others are compared with it; name another.")
    for row in rows:
        if row["engine"] in tables:
            row |= largest_differences(tables[first], tables[str(row["engine"])])
    return Comparison(_side_by_side(tables), pd.DataFrame(rows, columns=list(_SUMMARY)).astype(_SUMMARY))


_SUMMARY = {
    "engine": "string",
    "available": "bool",
    "seconds": "float64",
    "max_abs_difference_estimate": "float64",
    "max_rel_difference_std_error": "float64",
    "note": "string",
}


def largest_differences(ours: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, float]:
    """Largest absolute difference of estimates, and largest relative difference of standard errors."""
    joined = ours.astype({key: "string" for key in KEYS}).merge(
        theirs.astype({key: "string" for key in KEYS}), on=KEYS, suffixes=("_a", "_b"), validate="1:1"
    )
    errors = joined.dropna(subset=["std_error_a", "std_error_b"])
    return {
        "max_abs_difference_estimate": float(np.nanmax(np.abs(joined["estimate_a"] - joined["estimate_b"]))),
        "max_rel_difference_std_error": float(
            np.nanmax(np.abs(errors["std_error_a"] / errors["std_error_b"] - 1), initial=0.0)
        ),
    }


def _side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    first, *others = tables
    both = tables[first][[*KEYS, "estimate", "std_error"]].rename(
        columns={"estimate": f"estimate_{first}", "std_error": f"std_error_{first}"}
    )
    for name in others:
        numbers = tables[name].astype({key: "string" for key in KEYS}).set_index(KEYS)
        wanted = pd.MultiIndex.from_frame(both[KEYS].astype("string"))
        for column in ("estimate", "std_error"):
            both[f"{column}_{name}"] = numbers[column].reindex(wanted).to_numpy()
    return both
