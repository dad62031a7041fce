"""Panels of 2 to 10 people sample at default settings, and intervals cover what made the ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters.models.checks import RHAT, sampler_state
from conjury.analysis.raters.models.ordinal import RaterFit, rater_model
from tests.made_up_panels import Panel, made_up_panel, panel_grid

pytestmark = pytest.mark.bayes

PANELS = 96
POOLED = {
    "discrimination": "discrimination[p",
    "discrimination of models": "discrimination[m",
    "severity": "severity[p",
    "typical discrimination": "discrimination[human]",
    "discrimination_sd": "discrimination_sd",
    "severity_sd": "severity_sd",
    "latent correlation of models": "latent_correlation_rating",
}


def compared(fit: RaterFit, truth: dict[str, float]) -> pd.DataFrame:
    """Whether each true value lies within its interval: ``parameter, inside``."""
    groups = fit.frame.assign(who=fit.frame["group"])
    judges = fit.extra["judges"].assign(who=fit.extra["judges"]["judge"])
    both = pd.concat([groups, judges]).assign(
        parameter=lambda table: table["quantity"] + "[" + table["who"] + "]"
    )
    rows = both.drop_duplicates("parameter").set_index("parameter").loc[list(truth)]
    known = np.array(list(truth.values()))
    inside = (rows["lower"] < known) & (known < rows["upper"])
    return pd.DataFrame({"parameter": list(truth), "inside": inside.to_numpy(dtype=bool)})


def one_panel(panel: Panel) -> tuple[dict[str, float], pd.DataFrame]:
    """How a panel sampled, and what its intervals cover."""
    table, truth = made_up_panel(panel)
    fit = rater_model(table, seed=panel.seed)
    state = sampler_state(fit.data)
    worst = pd.concat([fit.diagnostics, fit.extra["convergence"]])
    told = {
        "divergences": state.divergences,
        "rhat": float(worst["rhat"].max()),
        "ess": float(worst[["ess_bulk", "ess_tail"]].min().min()),
    }
    return told, compared(fit, truth)


def coverage_of(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Share of intervals that hold the truth, by kind of parameter: ``share, n``."""
    every = pd.concat(parts)
    rows = {
        name: every.loc[every["parameter"].str.startswith(start), "inside"] for name, start in POOLED.items()
    }
    return pd.DataFrame({name: {"share": row.mean(), "n": len(row)} for name, row in rows.items()}).T


def test_three_people_who_hardly_differ_sample_without_a_divergence() -> None:
    told, inside = one_panel(Panel(3, 2, 200, seed=5, spread=0.1, severity=0.1))
    assert told["divergences"] == 0
    assert told["rhat"] < RHAT
    assert told["ess"] > 400
    assert inside["inside"].mean() > 0.8


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_small_panels_sample_without_a_divergence_and_intervals_cover() -> None:
    made = [one_panel(panel) for panel in panel_grid(PANELS)]
    told = pd.DataFrame([one for one, _ in made])
    covered = coverage_of([inside for _, inside in made])
    assert told["divergences"].sum() == 0
    assert told["rhat"].max() < RHAT
    error = np.sqrt(0.95 * 0.05 / covered["n"])
    assert (covered["share"] > 0.95 - 3 * error).all()
