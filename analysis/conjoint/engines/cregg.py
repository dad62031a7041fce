"""cregg itself, through R: its verbs with our arguments and our column names, its numbers untouched."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ... import r
from ...frames.variables import as_category, require_column, unit_codes
from ..estimates import Estimates
from ..estimation_plan import warn_of_missing_groups
from ..request import EstimateRequest, with_null
from .solution import provenance_of

COLUMN_NAMES = {
    "std.error": "std_error",
    "BY": "by",
    "REFERENCE": "reference",
    "Proportion": "proportion",
    "Resid. Df": "resid_df",
    "Resid. Dev": "resid_dev",
    "Df": "df",
    "Deviance": "deviance",
    "F": "f",
    "Pr(>F)": "p",
}
_LAYOUT = frozenset({"feature_order", "feature_labels", "level_order"})
_SAMPLE = frozenset({"id", "weights"})
_AMCE = _SAMPLE | _LAYOUT | {"alpha", "family"}
_MM = _SAMPLE | _LAYOUT | {"alpha", "h0"}
OPTIONS: Mapping[str, frozenset[str]] = {
    "amce": _AMCE,
    "mm": _MM,
    "amce_diffs": _AMCE | {"by"},
    "mm_diffs": _MM | {"by"},
    "cj": _AMCE | _MM | {"by", "estimate"},
    "cj_anova": frozenset({"id", "by", "family"}),
    "cj_freqs": _SAMPLE | _LAYOUT,
    "cj_props": _SAMPLE | {"margin"},
    "cj_table": _LAYOUT | {"include_reference"},
    "cj_tidy": frozenset({"id", "profile_variables", "task_variables"}),
    "amce_by_reference": _AMCE | {"variable"},
}
_GROUPED = {"cj_amce": "amce", "cj_mm": "mm"}
_PASSED = _AMCE | _MM | {"variable", "margin"}


def run(verb: str, data: pd.DataFrame, formula: str | None = None, **options: Any) -> pd.DataFrame:
    """Call a verb of cregg."""
    if verb not in OPTIONS:
        raise InputError(f"cregg has no verb {verb!r}; choose one of {', '.join(OPTIONS)}.")
    arguments = {name: value for name, value in options.items() if value is not None}
    refused = sorted(set(arguments) - OPTIONS[verb])
    if refused:
        raise InputError(f"cregg's {verb} takes no {refused[0]!r}; omit it or use another engine.")
    r.require("cregg")
    if verb != "cj_tidy":
        data = data[_columns_in_call(data, formula or "", arguments)]
    table = r.call("call_cregg", verb=verb, data=data, formula=formula, **arguments)
    renamed: pd.DataFrame = table.rename(columns=COLUMN_NAMES)
    return renamed


def estimate_with_cregg(request: EstimateRequest, data: pd.DataFrame) -> Estimates:
    """Run a request with cregg; the table contains cregg's numbers, its defects included."""
    request = with_null(request, data)
    verb = "cj" if request.verb in _GROUPED else request.verb
    if request.family != "gaussian" and _GROUPED.get(request.verb, verb) in ("mm", "mm_diffs"):
        raise InputError(f"cregg's marginal means have no family {request.family!r}; use another engine.")
    arguments = {name: getattr(request, name) for name in sorted(_PASSED & OPTIONS[verb])}
    by: str | list[str] | None = list(request.by) if verb == "cj" else next(iter(request.by), None)
    arguments |= {"by": by, "estimate": _GROUPED.get(request.verb)}
    options = {name: value for name, value in arguments.items() if value not in (None, [])}
    if options.get("h0") == 0.0:
        del options["h0"]
    if options.get("family") == "gaussian":
        del options["family"]
    for name, first in (request.reference or {}).items():
        require_column(data, name)
        column = as_category(data, name)
        if first not in column.cat.categories:
            raise InputError(f"Reference {first!r} is not a level of feature {name!r}; give one that is.")
        levels = [level for level in column.cat.categories if level != first]
        data = data.assign(**{name: column.cat.set_categories([first, *levels])})
    for name in request.by:
        require_column(data, name)
    warn_of_missing_groups({name: int(data[name].isna().sum()) for name in request.by}, len(data))
    if verb == "cj_anova":
        data = data[data[request.by[0]].notna()]
    frame = run(verb, data, str(request.formula), **options)
    if verb in ("amce_diffs", "mm_diffs"):
        frame = _sort_differences(request, data, frame)
    clusters = {name: unit_codes(data, name)[1] for name in request.clusters}
    n_used = int(_flag_rows(request, data).sum())
    return Estimates(frame, None, provenance_of(request, len(data), n_used, clusters))


def _sort_differences(request: EstimateRequest, data: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Sort differences as the native engine does; cregg sorts effects by its names of coefficients."""
    groups = as_category(data, request.by[0]).cat.remove_unused_categories().cat.categories
    first, *groups_compared = map(str, groups)
    contrasts = [f"{group} - {first}" for group in groups_compared]
    step = 1 if request.level_order == "ascending" else -1
    rows = [
        (request.label(name), str(level))
        for name in request.features
        if name not in request.by
        for level in as_category(data, name).cat.categories[::step]
    ]
    place = {(by, *row): number for number, (by, row) in enumerate(product(contrasts, rows))}
    keys = zip(*(frame[name].astype(str) for name in ("by", "feature", "level")), strict=True)
    order = np.argsort([place.get(key, len(place)) for key in keys], kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _flag_rows(request: EstimateRequest, data: pd.DataFrame) -> np.ndarray:
    """Flag the rows, shape (n,), that cregg uses; means and counts take each feature alone."""
    has_value = data[list(request.formula.features)].notna().to_numpy()
    alone = _GROUPED.get(request.verb, request.verb) in ("mm", "mm_diffs", "cj_freqs")
    mask = has_value.any(axis=1) if alone else has_value.all(axis=1)
    needed = [] if request.verb in ("cj_freqs", "cj_props") else [request.formula.outcome]
    for name in (*needed, *request.by):
        mask &= data[name].notna().to_numpy()
    if request.weights:
        mask &= (data[request.weights] > 0).fillna(False).to_numpy(dtype=bool)
    return np.asarray(mask)


def _columns_in_call(data: pd.DataFrame, formula: str, options: Mapping[str, Any]) -> list[str]:
    """Columns whose name occurs in the formula or in an option, so that the others need not travel."""
    text = "\n".join(
        [formula, *(str(options[name]) for name in ("id", "weights", "by", "variable") if name in options)]
    )
    return [name for name in data.columns if str(name) in text]
