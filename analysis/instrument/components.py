"""Variance components of decisions: how much judges' answers vary by object, facet and their interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ..frames.notes import note_under
from ..numerics.intervals import check_alpha, check_draws, varying_limits
from ..numerics.types import Floats
from ..numerics.variance_components import (
    ScoreVariances,
    Term,
    anova,
    expected_mean_squares,
    generalised_draws,
    is_balanced,
    is_replicated,
    layout,
    precision,
    restricted_variances,
    separable_terms,
    terms_of,
)
from ..results import Result
from .decisions import LABEL, REPETITION, Decisions, by_judge, decisions

OBJECT, RESIDUAL, JOINED = "object", "residual", ":"
NOT_CROSSED = (REPETITION, "parser", "occasion")  # no facets by default
EXHAUSTED = ("option_order", "scale_direction", "position")  # facets whose levels are all there are
ANOVA, REML = "anova", "reml"


@dataclass(frozen=True)
class DecisionVariances:
    """Variances of one judge's decisions, as estimated, and what intervals need."""

    facets: tuple[str, ...]
    terms: tuple[Term, ...]
    sizes: tuple[int, ...]  # levels of the object and of each facet
    replicates: int  # observations of a cell; of unbalanced designs, on average
    method: str
    per_level: tuple[float, ...]  # (T,): observations of a level of each term
    estimate: Floats  # (T + 1,)
    df: Floats  # (T + 1,)
    mean_square: Floats  # (T + 1,): where ``method`` is "reml", those that the variances imply

    @property
    def names(self) -> list[str]:
        """Names of terms, the residual's last."""
        return _names(self.facets, self.terms)

    @property
    def variance(self) -> Floats:
        """Variances, not below zero, shape (T + 1,)."""
        return np.maximum(self.estimate, 0.0)

    def drawn(self, draws: int, seed: int) -> Floats:
        """Draws of the variances, shape (draws, T + 1)."""
        matrix = expected_mean_squares(self.terms, self.per_level)
        return generalised_draws(self.mean_square, self.df, matrix, draws, seed)

    def precision(self, variances: Floats, counts: Mapping[str, float], repeats: float) -> ScoreVariances:
        """Precision of means over so many levels of facets and repeats of each cell."""
        universe = [size if name in EXHAUSTED else inf for name, size in self.with_sizes]
        return precision(variances, self.terms, [*(counts[name] for name in self.facets), repeats], universe)

    @property
    def with_sizes(self) -> list[tuple[str, int]]:
        """Facets with the numbers of their levels."""
        return list(zip(self.facets, self.sizes[1:], strict=True))


@any_frame
def variance_components(
    data: pd.DataFrame,
    outcome: str | None = None,
    facets: Sequence[str] | None = None,
    *,
    object: str | None = None,
    method: str | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    seed: int = 1,
) -> Result:
    """Estimate how much decisions vary by object, by facets of the request, and by their interactions.

    A generalisability study: the value of object o under levels of the facets is a mean plus independent
    random effects of o, of every facet and of every interaction, plus a residual, which is what
    differs when the same request is repeated. The objects are pairs of profiles (the value is 1 where the
    reference profile of the pair is chosen, whatever its position) or items. Balanced designs are
    analysed by the expected mean squares of the analysis of variance, others by restricted maximum
    likelihood.

    Parameters
    ----------
    data : DataFrame
        Choices (one row per profile) or ratings, with columns of facets.
    outcome : str, optional
        By default ``chosen`` of choices and ``value`` of ratings.
    facets : sequence of str, optional
        Crossed facets, by default the known ones that vary. ``sample`` is none of them unless named:
        samples are repeats of a request and make up the residual. ``parser`` and ``occasion`` are none
        unless named, either; their first level is analysed. ``judge_id`` as a facet treats judges
        as one population.
    object : str, optional
        Column of the objects of ratings, by default ``item_id``.
    method : {"anova", "reml"}, optional
        By default "anova" where the design is balanced.
    alpha : float
        One minus the confidence level.
    draws, seed : int
        Draws behind the intervals.

    Returns
    -------
    Result
        One row per ``judge, component``: ``df, mean_square`` (of the analysis of variance; in unbalanced
        designs those that the variances imply, with the degrees of freedom of the levels), ``estimate`` (a
        variance; 0 where it would be negative), ``lower, upper, share`` (of the sum of all variances, with
        ``share_lower, share_upper``) and ``levels`` (that occur). Intervals are generalised confidence
        intervals (Weerahandi 1993) of these mean squares, exact pivots in balanced designs; they take the
        levels of every facet as drawn and so are wide where there are few.

        ``extra["coefficients"]`` has ``phi`` (absolute decisions) and ``generalisability`` (relative ones) of
        a single answer (``design`` "one answer") and of the mean over all conditions observed ("as
        observed"). The levels of ``option_order``, ``scale_direction`` and ``position`` count as all there
        are, so that an average over both orders is free of the order; levels of other facets are
        taken as drawn from many.

    Raises
    ------
    InputError
        For labels, and where there are no two objects, or no facet or repetition that varies.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory. Springer. doi:10.1007/978-1-4757-3456-0

    Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
    Association 88(423), 899-905. doi:10.1080/01621459.1993.10476355

    Examples
    --------
    >>> table = pd.DataFrame({"judge_id": "m", "judge_kind": "model", "item_id": list("aabbcc"),
    ...     "prompt_id": ["p", "q"] * 3, "value": [1, 2, 4, 5, 6, 9]})
    >>> found = variance_components(table, draws=100).frame
    >>> found[["component", "df", "estimate"]].round(3).values.tolist()
    [['object', 2.0, 8.667], ['prompt_id', 1.0, 1.167], ['residual', 2.0, 0.667]]
    """
    check_alpha(alpha)
    check_draws(draws, seed, 2, "give at least 2, and 10,000 for limits to two digits")
    if method not in (None, ANOVA, REML):
        raise InputError(f"There is no method {method!r}; give 'anova' or 'reml'.")
    answers = decisions(data.reset_index(drop=True), outcome, facets, object=object)
    if answers.kind == LABEL:
        raise InputError("Labels have no variance; give ratings or choices, or count changes by flips(data).")
    crossed = [name for name in answers.facets if facets is not None or name not in NOT_CROSSED]
    answers = _keep_first_levels(answers, crossed)
    frames, coefficients, notes = [], list[dict[str, Any]](), list[str]()
    models: dict[str, dict[str, Any]] = {}
    groups = [("all", answers.frame)] if "judge_id" in crossed else by_judge(answers)
    refused = dict[str, str]()
    for judge, rows in groups:
        try:
            model, model_notes = _fit_model(rows, crossed, method)
        except InputError as error:
            refused[judge] = str(error)
            continue
        notes += [note_under({"judge": judge}, note) for note in model_notes]
        variance_draws = model.drawn(draws, seed)
        frames.append(_frame(judge, model, variance_draws, alpha))
        if alike := frames[-1]["component"][frames[-1]["lower"].isna()].tolist():
            text = f"no interval of {listed(alike)}, which did not vary at all."
            notes.append(note_under({"judge": judge}, text))
        coefficients += _coefficients(judge, model, variance_draws, alpha)
        models[judge] = {
            "facets": list(model.facets),
            "sizes": list(model.sizes),
            "replicates": model.replicates,
            "method": model.method,
            "per_level": list(model.per_level),
            "terms": [list(term) for term in model.terms],
        }
    if not frames:
        raise InputError(" ".join(f"{judge}: {error}" for judge, error in refused.items()))
    notes += [note_under({"judge": judge}, f"{error} It was excluded.") for judge, error in refused.items()]
    settings = {"alpha": alpha, "draws": draws, "seed": seed, "outcome": outcome, "models": models}
    extra = {"coefficients": pd.DataFrame(coefficients)}
    return Result(pd.concat(frames, ignore_index=True), "variance_components", tuple(notes), settings, extra)


def _keep_first_levels(answers: Decisions, crossed: Sequence[str]) -> Decisions:
    """Keep the first parsing rule and occasion where they are no facets: they are no repeats of a request."""
    frame = answers.frame
    for name in NOT_CROSSED[1:]:
        if name in answers.facets and name not in crossed:
            frame = frame[(frame[name] == sorted(frame[name].unique())[0]).to_numpy(dtype=bool)]
    return replace(answers, frame=frame)


def model_of(result: Result, judge: str) -> DecisionVariances:
    """The model behind one judge's rows of a result."""
    entry = result.settings["models"][judge]
    rows = result.frame[result.frame["judge"] == judge]
    return DecisionVariances(
        tuple(entry["facets"]),
        tuple(tuple(int(k) for k in term) for term in entry["terms"]),
        tuple(entry["sizes"]),
        int(entry["replicates"]),
        str(entry["method"]),
        tuple(entry["per_level"]),
        rows["estimate"].to_numpy(dtype=float),
        rows["df"].to_numpy(dtype=float),
        rows["mean_square"].to_numpy(dtype=float),
    )


def _fit_model(
    rows: pd.DataFrame, facets: Sequence[str], method: str | None
) -> tuple[DecisionVariances, list[str]]:
    """Estimate the variances of one judge's decisions."""
    rows, notes = rows[rows["value"].notna()], list[str]()
    facets = [name for name in facets if rows[name].nunique() > 1]
    codes, sizes = _codes(rows, facets)
    if len(rows) and sizes[0] < 2:
        raise InputError("there are answers about fewer than two objects.")
    if not len(rows) or rows["value"].nunique() < 2:
        raise InputError("all answers are the same, or there are none.")
    if not facets and not is_replicated(codes, sizes):
        raise InputError(
            "no facet has two levels and no request is repeated, so no variance components can be separated."
        )
    balanced = is_balanced(codes, sizes)
    if method == ANOVA and not balanced:
        raise InputError(
            "the design is unbalanced, which the analysis of variance does not allow; omit method."
        )
    values = rows["value"].to_numpy(dtype=float)
    replicates = max(1, len(rows) // int(np.prod(sizes)))
    all_terms = tuple(terms_of(len(sizes), is_replicated(codes, sizes)))
    by_anova = balanced and method != REML
    terms = all_terms if by_anova else tuple(separable_terms(codes, sizes))
    if len(terms) < len(all_terms):
        omitted_names = [name for name in _names(facets, all_terms) if name not in _names(facets, terms)]
        notes.append(
            f"The design cannot separate {listed(omitted_names)}; they are included in other components."
        )
    design = layout(codes, sizes, terms)
    shape = (tuple(facets), terms, tuple(sizes), replicates)
    matrix = expected_mean_squares(terms, design.per_level.tolist())
    if by_anova:
        table = anova(codes, sizes, values)
        estimate = np.linalg.solve(matrix, table.mean_square)
        negative = [name for name, value in zip(_names(facets, terms), estimate, strict=True) if value < 0]
        if negative:
            notes.append(f"Estimates below zero were set to zero: {listed(negative)}.")
        variance, mean_square, name = np.maximum(estimate, 0.0), table.mean_square, ANOVA
    else:
        variance = restricted_variances(codes, sizes, values, terms)
        mean_square, name = matrix @ variance, REML
    return DecisionVariances(
        *shape, name, tuple(design.per_level.tolist()), variance, design.df, mean_square
    ), notes


def _names(facets: Sequence[str], terms: Sequence[Term]) -> list[str]:
    factors = (OBJECT, *facets)
    return [*(JOINED.join(factors[k] for k in term) for term in terms), RESIDUAL]


def _codes(rows: pd.DataFrame, facets: Sequence[str]) -> tuple[np.ndarray, list[int]]:
    """Codes of the object and the facets, (n, F), and the number of levels of each."""
    columns = [pd.factorize(rows[name])[0] for name in (OBJECT, *facets)]
    return np.stack(columns, axis=1), [int(code.max(initial=-1)) + 1 for code in columns]


def _frame(judge: str, model: DecisionVariances, variance_draws: Floats, alpha: float) -> pd.DataFrame:
    lower, upper = varying_limits(variance_draws, alpha, float(model.variance.sum()))
    shares = varying_limits(variance_draws / variance_draws.sum(axis=1, keepdims=True), alpha)
    sizes = [int(np.prod([model.sizes[k] for k in term])) for term in model.terms]
    variance = model.variance
    return pd.DataFrame(
        {
            "judge": judge,
            "component": model.names,
            "df": model.df,
            "mean_square": model.mean_square,
            "estimate": variance,
            "lower": lower,
            "upper": upper,
            "share": variance / variance.sum(),
            "share_lower": shares[0],
            "share_upper": shares[1],
            "levels": [*sizes, np.nan],
        }
    )


def _coefficients(
    judge: str, model: DecisionVariances, variance_draws: Floats, alpha: float
) -> list[dict[str, Any]]:
    """Phi and generalisability of one answer, and of the mean over the design as observed."""
    ones = dict.fromkeys(model.facets, 1)
    designs = {"one answer": (ones, 1), "as observed": (dict(model.with_sizes), model.replicates)}
    rows = []
    for name, (counts, repeats) in designs.items():
        at = model.precision(model.variance[None], counts, repeats)
        spread = model.precision(variance_draws, counts, repeats)
        for coefficient in ("phi", "generalisability"):
            limits = varying_limits(getattr(spread, coefficient)[:, None], alpha)[:, 0]
            rows.append(
                {
                    "judge": judge,
                    "design": name,
                    "coefficient": coefficient,
                    "estimate": float(getattr(at, coefficient)[0]),
                    "lower": float(limits[0]),
                    "upper": float(limits[1]),
                }
            )
    return rows
