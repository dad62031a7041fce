"""Decision studies: how precise the mean of so many prompts, orders and repeats would be, at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, check_share, listed
from conjury.inference.tables.frames import any_frame

from ..frames.notes import note_under
from ..numerics.intervals import varying_limits
from ..numerics.types import Floats
from ..results import Result
from .components import EXHAUSTED, DecisionVariances, model_of

REPEATS = "repeats"
USUAL_REPEATS = (1, 2, 4, 8)
# Of a facet without a limit of its own, and repeats, at which the search for a plan ends.
MOST_LEVELS, MOST_REPEATS = 12, 64
Plan = Mapping[str, int]


@dataclass(frozen=True)
class _Study:
    """The model of one judge, with draws of its variances."""

    judge: str
    model: DecisionVariances
    drawn: Floats


@any_frame
def decision_study(
    result: Result,
    plans: Sequence[Plan] | None = None,
    *,
    wanted: float | None = None,
    cost: float = 1.0,
    most: Plan | None = None,
) -> Result:
    """Predict the precision of object means over other numbers of facet levels and repeats.

    Parameters
    ----------
    result : Result
        Of `variance_components`.
    plans : sequence of mapping, optional
        Numbers of levels of each facet, and ``repeats`` of each combination; what a plan does not name is 1.
        By default all numbers up to those observed, with 1, 2, 4 and 8 repeats.
    wanted : float, optional
        Phi to be reached: the cheapest plan that predicts it is added and flagged as ``cheapest``.
    cost : float
        Cost of one request.
    most : mapping, optional
        Largest numbers tried for ``wanted``, by facet and ``repeats``; by default 12 levels (of facets whose
        levels are exhausted, those observed) and 64 repeats.

    Returns
    -------
    Result
        One row per ``judge`` and plan: a column for each facet, ``repeats, requests`` (of one
        object), ``cost, absolute_error, relative_error`` (variances), ``phi, lower, upper,
        generalisability``, ``worth_repeats`` (the number of repeats of a single condition with the same
        absolute error variance; missing where no number of repeats has it) and ``cheapest``. The
        notes state for each judge what the largest plan is worth in repeats.

    Raises
    ------
    InputError
        For other results, unknown facets, numbers that cannot be, and a Phi that no judge reaches by a plan
        tried.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory. Springer. doi:10.1007/978-1-4757-3456-0

    Examples
    --------
    >>> from conjury.analysis.instrument import variance_components
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("aabbcc"),
    ...     "prompt_id": ["p", "q"] * 3, "value": [1, 2, 4, 5, 6, 9]})
    >>> found = decision_study(variance_components(table, draws=100), [{"prompt_id": 1}, {"prompt_id": 3}])
    >>> found.frame[["prompt_id", "absolute_error", "phi"]].round(3).values.tolist()
    [[1.0, 1.833, 0.825], [3.0, 0.611, 0.934]]
    """
    if result.kind != "variance_components":
        raise InputError(f"The result is of kind {result.kind!r}; give one of variance_components(data).")
    if wanted is not None:
        check_share("wanted is", wanted, "give a Phi between 0 and 1, such as 0.8")
    if not cost > 0:
        raise InputError(f"cost is {cost!r}; give the cost of one request, above 0.")
    settings = result.settings
    frames, notes, unreached = [], list[str](), list[str]()
    for judge in settings["models"]:
        model = model_of(result, judge)
        study = _Study(judge, model, model.drawn(int(settings["draws"]), int(settings["seed"])))
        rows = [_row(study, plan, cost, float(settings["alpha"])) for plan in _plans(model, plans)]
        if wanted is not None:
            try:
                cheapest = _cheapest(study, wanted, most or {})
            except InputError as error:
                unreached.append(str(error))
            else:
                rows.append(_row(study, cheapest, cost, float(settings["alpha"])) | {"cheapest": True})
                text = f"{_describe(cheapest)} reach a Phi of {wanted:g} at the least cost."
                notes.append(note_under({"judge": judge}, text))
        frame = pd.DataFrame(rows)
        notes.append(note_under({"judge": judge}, _note_on_worth(frame, model)))
        frames.append(frame)
    if unreached and len(unreached) == len(frames):
        raise InputError(" ".join(unreached))
    notes += unreached
    shared_settings = {name: settings[name] for name in ("alpha", "draws", "seed")}
    return Result(
        pd.concat(frames, ignore_index=True),
        "decision_study",
        tuple(notes),
        shared_settings | {"cost": cost, "wanted": wanted, "facets": list(dict.fromkeys(_facets(result)))},
    )


def _facets(result: Result) -> list[str]:
    return [name for entry in result.settings["models"].values() for name in entry["facets"]]


def _plans(model: DecisionVariances, plans: Sequence[Plan] | None) -> list[dict[str, int]]:
    """Plans in full: given ones checked, or all numbers up to those observed."""
    if plans is None:
        grids = [*(range(1, size + 1) for _, size in model.with_sizes), USUAL_REPEATS]
        return [dict(zip((*model.facets, REPEATS), counts, strict=True)) for counts in product(*grids)]
    return [_check_plan(model, plan) for plan in plans]


def _check_plan(model: DecisionVariances, plan: Plan) -> dict[str, int]:
    names, sizes = (*model.facets, REPEATS), dict(model.with_sizes)
    for name, count in plan.items():
        if name not in names:
            raise InputError(
                f"A plan names {name!r}, which is no facet of the result; there are {listed(names)}."
            )
        if not isinstance(count, int | np.integer) or count < 1:
            raise InputError(
                f"A plan has {count!r} as the number of {name}; give a whole number of 1 or more."
            )
        if name in EXHAUSTED and count > sizes[name]:
            raise InputError(f"A plan has {count} levels of {name}, of which there are {sizes[name]} in all.")
    return {name: int(plan.get(name, 1)) for name in names}


def _row(study: _Study, plan: Plan, cost: float, alpha: float) -> dict[str, Any]:
    model, counts = study.model, {name: plan[name] for name in study.model.facets}
    at = model.precision(model.variance[None], counts, plan[REPEATS])
    spread = model.precision(study.drawn, counts, plan[REPEATS])
    lower, upper = varying_limits(spread.phi[:, None], alpha)[:, 0]
    requests = prod(plan.values())
    return {
        "judge": study.judge,
        **plan,
        "requests": requests,
        "cost": requests * cost,
        "absolute_error": float(at.absolute[0]),
        "relative_error": float(at.relative[0]),
        "phi": float(at.phi[0]),
        "lower": float(lower),
        "upper": float(upper),
        "generalisability": float(at.generalisability[0]),
        "worth_repeats": _repeats_worth(model, float(at.absolute[0])),
        "cheapest": False,
    }


def _repeats_worth(model: DecisionVariances, error: float) -> float:
    """Repeats of a single condition whose mean has an absolute error variance; NaN where none have."""
    residual = float(model.variance[-1])
    once = float(model.precision(model.variance[None], dict.fromkeys(model.facets, 1), 1).absolute[0])
    facet_error = error - (once - residual)
    return residual / facet_error if facet_error > 1e-12 * max(once, 1e-300) else float("nan")


def _cheapest(study: _Study, target: float, most: Plan) -> dict[str, int]:
    """The plan with the fewest requests that reaches a Phi; of several, the one with the largest Phi."""
    model = study.model
    limits = {
        name: most.get(name, size if name in EXHAUSTED else MOST_LEVELS) for name, size in model.with_sizes
    }
    limits[REPEATS] = most.get(REPEATS, MOST_REPEATS)
    _check_plan(model, limits)
    best: tuple[int, float, dict[str, int]] | None = None
    for counts in product(*(range(1, limit + 1) for limit in limits.values())):
        plan, requests = dict(zip(limits, counts, strict=True)), prod(counts)
        if best is not None and requests > best[0]:
            continue
        levels = {name: plan[name] for name in model.facets}
        phi = float(model.precision(model.variance[None], levels, plan[REPEATS]).phi[0])
        if phi >= target and (best is None or (requests, -phi) < best[:2]):
            best = (requests, -phi, plan)
    if best is None:
        raise InputError(
            f"{study.judge}: no plan of up to {_describe(limits)} reaches a Phi of {target:g}; allow larger "
            "plans by most=."
        )
    return best[2]


def _describe(plan: Plan) -> str:
    """A plan in words, such as 3 levels of prompt_id x 2 levels of option_order x 4 repeats."""
    parts = [
        f"{count} level{'s' * (count != 1)} of {name}" for name, count in plan.items() if name != REPEATS
    ]
    return " x ".join([*parts, f"{plan[REPEATS]} repeat{'s' * (plan[REPEATS] != 1)}"])


def _note_on_worth(frame: pd.DataFrame, model: DecisionVariances) -> str:
    """What the plan with the most conditions and one repeat is worth in repeats of a single condition."""
    single = frame[(frame[REPEATS] == frame[REPEATS].min()) & ~frame["cheapest"]]
    row = single.iloc[int(single["requests"].to_numpy().argmax())]
    plan = {name: int(row[name]) for name in (*model.facets, REPEATS)}
    worth = float(row["worth_repeats"])
    if np.isfinite(worth):
        return f"{_describe(plan)} equal {worth:.1f} repeats of a single condition (absolute error variance)."
    return (
        f"no number of repeats of a single condition is as precise as {_describe(plan)} (absolute error "
        f"variance)."
    )
