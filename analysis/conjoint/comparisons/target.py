"""Effects under a target distribution of attributes: population AMCEs and marginal means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.cells import without_repeats
from ...frames.stored import read_rows
from ...frames.variables import Formula, parse, require_column, warn_caller, weights_column
from ..engines.coverage import notes_of_coverage
from ..engines.few_clusters import warn_of_few_clusters
from ..engines.solution import assemble, solve
from ..estimates import Estimates
from ..estimation import plan_for
from ..estimation_plan import EstimationPlan
from ..request import EstimateRequest, make_request, with_null
from .target_weights import Distribution, TargetWeights, pair_columns, target_weights

_FEW = 0.1  # share of the rows that is effective; below it, few rows with large weights decide


@any_frame
def pamce(
    data: pd.DataFrame,
    formula: str | Formula,
    target: Distribution,
    id: Any = None,
    *,
    pair: str | Sequence[str] | None = None,
    opponent: bool = True,
    design: Distribution | None = None,
    by: str | Sequence[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate population AMCEs: effects averaged over a target distribution of the other attributes.

    AMCEs average over the distribution that profiles were drawn from, often uniform. Here
    rows are weighted by the probability of the profile's other attributes, and of all
    attributes of its opponent, under the target over that under the design. Every
    feature has weights of its own, since its own distribution plays no part.

    Parameters
    ----------
    data : DataFrame or path
        One row per profile.
    formula : str
        As in `amce`, without ``*``.
    target : mapping, DataFrame or "uniform"
        ``{attribute: {level: probability}}``, attributes independent of each other, or a
        table with a column for each attribute and ``probability``. Attributes that are
        left out keep the design's distribution.
    id : str or list of str, optional
        Cluster columns; by default the choice, that is ``pair``, all of its columns together,
        and the row with ``opponent=False``.
    pair : str or sequence of str, optional
        Columns that identify a choice between two profiles, by default ``pair`` or
        ``pair_id``. Models that share pairs need their own columns too, such as
        ``["judge_id", "prompt_id", "pair_id"]``.
    opponent : bool
        Whether the opponent follows the target too. It should in a forced choice, where the
        effect depends on whom a profile meets and both come from the same population;
        ``False`` keeps the design's opponents, and is for profiles judged alone.
    design : as target, optional
        Probabilities by which profiles were drawn; by default each attribute's shares in
        the data, attributes being independent. They are taken as known. Where restrictions
        keep levels apart, give `conjury.inference.design.profiles.attribute_cells` of the study.
    by : str or sequence of str, optional
        Groups, as in `cj`.
    **options
        As in `amce`, ``engine`` being native; ``weights`` are multiplied with those of the target.

    Returns
    -------
    Estimates
        Statistic "pamce"; the effective sample sizes and largest weights stand in
        ``provenance.extra["target_weights"]``.

    Raises
    ------
    InputError
        As `target_weights`, and for formulas with ``*``.

    Warns
    -----
    UserWarning
        Where the effective sample size of a feature is below a tenth of its rows.

    References
    ----------
    de la Cuesta, B., Egami, N., Imai, K. (2022). Improving the external validity of
    conjoint analysis: the essential role of profile distribution. Political Analysis
    30(1), 19-45. doi:10.1017/pan.2020.40

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0, 1, 1, 1, 0, 0, 1, 0], "a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    >>> often_u = {"b": {"u": 0.75, "v": 0.25}}
    >>> found = pamce(data, "y ~ a + b", often_u, opponent=False).frame
    >>> found[found["level"] == "y"]["estimate"].round(3).tolist()
    [0.25]
    """
    return _population_estimates("cj_amce", data, formula, target, id, pair, opponent, design, by, options)


@any_frame
def pmm(
    data: pd.DataFrame,
    formula: str | Formula,
    target: Distribution,
    id: Any = None,
    *,
    pair: str | Sequence[str] | None = None,
    opponent: bool = True,
    design: Distribution | None = None,
    by: str | Sequence[str] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate population marginal means: means averaged over a target distribution of other attributes.

    Parameters
    ----------
    data, formula, target, id, pair, opponent, design, by
        As in `pamce`.
    **options
        As in `mm`.

    Returns
    -------
    Estimates
        Statistic "pmm", a row for every level.

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0, 1, 1, 1, 0, 0, 1, 0], "a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    >>> often_u = {"b": {"u": 0.75, "v": 0.25}}
    >>> found = pmm(data, "y ~ a + b", often_u, opponent=False).frame
    >>> found[found["feature"] == "a"]["estimate"].tolist()
    [0.25, 0.5]
    """
    return _population_estimates("cj_mm", data, formula, target, id, pair, opponent, design, by, options)


@any_frame
def target_sensitivity(
    data: pd.DataFrame,
    formula: str | Formula,
    target: Distribution,
    id: Any = None,
    *,
    against: Distribution = "design",
    pair: str | Sequence[str] | None = None,
    opponent: bool = True,
    design: Distribution | None = None,
    **options: Any,
) -> Estimates:
    """Estimate how much AMCEs change with the distribution of attributes: the target minus another.

    Both sets of effects come from the same rows with different weights, and their
    covariance is kept. `wald` tests jointly, for each feature or all together, that
    the distribution makes no difference.

    Parameters
    ----------
    data, formula, target, id
        As in `pamce`.
    against : "design", "uniform", mapping or DataFrame
        The other distribution: the design's, for which all weights are 1, or as ``target``.
    pair, opponent, design, **options
        As in `pamce`.

    Returns
    -------
    Estimates
        Statistic "pamce_difference"; reference levels have no row.

    Examples
    --------
    >>> data = pd.DataFrame({"y": [0, 1, 1, 1, 0, 0, 1, 0], "a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    >>> often_u = {"b": {"u": 0.75, "v": 0.25}}
    >>> found = target_sensitivity(data, "y ~ a + b", often_u, opponent=False).frame
    >>> found[found["feature"] == "a"]["estimate"].round(3).tolist()
    [0.25]
    """
    parsed = _parse_unrestricted(formula)
    frame = without_repeats(read_rows(data, parsed.features), parsed.features)
    weighting = target_weights(frame, parsed.features, target, pair=pair, opponent=opponent, design=design)
    if isinstance(against, str) and against == "design":
        against_weight = np.ones_like(weighting.weight)
    else:
        against_weight = target_weights(
            frame, parsed.features, against, pair=pair, opponent=opponent, design=design
        ).weight
    _warn_of_few(weighting)
    frame, clusters = choice_clusters(frame, id, pair_columns(frame, pair) if opponent else [])
    request = stacked_request("cj_amce", parsed, clusters, [WEIGHTED_TO, WEIGHTED_FOR], options)
    weights = {"target": weighting.weight, "against": against_weight}
    plan = plan_for(request, stack_rows(frame, request, weights, options.get("weights")))
    warn_of_few_clusters(plan)
    mask = flag_weighted_feature(plan) & ~plan.is_reference
    under = plan.keys[WEIGHTED_TO].to_numpy()
    first, second = (np.flatnonzero(mask & (under == name)) for name in ("target", "against"))
    contrasts = plan.contrasts[first] - plan.contrasts[second]
    keys = (
        plan.keys.iloc[first]
        .drop(columns=["by", WEIGHTED_TO, WEIGHTED_FOR])
        .assign(statistic="pamce_difference")
    )
    estimates = _solve_contrasts(plan, contrasts, keys, np.zeros(len(first), dtype=bool))
    estimates = _with_coverage(estimates, plan, "target_sensitivity")
    return _with_target_provenance(estimates, "target_sensitivity", weighting, (), id, options)


def _population_estimates(
    verb: str,
    data: pd.DataFrame,
    formula: str | Formula,
    target: Distribution,
    id: Any,
    pair: str | Sequence[str] | None,
    opponent: bool,
    design: Distribution | None,
    by: str | Sequence[str] | None,
    options: dict[str, Any],
) -> Estimates:
    groups = names_of(by)
    parsed = _parse_unrestricted(formula).without(groups)
    frame = without_repeats(read_rows(data, [*parsed.features, *groups]), [*parsed.features, *groups])
    weighting = target_weights(frame, parsed.features, target, pair=pair, opponent=opponent, design=design)
    _warn_of_few(weighting)
    frame, clusters = choice_clusters(frame, id, pair_columns(frame, pair) if opponent else [])
    request = with_null(stacked_request(verb, parsed, clusters, [*groups, WEIGHTED_FOR], options), frame)
    plan = plan_for(request, stack_rows(frame, request, {"target": weighting.weight}, options.get("weights")))
    warn_of_few_clusters(plan)
    mask = flag_weighted_feature(plan)
    statistic = "pamce" if verb == "cj_amce" else "pmm"
    keys = plan.keys[mask].drop(columns=["by", WEIGHTED_FOR]).assign(statistic=statistic)
    if groups:
        keys.insert(0, "by", keys[groups].astype(str).agg("***".join, axis=1))
    estimates = _solve_contrasts(plan, plan.contrasts[mask], keys, plan.is_reference[mask])
    if not groups:
        estimates = _with_coverage(estimates, plan, statistic)
    return _with_target_provenance(estimates, statistic, weighting, tuple(groups), id, options)


def _parse_unrestricted(formula: str | Formula) -> Formula:
    parsed = formula if isinstance(formula, Formula) else parse(formula)
    if parsed.restrictions:
        first, second = parsed.restrictions[0]
        raise InputError(
            f"Formula {parsed} restricts {first!r} by {second!r}; weights to a target need attributes drawn "
            "independently, so join the two into one column."
        )
    return parsed


def _solve_contrasts(
    plan: EstimationPlan, contrasts: np.ndarray, keys: pd.DataFrame, flags: np.ndarray
) -> Estimates:
    plan = replace(
        plan,
        contrasts=contrasts,
        keys=keys.reset_index(drop=True),
        is_reference=flags,
        request=plan.request.with_verb("pamce"),
    )
    return assemble(plan, solve(plan, "native"))


def _with_coverage(estimates: Estimates, stacked: EstimationPlan, reported: str) -> Estimates:
    """Estimates with notes of their coverage, for which each of the stacked rows of data counts once."""
    assert estimates.fitted is not None
    cells = stacked.cells
    once = np.ones(cells.n_cells, dtype=bool)
    for name in stacked.request.by:
        if name in (WEIGHTED_FOR, WEIGHTED_TO):
            once &= cells.code(name) == 0
    notes = notes_of_coverage(estimates.fitted.plan, reported, rows=once[cells.cell])
    return replace(estimates, notes=(*estimates.notes, *notes))


def _with_target_provenance(
    fit: Estimates, verb: str, weighting: TargetWeights, by: tuple[str, ...], id: Any, options: dict[str, Any]
) -> Estimates:
    """Put on record what was asked for, in place of the stacked rows."""
    before = fit.provenance
    extra = before.extra | {"target_weights": weighting.table.to_dict("records")}
    n_rows, n_used = before.n_rows, before.n_used
    copies = n_rows // len(weighting.weight)
    changes: dict[str, Any] = {"n_rows": n_rows // copies, "n_used": n_used // copies, "extra": extra}
    if before.id == ROW_OF_DATA:
        changes |= {"id": None, "n_clusters": None}
        extra.pop("clusters", None)
    weights = options.get("weights")
    return replace(fit, provenance=replace(before, verb=verb, by=by, weights=weights, **changes))


def _warn_of_few(weighting: TargetWeights) -> None:
    poor_rows = weighting.table[weighting.table["share"] < _FEW]
    if len(poor_rows):
        worst = poor_rows.iloc[int(poor_rows["share"].argmin())]
        warn_caller(
            f"The target leaves {worst['effective']:.0f} of {worst['rows']} rows effective for "
            f"{worst['feature']!r}; estimates depend on few rows with large weights.",
        )


WEIGHTED_FOR, WEIGHTED_TO = "weighted_for", "weighted_to"
TARGET_WEIGHT, ROW_OF_DATA = "target_weight", "row_of_data"


def choice_clusters(data: pd.DataFrame, id: Any, choice: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """The data and the column that clusters them: the one asked for, else the choice, else the row."""
    if id or not choice:
        return data, id or ROW_OF_DATA
    if len(choice) == 1:
        return data, choice[0]
    number = data.groupby(list(choice), observed=True, sort=False, dropna=False).ngroup()
    name = " x ".join(choice)
    return data.assign(**{name: number.to_numpy()}), name


def stacked_request(
    verb: str,
    formula: Formula,
    clusters: Any,
    by: Sequence[str],
    options: dict[str, Any],
) -> EstimateRequest:
    """Make the request that is put to the stacked rows."""
    if options.get("engine", "native") != "native":
        raise InputError("Only the native engine gives the covariance of stacked rows; omit engine.")
    return make_request(
        verb, formula, **(options | {"id": clusters, "by": list(by), "weights": TARGET_WEIGHT})
    )


def stack_rows(
    data: pd.DataFrame, request: EstimateRequest, weights: dict[str, np.ndarray], weights_name: str | None
) -> pd.DataFrame:
    """Stack the rows once for each feature and distribution, with the weights that are meant for it."""
    features, added = request.formula.features, (WEIGHTED_FOR, WEIGHTED_TO, TARGET_WEIGHT, ROW_OF_DATA)
    for name in added:
        if name in data:
            raise InputError(f"The data have a column {name!r}, which is needed for weighting; rename it.")
    named = [request.formula.outcome, *features, *request.by, *request.clusters, request.strata]
    columns = [name for name in dict.fromkeys(named) if name and name not in added]
    for name in columns:
        require_column(data, name)
    if weights_name is not None:
        require_column(data, weights_name)
    row_weights = np.ones(len(data)) if weights_name is None else weights_column(data, weights_name)
    size = len(features)
    rows = np.tile(np.arange(len(data)), len(weights) * size)
    stacked = data[columns].take(rows).reset_index(drop=True)
    of = np.repeat(np.tile(np.arange(size), len(weights)), len(data))
    under = np.repeat(np.arange(len(weights)), size * len(data))
    stacked[ROW_OF_DATA] = rows
    stacked[WEIGHTED_FOR] = pd.Categorical.from_codes(of, pd.Index(features))
    stacked[WEIGHTED_TO] = pd.Categorical.from_codes(under, pd.Index(list(weights)))
    stacked[TARGET_WEIGHT] = np.concatenate(
        [(weight * row_weights[:, None]).T.ravel() for weight in weights.values()]
    )
    return stacked


def flag_weighted_feature(plan: EstimationPlan) -> np.ndarray:
    """Flag the rows, shape (m,), about the feature that their weights are for."""
    meant = plan.keys[WEIGHTED_FOR].astype(str).map(plan.request.label).to_numpy()
    return np.asarray(plan.keys["feature"].astype(str).to_numpy() == meant)
