from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reference_tables import FIXTURES, stimuli

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm, wild
from conjury.analysis.conjoint.reliability.correction import SwapCorrectedEstimates
from conjury.analysis.numerics.bootstrap import draw_weights, limits, moments, signs
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + author + reply"
DATA = stimuli()
pytestmark = pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")


def fitted(id="site", verb=amce, data: pd.DataFrame = DATA, **options):
    return verb(data, FORMULA, id=id, **options)


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("cluster", ["site", "user"])
def test_p_values_equal_those_of_wildboottest_where_all_signs_are_used(
    cluster: str, restricted: bool
) -> None:
    table = pd.read_csv(FIXTURES / "errors" / "wild.csv")
    theirs = table[(table["cluster"] == cluster) & (table["restricted"] == restricted)].iloc[1:]
    made = wild(fitted(cluster), weights="rademacher", restricted=restricted)
    ours = made.frame.dropna(subset=["p"])
    assert made.provenance.extra["enumerated"]
    assert made.provenance.extra["draws"] == theirs["draws"].iloc[0]
    np.testing.assert_array_equal(ours["p"], theirs["p"])
    n, k = made.provenance.n_used, 6
    np.testing.assert_allclose(ours["z"], theirs["t"] * np.sqrt((n - 1) / (n - k)), rtol=1e-9)
    assert (np.abs(theirs["p"] - theirs["p_printed"]) <= 2 / theirs["draws"]).all()


def brute_force(design, outcome, weight, cluster, contrast, null: float, weights: np.ndarray) -> float:
    """p of the restricted bootstrap, by regressions on rows."""
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    indicator = np.eye(weights.shape[1])[cluster]

    def statistic(values: np.ndarray) -> tuple[float, np.ndarray]:
        coef = bread @ (design.T @ (weight * values))
        scores = indicator.T @ (design * (weight * (values - design @ coef))[:, None]) @ bread @ contrast
        return float((contrast @ coef - null) / np.sqrt(scores @ scores)), coef

    observed, coef = statistic(outcome)
    step = bread @ contrast * (contrast @ coef - null) / (contrast @ bread @ contrast)
    fitted = design @ (coef - step)
    drawn = [statistic(fitted + (indicator @ one) * (outcome - fitted))[0] for one in weights]
    return float(np.mean(np.abs(drawn) >= abs(observed) * (1 - 1e-9)))


def moments_of(design, outcome, weight, cluster, contrast, drawn: np.ndarray):
    """The bootstrap's moments from scores summed by cluster, and the estimate."""
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    coef = bread @ (design.T @ (weight * outcome))
    indicator = np.eye(drawn.shape[1])[cluster]
    scores = indicator.T @ (design * (weight * (outcome - design @ coef))[:, None])
    pull = indicator.T @ (design * (weight * (design @ bread @ contrast))[:, None])
    return moments(bread @ contrast, scores, pull, bread, drawn), contrast @ coef


@pytest.mark.parametrize("null", [0.0, 0.3])
def test_statistics_from_scores_equal_those_of_regressions_on_rows(null: float) -> None:
    random = np.random.default_rng(5)
    n, clusters = 120, 7
    cluster = random.integers(0, clusters, n)
    design = np.column_stack([np.ones(n), random.normal(size=(n, 2))])
    outcome = design @ [0.5, 0.2, -0.3] + random.normal(size=clusters)[cluster] + random.normal(size=n)
    weight = random.gamma(3, 0.5, n)
    contrast = np.array([0.0, 1.0, -0.5])
    drawn = draw_weights("webb", 199, clusters, random)
    found, estimate = moments_of(design, outcome, weight, cluster, contrast, drawn)
    expected = brute_force(design, outcome, weight, cluster, contrast, null, drawn)
    assert found.p(estimate - null) == pytest.approx((199 * expected + 1) / 200, rel=1e-12)
    assert 0 < expected < 1
    below, above = limits(found, 0.1)
    for distance in (below, -above):
        assert found.p(distance * 0.999) > 0.1 >= found.p(distance * 1.000001)


def test_intervals_leave_out_the_null_value_exactly_where_p_is_at_most_alpha() -> None:
    fit = fitted(verb=mm, h0=0.5)
    made = wild(fit, draws=399, seed=3).frame
    outside = (made["lower"] > 0.5) | (made["upper"] < 0.5)
    np.testing.assert_array_equal(outside, made["p"] <= 0.05)
    assert 0 < outside.sum() < len(outside)
    drawn = wild(fit, draws=199, seed=4)
    tested = drawn.frame["p"].notna().to_numpy()
    larger = np.abs(drawn.ratios[:, tested]) >= drawn.frame["z"].abs().to_numpy()[tested] * (1 - 1e-9)
    np.testing.assert_allclose((larger.sum(axis=0) + 1) / 200, drawn.frame["p"].to_numpy()[tested])


def test_differences_between_groups_keep_the_clusters_that_they_share() -> None:
    data = DATA.assign(half=np.where(DATA["respondent"] % 2 == 0, "even", "odd"))
    made = wild(amce_diffs(data, "chosen ~ tone + author", "half", id="site"), weights="rademacher").frame
    used = data.dropna(subset="chosen")
    tone, author = used["tone"].cat.codes, used["author"].cat.codes
    dummies = np.stack([author >= 0, tone == 1, tone == 2, author == 1, author == 2], axis=1).astype(float)
    design = np.hstack([dummies, dummies * (used["half"] == "odd").to_numpy()[:, None]])
    outcome, cluster = used["chosen"].to_numpy(float), used["site"].to_numpy() - 1
    p = brute_force(design, outcome, np.ones(len(used)), cluster, np.eye(10)[7], 0.0, signs(8))
    assert made.set_index("level").loc["rude", "p"] == p


def test_the_same_seed_gives_the_same_numbers_and_few_clusters_six_points() -> None:
    first, again, other = (wild(fitted(), draws=199, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert not first.frame.equals(other.frame)
    assert first.provenance.extra["multipliers"] == "webb"
    assert wild(fitted("user"), draws=99).provenance.extra["multipliers"] == "rademacher"
    for kind, points in {"rademacher": 2, "webb": 6, "mammen": 2}.items():
        drawn = draw_weights(kind, 20_000, 10, np.random.default_rng(1))
        assert abs(drawn.mean()) < 0.01
        assert abs(drawn.var() - 1) < 0.01
        assert len(np.unique(drawn)) == points


def test_too_few_clusters_give_intervals_without_an_end_and_say_so() -> None:
    half = (DATA["site"] > 5).map({True: "late", False: "early"}) + DATA["reply"].astype(str)
    with pytest.warns(UserWarning, match="draws of 4 clusters reject no value"):
        made = wild(amce(DATA.assign(half=half), "chosen ~ tone", id="half"), weights="rademacher").frame
    assert np.isinf(made["upper"].dropna()).all()
    assert made["p"].min() >= 1 / 8


def known() -> SwapCorrectedEstimates:
    fit, tau = fitted(), pd.DataFrame({"group": ["given"]})
    return SwapCorrectedEstimates(fit.frame, fit.vcov, fit.provenance, uncorrected=fit, tau=tau)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wild(fitted(None)), "fit with id="),
        (lambda: wild(fitted(["respondent", "text"])), "name one with cluster="),
        (lambda: wild(fitted(), cluster="town"), "has no cluster 'town'"),
        (lambda: wild(fitted(), weights="normal"), "no weights 'normal'"),
        (lambda: wild(fitted(family="quasibinomial")), "linear model"),
        (lambda: wild(fitted(), draws=1), "draws is 1"),
        (lambda: wild(bootstrap(amce, DATA, FORMULA, unit="site", draws=50)), "a bootstrap keeps none"),
        (lambda: wild(known()), "give their 'uncorrected'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_its_own_remedy(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
    assert wild(known().uncorrected, draws=9, seed=1).frame["p"].notna().any()


@pytest.mark.parametrize(
    ("studies", "draws", "low", "high"),
    [(400, 199, 0.02, 0.085), pytest.param(4000, 399, 0.035, 0.065, marks=pytest.mark.slow)],
)
def test_the_level_holds_with_twelve_texts_where_clustered_errors_reject_too_often(
    studies, draws, low, high
) -> None:
    """Studies without an effect, 12 texts of unequal size, two tests at 5 percent."""
    random = np.random.default_rng(11)
    texts, rows = 12, 360
    share = np.arange(1, texts + 1) / np.arange(1, texts + 1).sum()
    rejected = np.zeros(2)
    for _ in range(studies):
        text = random.choice(texts, rows, p=share)
        treated = np.isin(text, random.permutation(texts)[:5]).astype(float)
        outcome = random.normal(0, 0.5, texts)[text] + random.normal(size=rows)
        design = np.column_stack([np.ones(rows), treated])
        drawn = draw_weights("rademacher", draws, texts, random)
        found, effect = moments_of(design, outcome, np.ones(rows), text, np.array([0.0, 1.0]), drawn)
        error = np.sqrt(texts / (texts - 1) * found.variance)
        rejected += [abs(effect) > 1.959964 * error, found.p(effect) <= 0.05]
    clustered, bootstrapped = rejected / studies
    assert clustered > 0.1
    assert low < bootstrapped < high
