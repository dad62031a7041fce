"""Choice-level estimates: how often profiles of one kind are chosen over profiles of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.cells import build_cells
from ...frames.variables import Formula
from ..comparisons.contrast import contrast
from ..engines.few_clusters import warn_of_few_clusters
from ..engines.solution import assemble, solve
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan, key_frame, level_rows, make_block
from ..request import EstimateRequest, Vcov, is_independent, make_request
from .choice_tasks import (
    TASK,
    ChoiceTasks,
    Levels,
    ProfileComparison,
    Side,
    Ties,
    attribute_of,
    check_ties,
    compare,
    flag_tasks,
    label_of,
    named_clusters,
    stack_comparisons,
    tasks_of,
)

NULL = 0.5  # neither profile is preferred


@any_frame
def choice_level(
    data: pd.DataFrame,
    formula: str | Formula,
    comparisons: Sequence[tuple[Side, Side]] | None = None,
    id: str | Sequence[str] | None = None,
    *,
    same: str | Sequence[str] = (),
    given: Mapping[str, Levels] | None = None,
    estimand: Literal["mm", "amce"] = "mm",
    ties: Ties = "outcome",
    weights: str | None = None,
    vcov: Vcov = "survey",
    alpha: float = 0.05,
) -> Estimates:
    """Estimate the probability that profiles of one kind are chosen over profiles of another.

    One row per task instead of one per profile: of the tasks in which one profile has level a and the other
    level b, the share in which the profile with a is chosen (a choice-level marginal mean). All other
    attributes are averaged over, unless they are held equal (``same``) or at values (``given``).

    Parameters
    ----------
    data : DataFrame or path
        One row per profile. The two rows of a task agree in ``pair_id``, or in ``judge_id`` and ``task``.
    formula : str
        ``outcome ~ attribute``; the outcome is 1 for the chosen profile and 0 for the other, or the
        probability with which a profile was chosen.
    comparisons : sequence of pairs, optional
        Each is (a, b), where a side is a level, a list of levels, or a mapping from several attributes
        to levels, as in ``({"race": "Black", "party": "Left"}, {"race": "white"})``. By default all
        pairs of levels that meet.
    id : str or sequence of str, optional
        Columns of clusters, equal for both profiles of a task. By default tasks are independent.
    same : str or sequence of str
        Attributes that are equal in both profiles.
    given : mapping, optional
        From attributes to a level or levels that both profiles have.
    estimand : {"mm", "amce"}
        "amce" gives every comparison minus the first, as a choice-level AMCE.
    ties : {"outcome", "half", "exclude"}
        A task is tied if both profiles have the outcome 0, 1 or 0.5. "outcome": a tie is an answer of its
        own, so that the shares of wins, losses and ties sum to 1; "half": half a win; "exclude": excluded.
    weights, vcov, alpha
        As in `amce`.

    Returns
    -------
    Estimates
        Statistic "mm" (or "mm_contrast", with ``reference``); ``level`` is the comparison in words. Means are
        tested against 0.5, but not with ``ties="outcome"`` where there are ties. ``extra["tasks"]`` has
        ``n_tasks, n_answered, n_ties`` for each comparison, and the share of ties among answers, ``ties``,
        with its ``std_error, lower, upper``. `contrast`, `wald` and `adjust` take the result.

    Raises
    ------
    InputError
        For kinds of profiles that overlap or never meet, unknown levels, tasks of more than two profiles, and
        clusters or weights that differ within a task.

    Notes
    -----
    Tasks in which each profile is of both kinds, which several attributes make possible, are excluded.

    References
    ----------
    Clayton, K., Horiuchi, Y., Kaufman, A. R., King, G., Komisarchik, M. (2025). Correcting
    measurement error bias in conjoint survey experiments. American Journal of Political Science.
    https://gking.harvard.edu/conjointE

    Examples
    --------
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 0, 1, 1, 0] * 10, "pair_id": np.repeat(range(40), 2),
    ...                      "tone": ["rude", "kind", "kind", "rude", "rude", "kind", "kind", "kind"] * 10})
    >>> found = choice_level(data, "chosen ~ tone", [("kind", "rude")])
    >>> found.frame[["level", "estimate"]].round(3).values.tolist()
    [['kind against rude', 0.667]]
    """
    if estimand not in ("mm", "amce"):
        raise InputError(f"estimand is {estimand!r}; give 'mm' or 'amce'.")
    query = make_query("choice_level", data, formula, id, same, given, ties, weights, vcov, alpha)
    if comparisons is None:
        pairs = level_pairs(query)
    else:
        pairs = [
            compare(query.tasks, query.feature, *_check_sides(sides), query.where) for sides in comparisons
        ]
        _refuse_unmet(pairs, query)
    estimates = fit_comparisons(query, pairs)
    settings = query.settings | {"estimand": estimand}
    if estimand == "mm":
        return _with_provenance(estimates, estimates, settings)
    if len(pairs) < 2:
        raise InputError("A choice-level AMCE is a difference of two comparisons; give at least two.")
    return _with_provenance(contrast(estimates, query.feature, reference=pairs[0].label), estimates, settings)


def _with_provenance(estimates: Estimates, fit: Estimates, settings: dict[str, Any]) -> Estimates:
    provenance = replace(estimates.provenance, verb="choice_level", extra=fit.provenance.extra | settings)
    return replace(estimates, provenance=provenance, notes=fit.notes, extra=fit.extra)


def _check_sides(sides: Any) -> tuple[Side, Side]:
    if isinstance(sides, str) or not isinstance(sides, Sequence) or len(sides) != 2:
        raise InputError(f"comparisons contains {sides!r}; give pairs such as ('Black', 'white').")
    return sides[0], sides[1]


def _refuse_unmet(comparisons: Sequence[ProfileComparison], query: ComparisonQuery) -> None:
    """Refuse comparisons that no answered task makes, and those that are given twice."""
    labels = [pair.label for pair in comparisons]
    if not labels or len(set(labels)) < len(labels):
        raise InputError(f"comparisons are {labels}; give at least one, and each once.")
    for pair in comparisons:
        if not (pair.used & query.tasks.answered).any():
            end = "" if query.where.all() else " with the attributes held"
            raise InputError(
                f"No answered task shows {pair.label}{end}, so the comparison is not defined; compare levels "
                "that meet in a task, or hold fewer attributes constant."
            )


@dataclass(frozen=True)
class ComparisonQuery:
    """Tasks, and what is asked of them."""

    tasks: ChoiceTasks
    request: EstimateRequest
    feature: str
    where: np.ndarray  # (T,): flags of the tasks whose profiles are as ``same`` and ``given`` demand
    ties: Ties
    settings: dict[str, Any]


def make_query(
    verb: str,
    data: pd.DataFrame,
    formula: str | Formula,
    id: str | Sequence[str] | None,
    same: str | Sequence[str],
    conditions: Mapping[str, Levels] | None,
    ties: Ties,
    weights: str | None,
    vcov: Vcov,
    alpha: float,
) -> ComparisonQuery:
    """Check what was asked; without ``id`` the tasks are the clusters, or independent rows."""
    outcome, feature = attribute_of(formula, verb)
    check_ties(ties)
    clusters = TASK if id is None and not is_independent(vcov) else id
    request = make_request("mm", formula, id=clusters, weights=weights, vcov=vcov, alpha=alpha, h0=NULL)
    shared_names, at = names_of(same), dict(conditions or {})
    tasks = tasks_of(data, outcome, [feature, *shared_names, *at, weights], named_clusters(request))
    settings = {
        "same": shared_names,
        "given": {name: label_of(levels) for name, levels in at.items()},
        "ties": ties,
    }
    return ComparisonQuery(tasks, request, feature, flag_tasks(tasks, shared_names, at), ties, settings)


def level_pairs(query: ComparisonQuery) -> list[ProfileComparison]:
    """All pairs of levels of the attribute that meet in an answered task, the later against the earlier."""
    tasks, feature = query.tasks, query.feature
    names = list(map(str, tasks.levels(feature)[2]))
    pairs = [
        compare(tasks, feature, later, earlier, query.where) for earlier, later in combinations(names, 2)
    ]
    met = [pair for pair in pairs if (pair.used & tasks.answered).any()]
    if not met:
        raise InputError(f"No answered task shows two levels of {feature!r}; name another attribute.")
    return met


def fit_comparisons(query: ComparisonQuery, comparisons: Sequence[ProfileComparison]) -> Estimates:
    """Estimate the mean of each comparison, and count its tasks and ties."""
    tasks, request = query.tasks, query.request
    outcome = request.formula.outcome
    shared = [*request.clusters, *filter(None, [request.weights])]
    rows = stack_comparisons(tasks, comparisons, query.ties, (outcome, query.feature), shared)
    if is_independent(request.vcov) and rows.index.duplicated().any():
        raise InputError(
            f"Some tasks belong to several comparisons, which {request.vcov} treats as independent; give "
            "vcov='survey', or 'CR1' or 'CR2' with id."
        )
    if rows[outcome].isna().all():
        raise InputError("Every task compared is tied; give ties='half' or ties='outcome'.")
    plan = _plan(request, rows)
    warn_of_few_clusters(plan)
    estimates = assemble(plan, solve(plan, request.engine))
    counts = _counts(query, comparisons, rows)
    frame = estimates.frame
    if query.ties == "outcome" and counts["n_ties"].any():
        frame = frame.assign(z=np.nan, p=np.nan)
    return replace(estimates, frame=frame, notes=_notes(query, comparisons, counts), extra={"tasks": counts})


def _plan(request: EstimateRequest, rows: pd.DataFrame) -> EstimationPlan:
    """The mean of each comparison, of which there may be one."""
    formula = request.formula
    cells = build_cells(
        rows, formula.outcome, formula.features, clusters=request.clusters, weights=request.weights
    )
    block = make_block(cells, formula.features, intercept=False)
    keys = key_frame(request, cells, "mm", list(level_rows(request, cells)))
    return EstimationPlan(cells, (block,), np.eye(len(keys)), keys, np.zeros(len(keys), dtype=bool), request)


def _counts(
    query: ComparisonQuery, comparisons: Sequence[ProfileComparison], rows: pd.DataFrame
) -> pd.DataFrame:
    """Tasks, answers and ties of each comparison, and the share of ties with an interval."""
    tasks, request = query.tasks, query.request
    masks = np.array([comparison.used for comparison in comparisons])
    counts = pd.DataFrame(
        {
            "level": [comparison.label for comparison in comparisons],
            "n_tasks": masks.sum(axis=1),
            "n_answered": (masks & tasks.answered).sum(axis=1),
            "n_ties": (masks & tasks.tied).sum(axis=1),
        }
    )
    if not counts["n_ties"].any():
        return counts.assign(ties=0.0, std_error=np.nan, lower=np.nan, upper=np.nan)
    task = rows.index.to_numpy()
    tied = np.where(tasks.answered[task], tasks.tied[task].astype(float), np.nan)
    plan = _plan(request, rows.assign(**{request.formula.outcome: tied}))
    limits = assemble(plan, solve(plan, request.engine)).frame[["estimate", "std_error", "lower", "upper"]]
    return counts.join(limits.rename(columns={"estimate": "ties"}))


def _notes(
    query: ComparisonQuery, comparisons: Sequence[ProfileComparison], counts: pd.DataFrame
) -> tuple[str, ...]:
    """How ties count, and which tasks are excluded."""
    notes, tasks = [], query.tasks
    if n_ties := int(counts["n_ties"].sum()):
        count = {
            "outcome": "ties are a separate outcome and means are not tested",
            "half": "a tie counts as half a win",
            "exclude": "ties are excluded",
        }[query.ties]
        notes.append(f"{n_ties:,} of {int(counts['n_answered'].sum()):,} answers compared are ties; {count}.")
    if unclear := sum(int((comparison.forward & comparison.backward).sum()) for comparison in comparisons):
        notes.append(f"{unclear:,} tasks in which each profile is of both kinds are excluded.")
    if tasks.n_incomplete:
        notes.append(f"{tasks.n_incomplete:,} tasks with one profile are excluded.")
    return tuple(notes)
