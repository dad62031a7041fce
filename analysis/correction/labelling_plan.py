"""How many people are still needed, once it is known how a model's answers go with theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from conjury.inference.errors import InputError, check_share
from conjury.inference.tables.frames import any_frame

from ..numerics.intervals import check_alpha
from ..numerics.operating import operating, solve_increasing
from ..results import Result, stack
from .correction_precision import UnitCosts, largest_ratio, split_budget
from .first_study import PilotEstimates, measured_of
from .labelling_strata import PRIOR, precision_gain, strata_plan
from .sources import low_correlation

PEOPLE = (25, 50, 100, 200, 400, 800, 1600)  # doubled, since precision grows with the root
FEW = 30  # people from whom rho is too uncertain to rely on
MOST = 1e7  # people


@any_frame
def label_plan(
    measured: Result | pd.DataFrame,
    people: Sequence[int] = PEOPLE,
    *,
    effect: float | Sequence[float] | None = None,
    power: float = 0.8,
    other: float | None = None,
    tasks: float | None = None,
    cost_person: float | None = None,
    cost_task: float | None = None,
    budget: float | None = None,
    choices: pd.DataFrame | None = None,
    strata: str | None = None,
    cost_strata: Mapping[str, float] | None = None,
    alpha: float = 0.05,
) -> Result:
    """Plan how many people to ask where a model answers their tasks and others.

    For each estimate: standard error, width of the interval, power and cost at numbers of people, from
    people alone and corrected by the model (``correct="ppi"``); the number of people that an effect
    requires; and the best split of a budget.

    Parameters
    ----------
    measured : Result or DataFrame
        A result with ``correct="ppi"``, from which the correlation rho of people's and the model's
        influence, the standard error of people alone, and the numbers of tasks are taken. Or a table with
        a row for each estimate and the columns ``rho`` and ``sd``, the standard error from people alone
        multiplied by the square root of their number; ``tasks`` and ``other`` are then needed.
    people : sequence of int
        Numbers of people to plan for, 2 or more each.
    effect : float or sequence of float, optional
        Effects whose power is computed, not 0.
    power : float
        Power for which the number of people is computed.
    other : float, optional
        Tasks that the model answers and people do not; by default as many as were measured. It may be
        infinite.
    tasks : float, optional
        Tasks of each person; by default as measured, on average.
    cost_person, cost_task : float, optional
        Cost of one person, with all tasks, and of one task of the model. The model answers people's tasks
        too, of which no two people share any.
    budget : float, optional
        Total cost whose best split is computed; needs both costs.
    choices : DataFrame, optional
        The choices that ``measured`` is from, which strata need.
    strata : str, optional
        Column of the choices by whose levels people's tasks are shared out. The stratum of a pair is the
        levels of both profiles.
    cost_strata : mapping of stratum to float, optional
        Cost of a person's task in each stratum, in any unit; by default all cost the same. It affects the
        shares of strata alone, not ``cost`` and ``split``.
    alpha : float
        One minus the confidence level, and the two-sided level of tests.

    Returns
    -------
    Result
        Of kind "label_plan". ``frame`` has the keys of the estimates and ``people, other, effect``,
        ``std_error_human, std_error`` (corrected), ``width_human, width`` (of intervals),
        ``width_limit`` (with an unlimited number of other tasks and a known weight), ``power_human, power``,
        ``cost_human, cost``; numbers without an effect or cost are missing. ``extra`` has ``rows`` (rho,
        its interval, rho without what chance adds among few people, ``saving_limit``, that is
        1 / (1 - rho^2), and ``price_limit``, the cost of a model's task over that of a person's from which
        the model does not pay), ``needed`` (people for the power, from people alone and corrected) and
        ``split`` (people, other tasks and standard error of the best split of the budget by estimate; in
        the row ``overall`` the one split whose mean variance ratio is smallest) and ``strata`` (for each
        stratum the tasks of the models, those that people answered too, the standard deviation of people's
        answers around the prediction from the models, its share of people's tasks, and ``tasks`` at each
        number of people).

    Raises
    ------
    InputError
        For numbers out of range, and where rho, tasks or costs that are needed are missing.

    Notes
    -----
    However many tasks a model answers, it replaces at most the share rho^2 of the people: the number that a
    standard error requires falls by no factor larger than 1 / (1 - rho^2). Estimating the model's weight
    from m people adds about (1 - rho^2) / m of the variance of people alone, which is included. Degrees of
    freedom are those measured, in proportion to the number of people. A budget is split as in two-phase
    sampling.

    Shares of strata are those of Neyman: in proportion to the tasks of the models, times the standard
    deviation of what they leave unexplained, over the square root of the cost. They make the variance of the
    mean residual least, on which corrected estimates rest; that of each effect may be least at somewhat other
    shares. Standard errors and widths above are for tasks that are a random sample.

    References
    ----------
    Cochran, W. G. (1977). Sampling Techniques, 3rd edition, chapter 12. Wiley.

    Neyman, J. (1934). On the two different aspects of the representative method. Journal of the Royal
    Statistical Society 97(4), 558-625. doi:10.2307/2342192

    Angelopoulos, A. N., Eisenstein, J., Berant, J., Agarwal, A., Fisch, A. (2025). Cost-optimal active AI
    model evaluation. doi:10.48550/arXiv.2506.07949

    Broska, D., Howes, M., van Loon, A. (2025). The mixed subjects design: Treating large language models as
    potentially informative observations. Sociological Methods & Research 54(3).
    doi:10.1177/00491241251326865

    Examples
    --------
    >>> measured = pd.DataFrame({"feature": ["price"], "level": ["low"], "rho": [0.7], "sd": [0.4]})
    >>> plan = label_plan(measured, [100, 200], effect=0.08, tasks=10, other=5000)
    >>> plan.frame[["people", "width_human", "width", "power_human", "power"]].round(2).values.tolist()
    [[100.0, 0.16, 0.12, 0.51, 0.73], [200.0, 0.11, 0.09, 0.8, 0.94]]
    >>> plan.extra["needed"][["people_human", "people"]].values.tolist()
    [[199.0, 122.0]]
    """
    check_alpha(alpha)
    inputs = measured_of(measured, tasks, other)
    sizes = _sizes(people)
    effects = _effects(effect)
    check_share("power is", power, "give a number between 0 and 1, such as 0.8")
    costs = _costs(cost_person, cost_task, inputs.tasks, budget)
    frame = _table_by_people(inputs, sizes, effects, costs, alpha)
    extra = {
        "rows": _table_of_inputs(inputs, alpha),
        "needed": _people_for_power(inputs, effects, costs, power, alpha),
    }
    notes = _notes(inputs)
    if budget is not None and costs is not None:
        extra["split"] = _split(inputs, budget, costs, alpha)
        notes += _price_notes(inputs, costs)
    if strata is not None:
        extra["strata"] = _strata(measured, choices, strata, sizes, inputs.tasks, cost_strata)
        notes += _strata_notes(extra["strata"], cost_strata is not None)
    settings = {
        "alpha": alpha,
        "power": power,
        "tasks": inputs.tasks,
        "other": inputs.other,
        "people": inputs.people,
        "model": list(inputs.models),
        "budget": budget,
        "strata": strata,
        **(asdict(costs) if costs else {}),
    }
    return Result(frame, "label_plan", tuple(notes), settings, extra)


def _sizes(people: Sequence[int]) -> np.ndarray:
    sizes = np.array(list(dict.fromkeys(people)), dtype=float)
    if not len(sizes) or not (sizes >= 2).all() or not np.isfinite(sizes).all():
        raise InputError(f"people is {list(people)!r}; give numbers of 2 and more.")
    return np.sort(sizes)


def _effects(effect: float | Sequence[float] | None) -> np.ndarray:
    effects = np.array([] if effect is None else np.atleast_1d(effect), dtype=float)
    if not np.isfinite(effects).all() or (effects == 0).any():
        raise InputError(f"effect is {effect!r}; give numbers other than 0.")
    return effects


def _costs(person: float | None, task: float | None, tasks: float, budget: float | None) -> UnitCosts | None:
    for name, value in (("cost_person", person), ("cost_task", task), ("budget", budget)):
        if value is not None and not 0 <= value < np.inf:
            raise InputError(f"{name} is {value:g}; give a cost of 0 or more.")
    if person is None or task is None:
        if budget is not None:
            raise InputError("A budget is split by costs; give cost_person and cost_task.")
        return None
    if budget is not None and person == 0:
        raise InputError("cost_person is 0, so the budget buys any number of people; give their cost.")
    if budget is not None and budget < 2 * person:
        raise InputError(f"A budget of {budget:g} is enough for fewer than two people; give a larger one.")
    return UnitCosts(person, task, tasks)


def _strata(
    measured: Result | pd.DataFrame,
    choices: pd.DataFrame | None,
    strata: str,
    sizes: np.ndarray,
    tasks: float,
    costs: Mapping[str, float] | None,
) -> pd.DataFrame:
    """Share people's tasks out among strata."""
    if choices is None or isinstance(measured, pd.DataFrame):
        raise InputError(
            "strata are planned from answers; give the choices, and the result of a verb with correct='ppi'."
        )
    outcome, settings = str(measured.frame["outcome"].iloc[0]), measured.settings
    return strata_plan(
        choices, strata, outcome, settings["human"], settings["model"], list(sizes), tasks, costs
    )


def _strata_notes(table: pd.DataFrame, has_costs: bool) -> list[str]:
    """What sharing tasks out by stratum is worth, and whether strata have tasks enough to tell."""
    strata = table[table["people"] == table["people"].iloc[0]]
    n_small = int((strata["tasks_both"] < PRIOR).sum())
    notes = [
        f"Allocating people's tasks by stratum is as precise as {precision_gain(table):.2f} times "
        "as many tasks allocated in proportion to those of the models"
        f"{', at equal cost' if has_costs else ''}."
    ]
    if n_small > len(strata) / 2:
        notes.append(
            f"{n_small:,} of {len(strata):,} strata have fewer than {PRIOR} tasks that people and the model "
            "answered, so their shares are imprecise; give a column with fewer levels."
        )
    return notes


def _table_by_people(
    inputs: PilotEstimates, sizes: np.ndarray, effects: np.ndarray, costs: UnitCosts | None, alpha: float
) -> pd.DataFrame:
    """A row for each estimate, number of people and effect."""
    parts = []
    for n in sizes:
        people = np.full(len(inputs.rho), n)
        precision = inputs.precision(people)
        df = inputs.df(people), precision.df(inputs.df(people), np.array(inputs.other))
        errors = np.sqrt(inputs.variance(people)), np.sqrt(inputs.variance(people) * precision.ratio)
        limit = np.sqrt(inputs.variance(people) * (1 - inputs.adjusted**2))
        widths = [2 * stdtrit(d, 1 - alpha / 2) * e for d, e in zip(df, errors, strict=True)]
        for effect in effects if len(effects) else [np.nan]:
            powers = [
                operating(np.full(len(e), effect), e, alpha, d).power if np.isfinite(effect) else np.nan
                for d, e in zip(df, errors, strict=True)
            ]
            parts.append(
                inputs.keys.assign(
                    people=int(n),
                    other=inputs.other,
                    effect=effect,
                    std_error_human=errors[0],
                    std_error=errors[1],
                    width_human=widths[0],
                    width=widths[1],
                    width_limit=2 * stdtrit(df[0], 1 - alpha / 2) * limit,
                    power_human=powers[0],
                    power=powers[1],
                    cost_human=np.nan if costs is None else costs.person * n,
                    cost=np.nan if costs is None else _cost(costs, n, inputs.other),
                )
            )
    return stack(parts) if len(inputs.keys.columns) else pd.concat(parts, ignore_index=True)


def _cost(costs: UnitCosts, people: Any, other_tasks: Any) -> Any:
    """Cost of people, and of a model that answers their tasks and others."""
    model = costs.task * (other_tasks + people * costs.tasks) if costs.task else 0.0
    return costs.person * people + model


def _table_of_inputs(inputs: PilotEstimates, alpha: float) -> pd.DataFrame:
    """What was measured of each estimate, and what follows from it."""
    lower, upper = inputs.interval(alpha)
    with np.errstate(divide="ignore"):
        limit = 1 / (1 - inputs.adjusted**2)
    return inputs.keys.assign(
        rho=inputs.rho,
        rho_lower=lower,
        rho_upper=upper,
        rho_adjusted=inputs.adjusted,
        sd=inputs.sd,
        saving_limit=limit,
        price_limit=largest_ratio(inputs.adjusted),
    )


def _people_for_power(
    inputs: PilotEstimates, effects: np.ndarray, costs: UnitCosts | None, power: float, alpha: float
) -> pd.DataFrame:
    """People for the power at each effect, rounded up; infinite beyond any number that can be asked."""
    ones = np.ones(len(inputs.rho))
    parts = []
    for effect in effects:

        def shortfall(corrected: bool, effect: float = effect) -> Callable[[np.ndarray], np.ndarray]:
            def at(n: np.ndarray) -> np.ndarray:
                df, variance = inputs.df(n), inputs.variance(n)
                if corrected:
                    precision = inputs.precision(n)
                    df, variance = precision.df(df, np.array(inputs.other)), variance * precision.ratio
                return np.asarray(operating(effect * ones, np.sqrt(variance), alpha, df).power - power)

            return at

        sizes = [
            np.ceil(solve_increasing(shortfall(corrected), 2 * ones, MOST * ones) - 1e-6)
            for corrected in (False, True)
        ]
        cost = [np.nan, np.nan] if costs is None else [
            costs.person * sizes[0], _cost(costs, sizes[1], inputs.other)
        ]  # fmt: skip
        parts.append(
            inputs.keys.assign(
                effect=effect,
                people_human=sizes[0],
                people=sizes[1],
                other=inputs.other,
                cost_human=cost[0],
                cost=cost[1],
            )
        )
    columns = ["effect", "people_human", "people", "other", "cost_human", "cost"]
    return pd.concat(parts, ignore_index=True) if parts else inputs.keys.head(0).reindex(
        columns=[*inputs.keys.columns, *columns]
    )  # fmt: skip


def _split(inputs: PilotEstimates, budget: float, costs: UnitCosts, alpha: float) -> pd.DataFrame:
    """The best split for each estimate, and in the first row for all together."""
    splits = split_budget(inputs.adjusted, budget, costs)
    joint_split = split_budget(inputs.adjusted, budget, costs, together=True)
    most = np.floor(budget / costs.person + 1e-9)
    human = np.sqrt(inputs.variance(most))
    table = inputs.keys.astype("object").assign(
        overall=False,
        people=splits.people,
        other=splits.other,
        people_alone=most,
        std_error_human=human,
        std_error=human * np.sqrt(splits.ratio),
        gain=1 / splits.ratio,
        cost=_cost_of_split(costs, splits.people, splits.other),
    )
    first = {
        "overall": True,
        "people": joint_split.people[0],
        "other": joint_split.other[0],
        "people_alone": most,
        "gain": 1 / joint_split.ratio[0],
        "cost": float(_cost_of_split(costs, joint_split.people[:1], joint_split.other[:1])[0]),
    }
    return pd.concat([pd.DataFrame([first]).reindex(columns=table.columns), table], ignore_index=True)


def _cost_of_split(costs: UnitCosts, people: np.ndarray, other_tasks: np.ndarray) -> np.ndarray:
    """Cost of a split; where it has no other tasks, the model is not asked at all."""
    cost = np.asarray(_cost(costs, people, other_tasks), dtype=float)
    return np.where(other_tasks > 0, cost, costs.person * people)


def _notes(inputs: PilotEstimates) -> list[str]:
    notes = []
    if inputs.people < FEW:
        lower, upper = inputs.interval(0.05)
        middle = int(np.argsort(np.abs(inputs.adjusted))[len(inputs.rho) // 2])
        notes.append(
            f"rho is estimated from {inputs.people:.0f} people, so it is uncertain: in the median row it is "
            f"{inputs.rho[middle]:.2f}, with a 95% interval from {lower[middle]:.2f} to {upper[middle]:.2f}. "
            f"The plan uses a rho adjusted for sampling error. Estimate rho from at least {FEW} people "
            f"before relying on the plan."
        )
    if np.isfinite(inputs.people):
        notes += low_correlation(inputs.rho, int(inputs.people))
    return notes


def _price_notes(inputs: PilotEstimates, costs: UnitCosts) -> list[str]:
    ratio = costs.task * costs.tasks / costs.person
    dear = int((largest_ratio(inputs.adjusted) <= ratio).sum())
    if not dear:
        return []
    return [
        f"In {dear} of {len(inputs.rho)} rows the model's answers cost more than the precision they add; "
        "spend the whole budget on people there."
    ]
