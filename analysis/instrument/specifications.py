"""Specification curves: one effect in every cell of the facets, with joint inference over the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed
from conjury.inference.tables.frames import any_frame

from ..conjoint.comparisons.effects_by_group import GroupEffects, group_effects, hotelling_test
from ..conjoint.comparisons.multiplicity import normal_ratios, romano_wolf
from ..figures.labels import display_order
from ..frames.cells import is_repeat
from ..frames.notes import note_under
from ..numerics.intervals import check_alpha, check_draws, inference
from ..results import Result
from .decisions import ORDER, PAIR_UNIT, REPETITION, by_judge, decisions, is_choices, profile_rows

CELL = "specification"
POSITIVE, NEGATIVE, NONE = "positive", "negative", "none"
FEW = 20  # clusters, below which joint inference is unreliable


@any_frame
def specifications(
    data: pd.DataFrame,
    formula: str,
    facets: Sequence[str] | None = None,
    *,
    reference: Mapping[str, str] | None = None,
    outcome: str = "chosen",
    features: Sequence[str] | None = None,
    cluster: str | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    seed: int = 1,
) -> Result:
    """Estimate AMCEs in every combination of facets, and test them jointly.

    Cells share tasks, so their estimates are correlated; the covariance comes from the scores of clusters
    (pairs; of people, respondents) over all cells together. Simultaneous bands are estimates plus and minus c
    standard errors, c being the quantile of the largest absolute t ratio of correlated draws with G-1
    degrees of freedom. The joint tests refer Wald statistics to Hotelling's distribution with G clusters.

    Parameters
    ----------
    data : DataFrame
        Choices, one row per profile, with columns of facets.
    formula : str
        As in `conjoint.amce`.
    facets : sequence of str, optional
        By default every known facet that varies, other than ``sample`` and ``occasion``, of which the first
        is analysed.
    reference : mapping of str to str, optional
        Level of each facet in the specification that others are compared with, by default the first.
    outcome, features, cluster
        As in `order_effects`.
    alpha : float
        One minus the confidence level.
    draws, seed : int
        Draws behind simultaneous bands.

    Returns
    -------
    Result
        One row per ``judge, feature, level`` and specification: the level of each facet, ``estimate,
        std_error, z, p, lower, upper, p_adjusted`` (Romano and Wolf's, over the specifications of an effect),
        ``band_lower, band_upper, conclusion`` ("positive", "negative" or "none", by ``lower, upper``) and
        ``reference``.

        ``extra["summary"]`` has one row per effect: the ``mean`` over specifications with ``std_error, lower,
        upper``; ``least, median, largest``; ``sign_turns`` and ``conclusion_turns``, the shares of the other
        specifications whose sign or conclusion is not that of the reference; ``critical`` (c);
        ``p_zero``, of the hypothesis that all are zero, and ``p_equal``, that all are equal;
        ``n_specifications, n_clusters``.

    Raises
    ------
    InputError
        Where no facet varies, or a cell lacks a level of an attribute.

    References
    ----------
    Simonsohn, U., Simmons, J. P., Nelson, L. D. (2020). Specification curve analysis. Nature Human Behaviour
    4, 1208-1214. doi:10.1038/s41562-020-0912-z

    Hothorn, T., Bretz, F., Westfall, P. (2008). Simultaneous inference in general parametric models.
    Biometrical Journal 50(3), 346-363. doi:10.1002/bimj.200810425

    Examples
    --------
    >>> rows = {"judge_id": "m", "judge_kind": "model", "pair_id": [1, 1, 2, 2, 3, 3, 4, 4] * 2,
    ...         "prompt_id": ["p"] * 8 + ["q"] * 8, "position": list("AB") * 8,
    ...         "profile_id": list(range(8)) * 2,
    ...         "tone": list("xyyxxyyx") * 2, "chosen": [1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]}
    >>> found = specifications(pd.DataFrame(rows), "chosen ~ tone", draws=100)
    >>> found.frame[["prompt_id", "level", "estimate"]].values.tolist()
    [['p', 'y', -0.5], ['q', 'y', 0.0]]
    """
    check_alpha(alpha)
    check_draws(draws, seed, 100, "give at least 100, and 10,000 for limits to two digits")
    if not is_choices(data):
        raise InputError("Specifications are of AMCEs; give choices, with the columns position and pair_id.")
    data = data.reset_index(drop=True)
    answers = decisions(data, outcome, facets, cluster=cluster, features=features)
    later = [REPETITION, "occasion"]
    crossed = [name for name in answers.facets if facets is not None or name not in later]
    if not crossed:
        raise InputError("No facet of the data has two levels, so there is one specification; name facets.")
    first = _reference(answers.frame, crossed, reference or {})
    frames, summaries, notes = [], list[dict[str, Any]](), list[str]()
    for judge, judge_rows in by_judge(answers):
        if "occasion" in answers.facets and "occasion" not in crossed:
            judge_rows = judge_rows[
                (judge_rows["occasion"] == judge_rows["occasion"].min()).to_numpy(dtype=bool)
            ]
        judge_rows = judge_rows[judge_rows["designed"].to_numpy(dtype=bool)]
        if ORDER not in crossed:
            judge_rows = judge_rows[~is_repeat(data)[judge_rows["row_a"].to_numpy()]]
        try:
            curve = _curve(data, judge_rows, crossed, formula)
        except InputError as error:
            notes.append(note_under({"judge": judge}, f"{error} It was excluded."))
            continue
        if curve.lost:
            text = f"{curve.lost} specifications without a standard error were excluded."
            notes.append(note_under({"judge": judge}, text))
        if curve.effects.clusters < FEW:
            text = (
                f"with {curve.effects.clusters} clusters intervals and bands are too narrow and p values too "
                f"small; use {FEW} or more."
            )
            notes.append(note_under({"judge": judge}, text))
        at = [(curve.cells[name] == first[name]).to_numpy() for name in crossed]
        base = int(np.logical_and.reduce(at).argmax())
        for k, effect in curve.effects.keys.iterrows():
            frame, summary = _effect(curve, int(str(k)), base, alpha, draws, seed)
            named = {"judge": judge, "feature": effect["feature"], "level": effect["level"]}
            frames.append(frame.assign(**named)[[*named, *frame.columns]])
            summaries.append(named | summary)
    if not frames:
        raise InputError(" ".join(notes))
    settings = {"alpha": alpha, "draws": draws, "seed": seed, "formula": formula, "facets": crossed}
    settings |= {"reference": first, "cluster": cluster}
    extra = {"summary": pd.DataFrame(summaries)}
    frame = pd.concat(frames, ignore_index=True)
    return Result(frame, "specifications", tuple(notes), settings, extra)


@dataclass(frozen=True)
class _Curve:
    """AMCEs of one judge in all cells, the levels of the facets of each, and how many cells lack them."""

    effects: GroupEffects
    cells: pd.DataFrame
    lost: int


def _reference(rows: pd.DataFrame, facets: Sequence[str], reference: Mapping[str, str]) -> dict[str, str]:
    first = {}
    for name in facets:
        levels = display_order(rows[name])
        first[name] = str(reference.get(name, levels[0]))
        if first[name] not in levels:
            raise InputError(f"reference names {first[name]!r} of {name}, which has {listed(levels)}.")
    unknown = [name for name in reference if name not in facets]
    if unknown:
        raise InputError(
            f"reference names {unknown[0]!r}, which is not a facet; the facets are {listed(facets)}."
        )
    return first


def _curve(data: pd.DataFrame, judge_rows: pd.DataFrame, facets: Sequence[str], formula: str) -> _Curve:
    """AMCEs in every cell of the facets, with their joint covariance."""
    number = judge_rows.groupby(list(facets), sort=False).ngroup().to_numpy()
    cells = judge_rows.drop_duplicates(list(facets))[list(facets)].reset_index(drop=True)
    names = [str(k) for k in range(len(cells))]
    rows = profile_rows(data, judge_rows).drop(columns="repeat", errors="ignore")
    rows[CELL] = pd.Categorical.from_codes(np.repeat(number, 2), pd.Index(names))
    effects = group_effects(rows, formula, CELL, [PAIR_UNIT])
    estimated_cells = cells.iloc[[int(name) for name in effects.groups]].reset_index(drop=True)
    return _Curve(effects, estimated_cells, len(cells) - len(estimated_cells))


def _effect(
    curve: _Curve, place: int, base: int, alpha: float, draws: int, seed: int
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows of one effect over all cells, and its summary."""
    effects = curve.effects
    size = effects.estimate.shape[1]
    estimate, vcov = effects.estimate[:, place], effects.vcov[place::size, place::size]
    std_error = np.sqrt(np.clip(np.diag(vcov), 0, None))
    pointwise = inference(estimate, std_error, alpha)
    ratios = _null_ratios(vcov, effects.clusters, draws, seed)
    critical = float(np.quantile(np.abs(ratios).max(axis=1), 1 - alpha))
    conclusion = np.select([pointwise.lower > 0, pointwise.upper < 0], [POSITIVE, NEGATIVE], NONE)
    not_base = np.arange(len(estimate)) != base
    frame = curve.cells.assign(
        estimate=estimate,
        std_error=std_error,
        **vars(pointwise),
        p_adjusted=np.maximum(romano_wolf(pointwise.z, ratios), pointwise.p),
        band_lower=estimate - critical * std_error,
        band_upper=estimate + critical * std_error,
        conclusion=conclusion,
        reference=~not_base,
    )
    weights = np.full(len(estimate), 1 / len(estimate))
    mean, error = float(weights @ estimate), float(np.sqrt(weights @ vcov @ weights))
    bounds = inference(np.array([mean]), np.array([error]), alpha)
    equal = np.eye(len(estimate))[1:] - np.eye(len(estimate))[0]
    summary = {
        "mean": mean,
        "std_error": error,
        "lower": float(bounds.lower[0]),
        "upper": float(bounds.upper[0]),
        "least": float(estimate.min()),
        "median": float(np.median(estimate)),
        "largest": float(estimate.max()),
        "sign_turns": float((np.sign(estimate) != np.sign(estimate[base]))[not_base].mean()),
        "conclusion_turns": float((conclusion != conclusion[base])[not_base].mean()),
        "critical": critical,
        "p_zero": hotelling_test(estimate, vcov, effects.clusters).p,
        "p_equal": hotelling_test(equal @ estimate, equal @ vcov @ equal.T, effects.clusters).p,
        "n_specifications": len(estimate),
        "n_clusters": effects.clusters,
    }
    return frame, summary


def _null_ratios(vcov: np.ndarray, clusters: int, draws: int, seed: int) -> np.ndarray:
    """Correlated t ratios with G-1 degrees of freedom, shape (draws, cells)."""
    df = max(clusters - 1, 1)
    spread = np.random.default_rng([seed, 1]).chisquare(df, size=(draws, 1)) / df
    return np.asarray(normal_ratios(vcov, draws, seed) / np.sqrt(spread))
