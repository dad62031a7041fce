import io
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import rater_model, read_ratings
from conjury.analysis.raters.models.fitted import Prior, changed
from conjury.analysis.raters.models.ordinal.data import cells, ordinal_data
from conjury.analysis.raters.models.ordinal.density import PRIORS
from conjury.analysis.raters.models.ordinal.draws import LINK_SD, grid, grid_step, moments
from conjury.analysis.raters.models.ordinal.model import build

pytestmark = pytest.mark.bayes

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


def made_up(n_items=400, n_people=12, samples=1, seed=1):
    """Ratings of three types by people of several severities and two models, in SDs of logistic noise."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.4, n_people)
    severity -= severity.mean()
    slope = 0.9 * np.exp(rng.normal(0, 0.15, n_people))
    rows = []

    def rated(latent):
        return int((latent + rng.logistic() / LINK_SD["logit"] > CUT).sum())

    for item in range(n_items):
        kind = item % 3
        quality = QUALITY[kind] + rng.normal()
        for person in rng.choice(n_people, 4, replace=False):
            value = rated(slope[person] * quality - severity[person])
            rows.append((f"p{person:02d}", "human", item, 1, value, f"type{kind}"))
        for model in SLOPES:
            own = 0.7 * rng.normal() if samples > 1 else 0.0
            for sample in range(samples):
                value = rated(SLOPES[model] * quality + TILT[model][kind] + own)
                rows.append((model, "model", item, sample + 1, value, f"type{kind}"))
    columns = ["judge_id", "judge_kind", "item_id", "sample", "value", "response_type"]
    return pd.DataFrame(rows, columns=columns), severity


@pytest.fixture(scope="module")
def fitted():
    table, severity = made_up()
    return rater_model(table, covariates=["response_type"], draws=500, tune=300, seed=2), severity


def densities(link, samples):
    from conjury.analysis.raters.models.ordinal.density import Density

    table, _ = made_up(n_items=60, n_people=5, samples=samples)
    data = ordinal_data(read_ratings(table), ["response_type"])
    density = Density(data, cells(data), PRIORS, link, grid(grid_step(data)))
    return data, density


@pytest.mark.parametrize(("link", "samples"), [("logit", 1), ("probit", 1), ("logit", 2), ("probit", 2)])
def test_the_gradient_is_that_of_the_density(link, samples):
    _, density = densities(link, samples)
    at = np.random.default_rng(3).normal(0, 0.4, density.size)
    _, gradient = density(at)
    step = 1e-5 * np.eye(density.size)
    numeric = [(density(at + one)[0] - density(at - one)[0]) / 2e-5 for one in step]
    assert gradient == pytest.approx(numeric, abs=2e-4)


@pytest.mark.parametrize("case", ["one panel", "two panels, other priors"])
def test_the_compiled_density_is_that_of_the_pymc_model(case):
    from conjury.analysis.raters.models.ordinal.density import Density

    table, _ = made_up(n_items=60, n_people=7, samples=2)
    priors = PRIORS
    if case != "one panel":
        last = table["judge_id"].isin(sorted(table["judge_id"].unique())[-3:]) & (
            table["judge_kind"] == "human"
        )
        table["panel"] = np.where(table["judge_kind"] == "human", np.where(last, "experts", "crowd"), None)
        priors = changed(PRIORS, {
            "severity_sd": Prior("exponential", (0.7,)),
            "discrimination_sd": Prior("half_normal", (0.4,)),
            "discrimination": Prior("exponential", (1.5,)),
            "own_sd": Prior("exponential", (0.5,)),
            "bias": (0.0, 0.3),
            "shares": (2.0,),
        })  # fmt: skip
    data = ordinal_data(read_ratings(table), ["response_type"])
    density = Density(data, cells(data), priors, "logit", grid(grid_step(data)))
    model = build(data, priors, "logit")
    logp = model.compile_logp(mode="FAST_COMPILE", sum=False)
    names = {value.name: model.values_to_rvs[value].name for value in model.value_vars}
    rng = np.random.default_rng(4)
    away = []
    for _ in range(3):
        at = rng.normal(0, 0.4, density.size)
        point = {value: density.blocks[name].of(at) for value, name in names.items()}
        away.append(density(at)[0] - sum(np.sum(part) for part in logp(point)))
    assert np.ptp(away) < 1e-7


def test_what_is_stored_of_a_draw_is_what_the_density_uses():
    from conjury.analysis.raters.models.ordinal.target import unpacked

    data, density = densities("logit", 2)
    at = np.random.default_rng(6).normal(0, 0.6, density.size)
    stored = density.kept(at)
    slope, shift, own, cut, centre, shape, *_ = unpacked(at, *density._arranged)
    mean, spread = moments(shape)
    sd, quality, slope = LINK_SD["logit"], (centre + mean) / spread, slope * spread
    assert cut / sd == pytest.approx(stored["cut"], rel=1e-12)
    assert slope / sd == pytest.approx(stored["discrimination"], rel=1e-12)
    assert own[density.repeated] / sd == pytest.approx(stored["own_sd"], rel=1e-12)
    assert quality == pytest.approx(data.effects @ stored["quality_response_type"], rel=1e-12)
    tilt = stored["bias_response_type"] @ data.effects.T
    by_group = np.vstack([np.zeros((data.n_panels, tilt.shape[1])), tilt])
    assert shift / sd == pytest.approx(by_group[data.group] - stored["severity"][:, None], rel=1e-12)


def test_quadrature_is_exact_to_many_digits():
    from conjury.analysis.raters.models.ordinal.density import Density

    data, density = densities("logit", 1)
    fine = Density(data, cells(data), PRIORS, "logit", grid(grid_step(data) / 3))
    at = density.start()
    assert density(at)[0] == pytest.approx(fine(at)[0], abs=1e-3)


def value(fit, group, quantity):
    return fit.frame.set_index(["group", "quantity"]).loc[(group, quantity)]


def test_the_truth_lies_within_the_intervals(fitted):
    fit, severity = fitted
    for name, slope in SLOPES.items():
        row = value(fit, name, "discrimination")
        assert abs(row["estimate"] - slope) < 3 * row["std_error"]
    judges = fit.extra["judges"].query("quantity == 'severity'").set_index("judge").sort_index()
    inside = (judges["lower"] < severity) & (severity < judges["upper"])
    assert inside.mean() > 0.7
    assert np.corrcoef(judges["estimate"], severity)[0, 1] > 0.9


def test_bias_is_found_net_of_quality(fitted):
    bias = fitted[0].extra["bias"].query("quantity == 'bias'").set_index(["group", "level"])["estimate"]
    assert bias.loc["aloof"].to_numpy() == pytest.approx(TILT["aloof"], abs=0.3)
    assert bias.loc["loyal"].to_numpy() == pytest.approx(TILT["loyal"], abs=0.3)


def test_the_better_model_agrees_better(fitted):
    fit, _ = fitted
    assert value(fit, "loyal", "better_than_human")["estimate"] > 0.5
    assert value(fit, "aloof", "better_than_human")["estimate"] < 0.2
    assert value(fit, "loyal", "correlation")["estimate"] > value(fit, "aloof", "correlation")["estimate"]


def test_lasting_judgments_are_not_reported_from_single_answers(fitted):
    assert "latent_correlation" not in set(fitted[0].frame["quantity"])
    assert any("cannot be separated" in note for note in fitted[0].notes)


def test_draws_and_replications_are_arviz_data(fitted, tmp_path):
    from conjury.analysis.raters.models.sampling import load

    again = load(fitted[0].save(tmp_path / "fit.nc"))
    assert {"/posterior", "/posterior_predictive", "/prior_predictive", "/observed_data"} <= set(again.groups)


def test_the_model_makes_the_shares_that_were_seen(fitted):
    table = fitted[0].extra["frequencies"]
    inside = (table["observed"] >= table["lower"]) & (table["observed"] <= table["upper"])
    assert inside.mean() > 0.85


def test_the_same_seed_gives_the_same_numbers():
    table, _ = made_up(n_items=40, n_people=6)
    first, second = (rater_model(table, draws=100, tune=100, seed=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)


def test_lasting_judgments_are_told_from_noise_by_repeated_answers():
    table, _ = made_up(n_items=200, samples=3)
    fit = rater_model(table, draws=300, tune=300, seed=6)
    lasting = value(fit, "aloof", "latent_correlation")
    single = value(fit, "aloof", "latent_correlation_rating")
    assert lasting["estimate"] > single["estimate"]
    assert abs(value(fit, "loyal", "own_sd")["estimate"] - 0.7) < 0.35


def assert_like_clmm(fit, expected, link):
    """Posterior means are within a third of clmm's standard errors; SDs within a standard deviation."""
    posterior, sd = fit.data["posterior"], LINK_SD[link]
    cut = np.asarray(posterior["cut"].mean(("chain", "draw")))[0] * sd
    rows = expected.query("link == @link").set_index("term")
    thresholds = rows[rows["std_error"].notna()]
    assert (np.abs(cut - thresholds["estimate"]) < 0.35 * thresholds["std_error"]).all()
    for term, name in (("sd_item", "panel_discrimination"), ("sd_judge", "severity_sd_human")):
        draws = np.asarray(posterior[name]) * sd
        assert abs(np.median(draws) - rows.loc[term, "estimate"]) < draws.std()


@pytest.fixture
def nobody_careless(monkeypatch):
    """As clmm has it: all people discriminate alike."""
    monkeypatch.setattr("conjury.analysis.raters.models.ordinal.density.CARELESS_SD", 1e-3)


@pytest.mark.r
@pytest.mark.usefixtures("nobody_careless")
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_estimates_on_wine_are_those_of_clmm(link):
    code = "w <- ordinal::wine; write.csv(data.frame(judge_id = paste0('j', w$judge), judge_kind = 'human', \
item_id = paste0('b', w$bottle), value = as.integer(w$rating)), row.names = FALSE)"
    told = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip("R's package ordinal is not here")
    table = pd.read_csv(io.StringIO(told.stdout))
    fit = rater_model(table, link=link, priors=FLAT, draws=1000, tune=300, seed=7)
    assert_like_clmm(fit, pd.read_csv(FIXTURES / "clmm_wine.csv"), link)


@pytest.mark.shared
@pytest.mark.usefixtures("nobody_careless")
def test_estimates_on_cebab_are_those_of_clmm(shared):
    table = pd.read_parquet(shared / "data" / "ratings" / "annotations.parquet")
    table = table[(table["dataset"] == "cebab_stars") & (table["judge_kind"] == "human")]
    fit = rater_model(table, priors=FLAT, draws=500, tune=300, seed=8)
    assert_like_clmm(fit, pd.read_csv(FIXTURES / "clmm_cebab.csv"), "logit")


def test_what_models_share_does_not_make_a_quality_of_its_own():
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
