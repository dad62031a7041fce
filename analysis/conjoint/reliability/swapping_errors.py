"""Swapping errors for a correction: which repeats each comes from, and how it shares clusters with a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...correction.correction_methods import RELIABILITY
from ...frames.rounding import percentage
from ...frames.variables import warn_caller
from ...numerics.rating_panel import RowClusters
from ..engines.native import regress
from ..estimation_plan import EstimationPlan
from ..request import EstimateRequest
from .agreeing_repeats import ENOUGH, Swapping, swapping_of, verdict
from .reliability_estimate import Reliability
from .repeats import find_repeats, presentations

BY_LEVEL, BY_GROUP = "by_level", "by_group"
MINIMUM = 100  # repeats of a group with a tau of its own; smaller groups use the pooled one
_POOLED = "all"
_KEYS = ["judge_id", "prompt_id", "pair_id"]


@dataclass(frozen=True)
class Errors:
    """Swapping errors of T groups of repeats, the influence of P repeats on each, and clusters."""

    found: list[Swapping]
    names: list[str]
    influence: np.ndarray
    cluster_of_pair: np.ndarray
    cluster_of_row: np.ndarray
    n_clusters: int


def repeats_for(
    choices: pd.DataFrame, first: pd.DataFrame, request: EstimateRequest, correct: str | Reliability
) -> pd.DataFrame:
    """Repeats that tau comes from: of the table itself, or of a result, the judges in the table if it can."""
    if isinstance(correct, Reliability):
        pairs = correct.pairs
        table = presentations(first.assign(_one=1.0), "_one", _attributes(first, request))
        table_judges = pd.MultiIndex.from_frame(table[["judge", "prompt"]].drop_duplicates())
        inside = pd.MultiIndex.from_frame(pairs[["judge", "prompt"]]).isin(table_judges)
        pairs = pairs[inside] if inside.any() else pairs
    elif correct in (RELIABILITY, BY_LEVEL, BY_GROUP):
        outcome = request.formula.outcome
        pairs = find_repeats(choices, outcome=outcome, features=_attributes(choices, request)).pairs
    else:
        raise InputError(
            f"correct is {correct!r}; give 'reliability', 'by_level', 'by_group', a known tau, or a result "
            "of reliability."
        )
    judges = pairs[["judge", "prompt"]].drop_duplicates()
    if len(judges) > 1 and correct != BY_GROUP:
        warn_caller(
            f"One tau is pooled over {len(judges)} judges and prompts; correct each alone, or compare "
            "them with correct='by_group'.",
        )
    return pairs.reset_index(drop=True)


def _attributes(choices: pd.DataFrame, request: EstimateRequest) -> list[str] | None:
    """Attributes that make a profile, where there are neither profile_id nor categories."""
    if "profile_id" in choices and choices["profile_id"].notna().all():
        return None
    named = [name for name in request.formula.features if name not in request.by]
    return None if all(isinstance(choices[n].dtype, pd.CategoricalDtype) for n in named) else named


def groups_for(
    correct: str | Reliability, plan: EstimationPlan, pairs: pd.DataFrame, choices: pd.DataFrame
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    """Names of T groups of repeats, which repeats lie in each (P,), and which one each row takes (J, m)."""
    everything = np.ones(len(pairs), dtype=bool)
    if correct == BY_GROUP:
        return _by_group(plan, pairs, choices, everything)
    if correct == BY_LEVEL:
        return _by_level(plan, pairs, choices, everything)
    return [_POOLED], [everything], np.zeros((1, len(plan.keys)), dtype=int)


def _by_group(
    plan: EstimationPlan, pairs: pd.DataFrame, choices: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    if len(plan.request.by) != 1 or "by" not in plan.keys:
        raise InputError("correct='by_group' is for amce_diffs and mm_diffs; give 'reliability' here.")
    by = plan.request.by[0]
    sides = [choices[by].iloc[pairs[row].to_numpy()].astype(str).to_numpy() for row in ("row_a", "row_b")]
    groups = plan.keys[by].astype(str)
    base = str(plan.keys["by"].iloc[0]).removeprefix(f"{groups.iloc[0]} - ")
    levels = [base, *dict.fromkeys(groups)]
    masks = [(sides[0] == level) | (sides[1] == level) for level in levels]
    names, masks, place = _with_fallback(levels, masks, pairs, everything)
    number = np.array([np.full(len(groups), place[0]), [place[levels.index(group)] for group in groups]])
    return names, masks, number


def _by_level(
    plan: EstimationPlan, pairs: pd.DataFrame, choices: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], np.ndarray]:
    """A level's repeats are those whose profiles differ in its feature, one showing it (or the reference)."""
    request, cells = plan.request, plan.cells
    label = {request.label(name): name for name in request.features}
    levels, masks = [], []
    for feature, level in zip(plan.keys["feature"].astype(str), plan.keys["level"].astype(str), strict=True):
        name = label[feature]
        sides = [choices[name].iloc[pairs[row].to_numpy()].astype(str) for row in ("row_a", "row_b")]
        a, b = (values.to_numpy() for values in sides)
        compared = [level] if request.verb.startswith("mm") else [level, str(cells.levels[name][0])]
        masks.append((a != b) & (np.isin(a, compared) | np.isin(b, compared)))
        levels.append(f"{feature}={level}")
    names, masks, place = _with_fallback(levels, masks, pairs, everything)
    return names, masks, np.array([place])


def _with_fallback(
    levels: Sequence[str], masks: Sequence[np.ndarray], pairs: pd.DataFrame, everything: np.ndarray
) -> tuple[list[str], list[np.ndarray], list[int]]:
    """Keep the groups whose repeats suffice; the others take the pooled tau, which comes first."""
    names, group_masks, place, poor = [_POOLED], [everything], [], []
    for level, mask in zip(levels, masks, strict=True):
        error = swapping_of(pairs[mask])
        n = error.n_compared
        clear = n >= MINIMUM and verdict(error, n).clear
        if level in names:
            place.append(names.index(level))
        elif clear:
            place.append(len(names))
            names.append(level)
            group_masks.append(mask)
        else:
            place.append(0)
            poor.append(f"{level} ({n})")
    if poor:
        text = ", ".join(list(dict.fromkeys(poor))[:8]) + (" and others" if len(set(poor)) > 8 else "")
        warn_caller(
            f"The pooled tau is used where fewer than {MINIMUM} repeats are answered twice, or do not "
            f"agree clearly above chance: {text}.",
        )
    return names, group_masks, place


def swapping_errors(
    plan: EstimationPlan, first: pd.DataFrame, pairs: pd.DataFrame, names: list[str], masks: list[np.ndarray]
) -> Errors:
    """Estimate the swapping error of each group of repeats, net bias set apart, and number the clusters."""
    of_row, of_pair, n = _clusters(plan, first, pairs)
    errors = []
    influence = np.zeros((len(pairs), len(masks)))
    for number, (name, mask) in enumerate(zip(names, masks, strict=True)):
        errors.append(swapping_of(pairs[mask], of_pair[mask]))
        _refuse_uncorrectable(name, errors[-1], swapping_of(pairs[mask]), int(mask.sum()))
        influence[mask, number] = errors[-1].influence
    _warn_of_net_bias(names, errors)
    return Errors(errors, names, influence, of_pair, of_row, n)


def _refuse_uncorrectable(name: str, clustered: Swapping, error: Swapping, n_repeats: int) -> None:
    """Refuse what cannot be corrected, by the same verdict as reliability()."""
    which = "" if name == _POOLED else f" of {name}"
    if clustered.n_units < 2:
        raise InputError(
            f"{clustered.n_units} repeats{which} with two answers are too few for a swapping error; give a "
            "known swapping error, correct=, or collect repeats."
        )
    judged, agreement, stable = verdict(error, n_repeats), error.agreement.estimate, error.stable.estimate
    text = f"Repeated answers{which} agree in {percentage(agreement, 1)} of cases"
    if stable < agreement:
        text += f" ({percentage(stable, 1)} once a preference for position {error.preferred} is removed)"
    if not judged.correctable and error.n_units < 2:
        raise InputError(
            f"{text}, but all of them are by one respondent and do not generalise to others; give a known "
            "swapping error, correct=, or collect repeats of more respondents."
        )
    if not judged.correctable:
        raise InputError(
            f"{text}, no better than chance: effects cannot be corrected; see reliability() for the pattern "
            "of answers."
        )
    if not judged.clear:
        warn_caller(
            f"{text}, not clearly above chance; corrected estimates are unstable and their standard "
            "errors too small.",
        )


def _warn_of_net_bias(names: list[str], errors: list[Swapping]) -> None:
    parts = [
        f"{'' if name == _POOLED else f'of {name} '}favour position {error.preferred} by "
        f"{100 * abs(error.net_bias):.1f} points"
        for name, error in zip(names, errors, strict=True)
        if error.net_bias
    ]
    if parts:
        warn_caller(
            f"Repeated answers {', '.join(parts)}. The correction assumes that this net bias is the same in "
            "every pair; where it differs between pairs, corrected effects are too large. At least "
            f"{ENOUGH} repeats with swapped positions and {ENOUGH} with unchanged positions are needed to "
            "separate bias from noise.",
        )


def _clusters(
    plan: EstimationPlan, first: pd.DataFrame, pairs: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray, int]:
    """Clusters of n rows and of P repeats, and how many there are among the rows."""
    # Of the cluster columns that keep the two profiles of a pair together the coarsest counts, else
    # respondents (for models, pairs). Repeats of pairs that are not in the table are clusters apart.
    outcome = plan.request.formula.outcome
    table = presentations(first, outcome, _attributes(first, plan.request)) if len(pairs) else pairs
    a, b = table["row_a"].to_numpy(), table["row_b"].to_numpy()
    code = table["unit"].to_numpy()
    for clusters in sorted(plan.cells.clusterings.values(), key=lambda clustering: clustering.n):
        if (clusters.code[a] == clusters.code[b]).all():
            code = clusters.code[a]
            break
    table = table.assign(cluster=np.unique(code, return_inverse=True)[1])
    n = int(table["cluster"].max()) + 1
    of_row = np.empty(len(first), dtype=np.int64)
    of_row[a] = of_row[b] = table["cluster"].to_numpy()
    lookup = table.drop_duplicates(_KEYS).astype(dict.fromkeys(_KEYS, "string"))
    keys = pairs[_KEYS].astype("string")
    cluster_codes = keys.merge(lookup[[*_KEYS, "cluster"]], on=_KEYS, how="left")["cluster"]
    of_unit = cluster_codes.groupby(pairs["unit"].to_numpy()).transform("first")
    new_codes = pd.Series(n + np.unique(pairs["unit"], return_inverse=True)[1])
    return of_row, cluster_codes.fillna(of_unit).fillna(new_codes).to_numpy(dtype=np.int64), n


def taus_of(plan: EstimationPlan, errors: Errors) -> Taus:
    """Swapping errors with their covariance, and that with the K coefficients, clusters in common."""
    n_codes = int(max(errors.cluster_of_pair.max() + 1, errors.n_clusters))
    summed = RowClusters(errors.cluster_of_pair, n_codes).sums(errors.influence)
    scale = np.sqrt([error.n_units / (error.n_units - 1) for error in errors.found])
    rows = np.sqrt(errors.n_clusters / (errors.n_clusters - 1))
    with_coef = covariance_with_coef(plan, summed[errors.cluster_of_row]) * scale * rows
    vcov = (summed * scale).T @ (summed * scale)
    return Taus(np.array([error.tau for error in errors.found]), vcov, with_coef)


def table_of(errors: Errors) -> pd.DataFrame:
    """One row per swapping error, as in `correction.Corrected`."""
    return pd.DataFrame(
        {
            "group": errors.names,
            "tau": [error.tau for error in errors.found],
            "std_error": [error.std_error for error in errors.found],
            "agreement": [error.agreement.estimate for error in errors.found],
            "net_bias": [error.net_bias for error in errors.found],
            "n_compared": [error.n_compared for error in errors.found],
            "n_units": [error.n_units for error in errors.found],
        }
    )


@dataclass(frozen=True)
class Pieces:
    """Reported rows as sums of J pieces, each attenuated by one of T swapping errors."""

    contrasts: np.ndarray  # (J, m, K): what each piece is of K coefficients
    # (J, m): 1 where a piece is a share chosen (a swapping error pulls it to 1/2), -1 where it is one to be
    # taken away, 0 where it is a difference (pulled to 0)
    share: np.ndarray
    error: np.ndarray  # (J, m): number of the swapping error


@dataclass(frozen=True)
class Taus:
    """T swapping errors."""

    value: np.ndarray  # (T,)
    vcov: np.ndarray  # (T, T)
    with_coef: np.ndarray  # (K, T): covariance with the K coefficients


@dataclass(frozen=True)
class Slopes:
    """Corrected rows and their derivatives."""

    estimate: np.ndarray  # (m,)
    by_coef: np.ndarray  # (m, K)
    by_tau: np.ndarray  # (m, T)


def corrected_slopes(pieces: Pieces, coef: np.ndarray, tau: np.ndarray) -> Slopes:
    """Correct m rows: a share becomes ``(share - tau) / (1 - 2 tau)``, a difference ``d / (1 - 2 tau)``."""
    row_taus = tau[pieces.error]
    attenuation = 1 - 2 * row_taus
    observed = pieces.contrasts @ coef
    by_tau = np.zeros((observed.shape[1], len(tau)))
    for piece, slope in enumerate((2 * observed - pieces.share) / attenuation**2):
        by_tau[np.arange(len(slope)), pieces.error[piece]] += slope
    return Slopes(
        ((observed - pieces.share * row_taus) / attenuation).sum(axis=0),
        (pieces.contrasts / attenuation[..., None]).sum(axis=0),
        by_tau,
    )


def joint_vcov(scaled: np.ndarray, slopes: Slopes, taus: Taus) -> np.ndarray:
    """Covariance (m, m) of corrected rows."""
    cross = slopes.by_coef @ taus.with_coef @ slopes.by_tau.T
    return np.asarray(scaled + cross + cross.T + slopes.by_tau @ taus.vcov @ slopes.by_tau.T)


def covariance_with_coef(plan: EstimationPlan, of_row: np.ndarray) -> np.ndarray:
    """Sum over clusters the influence on the coefficients times that on something else, shape (K, T)."""
    cells = plan.cells
    fits = [regress(b, plan.request.family, cells.cell_weight, cells.cell_total) for b in plan.blocks]
    covariance = np.zeros((plan.contrasts.shape[1], of_row.shape[1]))
    for number, influence in enumerate(of_row.T):
        weight = np.bincount(cells.cell, cells.weight * influence, cells.n_cells)
        total = np.bincount(cells.cell, cells.weight * cells.outcome * influence, cells.n_cells)
        for block, fit, columns in zip(plan.blocks, fits, plan.slices, strict=True):
            score = np.where(block.inside, total - weight * fit.fitted, 0.0)
            covariance[columns, number] = fit.bread @ (block.design.T @ score)
    return covariance
