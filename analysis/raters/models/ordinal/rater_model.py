"""The hierarchical model of ordinal ratings by people and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import unknown_name
from conjury.inference.tables.frames import any_frame

from ....numerics.intervals import check_alpha
from ....numerics.types import Codes
from ...reading import read_ratings
from ...scales import with_items
from ..model_checks import diagnostics, sampler_state, sentence_on_fit, verdict
from ..model_fit import ModelFit, override_priors, with_predictive
from ..posterior_sampling import TARGET_ACCEPT, Progress, check_sampling, library, sample
from .density import HIDDEN, PRIORS, Density, check_families, for_nutpie
from .expected_agreement import expected_agreement
from .ordinal_data import FEW_PEOPLE, OrdinalData, cells, ordinal_data
from .ordinal_draws import ParameterDraws, draws_of, grid, grid_step, posterior_draws, replicate
from .rater_tables import (
    convergence_table,
    covariate_tables,
    end_notes,
    group_table,
    groups_at_ends,
    item_table,
    judge_table,
    notes_on_nonfollowers,
    predictive_tables,
    threshold_table,
)

LINKS = ("logit", "probit")
AGREEING = 2000  # draws from which agreement is computed
REPLICATED = 200  # draws, evenly spaced: each replicates all ratings
FEW_RATINGS = 2000  # up to which a panel is small, as with few people
MANY, FEW = (1600, 250, 2), (2500, 500, 4)  # draws, draws to adapt in, chains; of small panels
FEW_ACCEPT = 0.9  # acceptance rate that is aimed at for few people


@dataclass(frozen=True, repr=False)
class RaterFit(ModelFit):
    """Result of ``rater_model``.

    Parameters
    ----------
    frame : DataFrame
        Quantities of groups: ``group, judge_kind, quantity, estimate, std_error, lower, upper, rhat,
        ess_bulk, ess_tail, n_judges, n_ratings, observed``; quantities are those of
        ``ordinal_summary.QUANTITIES``, and ``observed`` is the share of equal ratings in the data.
    kind, notes, settings
        As in `conjury.analysis.results.Result`.
    extra : mapping of str to DataFrame
        The tables ``judges, thresholds, items, quality, bias, frequencies, by_judge, statistics,
        prior_frequencies, convergence``.
    data, diagnostics, verdict, priors
        As in `conjury.analysis.raters.ModelFit`.
    arrays : OrdinalData or None
        The ratings as the model takes them.
    real_judges
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> frame = pd.DataFrame({"group": ["gpt"], "quantity": ["latent_correlation"], "estimate": [0.8]})
    >>> RaterFit(frame, "rater_model", verdict=("All chains mixed.",)).passed
    True
    """

    arrays: OrdinalData | None = None

    @property
    def model(self) -> Any:
        """The PyMC model."""
        assert self.arrays is not None
        return build(self.arrays, self.priors, str(self.settings["link"]))


@any_frame
def rater_model(
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    items: pd.DataFrame | None = None,
    covariates: Sequence[str] = (),
    link: str = "logit",
    scale: Sequence[float] | None = None,
    priors: Mapping[str, Any] | None = None,
    draws: int | None = None,
    tune: int | None = None,
    chains: int | None = None,
    seed: int = 0,
    sampler: str = "nutpie",
    progress: Progress = False,
    alpha: float = 0.05,
    target_accept: float | None = None,
    **options: Any,
) -> RaterFit:
    """Fit a hierarchical cumulative model to ratings by people and models.

    An item's quality is what people agree on: their ratings depend on it, with discrimination and severity
    of their own, partially pooled within a panel. Each model has thresholds, discrimination, and biases
    towards levels of covariates. Qualities are summed out on a grid, on which their distribution may take
    any smooth shape.

    Parameters
    ----------
    judgments : DataFrame
        As in ``read_ratings``; column ``panel`` makes groups of people, ``sample`` numbers repeated answers.
    dimension : str, optional
        Which dimension; needed where there are several.
    items : DataFrame, optional
        Keyed by ``item_id``, with the covariates where the judgments do not carry them.
    covariates : sequence of str
        Columns such as ``response_type``: people's qualities differ between their levels, and each model
        has a bias towards each level, net of quality.
    link : {"logit", "probit"}
        Distribution of the noise behind a rating: logistic or normal.
    scale : sequence of float, optional
        The ratings that are allowed.
    priors : mapping, optional
        In place of the defaults (``ordinal_priors.PRIORS``, in standard deviations of the link's noise):
        ``shares`` of the categories (dirichlet), ``discrimination`` of an average person (log-normal),
        ``shape`` of the distribution of qualities (normal: height of bumps in its log density),
        ``model_discrimination`` (normal), ``discrimination_sd`` and ``severity_sd`` between people
        (log-normal, which a few people cannot pull to zero), ``careless``, the share of people who may
        discriminate quite unlike their panel (beta), ``own_sd`` of a group's own effects of items
        (half-normal), ``quality`` and ``bias`` by level of the covariates (normal, mean 0). Each name to
        numbers or to a Prior.
    draws, tune, chains : int, optional
        Draws to keep and to adapt in, per chain. By default 4 chains of 2,500 draws after 500 for up to ten
        people or 2,000 ratings, which leave wide posteriors and take seconds to sample, and 2 chains of 1,600
        after 250 for more.
    seed, sampler, progress
        As in ``sampling.sample``.
    alpha : float
        One minus the mass of intervals.
    target_accept : float, optional
        Acceptance rate to adapt the sampler's steps to: raise it to 0.95 or 0.99 where draws diverge. By
        default 0.9 for up to ten people, whose posteriors are the wider ones, and 0.8 for more.
    **options
        To the sampler, such as ``maxdepth``.

    Returns
    -------
    RaterFit
        Quantities of groups, tables about judges and items, and the draws.

    Raises
    ------
    InputError
        For fewer than two people, no item with ratings by two of them, a model that gives one rating
        throughout, an unknown covariate, link or prior.

    Notes
    -----
    Scale and identification. Quality has mean 0 and standard deviation 1 (within strata), whatever the
    shape of its distribution; discriminations, severities and biases are in standard deviations of the
    link's noise. With several people an item, the spread of people's errors is known, so that a model's
    correlation with the consensus is free of the attenuation that the average of a few people suffers. With
    one rating an item, a model's lasting judgment of the item and the noise of its answer cannot be
    separated: ``latent_correlation_rating`` is then the correlation of the consensus with the latent value
    behind a single rating, noise included, a lower bound for ``latent_correlation`` of the lasting
    judgment, which is reported where at least 20 items were rated repeatedly. It takes both errors
    together to be distributed as the link, which matters at the end of the scale alone: with a logistic link
    and normal own errors of one or two standard deviations of the noise, estimates of 14 simulated panels
    lay 0.02 below the truth on average with ratings in the middle of the scale, 0.01 above it with 64% of
    one extreme rating, and 0.05, less than a posterior standard deviation, with 92%; 40 of 42 intervals of
    95% held it. With ``link="probit"`` both errors are normal, and so is their sum.

    Quality is known from people alone: the likelihood is that of their ratings, times, for each model by
    itself, that of its ratings given theirs. Models may share errors with each other; taken together with
    people's, their ratings would make a quality of their own out of what they share. For what people and
    models have in common (few parameters of people) this is a composite likelihood, whose intervals can be
    slightly narrow where models share errors. Items are taken as independent, given covariates: where they
    come in clusters, such as responses to one topic, intervals are somewhat narrow, too.

    Log discriminations of a panel's people are normal about that of a typical person, except for a small
    share of careless people, whose vary widely, so that one who rates without regard to the items does not
    spoil what is said of the others; a note names such people. ``same_rating`` is about people drawn anew
    from the panel; ``observed``, the share of equal ratings in the data, is about those who rated, and the
    predictive check compares it with the model's.

    Where a group gives one extreme rating in more than 80% of its ratings, its latent correlation is not
    identified: a note states so, and ``correlation``, that of the ratings, comes first.

    ``better_than_human`` is the probability that a model's ratings correlate more with the consensus than
    those of a random person do; ``closer_than_human``, that on a random item its rating lies nearer to it
    in points than a random person's, which a rating in the middle of the scale does often.

    References
    ----------
    McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society B
    42(2), 109-142. doi:10.1111/j.2517-6161.1980.tb01109.x

    Hedeker, D. and Gibbons, R. D. (1994). A random-effects ordinal regression model for multilevel analysis.
    Biometrics 50(4), 933-944. doi:10.2307/2533433

    Examples
    --------
    >>> judges = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
    >>> rng = np.random.default_rng(1)
    >>> rows = [(name, kind, item, float(np.clip(round(quality + rng.normal(0, 0.5)), 0, 4)))
    ...         for item, quality in enumerate(rng.normal(2, 1, 30)) for name, kind in judges.items()]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    >>> fit = rater_model(table, draws=20, tune=20, seed=1)
    >>> fit.frame.query("quantity == 'better_than_human'")["group"].tolist()
    ['gpt']
    """
    check_alpha(alpha)
    if link not in LINKS:
        raise unknown_name("link", link, LINKS)
    chosen = override_priors(PRIORS, priors)
    check_families(chosen)
    data = ordinal_data(
        read_ratings(with_items(judgments, items, covariates), dimension=dimension, scale=scale),
        covariates,
    )
    if target_accept is None:
        target_accept = FEW_ACCEPT if len(data.people) <= FEW_PEOPLE else TARGET_ACCEPT
    draws, tune, chains = (
        default if value is None else value
        for value, default in zip((draws, tune, chains), usual_numbers(data), strict=True)
    )
    check_sampling(draws, tune, chains, sampler)
    library("numba")
    rating_cells, at = cells(data), grid(grid_step(data))
    density = Density(data, rating_cells, chosen, link, at)

    tree = sample(
        lambda: build(data, chosen, link),
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        sampler=sampler,
        progress=progress,
        target_accept=target_accept,
        what="Rater model",
        compiled=lambda: for_nutpie(density),
        **options,
    )
    posterior = tree["posterior"]
    every = posterior_draws(posterior, data, link)
    rng = np.random.default_rng(seed)
    replications = replicate(every.some(REPLICATED), data, rng)
    prior_replications = replicate(_prior_draws(density, data, link, rng), data, rng)
    frame, tables = _summaries(posterior, every, data, (chains, draws), alpha)
    reported = convergence_table([frame, *tables.values()])
    tables |= {
        "items": item_table(every, data, rating_cells, at, alpha),
        **predictive_tables(replications, data, alpha),
        "prior_frequencies": predictive_tables(prior_replications, data, alpha)["frequencies"],
        "convergence": reported,
    }
    ends = groups_at_ends(data)
    settings = {
        "model": "rater_model", "dimension": dimension, "covariates": list(covariates), "link": link,
        "draws": draws, "tune": tune, "chains": chains, "seed": seed, "alpha": alpha,
        "target_accept": target_accept,
        "sampler": posterior.attrs["conjury_sampler"], "seconds": posterior.attrs["conjury_seconds"],
        "at_the_end": list(ends), "n_nodes": at.n_window, "n_items": len(data.items),
        "n_ratings": len(data.judge),
    }  # fmt: skip
    return RaterFit(
        frame=frame,
        kind="rater_model",
        notes=(*data.notes, *notes_on_nonfollowers(every, data, alpha), *end_notes(ends, data)),
        settings=settings,
        extra=tables,
        data=_with_predictive(tree, data, replications, prior_replications),
        diagnostics=diagnostics(tree, [str(v) for v in posterior.data_vars if not str(v).startswith(HIDDEN)]),
        verdict=(
            *verdict(reported, sampler_state(tree)),
            sentence_on_fit(tables["frequencies"], "shares of categories by group", alpha),
            sentence_on_fit(tables["statistics"], "statistics of the ratings", alpha),
        ),
        priors=chosen,
        arrays=data,
    )


def _summaries(
    posterior: Any, every: ParameterDraws, data: OrdinalData, shape: tuple[int, int], alpha: float
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Quantities of groups, and tables of judges, thresholds and covariates."""
    some = _thin_evenly(every, shape)
    agreed = expected_agreement(some, data)
    return group_table(every, agreed, some, data, shape, alpha), {
        "judges": judge_table(every, agreed, data, shape, alpha),
        "thresholds": threshold_table(every, data, shape, alpha),
        **covariate_tables(posterior, agreed, data, shape, alpha),
    }


def usual_numbers(data: OrdinalData) -> tuple[int, int, int]:
    """Draws, draws to adapt in and chains where none are given: more where few ratings are by people."""
    is_small = len(data.people) <= FEW_PEOPLE or len(data.judge) <= FEW_RATINGS
    return FEW if is_small else MANY


def build(data: OrdinalData, priors: Mapping[str, Any], link: str) -> Any:
    """The PyMC model of ratings."""
    from .pymc_graph import rater_graph

    return rater_graph(data, cells(data), priors, link, grid(grid_step(data)))


def _thin_evenly(every: ParameterDraws, shape: tuple[int, int]) -> ParameterDraws:
    """The same draws of each chain, at most ``AGREEING`` in all."""
    chains, draws = shape
    each = min(draws, max(AGREEING // chains, 1))
    within = np.unique(np.linspace(0, draws - 1, each).astype(int))
    return every.at((np.arange(chains)[:, None] * draws + within).reshape(-1))


def _prior_draws(density: Density, data: OrdinalData, link: str, rng: np.random.Generator) -> ParameterDraws:
    many = [density.prior_draw(rng) for _ in range(REPLICATED)]
    return draws_of({name: np.stack([draw[name] for draw in many]) for name in many[0]}, data, link)


def _with_predictive(tree: Any, data: OrdinalData, replications: Codes, prior: Codes) -> Any:
    """Add replicated and observed ratings to the draws."""
    values = np.array(data.categories)
    coords = {
        "judge_of_rating": ("rating", np.array(data.judges)[data.judge]),
        "item_of_rating": ("rating", np.array(data.items)[data.item]),
    }
    return with_predictive(
        tree, values[data.category], values[replications], values[prior], ("rating",), coords
    )
