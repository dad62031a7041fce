"""The same analysis by several engines, side by side."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, MissingDependency

from ..conjoint.engines.solution import ENGINES
from ..conjoint.preferences.by_formula import PREFERENCES
from ..results import Result
from .runner import BOOTSTRAPPED, COUNTS, FitOptions, JudgeGroup
from .steps.group_fits import fit_group

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.study_fields import Analysis

NUMBERS = ["estimate", "std_error"]


def compare_engines(
    study: Study, analysis: Analysis, group: JudgeGroup, engines: Sequence[str], alpha: float = 0.05
) -> Result:
    """Run one analysis of one group with each engine, timed after a first run that loads the engine."""
    # The result has a row per level, and in its further table `summary` a row per engine.
    if not engines:
        raise InputError(f"No engine is named; the engines are {', '.join(ENGINES)}.")
    if analysis.verb in COUNTS:
        raise InputError(
            f"Analysis {analysis.name!r} only counts, which is the same for all engines; name another."
        )
    if analysis.crosses_groups:
        what = "models with people" if analysis.compares_people else "prompts"
        raise InputError(
            f"Analysis {analysis.name!r} compares {what}, but engines are compared on one judge and prompt; "
            "name another."
        )
    if analysis.verb in PREFERENCES:
        raise InputError(
            f"Analysis {analysis.name!r} ({analysis.verb}) is computed by the engine native only; "
            "name another."
        )
    if analysis.verb not in BOOTSTRAPPED:
        raise InputError(
            f"Analysis {analysis.name!r} is a test ({analysis.verb}) without estimates and standard errors "
            "to compare; name another."
        )
    tables: dict[str, pd.DataFrame] = {}
    rows = []
    for options in [FitOptions(engine=name, alpha=alpha, draws=0) for name in dict.fromkeys(engines)]:
        engine = options.engine
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
        raise InputError(
            f"Engine {first!r} is not available, and the others are compared with it; name another."
        )
    for row in rows:
        if row["engine"] in tables:
            row |= largest_differences(tables[first], tables[str(row["engine"])], analysis.by)
    summary = pd.DataFrame(rows, columns=list(_SUMMARY)).astype(_SUMMARY)
    settings = {
        "analysis": analysis.name,
        "title": analysis.title,
        "verb": analysis.verb,
        "formula": analysis.formula,
        "by": analysis.by,
        "exclude": analysis.exclude,
        "judge": group.judge,
        "prompt": group.prompt,
        "id": ", ".join(study.clusters.of(group.kind)),
        "alpha": alpha,
        "engines": [str(name) for name in summary["engine"]],
        "reference_engine": first,
        "n_rows": len(analysis.select(group.choices)),
    }
    return Result(_side_by_side(tables, analysis.by), "engines", (), settings, {"summary": summary})


_SUMMARY = {
    "engine": "string",
    "available": "bool",
    "seconds": "float64",
    "max_abs_difference_estimate": "float64",
    "max_rel_difference_std_error": "float64",
    "note": "string",
}


def largest_differences(ours: pd.DataFrame, theirs: pd.DataFrame, by: Sequence[str] = ()) -> dict[str, float]:
    """Largest absolute difference of estimates, and largest relative difference of standard errors."""
    theirs = _numbers_in_order_of(ours, theirs, by)
    estimates = np.abs(ours["estimate"].to_numpy(float) - theirs["estimate"].to_numpy(float))
    errors = np.abs(ours["std_error"].to_numpy(float) / theirs["std_error"].to_numpy(float) - 1)
    return {
        "max_abs_difference_estimate": float(np.nanmax(estimates)),
        "max_rel_difference_std_error": float(np.nanmax(errors[~np.isnan(errors)], initial=0.0)),
    }


def _side_by_side(tables: dict[str, pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    first, *further_engines = tables
    wide_table = tables[first][[*_keys(tables[first], by), *NUMBERS]].rename(
        columns={column: f"{column}_{first}" for column in NUMBERS}
    )
    for name in further_engines:
        theirs = _numbers_in_order_of(tables[first], tables[name], by)
        wide_table = wide_table.assign(
            **{f"{column}_{name}": theirs[column].to_numpy() for column in NUMBERS}
        )
    return wide_table


def _keys(table: pd.DataFrame, by: Sequence[str]) -> list[str]:
    """Feature and level, columns of subgroups, and the contrast where the table contains differences."""
    return [name for name in dict.fromkeys((*by, "by", "feature", "level")) if name in table]


def _numbers_in_order_of(ours: pd.DataFrame, theirs: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Numbers of the second table in the row order of the first, missing where it lacks a row."""
    keys = _keys(ours, by)
    index = pd.MultiIndex.from_frame(ours[keys].astype("string"))
    return theirs.astype(dict.fromkeys(keys, "string")).set_index(keys)[NUMBERS].reindex(index)
