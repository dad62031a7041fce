"""The model of dimensions: what it refuses and says, and what it recovers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_groups import group_ratings
from scipy import stats

from conjury.analysis.figures import alt as alt_of
from conjury.analysis.figures.raters.models import predicted_shares
from conjury.analysis.raters import ModelFit, dimension_model
from conjury.analysis.raters.models.dimensions.checks import simulate_ratings_of
from conjury.analysis.raters.models.dimensions.data import GroupRatings, dimension_data
from conjury.analysis.raters.models.dimensions.sampler import GroupDraws
from conjury.analysis.raters.models.dimensions.tables import (
    correlation_table,
    correlations,
    difference_table,
    levels_of,
    pair_table,
    strongest_table,
)
from conjury.inference.errors import InputError

pytestmark = pytest.mark.timeout(900)  # the first fit on a machine compiles the sampler

DIMENSIONS = ("wit", "clarity", "warmth")
BETWEEN = np.array([[0.8, 0.3, 0.45], [0.3, 0.5, 0.1], [0.45, 0.1, 0.7]])
WITHIN = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.35], [0.2, 0.35, 1.0]])
TOTAL = np.array([[1.0, -0.4, 0.6], [-0.4, 1.0, 0.0], [0.6, 0.0, 1.0]])
CUT = np.array([-1.2, -0.2, 0.9])
POLYCHORIC = Path(__file__).parents[3] / "fixtures" / "raters" / "polychoric.csv"


def ratings_of(
    rng: np.random.Generator, judges: list[str], per_item: int, n_items: int, kind: str
) -> pd.DataFrame:
    """Ratings on three dimensions: people with halo and consensus, models with one answer an item."""
    item = np.repeat(np.arange(n_items), per_item)
    judge = np.concatenate([rng.choice(len(judges), per_item, replace=False) for _ in range(n_items)])
    if kind == "human":
        effect = rng.multivariate_normal(np.zeros(3), BETWEEN, n_items)
        severity = rng.normal(0, 0.4, (len(judges), 3))
        residual = rng.multivariate_normal(np.zeros(3), WITHIN, len(item))
        latent = effect[item] + severity[judge] + residual
    else:
        latent = rng.multivariate_normal(np.zeros(3), TOTAL, len(item))
    wide = pd.DataFrame(np.searchsorted(CUT, latent), columns=list(DIMENSIONS)).assign(
        item_id=[f"item {i}" for i in item], judge_id=[judges[j] for j in judge], judge_kind=kind
    )
    return wide.melt(["judge_id", "judge_kind", "item_id"], var_name="dimension")


def study(n_items: int = 150, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    people = ratings_of(rng, [f"p{k}" for k in range(12)], 4, n_items, "human")
    return pd.concat([people, ratings_of(rng, ["gpt"], 1, 2 * n_items, "model")], ignore_index=True)


def group(name: str = "human", n_repeated: int = 30, n_judges: int = 12) -> GroupRatings:
    item, judge = np.repeat(np.arange(30), 2), np.arange(60) % n_judges
    return group_ratings(item, judge, DIMENSIONS, name=name, n_repeated=n_repeated)


def draws_around(within: np.ndarray, between: np.ndarray, noise: float, seed: int = 0) -> GroupDraws:
    """Two chains of 50 draws: covariances with a little Wishart noise."""
    rng = np.random.default_rng(seed)
    df = 1 / noise**2

    def around(matrix: np.ndarray) -> np.ndarray:
        made = stats.wishart(df, matrix / df).rvs(100, random_state=rng)
        return np.asarray(made).reshape(2, 50, 3, 3)

    return GroupDraws(
        within=correlations(around(within)),
        between=around(between),
        spread=around(0.2 * np.eye(3)),
        cut=np.broadcast_to(CUT, (2, 50, 3, 3)),
        beta=np.zeros((2, 50, 0, 3)),
        acceptance=np.ones(4),
        thin=1,
        seconds=0.0,
    )


def test_ratings_become_one_row_a_rating_and_one_column_a_dimension() -> None:
    data = dimension_data(study(30))
    people, model = data.groups
    assert (people.group, people.n_ratings, people.n_items, people.n_judges) == ("human", 120, 30, 12)
    assert (model.group, model.n_ratings, model.n_repeated) == ("gpt", 60, 0)
    assert people.has_items
    assert people.has_judges
    assert not model.has_items
    assert not model.has_judges


def test_codes_follow_values_whatever_the_order_of_rows() -> None:
    table = study(30)
    mixed = table.sample(frac=1, random_state=1)
    data, other = dimension_data(table, DIMENSIONS), dimension_data(mixed, DIMENSIONS)
    for one, two in zip(data.groups, other.groups, strict=True):
        assert np.array_equal(np.sort(one.y.T, axis=0), np.sort(two.y.T, axis=0))
        assert {tuple(row) for row in one.y.T} == {tuple(row) for row in two.y.T}
    kept = table[(table["judge_kind"] == "model") & (table["dimension"] == "wit")].set_index("item_id")[
        "value"
    ]
    model = data.groups[1]
    assert [model.values[0][k] for k in model.y[0]] == kept.tolist()


def test_a_constant_dimension_is_left_out_of_its_group_with_a_sentence() -> None:
    table = study(30)
    flat = (table["judge_id"] == "gpt") & (table["dimension"] == "clarity")
    table.loc[flat, "value"] = 3
    data = dimension_data(table)
    assert data.groups[1].dimensions == ("wit", "warmth")
    assert data.groups[0].dimensions == DIMENSIONS
    assert data.left_out.to_dict("records")[0]["reason"].startswith("every rating is 3")
    assert any("gpt, clarity: every rating is 3" in note for note in data.notes)


def test_a_group_with_one_dimension_that_varies_is_left_out() -> None:
    table = study(30)
    table.loc[(table["judge_id"] == "gpt") & (table["dimension"] != "wit"), "value"] = 1
    data = dimension_data(table)
    assert [one.group for one in data.groups] == ["human"]
    assert "fewer than two dimensions" in " ".join(data.notes)


def test_missing_dimensions_of_a_rating_are_missing_codes() -> None:
    table = study(30)
    lost = (table["judge_id"] == "p1") & (table["dimension"] == "wit")
    data = dimension_data(table[~lost], DIMENSIONS)
    people = data.groups[0]
    assert people.n_ratings == 120
    assert (people.y[0] < 0).sum() == lost.sum()
    assert (people.y[1:] >= 0).all()


def test_a_second_rating_by_the_same_person_is_left_out_but_not_by_a_model() -> None:
    table = study(30)
    again = pd.concat([table.assign(sample=1), table.assign(sample=2)], ignore_index=True)
    data = dimension_data(again)
    people, model = data.groups
    assert (people.n_ratings, model.n_ratings, model.n_repeated) == (120, 120, 60)
    assert model.has_items
    assert "repeated ratings of an item by the same person" in " ".join(data.notes)


def test_one_person_identifies_only_total_correlations() -> None:
    rng = np.random.default_rng(1)
    data = dimension_data(ratings_of(rng, ["ann"], 1, 40, "human"))
    (one,) = data.groups
    assert not one.has_items
    assert not one.has_judges
    drawn = draws_around(TOTAL, BETWEEN, 0.05)
    assert list(levels_of(one, drawn)) == ["total"]


def test_covariates_of_items_become_centred_columns() -> None:
    table = study(30)
    items = pd.DataFrame({"item_id": [f"item {k}" for k in range(60)]})
    items["type"] = np.where(items.index % 2, "high", "low")
    items["votes"] = np.arange(60)
    data = dimension_data(table.merge(items), covariates=["type", "votes"])
    assert data.groups[0].terms == ("type=low", "votes")
    assert np.allclose(data.groups[0].x.mean(axis=0), 0)
    with pytest.raises(InputError, match="no column 'tipe'"):
        dimension_data(table.merge(items), covariates=["tipe"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "nuts"}, "a sampler of its own"),
        ({"main": "witt"}, "did you mean"),
        ({"dimensions": ["wit"]}, "one dimension"),
        ({"priors": {"correlation": 2}}, "no prior 'correlation'"),
        ({"priors": {"cut": (1.0, 3.0)}}, "mean 0"),
        ({"draws": 0}, "draws must be"),
        ({"alpha": 2}, "alpha"),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dimension_model(study(30), **options)  # type: ignore[arg-type]


def test_total_correlations_are_of_item_effects_and_residuals_together() -> None:
    drawn = draws_around(WITHIN, BETWEEN, 1e-3)
    found = levels_of(group(), drawn)
    assert np.allclose(found["between"].mean((0, 1)), correlations(BETWEEN), atol=0.01)
    assert np.allclose(found["within"].mean((0, 1)), WITHIN, atol=0.01)
    assert np.allclose(found["total"].mean((0, 1)), correlations(BETWEEN + WITHIN), atol=0.01)
    assert np.allclose(found["raters"].mean((0, 1)), np.eye(3), atol=0.01)
    assert "raters" not in levels_of(group(n_judges=4), drawn)


def test_probability_of_the_strongest_correlate_counts_draws() -> None:
    drawn = draws_around(WITHIN, BETWEEN, 0.2)
    table = strongest_table([(group(), drawn)], ["clarity"], 0.1)
    here = table[table["level"] == "within"].set_index("dimension")["probability"]
    wit, warmth = drawn.within[..., 1, 0], drawn.within[..., 1, 2]
    assert here["wit"] == pytest.approx((np.abs(wit) > np.abs(warmth)).mean())
    assert here.sum() == pytest.approx(1)
    assert 0.5 < here["wit"] < 1


def test_a_strong_negative_correlation_is_a_strong_correlate() -> None:
    negative = np.array([[1.0, -0.7, 0.3], [-0.7, 1.0, 0.0], [0.3, 0.0, 1.0]])
    table = strongest_table([(group(n_repeated=0), draws_around(negative, BETWEEN, 0.02))], ["wit"], 0.1)
    assert table.set_index(["level", "dimension"])["probability"]["total", "clarity"] == 1


def test_joint_probabilities_are_products_and_differing_is_one_less_the_same() -> None:
    groups = [
        (group(), draws_around(WITHIN, BETWEEN, 0.3, 1)),
        (group("gpt", 0, 1), draws_around(TOTAL, BETWEEN, 0.3, 2)),
    ]
    joint, differ = pair_table(groups, ["clarity"])
    assert set(joint["level"]) == {"total"}
    assert joint["probability"].sum() == pytest.approx(1)
    same = joint[joint["strongest"] == joint["other_strongest"]]["probability"].sum()
    assert differ["probability"].tolist() == pytest.approx([1 - same])
    top = strongest_table(groups, ["clarity"], 0.1).query("level == 'total'")
    alone = top.set_index(["group", "dimension"])["probability"]
    pair = joint.set_index(["strongest", "other_strongest"])["probability"]
    assert pair["wit", "warmth"] == pytest.approx(alone["human", "wit"] * alone["gpt", "warmth"])


def test_differences_are_of_the_same_level_with_the_first_group_first() -> None:
    groups = [
        (group(), draws_around(WITHIN, BETWEEN, 0.01)),
        (group("gpt", 0, 1), draws_around(TOTAL, BETWEEN, 0.01)),
    ]
    table = difference_table(groups, 0.05).set_index(["dimension", "other_dimension"])
    assert set(table["level"]) == {"total"}
    expected = correlations(BETWEEN + WITHIN)[0, 1] - TOTAL[0, 1]
    assert table.loc[("wit", "clarity"), "estimate"] == pytest.approx(expected, abs=0.01)
    assert table.loc[("wit", "clarity"), "probability_above"] == 1


def synthetic_fit(main: str | None = "warmth") -> ModelFit:
    groups = [
        (group(), draws_around(WITHIN, BETWEEN, 0.1)),
        (group("gpt_4_1", 0, 1), draws_around(TOTAL, BETWEEN, 0.1)),
    ]
    frame = correlation_table(groups, 0.05)
    extra = {"strongest": strongest_table(groups, [main] if main else DIMENSIONS, 0.05)}
    return ModelFit(frame, "dimension_model", settings={"main": main}, extra=extra)


def test_the_figure_shows_people_below_a_model_above_and_probabilities() -> None:
    fit = synthetic_fit()
    figure = fit.plot(labels={("dimension", "wit"): "Wittiness"})
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    total = fit.frame.query("level == 'total' and quantity == 'correlation'")
    people = total.query("group == 'human' and dimension == 'wit' and other_dimension == 'clarity'")
    assert f"{people['estimate'].iloc[0]:.2f}" in words
    assert sum(word.startswith("±") for word in words) == 6
    ticks = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert ticks == ["Wittiness", "Clarity", "Warmth"]
    assert any("correlate of Warmth" in " ".join(axes.get_xlabel().split()) for axes in figure.axes)
    assert "People: " in alt_of(fit)
    assert "probability" in alt_of(fit)


def test_the_figure_of_consensus_leaves_out_who_has_none() -> None:
    figure = synthetic_fit().plot(level="between")
    assert "Above" not in figure.axes[0].get_title(loc="left")
    with pytest.raises(InputError, match="no group 'gpt_4_1' with between"):
        synthetic_fit().plot(level="between", above=["gpt_4_1"])
    with pytest.raises(InputError, match="no level 'all'"):
        synthetic_fit().plot(level="all")


def test_the_figure_without_a_main_dimension_is_the_map() -> None:
    assert not any("Probability" in axes.get_xlabel() for axes in synthetic_fit(None).plot().axes)


@pytest.fixture(scope="module")
def fit() -> ModelFit:
    return dimension_model(study(), main="warmth", draws=300, tune=150, chains=2, seed=5)


@pytest.mark.bayes
def test_known_correlations_are_recovered_at_every_level(fit: ModelFit) -> None:
    truth = {("human", "between"): BETWEEN, ("human", "within"): WITHIN, ("human", "total"): BETWEEN + WITHIN,
             ("gpt", "total"): TOTAL}  # fmt: skip
    table = fit.frame.query("quantity == 'correlation' and level != 'raters'")
    assert set(zip(table["group"], table["level"], strict=True)) == set(truth)
    z = []
    for row in table.itertuples():
        matrix = correlations(truth[row.group, row.level])
        true = matrix[DIMENSIONS.index(row.dimension), DIMENSIONS.index(row.other_dimension)]
        z.append((row.estimate - true) / row.std_error)
    assert np.abs(z).max() < 3.5
    assert np.sqrt(np.mean(np.square(z))) < 1.6
    share = fit.frame.query("quantity == 'item_share'").set_index("dimension")
    own = np.diag(BETWEEN) / (1 + np.diag(BETWEEN))
    assert (np.abs(share["estimate"] - own) < 3.5 * share["std_error"]).all()


@pytest.mark.bayes
def test_chains_agree_and_say_so(fit: ModelFit) -> None:
    assert fit.frame["rhat"].max() < 1.05
    assert len(fit.verdict) == 2
    assert fit.diagnostics["parameter"].str.startswith("cut[gpt").sum() == 9
    told = " ".join(fit.notes)
    assert "human: 150 of 150 items have two or more ratings" in told
    assert "gpt: no item has two or more ratings" in told


@pytest.mark.bayes
def test_replicated_ratings_look_like_the_ratings(fit: ModelFit) -> None:
    check = fit.extra["check"]
    assert set(check["statistic"]) == {"share", "ratings", "item means"}
    outside = (check["observed"] < check["lower"]) | (check["observed"] > check["upper"])
    assert outside.sum() <= stats.binom.ppf(0.999, len(check), 0.05)


@pytest.mark.bayes
def test_what_the_priors_make_stands_beside_what_the_fitted_model_makes(fit: ModelFit) -> None:
    keys = ["group", "statistic", "dimension", "other_dimension", "value", "observed"]
    check, prior = fit.extra["check"], fit.extra["prior_check"]
    pd.testing.assert_frame_equal(check[keys], prior[keys])
    assert ((prior["upper"] - prior["lower"]) > (check["upper"] - check["lower"])).all()
    assert predicted_shares(fit)["prior_lower"].notna().all()


@pytest.mark.bayes
def test_the_same_seed_gives_the_same_numbers() -> None:
    options = {"draws": 10, "tune": 10, "chains": 2}
    one, two = (dimension_model(study(30), seed=4, **options) for _ in range(2))  # type: ignore[arg-type]
    other = dimension_model(study(30), seed=5, **options)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(one.frame, two.frame)
    pd.testing.assert_frame_equal(one.extra["prior_check"], two.extra["prior_check"])
    assert not one.extra["prior_check"].equals(other.extra["prior_check"])
    assert not np.allclose(one.frame["estimate"], other.frame["estimate"])


@pytest.mark.bayes
def test_draws_are_stored_and_read_back(fit: ModelFit, tmp_path: Path) -> None:
    import arviz

    stored = arviz.from_netcdf(fit.save(tmp_path / "draws.nc"))
    found = stored["posterior"]
    assert found["within"].shape == (2, 300, 2, 3, 3)
    assert np.isnan(found["between"].sel(group="gpt")).all()
    for name, extra in (("posterior_predictive", "check"), ("prior_predictive", "prior_check")):
        made = stored[name]["value"].sel(dimension="warmth")
        theirs = made.values[0][:, made["group_of_rating"].values == "gpt"]
        row = fit.extra[extra].query(
            "group == 'gpt' and statistic == 'share' and dimension == 'warmth' and value == 2"
        )
        assert (theirs == 2).mean() == pytest.approx(row["expected"].iloc[0])
    seen = stored["observed_data"]["value"].sel(dimension="wit")
    of_people = (
        study().query("judge_kind == 'human' and dimension == 'wit'").set_index(["judge_id", "item_id"])
    )
    judge, item = seen["judge_of_rating"].values[7], seen["item_of_rating"].values[7]
    assert seen.values[7] == of_people.loc[(judge, item), "value"]


@pytest.mark.bayes
@pytest.mark.parametrize("table", ["spread", "ceiling", "negative"])
def test_one_rating_of_two_dimensions_gives_the_polychoric_correlation(table: str) -> None:
    row = pd.read_csv(POLYCHORIC).set_index("table").loc[table]
    counts = np.array([int(n) for n in row["counts"].split()]).reshape(-1, row["n_columns"])
    x, y = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
    rated = pd.DataFrame({"wit": x, "warmth": y}).assign(
        item_id=[f"item {k}" for k in range(len(x))], judge_id="gpt", judge_kind="model"
    )
    long = rated.melt(["judge_id", "judge_kind", "item_id"], var_name="dimension")
    found = dimension_model(long, draws=400, tune=100, chains=2, seed=1).frame.iloc[0]
    assert found["quantity"] == "correlation"
    assert found["estimate"] == pytest.approx(row["correlation"], abs=0.25 * found["std_error"] + 0.005)


@pytest.mark.bayes
def test_missing_ratings_and_covariates_leave_recovery_as_it_is() -> None:
    rng = np.random.default_rng(8)
    table = study(120, seed=9)
    items = pd.DataFrame({"item_id": [f"item {k}" for k in range(240)]})
    items["type"] = np.where(items.index % 2, "high", "low")
    kept = table[rng.random(len(table)) > 0.15]
    found = dimension_model(kept, items=items, covariates=["type"], draws=150, tune=100, chains=2, seed=1)
    total = found.frame.query("level == 'total' and group == 'gpt'").set_index(
        ["dimension", "other_dimension"]
    )
    z = (total["estimate"]["wit", "warmth"] - 0.6) / total["std_error"]["wit", "warmth"]
    assert abs(z) < 3.5
    assert "net of type=low" in " ".join(found.notes)
    low = found.diagnostics["parameter"].str.contains("covariate[gpt, type=low, wit]", regex=False)
    assert low.sum() == 1


@pytest.mark.bayes
def test_the_pass_over_ratings_has_the_derivatives_that_it_says() -> None:
    from conjury.analysis.raters.models.dimensions.sweeps import normal_quantile, probit_pass

    rng = np.random.default_rng(2)
    x, offset = rng.normal(size=(50, 2)), rng.normal(size=50)
    y = rng.integers(-1, 4, 50)
    par = np.array([-1.0, 0.1, 1.3, 0.4, -0.7])
    gradient, hessian = np.zeros(5), np.zeros((5, 5))
    value = probit_pass(y, offset, x.T.copy(), par, 3, gradient, hessian)
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
        rise = probit_pass(y, offset, x.T.copy(), up, 3, g_up, other) - probit_pass(
            y, offset, x.T.copy(), down, 3, g_down, other
        )
        assert gradient[k] == pytest.approx(rise / (2 * step), rel=1e-5)
        assert np.allclose(hessian[k], -(g_up - g_down) / (2 * step), rtol=1e-4, atol=1e-6)
    at = np.array([1e-250, 1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9])
    assert np.allclose([normal_quantile(one) for one in at], stats.norm.ppf(at), rtol=1e-9, atol=1e-12)


def test_simulated_ratings_follow_the_cut_points_and_keep_what_is_missing() -> None:
    rng = np.random.default_rng(1)
    one = group()
    y = one.y.copy()
    y[0, :5] = -1
    data = GroupRatings(**{**vars(one), "y": y})
    cut = np.tile([-9.0, 0.0, 9.0], (3, 1))
    made = simulate_ratings_of(rng, data, WITHIN, BETWEEN, None, cut, np.zeros((0, 3)))
    assert (made[0, :5] == -1).all()
    assert set(np.unique(made[1])) == {1, 2}
