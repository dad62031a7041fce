"""Priors of the models of labels, dimensions and choices: their draws, and the data that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up.ratings import by_judge, group_ratings
from scipy import stats
from scipy.special import comb, expit

from conjury.analysis.conjoint.engines.bayes.choice_model import ChoiceCheck, check_choices, replicate
from conjury.analysis.conjoint.engines.bayes.paired_choices import (
    ChoiceDraws,
    PairedChoices,
    draw_population,
    lkj_factors,
)
from conjury.analysis.conjoint.engines.bayes.paired_choices import priors_in_use as choice_priors
from conjury.analysis.raters.models.dimensions.dimension_checks import (
    GroupCheck,
    check_group,
    covariances,
    inverse_wishart,
)
from conjury.analysis.raters.models.dimensions.dimension_checks import assumed_priors as dimension_priors
from conjury.analysis.raters.models.dimensions.dimension_checks import draw_parameters as draw_dimensions
from conjury.analysis.raters.models.dimensions.dimension_data import GroupRatings
from conjury.analysis.raters.models.dimensions.dimension_tables import correlations
from conjury.analysis.raters.models.labels import label_tables as label_tables
from conjury.analysis.raters.models.labels.label_model import assumed_priors as label_priors
from conjury.analysis.raters.models.labels.label_model import draw_parameters as draw_labels
from conjury.analysis.raters.models.labels.label_tables import LabelCheck, check_labels
from conjury.analysis.raters.models.labels.panel_labels import PanelLabels, read_labels
from conjury.analysis.raters.models.model_checks import sentence_on_fit
from conjury.analysis.raters.models.model_fit import Prior
from conjury.inference.errors import InputError

LABELS = ("dull", "funny", "odd")
MANY = 1000
TERMS = pd.DataFrame({"feature": ["tone", "tone", "size"], "level": ["loud", "odd", "big"]})
Changes = dict[str, Any] | None


def labelled(n_items: int = 30, labels: tuple[str, ...] = LABELS) -> PanelLabels:
    """Items with labels by three people and two models."""
    answers = {name: np.arange(n_items) + len(name) for name in ("ann", "bob", "cy", "gpt", "llama")}
    return read_labels(by_judge({name: np.take(labels, at, mode="wrap") for name, at in answers.items()}))


def rated(n_cuts: int = 3, per_item: int = 1, n_judges: int = 1) -> GroupRatings:
    """Ratings of three dimensions in a design of some size."""
    item, judge = np.repeat(np.arange(40), per_item), np.arange(40 * per_item) % n_judges
    return group_ratings(item, judge, ("wit", "clarity", "warmth"), n_cuts, "gpt")


def paired() -> PairedChoices:
    """Choices by eight raters in twelve tasks between profiles of two features."""
    rng = np.random.default_rng(7)
    tone, size = rng.integers(0, 3, (2, 96)), rng.integers(0, 2, (2, 96))
    first, second = (np.column_stack([tone[k] == 1, tone[k] == 2, size[k]]).astype(float) for k in range(2))
    terms, raters = ("tone=loud", "tone=odd", "size=big"), tuple(f"r{k}" for k in range(8))
    chosen = rng.random(96) < 0.5
    return PairedChoices(first, second, chosen, np.repeat(np.arange(8), 12), terms, raters, positioned=True)


def of_labels(data: PanelLabels, changes: Changes = None, seed: int = 1, size: int = MANY) -> LabelCheck:
    rng = np.random.default_rng(seed)
    priors = label_priors(len(data.labels), changes)
    return check_labels(data, *draw_labels(data, priors, rng, size), rng, 0.05)


def of_dimensions(data: GroupRatings, changes: Changes = None, seed: int = 1, size: int = MANY) -> GroupCheck:
    rng = np.random.default_rng(seed)
    return check_group(data, draw_dimensions(data, dimension_priors(changes), rng, size), rng, 0.05)


def of_choices(
    pairs: PairedChoices, changes: Changes = None, seed: int = 1, size: int = MANY, correlated: bool = False
) -> ChoiceCheck:
    rng = np.random.default_rng(seed)
    priors = choice_priors(pairs, correlated, changes)
    return check_choices(pairs, TERMS, draw_population(pairs, priors, rng, size), rng, 0.05)


def shares_made(made: np.ndarray, category: int) -> np.ndarray:
    """Share of a category in each replication, shape (R, ...)."""
    return (made == category).mean(axis=-1)


def assert_mean(values: np.ndarray, expected: float) -> None:
    """The mean of independent values lies within four Monte Carlo errors of what it should be."""
    assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))


def assert_same_law(ours: np.ndarray, theirs: Any) -> None:
    """Draws follow a distribution, or come from the same one as other draws."""
    test = stats.ks_2samp if isinstance(theirs, np.ndarray) else stats.kstest
    assert test(ours, theirs).pvalue > 1e-3


def normal_mean(of: Callable[[np.ndarray], np.ndarray]) -> float:
    """Mean of a function of a standard normal value, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(weights @ of(nodes) / weights.sum())


@pytest.mark.parametrize(
    ("replicated", "data", "changes"),
    [
        (lambda *a, **o: of_labels(*a, **o).shares, labelled(), {"wrong": (-6.0, 0.5)}),
        (lambda *a, **o: of_dimensions(*a, **o).table, rated(per_item=2, n_judges=5), {"cut": (0.0, 30.0)}),
        (lambda *a, **o: of_choices(*a, **o, correlated=True).table, paired(), {"mean": (0.0, 0.2)}),
    ],
    ids=["labels", "dimensions", "choices"],
)
def test_what_priors_make_changes_with_the_priors_and_the_seed_alone(
    replicated: Any, data: Any, changes: dict[str, Any]
) -> None:
    one, same, other = (replicated(data, seed=seed, size=40) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one["expected"].equals(other["expected"])
    assert not replicated(data, changes, size=40)["upper"].equals(one["upper"])


def test_every_label_has_the_same_share_under_even_priors() -> None:
    data = labelled()
    check = of_labels(data)
    for judge in range(5):
        for label in range(3):
            assert_mean(shares_made(check.made[:, data.ratings.judge == judge], label), 1 / 3)
    assert check.shares["expected"].to_numpy() == pytest.approx(1 / 3, abs=0.03)
    sure, even = (of_labels(data, changes, size=40).agreement for changes in ({"wrong": (-6.0, 0.5)}, None))
    assert (sure["expected"] > even["expected"] + 0.2).all()


def test_models_agree_as_often_as_the_prior_of_wrong_labels_says() -> None:
    mean, sd = label_priors(2, None)["wrong"].values
    right = normal_mean(lambda z: expit(-mean - sd * z))
    agreement = of_labels(labelled(labels=("dull", "funny"))).agreement
    (at,) = agreement.query("statistic == 'agreement of models'")["expected"]
    assert at == pytest.approx(right**2 + (1 - right) ** 2, abs=0.02)
    assert right == pytest.approx(0.71, abs=0.01)


def test_labels_without_errors_are_spread_as_a_beta_binomial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_tables, "ATTENTIVE", 1e9)  # nobody labels carelessly
    data = labelled(20)
    spread = {}
    for concentration in (1.0, 20.0):
        check = of_labels(
            data, {"prevalence": concentration, "wrong": (-40.0, 0.1), "people": 0.1, "careless": (1e-9, 1.0)}
        )
        count = 20 * shares_made(check.made[:, data.ratings.judge == 0], 1)
        known = stats.betabinom(20, concentration, 2 * concentration)
        assert_mean(count, known.mean())
        assert count.var() == pytest.approx(known.var(), rel=0.15)
        assert (check.agreement["expected"] == 1).all()
        spread[concentration] = float((check.shares["upper"] - check.shares["lower"]).mean())
    assert spread[20.0] < 0.6 * spread[1.0]


def test_people_differ_as_much_as_their_prior_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_tables, "ATTENTIVE", 1e9)
    data = labelled()
    priors = label_priors(
        3, {"wrong": (0.0, 1e-6), "people": Prior("half_t", (5.0, 0.5)), "careless": (1e-9, 1.0)}
    )
    _, confusion = draw_labels(data, priors, np.random.default_rng(2), 4000)
    logit = np.log(confusion[:, 0, 0, 1] / confusion[:, 0, 0, 0])
    assert logit.var() == pytest.approx(0.25 * 5 / 3, rel=0.15)
    assert np.allclose(confusion[:, data.ratings.judges.index("gpt")], 1 / 3, atol=1e-4)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (
            lambda: label_priors(3, {"prevalence": Prior("half_normal", (1.0,))}),
            "'prevalence' of label_model must be dirichlet",
        ),
        (
            lambda: choice_priors(paired(), True, {"spread": Prior("exponential", (1.0,))}),
            "'spread' of correlated part-worths must be half_normal",
        ),
        (
            lambda: choice_priors(paired(), True, {"correlation": Prior("normal", (0.0, 1.0))}),
            "'correlation' of correlated part-worths must be lkj",
        ),
    ],
)
def test_priors_of_other_families_are_refused_where_the_model_needs_one(priors: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        priors()


@pytest.mark.parametrize(("df", "scale", "n"), [(2.0, 1.0, 6), (3.5, 0.4, 3), (0.7, 2.0, 2)])
def test_standard_deviations_are_half_t_and_correlations_as_stated(df: float, scale: float, n: int) -> None:
    rng = np.random.default_rng(3)
    cov = covariances(rng, df, scale, n, 4000)
    for sd in np.sqrt(np.diagonal(cov, axis1=1, axis2=2)).T:
        assert_same_law(sd / scale, lambda x: 2 * stats.t.cdf(x, df) - 1)
    for matrix in (correlations(cov), correlations(inverse_wishart(rng, df + n - 1, np.ones((4000, n))))):
        for rho in (matrix[:, 1, 0], matrix[:, -1, -2]):
            assert_same_law(rho, stats.beta(df / 2, df / 2, loc=-1, scale=2).cdf)


def test_inverse_wisharts_have_scipys_moments() -> None:
    diagonal = np.array([2.0, 0.5, 1.0])
    made = inverse_wishart(np.random.default_rng(4), 9.0, np.tile(diagonal, (20_000, 1)))
    known = stats.invwishart(9, np.diag(diagonal))
    assert np.allclose(made.mean(axis=0), known.mean(), atol=0.01)
    assert np.allclose(np.diagonal(made, axis1=1, axis2=2).var(axis=0), np.diag(known.var()), rtol=0.15)


@pytest.mark.long
def test_shares_of_ratings_are_those_of_the_prior_of_cut_points() -> None:
    even, wide = of_dimensions(rated(n_cuts=4), {"cut": (0.0, 1.0)}).made, of_dimensions(rated()).made
    for k in range(5):
        for d in range(3):
            assert_mean(shares_made(even[:, d], k), 1 / 5)
    for k in range(4):
        expected = normal_mean(lambda z, k=k: stats.norm.cdf(z / 3) ** k * stats.norm.sf(z / 3) ** (3 - k))  # type: ignore[misc]
        assert_mean(shares_made(wide[:, 1], k), comb(3, k) * expected)


@pytest.mark.long
def test_replicated_ratings_of_one_item_or_judge_hang_together() -> None:
    data = rated(per_item=4, n_judges=8)
    wide, near = (
        of_dimensions(data, changes, size=300).table.query("statistic == 'item means'")
        for changes in (None, {"sd": (400.0, 1.0)})
    )
    assert len(wide) == 3
    assert (wide["lower"] < -0.6).all()
    assert (wide["upper"] > 0.6).all()
    assert ((near["upper"] - near["lower"]) < 0.8 * (wide["upper"] - wide["lower"])).all()


def test_coefficients_of_covariates_and_unused_cut_points_come_from_the_priors() -> None:
    data = rated()
    some = replace(data, values=((0.0, 1.0), *data.values[1:]), x=np.ones((40, 2)), terms=("a", "b"))
    drawn = draw_dimensions(some, dimension_priors(None), np.random.default_rng(1), 2000)
    assert drawn.beta.shape == (2000, 2, 3)
    assert drawn.beta.std() == pytest.approx(2.0, rel=0.05)
    assert np.isnan(drawn.cut[:, 0, 1:]).all()
    assert (np.diff(drawn.cut[:, 1:], axis=-1) > 0).all()
    assert drawn.cut[:, 0, 0].std() == pytest.approx(3.0, rel=0.05)
    assert (drawn.between, drawn.spread) == (None, None)
    assert_same_law(drawn.within[:, 1, 0], stats.uniform(-1, 2).cdf)


def test_checks_of_dimensions_without_a_pair_or_a_value_are_told_in_words() -> None:
    table = of_dimensions(rated(per_item=2, n_judges=5), size=40).table
    assert table[["other_dimension", "value"]].isna().any().all()
    sentence = sentence_on_fit(table.assign(observed=2.0, lower=0.0, upper=1.0), "statistics")
    assert sentence.startswith(f"Of {len(table)} statistics, {len(table)} are outside")
    assert "gpt share wit 0.0" in sentence
    assert not any(word in sentence for word in ("nan", "NaN", "none", "None", "NA"))


@pytest.mark.parametrize("correlated", [pytest.param(False, marks=pytest.mark.slow), True])
def test_no_level_and_no_position_is_ahead_under_the_priors(correlated: bool) -> None:
    pairs = paired()
    check = of_choices(pairs, correlated=correlated)
    table = check.table
    assert table["statistic"].value_counts().to_dict() == {"share": 4, "SD between raters": 4}
    assert_mean(check.made.mean(axis=1), 0.5)
    for k in range(3):
        side = pairs.first[:, k] - pairs.second[:, k]
        won = check.made[:, side != 0] == (side[side != 0] > 0)
        assert_mean(won.mean(axis=1), 0.5)
        expected = [won.mean(), (side != 0).sum()]
        assert table.loc[k, ["expected", "n_pairs"]].tolist() == pytest.approx(expected)
    narrow = of_choices(pairs, {"mean": (0.0, 0.2)}, correlated=correlated).table
    assert ((narrow["upper"] - narrow["lower"]) < (table["upper"] - table["lower"]))[:3].all()
    single = replace(pairs, rater=np.full(96, -1), raters=(), positioned=False)
    table = of_choices(single, size=40).table
    assert table["statistic"].tolist() == ["share"] * 3
    assert "position" not in set(table["feature"])
    free = choice_priors(pairs, False, {"spread": Prior("exponential", (1.0,))})
    assert free["spread"].family == "exponential"


@pytest.mark.long
def test_the_advantage_of_a_position_is_spread_as_its_prior_says() -> None:
    pairs = paired()
    still = {"mean": (0.0, 1e-6), "spread": 1e-6}
    for sd in (0.5, 2.0):
        share = of_choices(pairs, {**still, "position": (0.0, sd)}).made.mean(axis=1)
        even, square = (normal_mean(lambda z, power=power: expit(sd * z) ** power) for power in (1, 2))  # type: ignore[misc]  # noqa: B023
        variance = square - even**2 + (even - square) / len(pairs.chosen)
        assert share.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.long
def test_raters_who_do_not_differ_differ_by_chance_alone_and_choices_follow_part_worths() -> None:
    pairs = paired()
    means = {"mean": (0.0, 1e-6), "position": (0.0, 1e-6)}
    same, apart = (
        of_choices(pairs, {**means, "spread": spread}).table.query("statistic == 'SD between raters'")
        for spread in (1e-6, 3.0)
    )
    position = (same["feature"] == "position").to_numpy()
    assert same.loc[position, "expected"].iloc[0] == pytest.approx(np.sqrt(0.25 / 12 * 7 / 8), rel=0.05)
    assert (apart["expected"].to_numpy() > same["expected"].to_numpy() + 0.05)[~position].all()
    mean = np.broadcast_to([0.0, 0.0, 60.0], (1, 5, 3))
    draws = ChoiceDraws(np.zeros((1, 5)), mean, np.full((1, 5, 3), 0.1))
    side = pairs.first[:, 2] - pairs.second[:, 2]
    made = replicate(pairs, draws, np.random.default_rng(1))
    assert (made[:, side != 0] == (side[side != 0] > 0)).all()


@pytest.mark.parametrize(("eta", "p"), [(2.0, 2), (1.0, 4), (3.5, 5)])
def test_correlations_of_part_worths_have_the_marginals_of_lkj(eta: float, p: int) -> None:
    factor = lkj_factors(np.random.default_rng(6), eta, p, 4000)
    matrix = factor @ np.swapaxes(factor, 1, 2)
    assert np.allclose(np.diagonal(matrix, axis1=1, axis2=2), 1)
    known = stats.beta(eta - 1 + p / 2, eta - 1 + p / 2, loc=-1, scale=2)
    for one, other in zip(*np.tril_indices(p, -1), strict=True):
        assert_same_law(matrix[:, one, other], known.cdf)


@pytest.mark.parametrize("eta", [1, 2])
def test_determinants_of_correlations_are_those_of_accepted_cubes(eta: int) -> None:
    """A cube of correlations, kept where they make a matrix, with the probability |R|^(eta - 1)."""
    rng = np.random.default_rng(8)
    a, b, c = rng.uniform(-1, 1, (3, 20_000))
    every = 1 + 2 * a * b * c - a**2 - b**2 - c**2
    kept = every[(every > 0) & (rng.random(20_000) < np.maximum(every, 0) ** (eta - 1))]
    factor = lkj_factors(rng, float(eta), 3, 4000)
    assert_same_law(np.prod(np.diagonal(factor, axis1=1, axis2=2), axis=1) ** 2, kept)


@pytest.mark.bayes
@pytest.mark.filterwarnings("ignore:The effect of Potentials")  # the likelihood, which priors leave out
def test_parameters_of_labels_are_drawn_as_pymc_draws_them() -> None:
    import pymc

    from conjury.analysis.raters.models.labels.label_model import build

    data = labelled()
    priors = label_priors(3, {"prevalence": 2.0, "people": 0.9})
    prevalence, confusion = draw_labels(data, priors, np.random.default_rng(5), 3000)
    with build(data, priors):
        theirs = pymc.sample_prior_predictive(3000, random_seed=5)["prior"]
    assert_same_law(prevalence[:, 0], theirs["prevalence"].values[0, :, 0])
    ours = np.log(confusion[:, :, 0, 1] / confusion[:, :, 0, 0])
    wrong, spread = theirs["wrong"].values[0], theirs["spread"].values[0]
    place = data.ratings.judges.index("gpt")
    assert_same_law(ours[:, place], wrong[:, data.unit[place], 0])
    known = data.centring[0]
    person = theirs["person"].values[0][:, 0, 0]
    theirs_own = wrong[:, 0, 0] + spread[:, 0] ** (1 - known) * (person - known * wrong[:, 0, 0])
    assert_same_law(ours[:, data.person[0]], theirs_own)


@pytest.mark.bayes
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The effect of Potentials")
def test_parameters_of_choices_are_drawn_as_pymc_draws_them() -> None:
    import pymc

    from conjury.analysis.conjoint.engines.bayes.paired_choices import build, population

    pairs = paired()
    priors = choice_priors(pairs, True, {"spread": 0.7, "correlation": 1.5})
    ours = draw_population(pairs, priors, np.random.default_rng(5), 3000)
    with build(pairs, priors):
        theirs = population(pymc.sample_prior_predictive(3000, random_seed=5)["prior"])
    assert ours.factor is not None
    assert theirs.factor is not None
    assert_same_law(ours.position[0], theirs.position[0])
    assert_same_law(ours.mean[0, :, 1], theirs.mean[0, :, 1])
    for one, other in ((0, 0), (1, 0), (2, 0), (2, 1), (2, 2)):
        mine, others = (drawn.factor[0, :, one, other] for drawn in (ours, theirs))
        assert_same_law(mine, others)
