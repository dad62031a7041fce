"""What numba compiles, as plain Python: slopes of densities, and draws of the sampler that was calibrated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge, group_ratings
from scipy import stats
from uncompiled import uncompile

from conjury.analysis.raters import read_ratings
from conjury.analysis.raters.models.dimensions.dimension_checks import default_priors
from conjury.analysis.raters.models.dimensions.dimension_data import GroupRatings
from conjury.analysis.raters.models.dimensions.sampler import start
from conjury.analysis.raters.models.model_fit import Prior, override_priors
from conjury.analysis.raters.models.ordinal.density import PRIORS, Density
from conjury.analysis.raters.models.ordinal.ordinal_data import cells, ordinal_data
from conjury.analysis.raters.models.ordinal.ordinal_draws import grid, grid_step

pytest.importorskip("numba", reason="numba is not installed (the extra bayes)")

from conjury.analysis.raters.models.dimensions import sweeps
from conjury.analysis.raters.models.ordinal import log_posterior, rating_kernel

STORED = Path(__file__).parents[3] / "fixtures" / "raters" / "sweeps.json"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    uncompile(monkeypatch, sweeps, rating_kernel, log_posterior)


def test_the_pass_over_ratings_has_the_derivatives_that_it_says() -> None:
    rng = np.random.default_rng(2)
    x, offset = rng.normal(size=(50, 2)), rng.normal(size=50)
    y = rng.integers(-1, 4, 50)
    par = np.array([-1.0, 0.1, 1.3, 0.4, -0.7])
    gradient, hessian = np.zeros(5), np.zeros((5, 5))
    value = sweeps.probit_pass(y, offset, x.T.copy(), par, 3, gradient, hessian)
    ends = np.concatenate([[-np.inf], par[:3], [np.inf]])
    eta = offset + x @ par[3:]
    seen = y >= 0
    p = stats.norm.cdf(ends[y + 1] - eta) - stats.norm.cdf(ends[np.maximum(y, 0)] - eta)
    assert value == pytest.approx(np.log(p[seen]).sum())
    step, other = 1e-5, np.zeros((5, 5))
    for k in range(5):
        up, down = par.copy(), par.copy()
        up[k] += step
        down[k] -= step
        g_up, g_down = np.zeros(5), np.zeros(5)
        rise = sweeps.probit_pass(y, offset, x.T.copy(), up, 3, g_up, other) - sweeps.probit_pass(
            y, offset, x.T.copy(), down, 3, g_down, other
        )
        assert gradient[k] == pytest.approx(rise / (2 * step), rel=1e-5)
        assert np.allclose(hessian[k], -(g_up - g_down) / (2 * step), rtol=1e-4, atol=1e-6)
    at = np.array([1e-250, 1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9])
    assert np.allclose([sweeps.normal_quantile(one) for one in at], stats.norm.ppf(at), rtol=1e-9, atol=1e-12)


def rated(n_items: int, per_item: int, n_judges: int, n_terms: int) -> GroupRatings:
    """Ratings of three dimensions that depend on the item, with gaps; one dimension has three categories."""
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(n_items), per_item)
    judge = np.arange(len(item)) % n_judges
    made = group_ratings(item, judge, ("wit", "tact", "warmth"))
    latent = rng.normal(size=(3, n_items))[:, item] + rng.normal(size=(3, len(item)))
    y = np.digitize(latent, [-1.0, 0.0, 1.0])
    y[0] = np.minimum(y[0], 2)
    y[1, ::7] = -1
    terms = tuple(f"x{k}" for k in range(n_terms))
    values = (made.values[0][:3], *made.values[1:])
    return replace(made, y=y, values=values, x=rng.normal(size=(n_items, n_terms)), terms=terms)


def after(data: GroupRatings, n_sweeps: int) -> dict[str, float]:
    """A number per part of the state after some sweeps, to which each entry contributes differently."""
    rng, priors = np.random.default_rng(1), default_priors()
    sd = priors["sd"].values
    settings = [sd[0] / 2, sd[1], priors["cut"].values[1], priors["covariate"].values[1]]
    settings += [float(data.has_items), float(data.has_judges)]
    state, accepted = start(data, rng), np.zeros(4)
    design = sweeps.RatingDesign(data.y, data.item, data.judge, data.x, data.n_cuts, np.array(settings))
    for _ in range(n_sweeps):
        sweeps.sweep(rng, design, sweeps.State(**state), accepted)
    parts = {**state, "accepted": accepted}
    return {name: float(np.cos(np.arange(part.size)) @ np.ravel(part)) for name, part in parts.items()}


def ordinal(link: str, samples: int, panels: tuple[str, ...], priors: Any) -> Density:
    """The density of ratings by four people and two models of eight items of two types."""
    rng = np.random.default_rng(2)
    quality = rng.normal(size=8)
    judges = ["p0", "p1", "p2", "p3", "gpt", "llama"]
    parts = [
        by_judge({judge: np.digitize(quality + rng.normal(size=8), [-1.0, 0.0, 1.0]) for judge in own})
        for own in (judges, judges[4:])[:samples]
    ]
    table = pd.concat([part.assign(sample=k + 1) for k, part in enumerate(parts)], ignore_index=True)
    table["response_type"] = np.where(table["item_id"] < "i4", "high", "low")
    table["panel"] = table["judge_id"].map(dict(zip(judges, panels, strict=False)))
    data = ordinal_data(read_ratings(table), ["response_type"])
    return Density(data, cells(data), override_priors(PRIORS, priors), link, grid(grid_step(data)))


OTHERS = {
    "severity_sd": Prior("exponential", (0.7,)),
    "discrimination_sd": Prior("half_normal", (0.4,)),
    "discrimination": Prior("exponential", (1.5,)),
    "own_sd": Prior("exponential", (0.5,)),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("link", "samples", "panels", "priors", "value"),
    [
        ("logit", 1, (), {}, -130.2969028980363),
        ("probit", 2, ("north", "north", "south", "south"), OTHERS, -170.95216874158544),
    ],
    ids=["one panel", "two panels, repeated answers, other priors"],
)
def test_the_density_of_ordinal_ratings_has_the_slopes_that_it_states(
    link: str, samples: int, panels: tuple[str, ...], priors: Any, value: float
) -> None:
    density = ordinal(link, samples, panels, priors)
    rng, h = np.random.default_rng(3), 1e-5
    at = rng.normal(0, 0.4, density.size)
    found, gradient = density(at)
    assert found == pytest.approx(value, rel=1e-7)
    gradient = gradient.copy()
    for way in rng.normal(size=(3, density.size)):
        slope = (density(at + h * way)[0] - density(at - h * way)[0]) / (2 * h)
        assert gradient @ way == pytest.approx(slope, rel=1e-5, abs=1e-5)
    for share in range(density.blocks["shares"].end):  # next to nothing, and nearly all
        for value in (-45.0, 45.0):
            far = at.copy()
            far[share] = value
            assert np.isfinite(density(far)[0])


@pytest.mark.parametrize(
    ("design", "swept"),
    [
        ((24, 2, 6, 2), "items, judges and covariates"),
        ((30, 1, 1, 1), "single ratings by one judge"),
        ((30, 1, 4, 0), "single ratings by several judges"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ten_sweeps_are_those_of_the_sampler_that_was_calibrated(design: tuple[int, ...], swept: str) -> None:
    """Ranks of the truth among its draws are uniform, and known correlations are recovered: see test-slow."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))[swept]
    assert after(rated(*design), 10) == pytest.approx(stored, rel=1e-6, abs=1e-12)
