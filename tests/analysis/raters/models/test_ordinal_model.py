"""The ordinal rater model: its density, recovery of known truths, clmm, small panels, calibration."""

from __future__ import annotations

import io
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import Panel, by_judge, panel_grid, panel_ratings
from scipy.stats import chisquare

from conjury.analysis.raters import compare_rater_models, rater_model, read_ratings
from conjury.analysis.raters.models import RaterFit
from conjury.analysis.raters.models.model_checks import ESS, RHAT, sampler_state
from conjury.analysis.raters.models.model_fit import Prior, Priors, override_priors
from conjury.analysis.raters.models.ordinal import leave_one_out
from conjury.analysis.raters.models.ordinal.density import PRIORS, Density, for_nutpie
from conjury.analysis.raters.models.ordinal.leave_one_out import item_log_likelihoods
from conjury.analysis.raters.models.ordinal.ordinal_data import OrdinalData, cells, ordinal_data
from conjury.analysis.raters.models.ordinal.ordinal_draws import (
    BUMPS,
    LINK_SD,
    category_chances,
    draw_qualities,
    draws_of,
    grid,
    grid_step,
    moments,
    posterior_draws,
    replicate,
    standardised_nodes,
)
from conjury.analysis.raters.models.ordinal.rater_model import FEW, build
from conjury.analysis.raters.models.ordinal.rater_tables import nodes_of
from conjury.analysis.raters.models.posterior_sampling import load, sample
from conjury.inference.errors import InputError

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "raters"
FLAT = {
    "discrimination_sd": Prior("log_normal", (1e-3, 0.1)),
    "severity_sd": Prior("half_normal", (3.0,)),
    "discrimination": (1.0, 3.0),
    "shape": (0.0, 1e-3),
}
CUT = np.array([-1.3, -0.3, 0.4, 1.5])
SLOPES = {"loyal": 1.0, "aloof": 0.2}
TILT = {"loyal": (0.0, 0.0, 0.0), "aloof": (-0.6, 0.0, 0.6)}
QUALITY = (-0.8, 0.0, 0.8)


def made_up(n_items: int = 400, n_people: int = 12, samples: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Ratings of three types by people of several severities and two models, in SDs of logistic noise."""
    rng = np.random.default_rng(1)
    severity = rng.normal(0, 0.4, n_people)
    severity -= severity.mean()
    slope = 0.9 * np.exp(rng.normal(0, 0.15, n_people))
    rows = []

    def rated(latent: float) -> int:
        return int((latent + rng.logistic() / LINK_SD["logit"] > CUT).sum())

    for item in range(n_items):
        kind = item % 3
        quality = QUALITY[kind] + rng.normal()
        for person in rng.choice(n_people, 4, replace=False):
            value = rated(slope[person] * quality - severity[person])
            rows.append((f"p{person:02d}", "human", item, 1, value, f"type{kind}"))
        for model in SLOPES:
            own = 0.7 * rng.normal() if samples > 1 else 0.0
            for number in range(samples):
                value = rated(SLOPES[model] * quality + TILT[model][kind] + own)
                rows.append((model, "model", item, number + 1, value, f"type{kind}"))
    columns = ["judge_id", "judge_kind", "item_id", "sample", "value", "response_type"]
    return pd.DataFrame(rows, columns=columns), severity


@pytest.fixture(scope="module")
def fitted() -> tuple[RaterFit, np.ndarray]:
    table, severity = made_up()
    return rater_model(table, covariates=["response_type"], draws=500, tune=300, seed=2), severity


def density_of(
    table: pd.DataFrame, priors: Priors = PRIORS, link: Any = "logit"
) -> tuple[OrdinalData, Density]:
    data = ordinal_data(read_ratings(table), ["response_type"])
    return data, Density(data, cells(data), priors, link, grid(grid_step(data)))


def test_models_are_compared_with_the_best_by_the_spread_of_their_differences_within_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elpd = {"plain": np.array([-4.0, -2.0, -3.5]), "rich": np.array([-3.0, -2.5, -1.5])}
    data = SimpleNamespace(items=[*"abc"], category=np.arange(3))
    fits: Any = {name: SimpleNamespace(arrays=data, data={}, elpd=values) for name, values in elpd.items()}

    def left_out(fit: Any) -> pd.DataFrame:
        return pd.DataFrame({"elpd": fit.elpd, "log_density": fit.elpd + 0.2, "pareto_k": [0.1, 0.7, 0.71]})

    monkeypatch.setattr(leave_one_out, "_left_out", left_out)
    frame = compare_rater_models(fits, alpha=0.1).frame.set_index("model")
    assert frame["estimate"].to_dict() == {"rich": -7.0, "plain": -9.5}
    gap = pd.Series(elpd["plain"] - elpd["rich"])
    limits = gap.sum() + np.array([0, -1, 1]) * 1.6448536 * gap.sem() * 3
    assert frame.loc["plain", ["difference", "lower", "upper"]].tolist() == pytest.approx(limits)
    assert frame.loc["plain", "difference_std_error"] == pytest.approx(gap.sem() * 3)
    assert frame["std_error"].to_dict() == pytest.approx({k: 3 * pd.Series(v).sem() for k, v in elpd.items()})
    assert frame["effective_parameters"].tolist() == pytest.approx([0.6, 0.6])
    assert frame["n_unreliable"].tolist() == [1, 1]
    with pytest.raises(InputError, match="needs two fits"):
        compare_rater_models({"plain": fits["plain"]})


@pytest.mark.bayes
def test_left_out_items_are_predicted_better_with_their_covariates(fitted: tuple[RaterFit, Any]) -> None:
    fit, data = fitted[0], fitted[0].arrays
    without = rater_model(made_up()[0], draws=200, tune=200, seed=2)
    made = compare_rater_models({"without": without, "with": fit})
    assert made.frame["model"].tolist() == ["with", "without"]
    assert made.frame["upper"].iloc[1] < 0
    assert made.frame["effective_parameters"].between(10, 60).all()  # of about 40
    draw = posterior_draws(fit.data["posterior"], data, "logit").some(1)  # by hand: item 0 in one draw
    at, of_item = grid(grid_step(data)), np.flatnonzero(data.item == 0)
    nodes, mass = standardised_nodes(draw.shape[0], np.linspace(-8, 8, 801))
    quality = nodes + draw.quality[0][data.stratum[0]]
    chance = {}
    for row in of_item:
        judge, group = data.judge[row], data.group[data.judge[row]]
        shift = draw.bias[0][group, data.stratum[0]] - draw.severity[0][judge]
        eta = (draw.slope[0][judge] * quality + shift)[:, None]
        chance[row] = category_chances(eta, draw.cut[0][group], "logit")[..., data.category[row]].ravel()
    of_people = np.prod([chance[row] for row in of_item if data.group[data.judge[row]] == 0], axis=0) * mass
    models = [chance[row] @ of_people / of_people.sum() for row in of_item if data.group[data.judge[row]]]
    expected = np.log(of_people.sum()) + np.log(models).sum()
    every = item_log_likelihoods(draw, cells(data), 0, nodes_of(draw, at), at)
    assert every[cells(data).item[0]] == pytest.approx(expected, abs=1e-4)


@pytest.mark.bayes
@pytest.mark.parametrize(("link", "samples"), [("logit", 1), ("probit", 1), ("logit", 2), ("probit", 2)])
def test_the_gradient_is_that_of_the_density_and_quadrature_is_exact(link: Any, samples: int) -> None:
    data, density = density_of(made_up(n_items=60, n_people=5, samples=samples)[0], link=link)
    at = np.random.default_rng(3).normal(0, 0.4, density.size)
    _, gradient = density(at)
    step = 1e-5 * np.eye(density.size)
    numeric = [(density(at + one)[0] - density(at - one)[0]) / 2e-5 for one in step]
    assert gradient == pytest.approx(numeric, abs=2e-4)
    if (link, samples) == ("logit", 1):
        fine = Density(data, cells(data), PRIORS, "logit", grid(grid_step(data) / 3))
        assert density(density.start())[0] == pytest.approx(fine(density.start())[0], abs=1e-3)


OTHERS = {
    "severity_sd": Prior("exponential", (0.7,)),
    "discrimination_sd": Prior("half_normal", (0.4,)),
    "discrimination": Prior("exponential", (1.5,)),
    "own_sd": Prior("exponential", (0.5,)),
    "bias": (0.0, 0.3),
    "shares": (2.0,),
}


@pytest.mark.bayes
@pytest.mark.parametrize("case", ["one panel", "two panels, other priors"])
def test_the_compiled_density_is_that_of_the_pymc_model(case: str) -> None:
    table, _ = made_up(n_items=60, n_people=7, samples=2)
    priors = PRIORS
    if case != "one panel":
        panel = np.where(table["judge_id"] > "p03", "experts", "crowd")
        table["panel"] = np.where(table["judge_kind"] == "human", panel, None)
        priors = override_priors(PRIORS, OTHERS)
    data, density = density_of(table, priors)
    model = build(data, priors, "logit")
    logp = model.compile_logp(mode="FAST_COMPILE", sum=False)
    names = {value.name: model.values_to_rvs[value].name for value in model.value_vars}
    rng, away = np.random.default_rng(4), []
    for _ in range(3):
        at = rng.normal(0, 0.4, density.size)
        point = {value: density.blocks[name].of(at) for value, name in names.items()}
        away.append(density(at)[0] - sum(np.sum(part) for part in logp(point)))
    assert np.ptp(away) < 1e-7


@pytest.mark.bayes
def test_what_is_stored_of_a_draw_is_what_the_density_uses() -> None:
    from conjury.analysis.raters.models.ordinal.log_posterior import unpack_parameters

    data, density = density_of(made_up(n_items=60, n_people=5, samples=2)[0])
    at = np.random.default_rng(6).normal(0, 0.6, density.size)
    stored = density.kept(at)
    slope, shift, own, cut, centre, shape, *_ = unpack_parameters(at, density._arranged)
    mean, spread = moments(shape)
    sd, tilt = LINK_SD["logit"], stored["bias_response_type"] @ data.effects.T
    by_group = np.vstack([np.zeros((data.n_panels, tilt.shape[1])), tilt])
    for used, kept in (
        (cut / sd, stored["cut"]),
        (slope * spread / sd, stored["discrimination"]),
        (own[density.repeated] / sd, stored["own_sd"]),
        ((centre + mean) / spread, data.effects @ stored["quality_response_type"]),
        (shift / sd, by_group[data.group] - stored["severity"][:, None]),
    ):
        assert used == pytest.approx(kept, rel=1e-12)


def value(fit: RaterFit, group: str, quantity: str) -> pd.Series:
    return fit.frame.set_index(["group", "quantity"]).loc[(group, quantity)]


@pytest.mark.bayes
def test_truth_bias_and_the_better_model_are_found(
    fitted: tuple[RaterFit, np.ndarray], tmp_path: Path
) -> None:
    fit, severity = fitted
    for name, slope in SLOPES.items():
        row = value(fit, name, "discrimination")
        assert abs(row["estimate"] - slope) < 3 * row["std_error"]
    judges = fit.extra["judges"].query("quantity == 'severity'").set_index("judge").sort_index()
    assert ((judges["lower"] < severity) & (severity < judges["upper"])).mean() > 0.7
    assert np.corrcoef(judges["estimate"], severity)[0, 1] > 0.9
    bias = fit.extra["bias"].query("quantity == 'bias'").set_index(["group", "level"])["estimate"]
    for name, tilt in TILT.items():
        assert bias.loc[name].to_numpy() == pytest.approx(tilt, abs=0.3)
    assert value(fit, "loyal", "better_than_human")["estimate"] > 0.5
    assert value(fit, "aloof", "better_than_human")["estimate"] < 0.2
    assert value(fit, "loyal", "correlation")["estimate"] > value(fit, "aloof", "correlation")["estimate"]
    assert "latent_correlation" not in set(fit.frame["quantity"])
    assert any("cannot be separated" in note for note in fit.notes)
    table = fit.extra["frequencies"]
    assert table["observed"].between(table["lower"], table["upper"]).mean() > 0.85
    groups = set(load(fit.save(tmp_path / "fit.nc")).groups)
    assert {"/posterior", "/posterior_predictive", "/prior_predictive", "/observed_data"} <= groups


@pytest.mark.bayes
def test_the_same_seed_gives_the_same_numbers() -> None:
    table, _ = made_up(n_items=40, n_people=6)
    first, second = (rater_model(table, draws=100, tune=100, seed=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)


@pytest.mark.bayes
def test_lasting_judgments_are_told_from_noise_by_repeated_answers() -> None:
    fit = rater_model(made_up(n_items=200, samples=3)[0], draws=300, tune=300, seed=6)
    single, lasting = (value(fit, "aloof", f"latent_correlation{end}")["estimate"] for end in ("_rating", ""))
    assert lasting > single
    assert abs(value(fit, "loyal", "own_sd")["estimate"] - 0.7) < 0.35


def assert_like_clmm(fit: RaterFit, name: str, link: Any) -> None:
    """Posterior means are within a third of clmm's standard errors; SDs within a standard deviation."""
    expected, posterior = pd.read_csv(FIXTURES / f"clmm_{name}.csv"), fit.data["posterior"]
    sd = LINK_SD[link]
    cut = np.asarray(posterior["cut"].mean(("chain", "draw")))[0] * sd
    rows = expected.query("link == @link").set_index("term")
    thresholds = rows[rows["std_error"].notna()]
    assert (np.abs(cut - thresholds["estimate"]) < 0.35 * thresholds["std_error"]).all()
    for term, name in (("sd_item", "panel_discrimination"), ("sd_judge", "severity_sd_human")):
        draws = np.asarray(posterior[name]) * sd
        assert abs(np.median(draws) - rows.loc[term, "estimate"]) < draws.std()


@pytest.fixture
def nobody_careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As clmm has it: all people discriminate alike."""
    monkeypatch.setattr("conjury.analysis.raters.models.ordinal.density.CARELESS_SD", 1e-3)


@pytest.mark.bayes
@pytest.mark.r
@pytest.mark.usefixtures("nobody_careless")
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_estimates_on_wine_are_those_of_clmm(link: Any) -> None:
    code = "w <- ordinal::wine; write.csv(data.frame(judge_id = paste0('j', w$judge), judge_kind = 'human', \
item_id = paste0('b', w$bottle), value = as.integer(w$rating)), row.names = FALSE)"
    told = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if "there is no package called" in told.stderr:
        pytest.skip("R's package ordinal is not installed")
    assert told.returncode == 0, told.stderr
    table = pd.read_csv(io.StringIO(told.stdout))
    fit = rater_model(table, link=link, priors=FLAT, draws=1000, tune=300, seed=7)
    assert_like_clmm(fit, "wine", link)


@pytest.mark.bayes
@pytest.mark.shared
@pytest.mark.usefixtures("nobody_careless")
def test_estimates_on_cebab_are_those_of_clmm(shared: Path) -> None:
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet")
    table = table[(table["dataset"] == "cebab_stars") & (table["judge_kind"] == "human")]
    fit = rater_model(table, priors=FLAT, draws=500, tune=300, seed=8)
    assert_like_clmm(fit, "cebab", "logit")


@pytest.mark.bayes
def test_what_models_share_does_not_make_a_quality_of_its_own() -> None:
    rng = np.random.default_rng(4)
    rows = []
    quality, shared = rng.normal(size=(2, 200))
    for item in range(200):
        for person in rng.choice(10, 4, replace=False):
            latent = 0.8 * quality[item] + rng.logistic() / LINK_SD["logit"]
            rows.append((f"p{person}", "human", item, int((latent > CUT).sum())))
        for model in ("a", "b", "c"):
            latent = 0.3 * quality[item] + 1.3 * shared[item] + 0.6 * rng.normal()
            rows.append((model, "model", item, int((latent > CUT).sum())))
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value"])
    fit = rater_model(table, draws=300, tune=300, seed=1)
    truth = 0.3 / np.sqrt(0.3**2 + 1.3**2 + 0.6**2)
    for model in ("a", "b", "c"):
        found = value(fit, model, "latent_correlation_rating")
        assert found["lower"] < truth < found["upper"]
        assert found["upper"] < 0.6
        assert value(fit, model, "better_than_human")["estimate"] < 0.1
    items = fit.extra["items"].set_index("item_id")["estimate"].loc[[str(k) for k in range(200)]]
    assert np.corrcoef(items, quality)[0, 1] > 0.7
    assert abs(np.corrcoef(items, shared)[0, 1]) < 0.25


SKEWED = np.array([0.0, 1.5, 1.0, 0.0, -1.0, 0.5, 1.0])


@pytest.mark.long
def test_qualities_have_mean_0_and_standard_deviation_1_whatever_their_shape() -> None:
    assert moments(np.zeros(len(BUMPS))) == pytest.approx((0.0, 1.0), abs=1e-6)
    nodes, mass = standardised_nodes(SKEWED, np.linspace(-6, 6, 400))
    assert [mass @ nodes, mass @ nodes**2] == pytest.approx([0.0, 1.0], abs=1e-4)
    assert abs(mass @ nodes**3) > 0.2
    values = draw_qualities(SKEWED, 20_000, np.random.default_rng(1))
    assert (values.mean(), values.std()) == pytest.approx((0.0, 1.0), abs=0.02)


def judged(quality: np.ndarray, seed: int) -> pd.DataFrame:
    """Ratings 0-4 of items by six people and a model, whose thresholds lie evenly."""
    rng = np.random.default_rng(seed)
    cuts = np.array([-2.4, -0.8, 0.8, 2.4])
    answers = {}
    for judge, slope in {**dict.fromkeys(["p0", "p1", "p2", "p3", "p4", "p5"], 2.0), "gpt": 1.5}.items():
        latent = slope * quality + rng.logistic(size=len(quality)) / LINK_SD["logit"]
        answers[judge] = (latent[:, None] > cuts).sum(axis=1)
    return by_judge(answers)


@pytest.mark.bayes
@pytest.mark.parametrize("shape", ["normal", "two classes"])
def test_the_truth_is_found_and_the_ratings_are_replicated_whatever_the_shape(shape: str) -> None:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=300) if shape == "normal" else rng.choice([-1.0, 1.0], 300)
    quality = quality + (0.15 * rng.normal(size=300) if shape != "normal" else 0.0)
    fit = rater_model(judged((quality - quality.mean()) / quality.std(), 5), draws=600, seed=1)
    row = value(fit, "gpt", "latent_correlation_rating")
    assert row["lower"] < 1.5 / np.sqrt(1.5**2 + 1) < row["upper"]
    assert abs(value(fit, "human", "discrimination")["estimate"] - 2.0) < 0.35
    table = pd.concat([fit.extra["frequencies"], fit.extra["statistics"]])
    assert (~table["observed"].between(table["lower"], table["upper"])).sum() <= 3


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
    judges = fit.extra["judges"].rename(columns={"group": "panel", "judge": "who"})
    both = pd.concat([fit.frame.rename(columns={"group": "who"}), judges])
    both["parameter"] = both["quantity"] + "[" + both["who"] + "]"
    rows = both.drop_duplicates("parameter").set_index("parameter").loc[list(truth)]
    known = np.array(list(truth.values()))
    inside = (rows["lower"] < known) & (known < rows["upper"])
    return pd.DataFrame({"parameter": list(truth), "inside": inside.to_numpy(dtype=bool)})


def one_panel(panel: Panel) -> tuple[dict[str, float], pd.DataFrame]:
    """How a panel sampled, and what its intervals cover."""
    table, truth = panel_ratings(panel)
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
    every = pd.concat(parts).set_index("parameter")["inside"]
    rows = [every[every.index.str.startswith(start)].agg(["mean", "size"]) for start in POOLED.values()]
    return pd.DataFrame(rows, index=list(POOLED)).rename(columns={"mean": "share", "size": "n"})


@pytest.mark.bayes
def test_a_careless_person_is_named_and_does_not_spoil_the_panel() -> None:
    table, _ = panel_ratings(Panel(8, 1, 250, seed=3, spread=0.15, severity=0.3))
    rng = np.random.default_rng(1)
    careless = table["judge_id"] == "p02"
    table.loc[careless, "value"] = rng.integers(1, 6, careless.sum())
    fit = rater_model(table, seed=1, draws=600)
    others = rater_model(table[~careless], seed=1, draws=600)

    assert [note for note in fit.notes if note.startswith("'p02' follows the panel far less")]
    assert not [note for note in others.notes if "far less" in note]
    typical = value(others, "human", "discrimination")["estimate"]
    assert value(fit, "human", "discrimination")["estimate"] == pytest.approx(typical, rel=0.25)
    assert value(fit, "human", "discrimination_sd")["estimate"] < 0.35


@pytest.mark.bayes
def test_the_share_of_equal_ratings_is_checked_and_reported() -> None:
    table, _ = panel_ratings(Panel(4, 1, 80, seed=2))
    fit = rater_model(table, seed=1, draws=200)
    told = fit.frame.query("quantity == 'same_rating'").set_index("group")
    checked = fit.extra["statistics"].set_index("statistic")["observed"]
    assert told.loc["human", "observed"] == checked["Share of equal ratings of two people"]
    assert told.loc["m0", "observed"] == checked["Share of equal ratings of m0 and a person"]
    assert fit.frame.query("quantity != 'same_rating'")["observed"].isna().all()


@pytest.mark.bayes
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


ROUNDS, KEPT, BINS = 60, 49, 5
NARROW = {"discrimination": (1.0, 0.4), "model_discrimination": (0.8, 0.5), "shares": 4.0}


def design(n_items: int = 60, n_people: int = 6) -> pd.DataFrame:
    """Three people of six and two models rate each item; the values are placeholders."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(n_items):
        judges = [(f"p{j}", "human") for j in rng.choice(n_people, 3, replace=False)]
        for at, (judge, kind) in enumerate([*judges, ("a", "model"), ("b", "model")]):
            rows.append((judge, kind, item, (item + at) % 4, f"type{item % 2}"))
    return pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value", "response_type"])


def one_round(data: OrdinalData, priors: Priors, seed: int) -> dict[str, int]:
    """Rank of each true parameter among thinned draws of its posterior."""
    rng = np.random.default_rng(seed)
    at = grid(grid_step(data))
    truth = Density(data, cells(data), priors, "logit", at).prior_draw(rng)
    made = draws_of({name: values[None] for name, values in truth.items()}, data, "logit")
    again = replace(data, category=replicate(made, data, rng)[0])
    density = Density(again, cells(again), priors, "logit", at)
    tree = sample(None, compiled=lambda: for_nutpie(density), draws=500, tune=300, chains=1, seed=seed)
    ranks = {}
    for name, values in truth.items():
        if name in ("severity", "discrimination"):
            values, posterior = values[:2], np.asarray(tree["posterior"][name])[0, :, :2]
        else:
            posterior = np.asarray(tree["posterior"][name])[0]
        kept = posterior[np.linspace(0, len(posterior) - 1, KEPT).astype(int)].reshape(KEPT, -1)
        for k, true in enumerate(np.ravel(values)):
            ranks[f"{name}[{k}]"] = int((kept[:, k] < true).sum())
    return ranks


@pytest.mark.bayes
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ranks_of_the_truth_are_uniform() -> None:
    data = ordinal_data(read_ratings(design()), ["response_type"])
    priors = override_priors(PRIORS, NARROW)
    ranks = pd.DataFrame([one_round(data, priors, seed) for seed in range(ROUNDS)])
    counts = {name: np.histogram(column, BINS, (0, KEPT + 1))[0] for name, column in ranks.items()}
    p = pd.Series({name: chisquare(count).pvalue for name, count in counts.items()})
    assert p.min() > 0.01 / len(p)
    z = (ranks.mean() - KEPT / 2) / np.sqrt(((KEPT + 1) ** 2 - 1) / 12 / ROUNDS)
    assert np.abs(z).max() < 4
