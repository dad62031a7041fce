"""Panels of 2 to 10 people sample at default settings, and intervals cover what made the ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up_panels import Panel, made_up_panel, panel_grid

from conjury.analysis.raters import rater_model
from conjury.analysis.raters.models import RaterFit
from conjury.analysis.raters.models.checks import ESS, RHAT, sampler_state
from conjury.analysis.raters.models.ordinal.model import FEW

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
    assert tuple(fit.settings[name] for name in ("draws", "tune", "chains")) == FEW
    assert fit.data["posterior"].sizes == {**fit.data["posterior"].sizes, "chain": FEW[2], "draw": FEW[0]}
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
    assert told["ess"] >= ESS
    assert inside["inside"].mean() > 0.8


def test_a_careless_person_is_named_and_does_not_spoil_the_panel() -> None:
    table, _ = made_up_panel(Panel(8, 1, 250, seed=3, spread=0.15, severity=0.3))
    rng = np.random.default_rng(1)
    careless = table["judge_id"] == "p02"
    table.loc[careless, "value"] = rng.integers(1, 6, careless.sum())
    fit = rater_model(table, seed=1, draws=600)
    others = rater_model(table[~careless], seed=1, draws=600)

    def of_people(found: RaterFit, quantity: str) -> pd.Series[float]:
        return found.frame.set_index(["group", "quantity"]).loc[("human", quantity)]

    assert [note for note in fit.notes if note.startswith("'p02' follows the panel far less")]
    assert not [note for note in others.notes if "far less" in note]
    typical = of_people(others, "discrimination")["estimate"]
    assert of_people(fit, "discrimination")["estimate"] == pytest.approx(typical, rel=0.25)
    assert of_people(fit, "discrimination_sd")["estimate"] < 0.35


def test_the_share_of_equal_ratings_is_checked_and_reported() -> None:
    table, _ = made_up_panel(Panel(4, 1, 80, seed=2))
    fit = rater_model(table, seed=1, draws=200)
    told = fit.frame.query("quantity == 'same_rating'").set_index("group")
    checked = fit.extra["statistics"].set_index("statistic")["observed"]
    assert told.loc["human", "observed"] == checked["Share of equal ratings of two people"]
    assert told.loc["m0", "observed"] == checked["Share of equal ratings of m0 and a person"]
    assert fit.frame.query("quantity != 'same_rating'")["observed"].isna().all()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_small_panels_sample_without_a_divergence_and_intervals_cover() -> None:
    made = [one_panel(panel) for panel in panel_grid(PANELS)]
    told = pd.DataFrame([one for one, _ in made])
    covered = coverage_of([inside for _, inside in made])
    assert told["divergences"].sum() == 0
    assert told["rhat"].max() < RHAT
    assert told["ess"].min() >= ESS
    error = np.sqrt(0.95 * 0.05 / covered["n"])
    assert (covered["share"] > 0.95 - 3 * error).all()
