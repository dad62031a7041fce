"""AMCEs from a linear mixed model in which stimuli and raters are random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import names_of
from conjury.inference.tables.frames import any_frame

from ...frames.variables import Formula, warn_caller
from ...numerics.linear import independent_columns, one_thread
from ...numerics.mixed import CrossProducts, MixedFit, fit
from ...numerics.rating_panel import RowClusters, cross_clusters
from ..engines.solution import assemble
from ..estimates import Estimates, Solution
from ..estimation import plan_for
from ..estimation_plan import EstimationPlan
from ..request import LevelOrder, make_request
from ..rows import Data

Engine = Literal["native", "lme4"]
MOST_LEVELS = 3_000  # of all random factors: their cross products are one dense matrix


@dataclass(frozen=True)
class MixedEstimates(Estimates):
    """AMCEs of a mixed model."""

    # one row per random factor, the residual last: `factor, levels, variance, std_dev, share` (of the sum of
    # variances); variance 0 where the data show none
    components: pd.DataFrame


@any_frame
def mixed(
    data: Data,
    formula: str | Formula,
    random: str | Sequence[str],
    *,
    engine: Engine = "native",
    alpha: float = 0.05,
    reference: Mapping[str, Any] | None = None,
    feature_order: Sequence[str] | None = None,
    feature_labels: Mapping[str, str] | None = None,
    level_order: LevelOrder = "ascending",
) -> MixedEstimates:
    """Estimate AMCEs with stimuli, raters or other factors as crossed random intercepts.

    A study shows some posts out of the many that it wants to speak about. Here each post, user or
    respondent has an effect of its own, drawn from a normal distribution, and errors say how far
    the AMCEs would move with other draws. The model is linear also for choices, and fitted by
    restricted maximum likelihood.

    Parameters
    ----------
    data, formula
        As in `amce`.
    random : str or sequence of str
        Columns whose values have random intercepts, such as ``["text", "user"]``. Names joined by a
        colon stand for their combinations: "text:slur" lets the effect of slur differ between texts.
    engine : {"native", "lme4"}
        "lme4" calls R; its p values are by the normal distribution.
    alpha, reference, feature_order, feature_labels, level_order
        As in `amce`.

    Returns
    -------
    MixedEstimates
        Statistic "amce". Tests and intervals use Student's t with Satterthwaite's degrees of
        freedom, by the expected information of the variances.

    Raises
    ------
    InputError
        A factor is absent, constant or different in every row, the outcome does not vary, or the
        native engine would have to handle more than 3,000 levels.

    Warns
    -----
    UserWarning
        Where the variance of a factor is estimated as zero.

    References
    ----------
    Baayen, R. H., Davidson, D. J. and Bates, D. M. (2008). Mixed-effects modeling with crossed random effects
    for subjects and items. Journal of Memory and Language 59(4), 390-412. doi:10.1016/j.jml.2007.12.005

    Judd, C. M., Westfall, J. and Kenny, D. A. (2012). Treating stimuli as a random factor in social
    psychology. Journal of Personality and Social Psychology 103(1), 54-69. doi:10.1037/a0028347

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"rating": [1, 3, 2, 5, 4, 4, 2, 3, 1, 6, 2, 5] * 2,
    ...                      "tone": ["kind", "rude"] * 12, "text": [f"text_{i // 3}" for i in range(24)]})
    >>> found = mixed(data, "rating ~ tone", random="text")
    >>> found.frame["estimate"].round(3).tolist()
    [0.0, 1.93]
    >>> found.components["factor"].tolist()
    ['text', 'residual']
    """
    names = _names(random)
    parts = list(dict.fromkeys(part for name in names for part in name.split(":")))
    if engine not in ("native", "lme4"):
        raise InputError(f"There is no engine {engine!r} for mixed models; there are native and lme4.")
    layout = {"feature_order": feature_order, "feature_labels": feature_labels, "level_order": level_order}
    request = make_request("amce", formula, alpha=alpha, reference=reference, **layout)
    columns = [part for part in parts if part not in request.formula.features]
    plan = plan_for(replace(request, clusters=tuple(columns)), data)
    rows = _rows(plan, names)
    result = _fit_with_lme4(rows) if engine == "lme4" else _fit_natively(rows)
    _warn_of_zero_variances(names, result.variance)
    estimates = assemble(plan, _solution(result, rows.kept))
    variance = np.append(result.variance, result.residual)
    components = pd.DataFrame(
        {
            "factor": [*names, "residual"],
            "levels": [*(factor.n for factor in rows.factors), len(rows.outcome)],
            "variance": variance,
            "std_dev": np.sqrt(variance),
            "share": variance / variance.sum(),
        }
    )
    extra = estimates.provenance.extra | {
        "random": list(names),
        "components": components.to_dict("records"),
        "criterion": result.criterion,
    }
    made_by = replace(estimates.provenance, verb="mixed", engine=engine, vcov="REML", extra=extra)
    return MixedEstimates(estimates.frame, estimates.vcov, made_by, components, fitted=estimates.fitted)


@dataclass(frozen=True)
class CompleteRows:
    """Rows that have the outcome and every feature."""

    design: np.ndarray  # (n, k): independent columns
    kept: np.ndarray  # (K,): which columns of the plan these are
    outcome: np.ndarray  # (n,)
    factors: tuple[RowClusters, ...]  # level of each row in each random factor


def _rows(plan: EstimationPlan, names: Sequence[str]) -> CompleteRows:
    cells, (block,) = plan.cells, plan.blocks
    mask = block.inside[cells.cell] & (cells.weight > 0)
    cell, outcome = cells.cell[mask], cells.outcome[mask]
    if np.ptp(outcome) == 0:
        raise InputError(
            f"Column {plan.request.formula.outcome!r} is the same in every row, so it has no variance."
        )
    factors: list[RowClusters] = []
    for name in names:
        codes = [
            cells.clusterings[part].code[mask] if part in cells.clusterings else cells.code(part)[cell]
            for part in name.split(":")
        ]
        factor = reduce(cross_clusters, map(RowClusters.numbered, codes))
        if factor.n < 2 or factor.n == len(cell):
            many = "a single level" if factor.n < 2 else "a level of its own for every row"
            raise InputError(f"Random factor {name!r} has {many}; name a column whose values repeat.")
        same = next((old for old, f in zip(names, factors, strict=False) if _is_same(f, factor)), None)
        if same is not None:
            raise InputError(
                f"Random factors {same!r} and {name!r} define the same groups of rows; give one of them."
            )
        factors.append(factor)
    weight = np.where(block.inside, cells.cell_weight, 0.0)
    columns = independent_columns(block.design.T @ (block.design * weight[:, None]))
    return CompleteRows(block.design[:, columns][cell], columns, outcome, tuple(factors))


def _is_same(first: RowClusters, second: RowClusters) -> bool:
    return first.n == second.n == cross_clusters(first, second).n


def products(rows: CompleteRows) -> CrossProducts:
    """Cross products of rows."""
    n, sizes = len(rows.outcome), [factor.n for factor in rows.factors]
    ends = np.cumsum(sizes)
    columns = np.stack([f.code + end - f.n for f, end in zip(rows.factors, ends, strict=True)], axis=1)
    shape = (n, int(ends[-1]))
    indicator = csr_array(
        (np.ones(columns.size), columns.ravel(), np.arange(n + 1) * columns.shape[1]), shape=shape
    )
    return CrossProducts(
        xx=rows.design.T @ rows.design,
        xz=np.asarray((indicator.T @ rows.design).T),
        zz=(indicator.T @ indicator).toarray(),
        xy=rows.design.T @ rows.outcome,
        zy=indicator.T @ rows.outcome,
        yy=float(rows.outcome @ rows.outcome),
        n=n,
        factors=tuple(slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)),
    )


def _fit_natively(rows: CompleteRows) -> MixedFit:
    levels = sum(factor.n for factor in rows.factors)
    if levels > MOST_LEVELS:
        raise InputError(
            f"The random factors have {levels:,} levels, more than {MOST_LEVELS:,}; name fewer of them, "
            "give engine='lme4', or use amce with these columns as id."
        )
    with one_thread():
        return fit(products(rows))


def _fit_with_lme4(rows: CompleteRows) -> MixedFit:
    from ... import r

    r.require("lme4")
    names = [f"x{number}" for number in range(rows.design.shape[1])]
    frame = pd.DataFrame(rows.design, columns=names).assign(outcome=rows.outcome)
    groups = [f"g{number}" for number in range(len(rows.factors))]
    frame = frame.assign(**{name: f.code for name, f in zip(groups, rows.factors, strict=True)})
    result = r.call("fit_mixed", data=frame, formula=f"outcome ~ 0 + {' + '.join(names)}", random=groups)
    numbers = {name: np.atleast_1d(np.asarray(result[name], dtype=float)) for name in ("coef", "variance")}
    return MixedFit(
        **numbers,
        vcov=np.asarray(result["vcov"], dtype=float),
        residual=float(result["residual"][0]),
        criterion=float(result["criterion"][0]),
    )


def _solution(result: MixedFit, columns: np.ndarray) -> Solution:
    coef, vcov = np.zeros(len(columns)), np.zeros((len(columns), len(columns)))
    coef[columns] = result.coef
    vcov[np.ix_(columns, columns)] = result.vcov
    by_normal = result.pulls is None
    return Solution(coef, vcov, None if by_normal else lambda contrasts: result.df(contrasts[:, columns]))


def _warn_of_zero_variances(names: Sequence[str], variance: np.ndarray) -> None:
    for name, value in zip(names, variance, strict=True):
        if value == 0:
            warn_caller(
                f"The variance of {name!r} is estimated as zero: the data show no differences between its "
                "levels beyond noise, and estimates are those of the model without it.",
            )


def _names(random: str | Sequence[str]) -> list[str]:
    names = names_of(random)
    is_valid = names and all(isinstance(name, str) and all(name.split(":")) for name in names)
    if not is_valid or len(set(names)) < len(names):
        raise InputError(
            f"random is {random!r}; name one column, or several different ones in a list, such as "
            "['text', 'user', 'text:slur']."
        )
    return names
