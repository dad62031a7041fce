"""The model of dimensions: what it refuses and says, and what it recovers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import group_ratings
from scipy import stats

from conjury.analysis.figures.raters.rater_model_figures import predicted_shares
from conjury.analysis.raters import ModelFit, dimension_model
from conjury.analysis.raters.models.dimensions.dimension_checks import default_priors, simulate_ratings_of
from conjury.analysis.raters.models.dimensions.dimension_data import GroupRatings, dimension_data
from conjury.analysis.raters.models.dimensions.dimension_tables import (
    correlation_table,
    correlations,
    correlations_by_level,
    difference_table,
    pair_table,
    strongest_table,
)
from conjury.analysis.raters.models.dimensions.sampler import GroupDraws, sample_group
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


def items_of(n: int) -> pd.DataFrame:
    kind = ["low" if k % 2 == 0 else "high" for k in range(n)]
    return pd.DataFrame({"item_id": [f"item {k}" for k in range(n)], "type": kind})


def group(name: str = "human", n_repeated: int = 30, n_judges: int = 12) -> GroupRatings:
    item, judge = np.repeat(np.arange(30), 2), np.arange(60) % n_judges
    return group_ratings(item, judge, DIMENSIONS, name=name, n_repeated=n_repeated)


def draws_around(within: np.ndarray, between: np.ndarray, noise: float, seed: int = 0) -> GroupDraws:
    """Two chains of 50 draws: covariances with a little Wishart noise."""
    rng = np.random.default_rng(seed)

    def around(matrix: np.ndarray) -> np.ndarray:
        made = stats.wishart(1 / noise**2, matrix * noise**2).rvs(100, random_state=rng)
        return np.asarray(made).reshape(2, 50, 3, 3)

    cut, beta = np.broadcast_to(CUT, (2, 50, 3, 3)), np.zeros((2, 50, 0, 3))
    return GroupDraws(
        correlations(around(within)), around(between), around(0.2 * np.eye(3)), cut, beta, np.ones(4), 1, 0.0
    )


def two_groups(noise: float, model: str = "gpt") -> list[tuple[GroupRatings, GroupDraws]]:
    people = group(), draws_around(WITHIN, BETWEEN, noise, 1)
    return [people, (group(model, 0, 1), draws_around(TOTAL, BETWEEN, noise, 2))]


@pytest.mark.long
def test_ratings_become_one_row_a_rating_and_one_column_a_dimension_whatever_the_order_of_rows() -> None:
    table = study(30)
    data, other = (dimension_data(rows, DIMENSIONS) for rows in (table, table.sample(frac=1, random_state=1)))
    people, model = data.groups
    assert (people.group, people.n_ratings, people.n_items, people.n_judges) == ("human", 120, 30, 12)
    assert (model.group, model.n_ratings, model.n_repeated) == ("gpt", 60, 0)
    assert (people.has_items, people.has_judges, model.has_items, model.has_judges) == (1, 1, 0, 0)
    for one, two in zip(data.groups, other.groups, strict=True):
        assert np.array_equal(np.sort(one.y.T, axis=0), np.sort(two.y.T, axis=0))
        assert {tuple(row) for row in one.y.T} == {tuple(row) for row in two.y.T}
    wit = table.query("judge_kind == 'model' and dimension == 'wit'")["value"]
    assert [model.values[0][k] for k in model.y[0]] == wit.tolist()


@pytest.mark.long
def test_constant_dimensions_missing_and_repeated_ratings_are_excluded_with_a_sentence() -> None:
    table = study(30)
    model = table["judge_id"] == "gpt"
    wit = table["dimension"] == "wit"
    flat = dimension_data(
        table.assign(value=table["value"].mask(model & (table["dimension"] == "clarity"), 3))
    )
    assert [one.dimensions for one in flat.groups] == [DIMENSIONS, ("wit", "warmth")]
    assert flat.left_out.to_dict("records")[0]["reason"].startswith("every rating is 3")
    assert any("gpt, clarity: every rating is 3" in note for note in flat.notes)
    alone = dimension_data(table.assign(value=table["value"].mask(model & ~wit, 1)))
    assert [one.group for one in alone.groups] == ["human"]
    assert "fewer than two dimensions" in " ".join(alone.notes)
    lost = (table["judge_id"] == "p1") & wit
    people = dimension_data(table[~lost], DIMENSIONS).groups[0]
    assert (people.n_ratings, (people.y[0] < 0).sum(), people.y[1:].min()) == (120, lost.sum(), 0)
    again = dimension_data(pd.concat([table.assign(sample=1), table.assign(sample=2)], ignore_index=True))
    assert [one.n_ratings for one in again.groups] == [120, 120]
    assert (again.groups[1].n_repeated, again.groups[1].has_items) == (60, True)
    assert "repeated ratings of an item by the same person" in " ".join(again.notes)


@pytest.mark.long
def test_covariates_of_items_become_centred_columns() -> None:
    table = study(30).merge(items_of(60).assign(votes=np.arange(60)))
    people = dimension_data(table, covariates=["type", "votes"]).groups[0]
    assert people.terms == ("type=low", "votes")
    assert np.allclose(people.x.mean(axis=0), 0)
    with pytest.raises(InputError, match="no column 'tipe'"):
        dimension_data(table, covariates=["tipe"])
    table.loc[0, "votes"] = 99
    with pytest.raises(InputError, match="has two values of 'votes'; keep one"):
        dimension_data(table, covariates=["votes"])


def test_levels_are_those_that_the_design_identifies_and_total_is_items_and_residuals_together() -> None:
    drawn = draws_around(WITHIN, BETWEEN, 1e-3)
    found = {name: values.mean((0, 1)) for name, values in correlations_by_level(group(), drawn).items()}
    truth = {"between": BETWEEN, "within": WITHIN, "total": BETWEEN + WITHIN, "raters": np.eye(3)}
    assert set(found) == set(truth)
    for name, matrix in truth.items():
        assert np.allclose(found[name], correlations(matrix), atol=0.01), name
    assert "raters" not in correlations_by_level(group(n_judges=4), drawn)
    (ann,) = dimension_data(ratings_of(np.random.default_rng(1), ["ann"], 1, 40, "human")).groups
    assert (ann.has_items, ann.has_judges, list(correlations_by_level(ann, drawn))) == (
        False,
        False,
        ["total"],
    )


@pytest.mark.slow
def test_probabilities_of_the_strongest_correlate_count_draws_and_take_absolute_values() -> None:
    drawn = draws_around(WITHIN, BETWEEN, 0.2)
    table = strongest_table([(group(), drawn)], ["clarity"], 0.1)
    here = table[table["level"] == "within"].set_index("dimension")["probability"]
    wit, warmth = drawn.within[..., 1, 0], drawn.within[..., 1, 2]
    assert here["wit"] == pytest.approx((np.abs(wit) > np.abs(warmth)).mean())
    assert here.sum() == pytest.approx(1)
    assert 0.5 < here["wit"] < 1
    negative = np.array([[1.0, -0.7, 0.3], [-0.7, 1.0, 0.0], [0.3, 0.0, 1.0]])
    table = strongest_table([(group(n_repeated=0), draws_around(negative, BETWEEN, 0.02))], ["wit"], 0.1)
    assert table.set_index(["level", "dimension"])["probability"]["total", "clarity"] == 1


@pytest.mark.long
def test_groups_are_compared_at_levels_of_both_by_joint_probabilities_and_differences() -> None:
    groups = two_groups(0.3)
    joint, differ = pair_table(groups, ["clarity"])
    assert set(joint["level"]) == {"total"}
    assert joint["probability"].sum() == pytest.approx(1)
    same = joint[joint["strongest"] == joint["other_strongest"]]["probability"].sum()
    assert differ["probability"].tolist() == pytest.approx([1 - same])
    top = strongest_table(groups, ["clarity"], 0.1).query("level == 'total'")
    alone = top.set_index(["group", "dimension"])["probability"]
    pair = joint.set_index(["strongest", "other_strongest"])["probability"]
    assert pair["wit", "warmth"] == pytest.approx(alone["human", "wit"] * alone["gpt", "warmth"])
    table = difference_table(two_groups(0.01), 0.05).set_index(["dimension", "other_dimension"])
    assert set(table["level"]) == {"total"}
    row = table.loc[("wit", "clarity")]
    assert row["estimate"] == pytest.approx(correlations(BETWEEN + WITHIN)[0, 1] - TOTAL[0, 1], abs=0.01)
    assert row["probability_above"] == 1


@pytest.mark.long
def test_the_figure_shows_people_below_a_model_above_and_probabilities() -> None:
    groups = two_groups(0.1, "gpt_4_1")
    extra = {"strongest": strongest_table(groups, ["warmth"], 0.05)}
    fit = ModelFit(
        correlation_table(groups, 0.05), "dimension_model", settings={"main": "warmth"}, extra=extra
    )
    figure = fit.plot(labels={("dimension", "wit"): "Wittiness"})
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    pair = "dimension == 'wit' and other_dimension == 'clarity'"
    (people,) = fit.frame.query(f"level == 'total' and group == 'human' and {pair}")["estimate"]
    assert f"{people:.2f}" in texts
    assert sum(text.startswith("±") for text in texts) == 6
    ticks = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert ticks == ["Wittiness", "Clarity", "Warmth"]
    for options, message in (({"above": ["gpt_4_1"], "level": "between"}, "no group 'gpt_4_1' with between"),
                             ({"level": "all"}, "no level 'all'")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            fit.plot(**options)


@pytest.fixture(scope="module")
def fit() -> ModelFit:
    return dimension_model(study(), main="warmth", draws=300, tune=150, chains=2, seed=5)


@pytest.mark.bayes
def test_known_correlations_are_recovered_at_every_level(fit: ModelFit) -> None:
    truth = {("human", "between"): BETWEEN, ("human", "within"): WITHIN}
    truth |= {("human", "total"): BETWEEN + WITHIN, ("gpt", "total"): TOTAL}
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
def test_chains_agree_and_replications_of_fit_and_priors_stand_beside_the_ratings(fit: ModelFit) -> None:
    assert fit.frame["rhat"].max() < 1.05
    assert len(fit.verdict) == 2
    assert fit.diagnostics["parameter"].str.startswith("cut[gpt").sum() == 9
    notes = " ".join(fit.notes)
    assert "human: 150 of 150 items have two or more ratings" in notes
    assert "gpt: no item has two or more ratings" in notes
    check, prior = fit.extra["check"], fit.extra["prior_check"]
    assert set(check["statistic"]) == {"share", "ratings", "item means"}
    outside = (check["observed"] < check["lower"]) | (check["observed"] > check["upper"])
    assert outside.sum() <= stats.binom.ppf(0.999, len(check), 0.05)
    keys = ["group", "statistic", "dimension", "other_dimension", "value", "observed"]
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
        shares = fit.extra[extra].query("group == 'gpt' and statistic == 'share' and dimension == 'warmth'")
        row = shares.query("value == 2")
        assert (theirs == 2).mean() == pytest.approx(row["expected"].iloc[0])
    seen = stored["observed_data"]["value"].sel(dimension="wit")
    people = study().query("judge_kind == 'human' and dimension == 'wit'")
    of_people = people.set_index(["judge_id", "item_id"])
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


def test_simulated_ratings_follow_the_cut_points_and_keep_what_is_missing() -> None:
    one = group()
    y = one.y.copy()
    y[0, :5] = -1
    cut = np.tile([-9.0, 0.0, 9.0], (3, 1))
    rng, data = np.random.default_rng(1), replace(one, y=y)
    made = simulate_ratings_of(rng, data, WITHIN, BETWEEN, None, cut, np.zeros((0, 3)))
    assert (made[0, :5] == -1).all()
    assert set(np.unique(made[1])) == {1, 2}


def effects_from_prior(rng: np.random.Generator, size: int) -> np.ndarray:
    aux = 1 / rng.gamma(0.5, 1.0, size)
    return np.asarray(stats.invwishart(size + 1, np.diag(4 / aux)).rvs(random_state=rng))


def filled(rng: np.random.Generator, empty: GroupRatings) -> tuple[GroupRatings, dict[str, np.ndarray]]:
    """Draw parameters from the priors, and ratings from the model."""
    size, n_cuts = len(empty.dimensions), int(empty.n_cuts[0])
    truth = {
        "within": correlations(stats.invwishart(size + 1, np.eye(size)).rvs(random_state=rng)),
        "between": effects_from_prior(rng, size),
        "spread": effects_from_prior(rng, size),
        "cut": np.sort(rng.normal(0, 3, (size, n_cuts)), axis=1),
        "beta": np.zeros((0, size)),
    }
    if not empty.has_items:
        truth["between"] = 1e-12 * np.eye(size)
    return replace(empty, y=simulate_ratings_of(rng, empty, **truth)), truth


@pytest.mark.bayes
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("n_ratings", [1, 3])
def test_ranks_of_the_truth_among_draws_are_uniform(n_ratings: int) -> None:
    """Simulation-based calibration; to choose data with every category by the data leaves ranks uniform."""
    rng = np.random.default_rng(0)
    judge = np.concatenate([rng.choice(6, n_ratings, replace=False) for _ in range(40)])
    empty = group_ratings(np.repeat(np.arange(40), n_ratings), judge, tuple("abc"), 3)
    pairs, ranks = ((0, 1), (0, 2), (1, 2)), []
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        data, truth = filled(rng, empty)
        while any(np.bincount(row, minlength=len(data.values[0])).min() < 2 for row in data.y):
            data, truth = filled(rng, empty)
        drawn = sample_group(data, default_priors(), draws=400, tune=150, chains=2, seed=(seed,))
        both = [(drawn.within[..., a, b], truth["within"][a, b]) for a, b in pairs]
        both += [(drawn.spread[..., d, d], truth["spread"][d, d]) for d in range(3)]
        if empty.has_items:
            rho, true_rho = correlations(drawn.between), correlations(truth["between"])
            both += [(rho[..., a, b], true_rho[a, b]) for a, b in pairs]
            both += [(drawn.between[..., d, d], truth["between"][d, d]) for d in range(3)]
        ranks.append([(values < true).mean() for values, true in both])
    table = np.array(ranks)
    p = [stats.kstest(column, "uniform").pvalue for column in table.T]
    assert min(p) > 0.01 / len(p), np.round(p, 3)
    inside = ((table > 0.05) & (table < 0.95)).sum(axis=0)
    least, most = stats.binom.interval(1 - 0.01 / len(p), len(table), 0.9)
    assert ((least <= inside) & (inside <= most)).all(), inside
