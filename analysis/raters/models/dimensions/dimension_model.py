"""The model of dimensions: latent correlations between what raters judge, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, unknown_name
from conjury.inference.tables.frames import any_frame

from ....frames.notes import Note, note_under
from ....numerics.intervals import check_alpha
from ...scales import with_items
from ..model_checks import SamplerState, sentence_on_fit, verdict
from ..model_fit import ModelFit, Priors
from ..posterior_sampling import Progress, check_sampling
from .dimension_checks import (
    REPLICATIONS,
    GroupCheck,
    assumed_priors,
    check_group,
    draw_parameters,
    subsample_posterior,
    with_checks,
)
from .dimension_data import REPEATED, DimensionData, GroupRatings, dimension_data
from .dimension_tables import (
    correlation_table,
    difference_table,
    pair_table,
    parameter_table,
    posterior_data,
    strongest_table,
)
from .sampler import GroupDraws, sample_group

SAMPLER = "gibbs"
NOTE_ON_COMPARABLE_CORRELATIONS = (
    "Total correlations are those of single ratings by one judge and compare people with models; "
    "correlations between items are those of a group's consensus and compare groups whose items have "
    "several ratings."
)
NOTE_ON_SEPARATE_GROUPS = (
    "Groups are fitted separately; where groups rate the same items, intervals of differences are too wide "
    "rather than too narrow."
)


@any_frame
def dimension_model(
    judgments: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    main: str | None = None,
    items: pd.DataFrame | None = None,
    covariates: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    priors: Mapping[str, Any] | None = None,
    draws: int = 1000,
    tune: int = 200,
    chains: int = 4,
    seed: int = 0,
    sampler: str = SAMPLER,
    progress: Progress = False,
    alpha: float = 0.05,
) -> ModelFit:
    """Estimate how rating dimensions go together, for people and for each model, free of the rating scale.

    In each group (people, or a panel of them, and each model) the latent rating of item i by judge j on
    dimension d is the sum of an effect of the item, a severity of the judge, and a residual; a rating falls
    where its latent lies between the dimension's cut-points. All three are normal with covariances over
    dimensions that are estimated (a multivariate ordered probit; residuals have variance 1).

    Three correlation matrices follow. *between*: of item effects, what the ratings of an item by different
    people (or samples of a model) share, the group's consensus. *within*: of residuals, what hangs together
    in one judge's rating of one item beyond that, such as halo. *total*: of item effects and residuals
    together, of ratings of different items by one judge. Ratings of an item by several people, or several
    samples of a model, separate the first two; one rating an item identifies only the total. Compare
    people's total with a model's total, and between with between, never a consensus with single ratings.

    Parameters
    ----------
    judgments : DataFrame
        One row a judgment: ``judge_id, judge_kind, item_id, dimension, value``; see `ratings.read_ratings`.
    dimensions : sequence of str, optional
        Which dimensions; by default all.
    main : str, optional
        The dimension whose strongest correlate is sought; by default each in turn.
    items : DataFrame, optional
        One row an item, keyed by ``item_id``, with the covariates.
    covariates : sequence of str, optional
        Columns of items, such as the response type; correlations are then those net of them.
    scale : sequence of float, optional
        Ratings that are allowed.
    priors : mapping, optional
        In place of the defaults: ``sd`` (half-t with df and scale, of item effects and of severities, in
        residual standard deviations; every correlation rho has prior density proportional to
        (1 - rho^2)^(df / 2 - 1), which is uniform for df 2), ``cut`` and ``covariate`` (normal, mean 0).
    draws, tune, chains : int
        Draws to keep, and to discard before, of each chain. A draw is one sweep over the unknowns of large
        groups, several of small ones.
    seed : int
        Same seed, same numbers.
    sampler : {"gibbs"}
        Blocked Gibbs sampling, compiled by numba.
    progress : bool or callable
        As in `sampling.sample`; groups run one after another.
    alpha : float
        One minus the mass of the intervals.

    Returns
    -------
    ModelFit
        ``frame``: ``group, level`` ("between", "within", "total", "raters"), ``dimension, other_dimension,
        quantity`` ("correlation"; "item_share", the share of single ratings' latent variance that lies
        between items; "severity_sd", of judges, in total standard deviations), ``estimate, std_error,
        lower, upper, rhat, ess_bulk, ess_tail, n_items, n_judges, n_ratings``. ``extra``:

        - ``strongest``: ``group, level, main, dimension, probability`` that the correlation of dimension and
          main is the greatest in absolute value, and that correlation;
        - ``strongest_pairs``: the joint probability for two groups, ``strongest`` and ``other_strongest``;
        - ``strongest_differ``: the probability that two groups' strongest correlates differ;
        - ``differences``: correlations of ``group`` less those of ``other_group`` at the same level, with
          ``probability_above`` zero;
        - ``check``: shares of ratings and plain correlations beside those of ratings that the fitted model
          makes, and ``prior_check`` beside those that its priors alone make;
        - ``left_out``: ``group, dimension, reason``.

    Raises
    ------
    InputError
        For fewer than two dimensions, labels, unknown names, or nothing that varies.
    MissingDependency
        Without the extra ``bayes``.

    Notes
    -----
    Latents of a dimension are integrated out while its cut-points and its regressions on the other
    dimensions are updated, by a Metropolis step with a Newton proposal. Items are independent draws:
    clusters of items (topics) are not modelled, and item effects of different groups are not linked.

    References
    ----------
    Barnard, J., McCulloch, R. and Meng, X.-L. (2000). Modeling covariance matrices in terms of standard
    deviations and correlations, with application to shrinkage. Statistica Sinica 10, 1281-1311.

    Chib, S. and Greenberg, E. (1998). Analysis of multivariate probit models. Biometrika 85(2), 347-361.
    doi:10.1093/biomet/85.2.347

    Huang, A. and Wand, M. P. (2013). Simple marginally noninformative prior distributions for covariance
    matrices. Bayesian Analysis 8(2), 439-452. doi:10.1214/13-BA815

    Lawrence, E., Bingham, D., Liu, C. and Nair, V. N. (2008). Bayesian inference for multivariate ordinal
    data using parameter expansion. Technometrics 50(2), 182-191. doi:10.1198/004017008000000064

    Olsson, U. (1979). Maximum likelihood estimation of the polychoric correlation coefficient. Psychometrika
    44(4), 443-460. doi:10.1007/BF02296207

    Examples
    --------
    >>> import numpy as np
    >>> judges = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
    >>> rng = np.random.default_rng(1)
    >>> rows = [(name, kind, item, dimension, float(np.clip(round(quality + rng.normal(0, 0.5)), 0, 4)))
    ...         for item, quality in enumerate(rng.normal(2, 1, 30))
    ...         for name, kind in judges.items() for dimension in ("wit", "tact")]
    >>> table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "dimension", "value"])
    >>> fit = dimension_model(table, main="wit", draws=20, tune=20, seed=1)
    >>> fit.extra["strongest"][["group", "level", "dimension"]].values.tolist()
    [['human', 'between', 'tact'], ['human', 'within', 'tact'], ['human', 'total', 'tact'],
     ['gpt', 'total', 'tact']]
    """
    check_alpha(alpha)
    check_sampling(draws, tune, chains, "nutpie")
    if sampler != SAMPLER:
        raise InputError(f"dimension_model uses its own sampler, 'gibbs'; there is no sampler '{sampler}'.")
    assumed = assumed_priors(priors)
    columns = list(covariates or ())
    table = with_items(judgments, items, columns) if items is not None and columns else judgments
    data = dimension_data(table, dimensions, columns, scale)
    if main is not None and main not in data.dimensions:
        raise unknown_name("dimension", main, data.dimensions)
    posteriors = [
        sample_group(
            group, assumed, draws=draws, tune=tune, chains=chains, seed=(seed, number), progress=progress
        )
        for number, group in enumerate(data.groups)
    ]
    return _summarize_posteriors(data, posteriors, main, assumed, tune, seed, alpha)


def _summarize_posteriors(
    data: DimensionData,
    posteriors: list[GroupDraws],
    main: str | None,
    priors: Priors,
    tune: int,
    seed: int,
    alpha: float,
) -> ModelFit:
    groups = list(zip(data.groups, posteriors, strict=True))
    chains, draws = posteriors[0].within.shape[:2]
    seconds = sum(posterior.seconds for posterior in posteriors)
    settings = {
        "model": "dimension_model",
        "dimensions": list(data.dimensions),
        "main": main,
        "groups": [group.group for group in data.groups],
        "covariates": list(data.groups[0].terms),
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "seed": seed,
        "sampler": SAMPLER,
        "alpha": alpha,
        "seconds": round(seconds, 3),
        "thin": {group.group: posterior.thin for group, posterior in groups},
        "acceptance": {
            group.group: {
                name: round(float(share), 3)
                for name, share in zip([*group.dimensions, "within"], posterior.acceptance, strict=True)
            }
            for group, posterior in groups
        },
        "priors": {name: prior.in_words() for name, prior in priors.items()},
    }
    frame = correlation_table(groups, alpha)
    joint, differ = pair_table(groups, [main] if main else data.dimensions)
    fitted, prior = _predictive_checks(groups, priors, seed, alpha)
    check = pd.concat([group_check.table for group_check in fitted], ignore_index=True)
    extra = {
        "strongest": strongest_table(groups, [main] if main else data.dimensions, alpha),
        "strongest_pairs": joint,
        "strongest_differ": differ,
        "differences": difference_table(groups, alpha),
        "check": check,
        "prior_check": pd.concat([group_check.table for group_check in prior], ignore_index=True),
        "left_out": data.left_out,
    }
    state = SamplerState(chains, draws, 0, 0, 1.0, seconds, SAMPLER)
    names = ("group", "level", "dimension", "other_dimension", "quantity")
    stored = {
        "conjury_sampler": SAMPLER,
        "conjury_seed": seed,
        "conjury_tune": tune,
        "conjury_seconds": seconds,
    }
    return ModelFit(
        frame,
        "dimension_model",
        (
            *data.notes,
            *_notes(data, main),
            sentence_on_fit(check.dropna(subset="observed"), "statistics", alpha),
        ),
        settings,
        {name: table for name, table in extra.items() if len(table)},
        data=with_checks(
            posterior_data(groups, data.dimensions, stored), data.groups, data.dimensions, fitted, prior
        ),
        diagnostics=parameter_table(groups),
        verdict=verdict(frame, state, name=names)[:2],
        priors=priors,
    )


def _predictive_checks(
    groups: list[tuple[GroupRatings, GroupDraws]], priors: Priors, seed: int, alpha: float
) -> tuple[list[GroupCheck], list[GroupCheck]]:
    """Posterior and prior predictive checks of each group."""
    fitted, prior = [], []
    for number, (data, posterior) in enumerate(groups):
        rng = np.random.default_rng([seed, 1])
        fitted.append(check_group(data, subsample_posterior(data, posterior, rng), rng, alpha))
        rng = np.random.default_rng([seed, 2, number])
        prior.append(check_group(data, draw_parameters(data, priors, rng, REPLICATIONS), rng, alpha))
    return fitted, prior


def _notes(data: DimensionData, main: str | None) -> list[str]:
    """State what the ratings of each group identify, and what may be compared."""
    notes: list[str] = []
    for group in data.groups:
        if main is not None and main not in group.dimensions:
            text = f"'{main}' is not among the dimensions that vary, so it has no correlates."
            notes.append(note_under({"judge": group.group}, text))
        if group.has_items:
            text = (
                f"{group.n_repeated:,} of {group.n_items:,} items have two or more ratings, which separate "
                "correlations between items from those within a rating."
            )
            notes.append(note_under({"judge": group.group}, text))
        else:
            several = (
                f"{group.n_repeated:,} of {group.n_items:,} items have" if group.n_repeated else "no item has"
            )
            text = (
                f"{several} two or more ratings (it takes {REPEATED}), so only total correlations are "
                "identified."
            )
            notes.append(note_under({"judge": group.group}, text))
    terms = data.groups[0].terms
    if terms:
        notes.append(Note.of("All correlations are net of {columns}.", columns=terms))
    return (
        [*notes, NOTE_ON_COMPARABLE_CORRELATIONS, NOTE_ON_SEPARATE_GROUPS] if len(data.groups) > 1 else notes
    )
