"""Choice shares of whole profiles among a set of competitors, and the model of paired choices behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit, logit, softmax

from conjury.inference.errors import InputError
from conjury.inference.tables.frames import any_frame

from ...frames.cells import AttributeCells, build_cells
from ...frames.variables import Formula, no_level, unit_codes, weights_column
from ...numerics.intervals import SHARE, cut
from ...numerics.rating_panel import RowClusters
from ...results import Result
from ..engines.native import solve
from ..engines.solution import estimable
from ..estimates import Solution
from ..estimation_plan import EstimationPlan, RegressionBlock, make_block
from ..request import Family, Vcov, is_independent, make_request
from .choice_tasks import TASK, named_clusters, tasks_of
from .part_worths import critical

Rule = Literal["average", "logit"]
_HALF = 0.5  # a tie counts as half a win, and least squares fit wins less 1/2


@any_frame
def choice_shares(
    data: pd.DataFrame,
    formula: str | Formula,
    profiles: Mapping[str, Mapping[str, Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame,
    id: str | Sequence[str] | None = None,
    *,
    rule: Rule = "logit",
    weights: str | None = None,
    vcov: Vcov = "survey",
    alpha: float = 0.05,
) -> Result:
    """Estimate the share of choices that each of several whole profiles would get.

    A model of paired choices is fitted: whether the first profile is chosen, by the differences between the
    two profiles in all attributes. From it follow the probabilities that one profile is chosen over another,
    and shares among all profiles of a set.

    Parameters
    ----------
    data : DataFrame or path
        One row per profile, as in `choice_level`. Ties count as half a win.
    formula : str
        ``outcome ~ a + b``, or ``a * b`` for attributes that restrict each other or interact.
    profiles : mapping from names to profiles, sequence of profiles, or DataFrame
        Two or more competitors; each names a level of every attribute. Of a DataFrame, rows are profiles
        and the index is their names.
    id : str or sequence of str, optional
        As in `choice_level`.
    rule : {"logit", "average"}
        "logit": a conditional logit model; shares are proportional to the exponentials of the profiles'
        utilities. "average": a linear model; the share is the mean of the probabilities of being chosen over
        each competitor, scaled so that shares sum to 1.
    weights, vcov, alpha
        As in `choice_level`; with ``rule="logit"`` ``vcov`` is "survey", CR0, CR1, CR1S, HC0 or HC1.

    Returns
    -------
    Result
        Kind "choice_shares". One row per profile: ``profile, estimate, std_error, [df], lower, upper`` (delta
        method, for the logit rule on the logit scale), and its levels. ``extra["pairs"]``: the probability
        that ``profile`` is chosen over ``rival``.

    Raises
    ------
    InputError
        For fewer than two profiles, unknown levels, profiles that the tasks do not determine, and levels
        that are always or never chosen under the logit rule.

    Notes
    -----
    The logit rule has independence of irrelevant alternatives: a copy of a profile takes from all others in
    proportion to their shares. Both rules describe the pooled judges: shares of judges who differ from each
    other may be more even. Linear probabilities may lie outside 0 to 1; this is noted.

    References
    ----------
    McFadden, D. (1974). Conditional logit analysis of qualitative choice behavior. In P. Zarembka (Ed.),
    Frontiers in econometrics, 105-142. Academic Press.

    Examples
    --------
    >>> data = pd.DataFrame({"chosen": [1, 0, 1, 0, 1, 0, 0, 1] * 20, "pair_id": np.repeat(range(80), 2),
    ...                      "tone": ["kind", "rude"] * 80})
    >>> profiles = {"A": {"tone": "kind"}, "B": {"tone": "rude"}, "C": {"tone": "rude"}}
    >>> choice_shares(data, "chosen ~ tone", profiles).frame[["profile", "estimate"]].round(3).values.tolist()
    [['A', 0.6], ['B', 0.2], ['C', 0.2]]
    """
    if rule not in ("average", "logit"):
        raise InputError(f"rule is {rule!r}; give 'logit' or 'average'.")
    named = _profiles_by_name(profiles)
    family: Any = "gaussian" if rule == "average" else "quasibinomial"
    fit = fit_pairs(data, formula, id, weights, vcov, alpha, family)
    rows = np.array([fit.row(profile) for profile in named.values()])
    names = list(named)
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j]
    fit.require(np.array([rows[i] - rows[j] for i, j in pairs]))
    shares = _average_shares(rows) if rule == "average" else _logit_shares(rows, fit.solution.coef)
    frame = pd.DataFrame({"profile": names}).assign(**_inference(fit, *shares, rule, alpha))
    levels = pd.DataFrame(
        [{name: str(level) for name, level in profile.items()} for profile in named.values()]
    )
    wins = [_win_probability(rows[i] - rows[j], fit.solution.coef, rule) for i, j in pairs]
    base, gradient = (np.array([win[k] for win in wins]) for k in (0, 1))
    table = pd.DataFrame({"profile": [names[i] for i, _ in pairs], "rival": [names[j] for _, j in pairs]})
    table = table.assign(**_inference(fit, base, gradient, rule, alpha))
    outside = int(((table["estimate"] < 0) | (table["estimate"] > 1)).sum())
    notes = (
        (f"{outside} of {len(table)} linear probabilities lie outside 0 to 1; rule='logit' has none.",)
        if outside
        else ()
    )
    request = fit.plan.request
    settings = {"rule": rule, "formula": str(request.formula), "id": request.id, "vcov": vcov, "alpha": alpha}
    joined = pd.concat([frame, levels.drop(columns=frame.columns, errors="ignore")], axis=1)
    return Result(joined, "choice_shares", notes, settings, {"pairs": table})


def _profiles_by_name(profiles: Any) -> dict[str, Mapping[str, Any]]:
    """Profiles by name."""
    if isinstance(profiles, pd.DataFrame):
        profiles = {str(name): dict(row) for name, row in profiles.iterrows()}
    if not isinstance(profiles, Mapping):
        profiles = {str(number): profile for number, profile in enumerate(profiles, start=1)}
    if len(profiles) < 2 or not all(isinstance(profile, Mapping) for profile in profiles.values()):
        raise InputError(
            "profiles must be two or more mappings from attributes to levels; add at least one competitor."
        )
    return {str(name): profile for name, profile in profiles.items()}


def _average_shares(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares (J,) at coefficients of zero, and their gradients (J, k); shares are linear."""
    n = len(rows)
    return np.full(n, 1 / n), 2 / (n - 1) * (rows - rows.mean(axis=0))


def _logit_shares(rows: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares (J,) at the coefficients, and their gradients (J, k)."""
    share = softmax(rows @ coef)
    return share, share[:, None] * (rows - share @ rows)


def _win_probability(difference: np.ndarray, coef: np.ndarray, rule: Rule) -> tuple[float, np.ndarray]:
    """Probability of a profile over another, at zero or at the coefficients, and its gradient (k,)."""
    if rule == "average":
        return 0.5, difference
    p = float(expit(difference @ coef))
    return p, p * (1 - p) * difference


def _inference(
    fit: PairedFit, base: np.ndarray, gradient: np.ndarray, rule: Rule, alpha: float
) -> dict[str, np.ndarray]:
    """Estimates, standard errors and limits of shares, each (r,)."""
    solution = fit.solution
    error = np.sqrt(np.clip(np.einsum("ri,ij,rj->r", gradient, solution.vcov, gradient), 0, None))
    df = np.full(len(base), np.inf) if solution.df is None else solution.df(gradient)
    half = critical(df, alpha) * error
    columns = {"estimate": base, "std_error": error} | ({} if solution.df is None else {"df": df})
    if rule == "average":
        estimate = base + gradient @ solution.coef
        lower, upper = cut(estimate - half, estimate + half, estimate, SHARE)
        return columns | {"estimate": estimate, "lower": lower, "upper": upper}
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = half / (base * (1 - base))
        return columns | {"lower": expit(logit(base) - steps), "upper": expit(logit(base) + steps)}


@dataclass(frozen=True)
class PairedFit:
    """A regression of T choices on differences between two profiles, k coefficients."""

    profiles: AttributeCells  # levels of the attributes
    block: RegressionBlock  # what the coefficients are, after an intercept that differences do not have
    plan: EstimationPlan
    solution: Solution

    def row(self, profile: Mapping[str, Any]) -> np.ndarray:
        """Design row, shape (k,), of a profile that names a level of every attribute."""
        codes = {}
        for name, levels in self.profiles.levels.items():
            names = [str(level) for level in levels]
            if name not in profile:
                raise InputError(
                    f"A profile has no {name!r}; name a level of every attribute in the formula."
                )
            if str(profile[name]) not in names:
                raise no_level(profile[name], name, names)
            codes[name] = names.index(str(profile[name]))
        stray = next((name for name in profile if name not in self.profiles.levels), None)
        if stray is not None:
            raise InputError(f"A profile names {stray!r}, which is not an attribute of the formula.")
        return self.block.row(codes)[1:]

    def require(self, differences: np.ndarray) -> None:
        """Refuse differences between profiles, shape (r, k), that the choices do not determine."""
        weight = self.plan.cells.cell_weight
        if not estimable(differences, self.plan.null_space(weight)).all():
            raise InputError(
                "The tasks do not determine how these profiles compare; name levels, and combinations of "
                "them, that occur in answered tasks."
            )
        if not estimable(differences, self.plan.null_space(weight * self.plan.used[0])).all():
            raise InputError(
                "A level of these profiles is always or never chosen, so its logit is infinite; give "
                "rule='average'."
            )


def fit_pairs(
    data: pd.DataFrame,
    formula: str | Formula,
    id: str | Sequence[str] | None,
    weights: str | None,
    vcov: Vcov,
    alpha: float,
    family: Family,
) -> PairedFit:
    """Fit choices less 1/2 (gaussian) or their logit to differences of profiles; ties are half a win."""
    clusters = TASK if id is None and not is_independent(vcov) else id
    request = make_request(
        "amce", formula, id=clusters, weights=weights, vcov=vcov, alpha=alpha, family=family
    )
    parsed = request.formula
    cluster_names = named_clusters(request)
    tasks = tasks_of(data, parsed.outcome, [*parsed.features, weights], cluster_names)
    profiles = build_cells(tasks.data, None, list(parsed.features))
    block = make_block(profiles, parsed.features, parsed.restrictions)
    outcome = np.where(tasks.tied, _HALF, tasks.won)
    is_complete = block.inside[profiles.cell[tasks.first]] & block.inside[profiles.cell[tasks.second]]
    rows = np.flatnonzero(is_complete & ~np.isnan(outcome))
    if not len(rows):
        raise InputError("No task has an answer and both profiles complete; check for empty columns.")
    first, second = (block.design[profiles.cell[side[rows]], 1:] for side in (tasks.first, tasks.second))
    columns = {name: tasks.column(name) for name in [*cluster_names, *filter(None, [weights])]}
    shared = pd.DataFrame({TASK: np.arange(len(is_complete))} | columns).iloc[rows]
    weight = np.ones(len(rows)) if weights is None else weights_column(shared, weights)
    cells = AttributeCells(
        {},
        np.zeros((len(rows), 0), dtype=np.int64),
        np.arange(len(rows)),
        weight,
        outcome[rows] - (_HALF if family == "gaussian" else 0.0),
        {name: RowClusters(*unit_codes(shared, name)) for name in request.clusters},
    )
    if any(clustering.n < 2 for clustering in cells.clusterings.values()):
        raise InputError("The choices lie in a single cluster; standard errors need at least two.")
    everything = np.ones(len(rows), dtype=bool)
    pairs = RegressionBlock(first - second, block.terms[1:], everything, everything)
    plan = EstimationPlan(
        cells, (pairs,), np.eye(len(pairs.terms)), pd.DataFrame(), np.zeros(len(pairs.terms), bool), request
    )
    return PairedFit(profiles, block, plan, solve(plan))
