"""Engine `bayes`: AMCEs and marginal means from the posterior of a hierarchical logit of the choices.

Other engines regress the outcome of single profiles on cells; this one models the choice within each pair.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from conjury.inference.errors import InputError, did_you_mean, listed

from ....numerics.intervals import draw_limits
from ....numerics.types import Floats
from ....raters.models.model_checks import RHAT, convergence, sampler_state
from ....results import row_labels
from ...estimands import plan_of
from ...estimates import Estimates
from ...estimation_plan import EstimationPlan, level_profiles, level_rows
from ...request import EstimateRequest
from ..solution import estimable, provenance_of, warn
from .paired_choices import (
    PAIR,
    ChoiceDraws,
    PairedChoices,
    PairRows,
    can_keep,
    draw,
    find_pairs,
    population,
    priors_in_use,
    rater_codes,
)

VERBS = ("amce", "mm")
EFFECT_DRAWS = 800  # draws of the posterior at which probabilities are averaged
_TOLERANCE = 1e-8  # relative to the largest eigenvalue: no pair of profiles differs in directions below it


@dataclass(frozen=True)
class SamplerOptions:
    """How to sample: options of `raters.models.choice_model`."""

    draws: int = 1000
    tune: int = 1000
    chains: int = 2
    seed: int = 0
    sampler: str = "nutpie"
    progress: Any = False
    priors: Mapping[str, Any] | None = None
    correlated: bool = False
    keep_raters: bool = False
    target_accept: float = 0.9

    @property
    def options(self) -> dict[str, Any]:
        """Options of `sampling.sample`."""
        names = ("draws", "tune", "chains", "seed", "sampler", "progress", "target_accept")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class SampledModel:
    """A fitted choice model."""

    plan: EstimationPlan  # Of the AMCEs
    data: pd.DataFrame
    rows: PairRows
    pairs: PairedChoices
    draws: Any
    population: ChoiceDraws
    priors: Mapping[str, Any]
    sampling: SamplerOptions


def estimate_with_bayes(
    request: EstimateRequest, data: pd.DataFrame, sampling: Mapping[str, Any]
) -> Estimates:
    """Sample the model, with defaults where ``sampling`` has no option, and report what is asked for."""
    check_request(request)
    raters = request.clusters[0] if request.clusters else None
    sample = fit(request, data, raters, sampler_options(sampling))
    estimates, values = estimates_of(sample, request)
    _warn_of_draws(sample, values)
    return estimates


def sampler_options(options: Mapping[str, Any]) -> SamplerOptions:
    """Read options of sampling by name; InputError for one that there is not."""
    names = [part.name for part in fields(SamplerOptions) if part.name != "keep_raters"]
    for name in options:
        if name not in names:
            raise InputError(
                f"There is no option {name!r}{did_you_mean(name, names)}; with engine='bayes' there are "
                f"{listed(names)}."
            )
    return SamplerOptions(**options)


def check_request(request: EstimateRequest) -> None:
    """Refuse what the choice model does not estimate."""
    if request.verb not in VERBS:
        raise InputError(f"The engine bayes has no {request.verb}; it has {' and '.join(VERBS)}.")
    if request.weights:
        raise InputError("The engine bayes accepts no weights; omit them, or use another engine.")
    if request.family != "gaussian":
        raise InputError(
            "The engine bayes reports effects on probabilities; omit family, and take part-worths (on "
            "the logit scale) from choice_model."
        )


def fit(
    request: EstimateRequest,
    data: pd.DataFrame,
    raters: str | None,
    sampling: SamplerOptions | None = None,
    pair: str = PAIR,
) -> SampledModel:
    """Sample the posterior of the choice model of a request."""
    sampling = sampling or SamplerOptions()
    plan = plan_of(replace(request, verb="amce", clusters=()), data)
    (block,), cells = plan.blocks, plan.cells
    rows = find_pairs(data, request.formula.outcome, block.inside[cells.cell], pair)
    code, names = rater_codes(data, rows, raters)
    design = block.design[:, 1:]
    pairs = PairedChoices(
        design[cells.cell[rows.first]],
        design[cells.cell[rows.second]],
        rows.chosen,
        code,
        tuple(_term(plan, number) for number in range(1, len(block.terms))),
        names,
        rows.positioned,
    )
    if sampling.correlated and len(pairs.terms) < 2:
        raise InputError("There is only one part-worth, so there are no correlations; omit correlated.")
    priors = priors_in_use(pairs, sampling.correlated, sampling.priors)
    keep_raters = sampling.keep_raters and can_keep(pairs, sampling.draws, sampling.chains)
    trace = draw(pairs, priors, raters=keep_raters, **sampling.options)
    return SampledModel(plan, data, rows, pairs, trace, population(trace["posterior"]), priors, sampling)


def estimates_of(sample: SampledModel, request: EstimateRequest) -> tuple[Estimates, np.ndarray]:
    """Tidy AMCEs or marginal means, and their draws, shape (chains, draws, reported rows)."""
    keys, tested, reference, values = _effects(sample) if request.verb == "amce" else _means(sample, request)
    flat = values.reshape(-1, values.shape[-1])
    numbers = np.full((4, len(keys)), np.nan)
    numbers[0, reference] = 0.0
    numbers[:, tested] = [flat.mean(0), flat.std(0, ddof=1), *draw_limits(flat, request.alpha)]
    estimate, std_error, lower, upper = numbers
    frame = keys.assign(estimate=estimate, std_error=std_error, z=np.nan, p=np.nan, lower=lower, upper=upper)
    labels = row_labels(keys[tested])
    vcov = pd.DataFrame(np.atleast_2d(np.cov(flat.T)), index=labels, columns=labels)
    clusters = {request.id: len(sample.pairs.raters) or len(sample.pairs.chosen)} if request.id else {}
    provenance = provenance_of(request, len(sample.data), 2 * len(sample.pairs.chosen), clusters)
    sampling = sample.sampling
    extra = provenance.extra | {
        "pairs": len(sample.pairs.chosen),
        "raters": len(sample.pairs.raters),
        "draws": sampling.draws,
        "tune": sampling.tune,
        "chains": sampling.chains,
        "seed": sampling.seed,
        "priors": {name: prior.in_words() for name, prior in sample.priors.items()},
    }
    return Estimates(
        frame, vcov, replace(provenance, vcov="posterior", interval="posterior", extra=extra)
    ), values


def _effects(sample: SampledModel) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    plan = sample.plan
    tested = ~plan.is_reference & _is_identified(sample)
    warn(plan, ~tested & ~plan.is_reference, "estimate", "no pair distinguishes it from the reference.")
    return plan.keys, tested, plan.is_reference, _averages(sample, _effect_parts(plan), tested)


def _means(
    sample: SampledModel, request: EstimateRequest
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    plan = plan_of(replace(request, verb="mm", clusters=()), sample.data)
    parts = _mean_parts(sample)
    tested = np.array([bool(row_parts) for row_parts in parts])
    warn(plan, ~tested, "estimate", "no answered pair shows it.")
    return plan.keys, tested, np.zeros(len(tested), dtype=bool), _averages(sample, parts, tested)


def _averages(sample: SampledModel, parts: list[list[ChoiceProbability]], tested: np.ndarray) -> np.ndarray:
    tested_parts = [row_parts for row_parts, is_asked in zip(parts, tested, strict=True) if is_asked]
    rng = np.random.default_rng([sample.sampling.seed, 1])
    return averages(thin_draws(sample.population, EFFECT_DRAWS), sample.pairs, tested_parts, rng)


def _effect_parts(plan: EstimationPlan) -> list[list[ChoiceProbability]]:
    """Parts of each row of a plan of AMCEs: level less reference; none for what cannot be compared."""
    rows = list(level_rows(plan.request, plan.cells))
    bases = {name: level for (name, level), base in zip(rows, plan.is_reference, strict=True) if base}
    partners, changes = _partners(plan), []
    for feature, level in rows:
        partner = partners.get(feature)
        compared = level_profiles(plan.cells, plan.blocks[0], feature, level, bases[feature], partner)
        share = 1 / max(len(compared), 1)
        changes.append(
            [
                _part(plan, weight, levels)
                for profile, base_profile in compared
                for weight, levels in ((share, profile), (-share, base_profile))
            ]
        )
    return changes


def _mean_parts(sample: SampledModel) -> list[list[ChoiceProbability]]:
    """Parts of each row of marginal means: the level, with its partner's levels as often as they occur."""
    plan, partners = sample.plan, _partners(sample.plan)
    codes = plan.cells.codes[plan.cells.cell[np.concatenate([sample.rows.first, sample.rows.second])]]
    codes_by_feature = dict(zip(plan.cells.levels, codes.T, strict=True))
    parts = []
    for feature, level in level_rows(plan.request, plan.cells):
        mask, partner = codes_by_feature[feature] == level, partners.get(feature)
        if partner is None:
            parts.append([_part(plan, 1.0, {feature: level})] if mask.any() else [])
            continue
        partner_levels, times = np.unique(codes_by_feature[partner][mask], return_counts=True)
        shares = times / max(times.sum(), 1)
        parts.append(
            [
                _part(plan, float(share), {feature: level, partner: int(partner_level)})
                for partner_level, share in zip(partner_levels, shares, strict=True)
            ]
        )
    return parts


def _part(plan: EstimationPlan, weight: float, levels: dict[str, int]) -> ChoiceProbability:
    """Put levels into profiles, with the dummies of all features that they name."""
    (block,) = plan.blocks
    columns = [n for n, term in enumerate(block.terms) if set(levels) & {name for name, _ in term}]
    return ChoiceProbability(
        weight, tuple(n - 1 for n in columns), tuple(block.row(levels)[columns].tolist())
    )


def _partners(plan: EstimationPlan) -> dict[str, str]:
    return {a: b for pair in plan.request.formula.restrictions for a, b in (pair, pair[::-1])}


def _is_identified(sample: SampledModel) -> np.ndarray:
    """Flag the AMCEs, shape (m,), that differences within pairs determine."""
    difference = sample.pairs.first - sample.pairs.second
    values, vectors = np.linalg.eigh(difference.T @ difference)
    null = vectors[:, values < _TOLERANCE * max(1.0, float(values.max()))]
    return estimable(sample.plan.contrasts[:, 1:], null)


def _term(plan: EstimationPlan, number: int) -> str:
    parts = plan.blocks[0].terms[number]
    return ":".join(f"{name}={plan.cells.levels[name][level]}" for name, level in parts)


def _warn_of_draws(sample: SampledModel, values: np.ndarray) -> None:
    """Pass on what the diagnostics of the draws have to say against the estimates."""
    worst = float(convergence(values)["rhat"].max())
    diverged = sampler_state(sample.draws).divergences
    if worst > RHAT or diverged:
        warnings.warn(
            f"The draws of the engine bayes have not converged (R-hat up to {worst:.3f}, {diverged:,} "
            "divergences); use choice_model with more draws.",
            stacklevel=5,
        )


@dataclass(frozen=True)
class ChoiceProbability:
    """The mean probability of being chosen with some levels in place of those that profiles show."""

    weight: float  # What it adds to an effect is the mean times this
    # length b; dummies of the attribute, and of the one that restricts it if there is one
    columns: tuple[int, ...]
    values: tuple[float, ...]  # length b; these dummies with the levels in place


def averages(
    draws: ChoiceDraws,
    pairs: PairedChoices,
    effects: Sequence[Sequence[ChoiceProbability]],
    rng: np.random.Generator,
) -> Floats:
    """Weighted sums of mean probabilities of being chosen, over both profiles of every pair, (C, D, m)."""
    shape = draws.position.shape
    values = np.empty((*shape, len(effects)))
    for at in np.ndindex(shape):
        choice = _ChoiceDraw(
            pairs, _part_worths(draws, at, len(pairs.chosen), rng), float(draws.position[at])
        )
        for place, parts in enumerate(effects):
            values[(*at, place)] = sum(part.weight * choice.mean(part.columns, part.values) for part in parts)
    return values


def thin_draws(draws: ChoiceDraws, most: int) -> ChoiceDraws:
    """Every so many draws of each chain, so that about ``most`` remain in all."""
    step = max(1, draws.position.size // most)
    factor = None if draws.factor is None else draws.factor[:, ::step]
    return replace(draws, position=draws.position[:, ::step], mean=draws.mean[:, ::step], factor=factor)


class _ChoiceDraw:
    """Choice probabilities at one draw, with some dummies of every profile replaced."""

    def __init__(self, pairs: PairedChoices, worth: Floats, position: float) -> None:
        self._sides = (pairs.first, pairs.second)
        self._worth = worth
        self._ahead = _utility(pairs.first - pairs.second, worth) + position
        self._rest: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        self._means: dict[tuple[tuple[int, ...], tuple[float, ...]], float] = {}

    def mean(self, columns: tuple[int, ...], values: tuple[float, ...]) -> float:
        """Mean probability of being chosen over all profiles, each with ``values`` in place."""
        key = (columns, values)
        if key not in self._means:
            gain = self._worth[..., list(columns)] @ np.array(values)
            self._means[key] = float(np.mean([expit(base + gain).mean() for base in self._without(columns)]))
        return self._means[key]

    def _without(self, columns: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Advantage of each profile in A, and of each in B, without what some of its dummies add, (n,)."""
        if columns not in self._rest:
            chosen = list(columns)
            worth = self._worth[..., chosen]
            first, second = (_utility(side[:, chosen], worth) for side in self._sides)
            self._rest[columns] = (self._ahead - first, -self._ahead - second)
        return self._rest[columns]


def _part_worths(draws: ChoiceDraws, at: tuple[int, ...], n: int, rng: np.random.Generator) -> Floats:
    """Part-worths at one draw: of the one judge, shape (p,), or of a rater drawn for each pair, (n, p)."""
    mean = draws.mean[at]
    if draws.factor is None:
        return np.asarray(mean)
    factor = draws.factor[at]
    noise = rng.standard_normal((n, len(mean)))
    return np.asarray(mean + (noise * factor if factor.ndim == 1 else noise @ factor.T))


def _utility(design: Floats, worth: Floats) -> Floats:
    """Utility of each row of a design (n, p) for part-worths (p,) or (n, p), shape (n,)."""
    if worth.ndim == 1:
        return np.asarray(design @ worth)
    return np.asarray(np.einsum("np,np->n", design, worth))
