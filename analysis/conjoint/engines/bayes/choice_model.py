"""The choice model: a hierarchical logit of forced choices, with part-worths that differ between raters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.tables.frames import any_frame

from ....frames.variables import Formula
from ....numerics.intervals import check_alpha, draw_limits
from ....numerics.types import Floats
from ....raters.models.model_checks import (
    convergence,
    diagnostics,
    posterior_table,
    sampler_state,
    sentence_on_fit,
    statistic_check,
    verdict,
)
from ....raters.models.model_fit import ModelFit, with_predictive
from ....raters.models.posterior_sampling import Progress
from ...estimates import Estimates
from ...request import make_request
from ...rows import Data, frame_of
from .engine import SampledModel, SamplerOptions, estimates_of, fit
from .paired_choices import PAIR, ChoiceDraws, PairedChoices, draw_population, rater_part_worths, raters_of

RATER_DRAWS = 500  # draws at which part-worths of single raters are summarised
AUTO = "auto"
REPLICATIONS = 100  # a random part of the draws: each replicates all choices
FEW = 5  # pairs of a rater from which a share is computed
SHARE, SPREAD = "share", "SD between raters"


@dataclass(frozen=True, repr=False)
class ChoiceFit(ModelFit):
    """A fitted choice model."""

    # amce, mm: Effects and marginal means on the probability of being chosen, as `conjoint.amce` and
    # `conjoint.mm` return them.
    amce: Estimates | None = None
    mm: Estimates | None = None


@any_frame
def choice_model(
    choices: Data,
    formula: str | Formula,
    *,
    raters: str | None = AUTO,
    pair: str = PAIR,
    correlated: bool = False,
    reference: Mapping[str, Any] | None = None,
    priors: Mapping[str, Any] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 2,
    seed: int = 0,
    sampler: str = "nutpie",
    progress: Progress = False,
    alpha: float = 0.05,
    target_accept: float = 0.9,
) -> ChoiceFit:
    """Fit a hierarchical logit to forced choices between two profiles.

    A rater chooses the profile in position A with probability ``1 / (1 + exp(-(b + u_A - u_B)))``, where a
    profile's utility u is the sum of the rater's part-worths of its levels. Part-worths of raters are normal
    around those of the population. One model under one prompt is one rater, whose part-worths are the
    population's.

    Parameters
    ----------
    choices : DataFrame or path of a Parquet file
        One row a profile; the two rows of a pair share ``pair_id`` (and judge, prompt and sample, where
        there are such columns). ``position`` is A or B.
    formula : str
        ``chosen ~ slur + identity``; ``a * b`` adds part-worths of combinations, and restricts each to the
        other as in `conjoint.amce`.
    raters : str, optional
        Column of those whose part-worths differ. By default people (``judge_id``) do, and a table of models
        must hold one model under one prompt; None means that all choices are by one rater.
    pair : str
        Column that the two rows of a choice share.
    correlated : bool
        Whether part-worths of a rater may be correlated (LKJ prior).
    reference : mapping, optional
        Reference level of a feature, in place of its first one.
    priors : mapping, optional
        In place of the defaults, on the logit scale: ``position``, ``mean`` (normal), ``spread``
        (half-normal), ``correlation`` (lkj).
    draws, tune, chains, seed, sampler, progress
        As in `sampling.sample`.
    alpha : float
        One minus the mass of the intervals.
    target_accept : float
        Acceptance rate to adapt the sampler's steps to: raise it to 0.95 or 0.99 where draws diverge.

    Returns
    -------
    ChoiceFit
        ``frame`` has a row for each part-worth in the population, its standard deviation between raters, and
        the advantage of position A: ``quantity, feature, level, estimate, std_error, lower, upper, rhat,
        ess_bulk, ess_tail``. ``amce`` and ``mm`` are estimates on the probability scale: the posterior of
        mean changes in the choice probability over the observed profiles on both sides of every pair and
        over raters drawn anew. ``extra`` contains ``amce`` and ``mm`` as tables with diagnostics, ``raters``
        (``judge, feature, level, estimate, std_error, lower, upper``), ``correlation``, and ``check`` and
        ``prior_check``: shares of choices of each level among pairs that show it on one side only, and how
        much raters differ in them, beside what the fitted model and its priors alone make.

    Raises
    ------
    InputError
        Where pairs, choices or raters cannot be identified, or the table mixes people and models.
    MissingDependency
        Without the extra ``bayes``.

    References
    ----------
    Train, K. E. (2009). Discrete choice methods with simulation, 2nd edition, chapter 12. Cambridge
    University Press. doi:10.1017/CBO9780511805271

    Lenk, P. J., DeSarbo, W. S., Green, P. E. and Young, M. R. (1996). Hierarchical Bayes conjoint analysis:
    Recovery of partworth heterogeneity from reduced experimental designs. Marketing Science 15(2), 173-191.
    doi:10.1287/mksc.15.2.173

    Hainmueller, J., Hopkins, D. J., Yamamoto, T. (2014). Causal inference in conjoint analysis. Political
    Analysis 22(1), 1-30. doi:10.1093/pan/mpt024

    Examples
    --------
    >>> choices = pd.DataFrame({
    ...     "judge_id": "gpt", "judge_kind": "model", "pair_id": np.repeat(np.arange(40), 2).astype(str),
    ...     "position": ["A", "B"] * 40, "tone": pd.Categorical(["calm", "loud", "loud", "calm"] * 20),
    ...     "chosen": [1, 0, 0, 1, 0, 1, 0, 1] * 10})
    >>> fit = choice_model(choices, "chosen ~ tone", draws=20, tune=20, seed=1)
    >>> loud = fit.amce.frame.set_index("level").loc["loud"]
    >>> bool(loud["upper"] < 0)
    True
    """
    check_alpha(alpha)
    request = make_request("amce", formula, engine="bayes", alpha=alpha, reference=reference)
    data = frame_of(request, choices, full=True)
    who = raters_of(data) if raters == AUTO else raters
    sampling = SamplerOptions(
        draws, tune, chains, seed, sampler, progress, priors, correlated,
        keep_raters=True, target_accept=target_accept,
    )  # fmt: skip
    sample = fit(request, data, who, sampling, pair)
    frame = _summary(sample, alpha)
    effects, effect_draws = estimates_of(sample, request)
    means, mean_draws = estimates_of(sample, replace(request, verb="mm"))
    extra = {"amce": _with_checks(effects, effect_draws), "mm": _with_checks(means, mean_draws)}
    notes = [f"The model was fitted to {len(sample.pairs.chosen):,} answered pairs."]
    notes += _rater_notes(sample)
    if "noise" in sample.draws["posterior"]:
        extra["raters"] = _rater_table(sample, alpha)
    if correlated and sample.pairs.raters:
        extra["correlation"] = _correlation_table(sample, alpha)
    fitted, prior = _checks(sample, seed, alpha)
    extra |= {"check": fitted.table, "prior_check": prior.table}
    notes.append(sentence_on_fit(fitted.table, "statistics of the choices", alpha))
    state = sampler_state(sample.draws)
    settings = {
        "model": "choice_model",
        "formula": str(request.formula),
        "raters": who,
        "correlated": correlated,
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "seed": seed,
        "sampler": state.sampler,
        "alpha": alpha,
        "target_accept": target_accept,
        "seconds": state.seconds,
        "priors": {name: prior.in_words() for name, prior in sample.priors.items()},
    }
    quantities = pd.concat([frame, extra["amce"].assign(quantity="AMCE").dropna(subset=["rhat"])])
    return ChoiceFit(
        frame,
        "choice_model",
        tuple(notes),
        settings,
        extra,
        data=with_checks(sample.draws, sample.pairs, fitted, prior),
        diagnostics=diagnostics(
            sample.draws, [n for n in sample.draws["posterior"].data_vars if n != "noise"]
        ),
        verdict=verdict(quantities, state, name=("quantity", "feature", "level")),
        priors=sample.priors,
        amce=effects,
        mm=means,
    )


def _checks(sample: SampledModel, seed: int, alpha: float) -> tuple[ChoiceCheck, ChoiceCheck]:
    """Posterior and prior predictive checks."""
    pairs, terms = sample.pairs, _terms(sample)
    rng, alone = np.random.default_rng([seed, 2]), np.random.default_rng([seed, 3])
    prior = draw_population(pairs, sample.priors, alone, REPLICATIONS)
    return (
        check_choices(pairs, terms, some_draws(sample.population, rng), rng, alpha),
        check_choices(pairs, terms, prior, alone, alpha),
    )


def _summary(sample: SampledModel, alpha: float) -> pd.DataFrame:
    """Part-worths in the population, their spread between raters, the advantage of position A."""
    terms = _terms(sample)
    population = sample.population
    keys, parts = [terms.assign(quantity="part-worth")], [population.mean]
    if population.factor is not None:
        keys.append(terms.assign(quantity="SD between raters"))
        parts.append(_standard_deviations(population.factor))
    if sample.pairs.positioned:
        keys.append(pd.DataFrame({"feature": ["position"], "level": ["A"], "quantity": ["part-worth"]}))
        parts.append(population.position[..., None])
    named = pd.concat(keys, ignore_index=True)[["quantity", "feature", "level"]]
    return posterior_table(named, np.concatenate(parts, axis=2), alpha)


def _terms(sample: SampledModel) -> pd.DataFrame:
    plan = sample.plan
    rows = [
        (
            ":".join(name for name, _ in term),
            ":".join(str(plan.cells.levels[name][level]) for name, level in term),
        )
        for term in plan.blocks[0].terms[1:]
    ]
    return pd.DataFrame(rows, columns=["feature", "level"])


def _standard_deviations(factor: np.ndarray) -> np.ndarray:
    """Standard deviations between raters, shape (C, D, p)."""
    return factor if factor.ndim == 3 else np.sqrt(np.square(factor).sum(axis=-1))


def _with_checks(estimates: Estimates, values: np.ndarray) -> pd.DataFrame:
    """Estimates with the diagnostics of their draws."""
    frame = estimates.frame.drop(columns=["z", "p"])
    checks = convergence(values).set_axis(frame.index[frame["std_error"].notna()])
    return frame.join(checks)


def _rater_notes(sample: SampledModel) -> list[str]:
    if not sample.pairs.raters:
        return ["All choices are treated as those of one rater: part-worths do not differ between raters."]
    if "noise" not in sample.draws["posterior"]:
        return [
            f"Part-worths of the {len(sample.pairs.raters):,} raters were not kept, for lack of memory; "
            "request fewer draws to keep them."
        ]
    return []


def _rater_table(sample: SampledModel, alpha: float) -> pd.DataFrame:
    """Part-worths of single raters."""
    total = sample.population.position.size
    chosen = np.unique(np.linspace(0, total - 1, min(total, RATER_DRAWS)).astype(int))
    worths = rater_part_worths(sample.draws["posterior"], chosen)
    lower, upper = draw_limits(worths, alpha)
    names, terms = sample.pairs.raters, _terms(sample)
    keys = pd.concat([terms] * len(names), ignore_index=True)
    keys.insert(0, "judge", np.repeat(names, len(terms)))
    return keys.assign(
        estimate=worths.mean(axis=0).ravel(),
        std_error=worths.std(axis=0, ddof=1).ravel(),
        lower=lower.ravel(),
        upper=upper.ravel(),
    )


def _correlation_table(sample: SampledModel, alpha: float) -> pd.DataFrame:
    """Correlations of part-worths between raters, each pair of terms once."""
    factor = sample.population.factor
    assert factor is not None
    scaled = factor / _standard_deviations(factor)[..., None]
    correlation = scaled @ np.swapaxes(scaled, -1, -2)
    row, column = np.tril_indices(factor.shape[-1], -1)
    names = np.array(sample.pairs.terms)
    keys = pd.DataFrame({"one": names[column], "other": names[row]})
    return posterior_table(keys, correlation[..., row, column], alpha)


@dataclass(frozen=True)
class ChoiceCheck:
    """Choices that the model makes, beside those of the raters."""

    made: NDArray[np.bool_]  # (R, n); whether the first profile was chosen, in replicated choices
    # ``statistic, feature, level, observed, expected, lower, upper, tail, n_pairs``: of the pairs that show
    # a level on one side only, the share in which it was chosen; and the standard deviation of this share
    # between raters
    table: pd.DataFrame


def some_draws(draws: ChoiceDraws, rng: np.random.Generator) -> ChoiceDraws:
    """At most ``REPLICATIONS`` draws of the population, at random, as of one chain."""
    total = draws.position.size
    at = np.unravel_index(rng.choice(total, min(total, REPLICATIONS), replace=False), draws.position.shape)
    factor = None if draws.factor is None else draws.factor[at][None]
    return ChoiceDraws(draws.position[at][None], draws.mean[at][None], factor)


def check_choices(
    pairs: PairedChoices, terms: pd.DataFrame, draws: ChoiceDraws, rng: np.random.Generator, alpha: float
) -> ChoiceCheck:
    """Compare choices with those made at draws of the population, from the posterior or the priors."""
    replicates = replicate(pairs, draws, rng)
    sides = np.sign(pairs.first - pairs.second)
    if pairs.positioned:
        sides = np.column_stack([sides, np.ones(len(sides))])
        terms = pd.concat([terms, pd.DataFrame({"feature": ["position"], "level": ["A"]})])
    observed_statistics = statistics(pairs, sides, pairs.chosen)
    replicated_statistics = np.array([statistics(pairs, sides, choices) for choices in replicates])
    kinds = [SHARE, SPREAD] if pairs.raters else [SHARE]
    keys = pd.concat([terms[["feature", "level"]]] * len(kinds), ignore_index=True)
    keys.insert(0, "statistic", np.repeat(kinds, len(terms)))
    table = statistic_check(keys, observed_statistics, replicated_statistics, alpha)
    table["n_pairs"] = np.tile((sides != 0).sum(axis=0), len(kinds))
    return ChoiceCheck(replicates, table.dropna(subset="observed").reset_index(drop=True))


def replicate(pairs: PairedChoices, draws: ChoiceDraws, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choices between the same profiles by as many raters drawn anew, one set a draw, shape (R, n)."""
    difference = pairs.first - pairs.second
    n, p = difference.shape
    choices = np.empty((draws.mean.shape[1], n), dtype=bool)
    for r in range(len(choices)):
        utility = draws.position[0, r] + difference @ draws.mean[0, r]
        if draws.factor is not None:
            noise, factor = rng.standard_normal((len(pairs.raters), p)), draws.factor[0, r]
            rater_worths = noise * factor if factor.ndim == 1 else noise @ factor.T
            utility += np.einsum("np,np->n", difference, rater_worths[pairs.rater])
        choices[r] = rng.logistic(size=n) < utility
    return choices


def statistics(pairs: PairedChoices, sides: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Shares of choices of each term, and their standard deviations between raters, shape (q,) or (2 q,)."""
    differs = sides != 0
    won = differs & ((sides > 0) == chosen[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = won.sum(axis=0) / differs.sum(axis=0)
        if not pairs.raters:
            return share
        by_rater = np.zeros((2, len(pairs.raters), sides.shape[1]))
        np.add.at(by_rater[0], pairs.rater, won)
        np.add.at(by_rater[1], pairs.rater, differs)
        shares = np.where(by_rater[1] >= FEW, by_rater[0] / by_rater[1], np.nan)
    spread = [
        np.std(column[~np.isnan(column)]) if (~np.isnan(column)).sum() > 1 else np.nan for column in shares.T
    ]
    return np.concatenate([share, spread])


def with_checks(draws: Any, pairs: PairedChoices, fitted: ChoiceCheck, prior: ChoiceCheck) -> Any:
    """Add to the draws whether the first profile was chosen, by raters, by the model and by its priors."""
    raters = np.array([*pairs.raters, ""])[pairs.rater]
    answers, posterior, alone = (values.astype(np.int8) for values in (pairs.chosen, fitted.made, prior.made))
    return with_predictive(
        draws, answers, posterior, alone, ("choice",), {"rater_of_choice": ("choice", raters)}
    )
