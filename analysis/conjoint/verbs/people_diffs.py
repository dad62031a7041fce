"""Models compared with people: differences of effects and means, with the covariance of shared pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.prepare import select_rows
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.cells import without_repeats
from ...frames.participation import design_effect
from ...frames.stored import read_rows
from ...frames.variables import Formula, parse, require_column, unit_codes, warn_caller
from ...numerics.rating_panel import RowClusters, cross_clusters
from ..comparisons.multiplicity import adjust
from ..engines.coverage import notes_of_coverage
from ..engines.few_clusters import warn_of_few_clusters
from ..engines.solution import SOLVERS, assemble, solve
from ..estimands import MakePlan, amce_diffs_plan, double_diffs_plan, mm_diffs_plan, plan_of
from ..estimates import Estimates
from ..estimation_plan import EstimationPlan
from ..request import Vcov, is_independent, make_request

PEOPLE, JUDGE, KIND, PAIR, SHARED = "people", "judge_id", "judge_kind", "pair_id", "shared pair"
_PLANS: dict[str, MakePlan] = {
    "amce": partial(amce_diffs_plan, own_clusters=True),
    "mm": mm_diffs_plan,
}
_SHOWN = (PAIR, JUDGE, "prompt_id", "sample", "repeat")  # columns whose rows are one pair as one judge saw it


@dataclass(frozen=True)
class PairCounts:
    """Pairs that people judged, that the model judged, and that both judged."""

    people: int
    model: int
    shared: int


@any_frame
def people_diffs(
    data: pd.DataFrame,
    formula: str | Formula,
    judge: str | None = None,
    prompt: str | None = None,
    *,
    estimate: Literal["amce", "mm"] = "amce",
    human: str | Sequence[str] = JUDGE,
    model: str | Sequence[str] = PAIR,
    profile: Sequence[str] | None = None,
    engine: str = "native",
    vcov: Vcov = "survey",
    alpha: float = 0.05,
    weights: str | None = None,
    by: str | None = None,
) -> Estimates:
    """Estimate how far a model's AMCEs or marginal means lie from those of people: model minus people.

    All people count as one group. Their answers are clustered by respondent, those of the model by pair.
    Where both judged the same pair, their errors are correlated: respondent (or pair, for the model) and pair
    then cross, and the covariance is V_unit + V_pair - V_both (Cameron, Gelbach and Miller 2011). A pair is
    the same where ``pair_id`` and the two profiles are, in either order; equal ids alone do not count.

    Parameters
    ----------
    data : DataFrame or path
        Choices with ``judge_id``, ``judge_kind`` ("human" or "model") and ``pair_id``; rows that ``repeat``
        marks are excluded.
    formula : str
        As in `amce`.
    judge, prompt : str, optional
        The model and its prompt; needed where the data contain several.
    estimate : {"amce", "mm"}
    human, model : str or sequence of str
        Cluster columns of people and of the model, several of which cross. Columns that both name, such as
        the text of a post, are shared between them.
    profile : sequence of str, optional
        Columns that identify a profile, by default the features.
    engine, vcov, alpha
        As in `amce`. Crossed clusters are computed by the native engine, and by CR1 where vcov="CR2".
    weights : str, optional
        Column of weights of people; the model's answers, which need none, all count alike.
    by : str, optional
        An attribute: model minus people at each of its levels, less model minus people at its first.

    Returns
    -------
    Estimates
        Statistic "amce_difference" or "mm_difference", with columns ``people`` and ``model`` (the two
        estimates behind ``estimate``; with ``by`` their differences between levels) and ``p_adjusted`` (Holm,
        over all rows). The factor G/(G-1) counts
        the clusters of each group, so that without shared pairs the squared standard error is the sum of
        both groups'.
        ``provenance.extra["pairs"]`` counts the pairs of people, of the model and of both.

    References
    ----------
    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Robust inference with multiway
    clustering. Journal of Business & Economic Statistics 29(2). doi:10.1198/jbes.2010.07136

    Examples
    --------
    >>> rows = {"judge_id": ["ann"] * 4 + ["bob"] * 4 + ["gpt"] * 8, "pair_id": [1, 1, 2, 2, 3, 3, 4, 4] * 2}
    >>> data = pd.DataFrame(rows | {"judge_kind": ["human"] * 8 + ["model"] * 8, "tone": list("xyyxxyyx") * 2,
    ...                             "chosen": [1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1]})
    >>> found = people_diffs(data, "chosen ~ tone", estimate="mm")
    >>> found.frame[["level", "people", "model", "estimate"]].to_numpy().tolist()
    [['x', 0.5, 1.0, 0.5], ['y', 0.5, 0.0, -0.5]]
    """
    if estimate not in _PLANS:
        raise InputError(f"estimate is {estimate!r}; give 'amce' or 'mm'.")
    if by is not None and estimate != "amce":
        raise InputError("by compares AMCEs between levels; omit it, or give estimate='amce'.")
    parsed = formula if isinstance(formula, Formula) else parse(formula)
    data = read_rows(data, [*parsed.features, *([] if by is None else [by])])
    data, is_person, name = _two_groups(data, judge, prompt)
    columns = list(profile or parsed.features)
    for column in columns:
        require_column(data, column)
    pairs = pair_codes(data, columns)
    clusters = _clusters(data, is_person, pairs, names_of(human), names_of(model))
    if len(clusters.columns) > 1:
        engine = "native"
        if vcov == "CR2":
            vcov = "CR1"
            warn_caller("People and the model share pairs, for which CR2 is not defined; CR1 is used.")
    if engine not in SOLVERS:
        engine = "native"
    if weights is not None:
        require_column(data, weights)
        data = data.assign(**{weights: data[weights].where(is_person, 1.0)})
    grouped = data.drop(columns=JUDGE).assign(
        **{JUDGE: pd.Categorical.from_codes((~is_person).astype(int), pd.Index([PEOPLE, name]))}
    )
    request = make_request(
        f"{estimate}_diffs",
        parsed,
        by=JUDGE if by is None else [JUDGE, by],
        id=None if is_independent(vcov) else list(clusters),
        vcov=vcov,
        alpha=alpha,
        engine=engine,
        weights=weights,
    )
    make = _PLANS[estimate] if by is None else double_diffs_plan
    plan = plan_of(request, pd.concat([grouped, clusters], axis=1), make)
    warn_of_few_clusters(plan)
    estimates = assemble(plan, solve(plan, engine))
    adjusted_estimates = adjust(_with_group_estimates(estimates, plan), "holm")
    extra = estimates.provenance.extra | {"pairs": _count(pairs, is_person)}
    if weights is not None:
        answered = is_person & data[parsed.outcome].notna().to_numpy(dtype=bool)
        units = unit_codes(data, names_of(human)[0])[0][answered]
        extra["design_effect"] = design_effect(data[weights].to_numpy(dtype=float)[answered], units)
    adjusted_estimates = replace(adjusted_estimates, provenance=replace(estimates.provenance, extra=extra))
    by_people = plan.cells.code(JUDGE)[plan.cells.cell] == 0
    notes = notes_of_coverage(plan, f"people {request.verb}", rows=by_people)
    return replace(adjusted_estimates, notes=(*adjusted_estimates.notes, *notes))


def pair_codes(data: pd.DataFrame, profile: Sequence[str]) -> np.ndarray:
    """Number the pairs of the rows, shape (n,): the same number for the same id and the same two profiles."""
    groups = data.groupby([name for name in _SHOWN if name in data], dropna=False, observed=True, sort=False)
    presented = groups.ngroup().to_numpy()
    content = data.groupby(list(profile), dropna=False, observed=True, sort=False).ngroup().to_numpy()
    n = presented.max() + 1
    least, most = np.full(n, len(data)), np.full(n, -1)
    np.minimum.at(least, presented, content)
    np.maximum.at(most, presented, content)
    key = pd.DataFrame({"id": unit_codes(data, PAIR)[0], "one": least[presented], "two": most[presented]})
    return np.asarray(key.groupby(["id", "one", "two"], sort=False).ngroup().to_numpy())


def _two_groups(
    data: pd.DataFrame, judge: str | None, prompt: str | None
) -> tuple[pd.DataFrame, np.ndarray, str]:
    """Rows of people and of one model under one prompt without repeats, flags of people, the model's name."""
    for name in (JUDGE, KIND, PAIR):
        require_column(data, name)
    data = without_repeats(data)
    person = (data[KIND] == "human").to_numpy(dtype=bool, na_value=False)
    models = data[~person]
    if judge is not None or prompt is not None:
        named = models if "prompt_id" in data else models.assign(prompt_id="")
        models = select_rows(named, judge, prompt)
    if not person.any() or models.empty:
        raise InputError(
            f"Column {KIND!r} names {'no model' if person.any() else 'nobody human'}; give choices of both."
        )
    keys = [name for name in (JUDGE, "prompt_id") if name in models]
    judges = models[keys].astype("string").fillna("").drop_duplicates()
    if len(judges) > 1:
        names = listed(map(repr, judges.agg(" ".join, axis=1).str.strip().tolist()))
        raise InputError(
            f"The choices are by several models or prompts ({names}); select one by judge and prompt."
        )
    rows = pd.concat([data[person], models[data.columns]])
    return rows.reset_index(drop=True), np.arange(len(rows)) < person.sum(), str(judges[JUDGE].iloc[0])


def _clusters(
    data: pd.DataFrame, is_person: np.ndarray, pairs: np.ndarray, human: list[str], model: list[str]
) -> pd.DataFrame:
    """Cluster columns of both groups together, those excluded that change nothing."""
    # The first columns of the two groups make the unit. Of a further column that one group does not name,
    # every unit of that group is a value of its own.
    n, named = len(data), ((is_person, human), (~is_person, model))
    unit = np.empty(n, dtype=np.int64)
    for start, (rows, names) in zip((0, n), named, strict=True):
        unit[rows] = start + (pairs[rows] if names[0] == PAIR else unit_codes(data[rows], names[0])[0])
    columns = {" or ".join(dict.fromkeys([human[0], model[0]])): unit, SHARED: pairs}
    for name in dict.fromkeys([*human[1:], *model[1:]]):
        code = 2 * n + unit
        naming = np.logical_or.reduce([rows for rows, names in named if name in names])
        code[naming] = pairs[naming] if name == PAIR else unit_codes(data[naming], name)[0]
        columns.setdefault(f"shared {name}", code)
    return pd.DataFrame(_drop_nested_clusterings(columns))


def _drop_nested_clusterings(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Leave out clusterings that only divide the clusters of another: their signed covariances cancel."""
    clusterings = {name: RowClusters(*_factorized(code)) for name, code in columns.items()}
    for name in reversed(columns):
        clustering = clusterings.pop(name)
        if all(cross_clusters(clustering, second).n > clustering.n for second in clusterings.values()):
            clusterings = {name: clustering} | clusterings
    return {name: clusters.code for name, clusters in clusterings.items()}


def _factorized(code: np.ndarray) -> tuple[np.ndarray, int]:
    codes, values = pd.factorize(code)
    return codes.astype(np.int64), len(values)


def _with_group_estimates(estimates: Estimates, plan: EstimationPlan) -> Estimates:
    """Add the estimates of people and of the model that each difference is made of."""
    assert estimates.fitted is not None
    coef, contrasts = estimates.fitted.solution.coef, plan.contrasts
    judge, by_people = plan.cells.code(JUDGE), np.zeros(len(coef), dtype=bool)
    for block, columns in zip(plan.blocks, plan.slices, strict=True):
        by_people[columns] = not judge[block.inside].any()
    has_estimate = estimates.frame["estimate"].notna()
    group_estimates: dict[str, Any] = {
        PEOPLE: -(np.nan_to_num(contrasts) @ (coef * by_people)),
        "model": np.nan_to_num(contrasts) @ (coef * ~by_people),
    }
    frame = estimates.frame.copy()
    for name, values in group_estimates.items():
        frame.insert(list(frame.columns).index("estimate"), name, np.where(has_estimate, values, np.nan))
    return replace(estimates, frame=frame)


def _count(pairs: np.ndarray, is_person: np.ndarray) -> PairCounts:
    people, model = np.unique(pairs[is_person]), np.unique(pairs[~is_person])
    return PairCounts(len(people), len(model), len(np.intersect1d(people, model)))
