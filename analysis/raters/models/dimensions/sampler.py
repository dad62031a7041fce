"""Chains of the multivariate ordered probit model, side by side, reproducible by seed.

What was tried, on simulated ratings of six dimensions (one near its ceiling, 95% in one category), in
seconds of processor time. Data augmentation with cut-points drawn with the latents integrated out and
correlations drawn given them takes 6 ms a sweep of 3,192 single ratings, but correlations of the dimension
near its ceiling move slowly: 32 effective of 4,500 draws. Drawing cut-points and regressions on the other
dimensions together, latents integrated out, takes 10 ms and gave 132 of 2,250. With the severities among
the predictors too, fewer proposals were accepted (10% against 21% near the ceiling, 400 items); Student's t
in place of normal proposals did not help (31% as before near the ceiling, 80% in place of 92% elsewhere).
Gaps of cut-points on the log scale doubled the least effective sample size near the ceiling on 200 items
(216 to 483, and 251 to 394, of 800 draws). A sweep of 12,768 ratings with effects of items and raters took
55 ms; with sums over ratings as matrix products, and quantiles that need no refinement, the pass over these
ratings takes 2.2 in place of 3.5 ms (there are twelve in a sweep). One sweep a draw is enough for 3,192
single ratings: 3,300 effective of 6,000 draws.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from conjury.inference.errors import InputError

from ....numerics.types import Floats
from ....numerics.workers import available_processors
from ..model_fit import Priors
from ..posterior_sampling import Progress, library, reporting
from .dimension_data import GroupRatings

_LOOK = 0.2  # seconds between looks at running chains
_ROWS = 5_000  # ratings a kept draw goes over, in several sweeps where there are few
_MOST = 6


@dataclass(frozen=True)
class GroupDraws:
    """Kept draws of one group: C chains of S draws over D dimensions."""

    within: Floats  # (C, S, D, D); correlations of residuals, whose variances are 1
    between: Floats  # (C, S, D, D); covariances of item effects; not to be used where the group has none
    spread: Floats  # (C, S, D, D); covariances of severities; not to be used where there is one judge
    cut: Floats  # (C, S, D, L); cut-points, missing beyond those of the dimension
    beta: Floats  # (C, S, covariates, D)
    # (D + 1,); share of accepted proposals: of each dimension, and of the residual correlations together
    acceptance: Floats
    thin: int  # Sweeps for each kept draw
    seconds: float


def sample_group(
    data: GroupRatings,
    priors: Priors,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: Sequence[int],
    progress: Progress = False,
) -> GroupDraws:
    """Draw from the posterior of one group by blocked Gibbs sampling, the latents integrated out in turn."""
    library("numba")
    limits = library("threadpoolctl").threadpool_limits
    thin = max(1, min(_MOST, _ROWS // max(data.n_ratings, 1)))
    started = time.perf_counter()
    done, stop = [0] * chains, [False]
    seeds = np.random.SeedSequence(list(seed)).spawn(chains)
    with (
        reporting(progress, f"Dimensions, {data.group}") as report,
        limits(1),
        ThreadPoolExecutor(min(chains, available_processors())) as pool,
    ):
        running = [
            pool.submit(_chain, data, priors, draws, tune, thin, seeds[c], c, done, stop)
            for c in range(chains)
        ]
        try:
            while wait_for(running, timeout=_LOOK).not_done:
                report(sum(done), chains * (draws + tune), 0)
                for chain in running:
                    if chain.done() and chain.exception():
                        stop[0] = True
        except KeyboardInterrupt:
            stop[0] = True
            raise KeyboardInterrupt(
                f"Sampling was stopped after {sum(done):,} of {chains * (draws + tune):,} draws; "
                "no draws were saved."
            ) from None
        report(sum(done), chains * (draws + tune), 0)
        parts = [chain.result() for chain in running]
    within, between, spread, cut, beta, accepted = (np.stack(part) for part in zip(*parts, strict=True))
    seconds = time.perf_counter() - started
    return GroupDraws(within, between, spread, cut, beta, accepted.mean(axis=0), thin, seconds)


def _chain(
    data: GroupRatings,
    priors: Priors,
    draws: int,
    tune: int,
    thin: int,
    seed: np.random.SeedSequence,
    number: int,
    done: list[int],
    stop: list[bool],
) -> tuple[Floats, ...]:
    from .sweeps import RatingDesign, State, sweep

    rng = np.random.default_rng(seed)
    settings = np.array(
        [
            priors["sd"].values[0] / 2,
            priors["sd"].values[1],
            priors["cut"].values[1],
            priors["covariate"].values[1],
            float(data.has_items),
            float(data.has_judges),
        ]
    )
    state = start(data, rng)
    accepted = np.zeros(len(data.dimensions) + 1)
    design, unknown = (
        RatingDesign(data.y, data.item, data.judge, data.x, data.n_cuts, settings),
        State(**state),
    )
    chain_draws: list[list[Floats]] = [[], [], [], [], []]
    unused = np.arange(state["cut"].shape[1]) >= data.n_cuts[:, None]
    for step in range(tune + draws):
        if step == tune:
            accepted[:] = 0
        for _ in range(thin):
            if stop[0]:
                raise InputError("Sampling was stopped.")
            try:
                sweep(rng, design, unknown, accepted)
            except np.linalg.LinAlgError as error:
                raise InputError(
                    f"The ratings of '{data.group}' are too few to estimate correlations of "
                    f"{', '.join(data.dimensions)}; exclude a dimension with little variation."
                ) from error
        done[number] += 1
        if step >= tune:
            for store, name in zip(chain_draws, ("within", "between", "spread", "cut", "beta"), strict=True):
                store.append(state[name].copy())
            chain_draws[3][-1][unused] = np.nan
    return (*(np.array(part) for part in chain_draws), accepted / (draws * thin))


def start(data: GroupRatings, rng: np.random.Generator) -> dict[str, Any]:
    """A state to start from, spread more widely than the posterior: the fields of ``State``."""
    size, n = data.y.shape
    cut = np.zeros((size, int(data.n_cuts.max())))
    sd = np.sqrt(rng.uniform(0.1, 1.0, size)) if data.has_items else np.zeros(size)
    for d in range(size):
        count = np.bincount(data.y[d][data.y[d] >= 0], minlength=int(data.n_cuts[d]) + 1) + 0.5
        share = np.cumsum(count)[:-1] / count.sum()
        cut[d, : data.n_cuts[d]] = ndtri(share) * np.sqrt(1 + sd[d] ** 2)
    return {
        "cut": cut,
        "within": np.eye(size),
        "e": rng.standard_normal((n, size)),
        "theta": rng.standard_normal((data.n_items, size)) * sd,
        "beta": np.zeros((data.x.shape[1], size)),
        "between": np.diag(sd**2) if data.has_items else np.eye(size),
        "between_aux": np.ones(size),
        "severity": np.zeros((data.n_judges, size)),
        "spread": np.diag(rng.uniform(0.05, 0.5, size)) if data.has_judges else np.eye(size),
        "spread_aux": np.ones(size),
    }
