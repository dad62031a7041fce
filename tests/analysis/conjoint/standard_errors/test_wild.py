from __future__ import annotations

import golden
import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap, mm, wild
from conjury.analysis.conjoint.reliability.correction import Corrected
from conjury.analysis.numerics.bootstrap import draw_weights, limits, moments, signs
from conjury.inference.errors import InputError

FIXTURES = golden.REPOSITORY / "tests" / "fixtures"
FORMULA = "chosen ~ tone + author + reply"
pytestmark = pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.run.FewClusters")


def stimuli() -> pd.DataFrame:
    data = pd.read_csv(FIXTURES / "data" / "stimuli.csv")
    levels = pd.read_csv(FIXTURES / "data" / "stimuli.levels.csv")
    for column, found in levels.groupby("column", sort=False):
        data[column] = pd.Categorical(data[column], list(found["level"]))
    return data


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("cluster", ["site", "user"])
def test_p_values_equal_those_of_wildboottest_where_all_signs_are_used(
    cluster: str, restricted: bool
) -> None:
    table = pd.read_csv(FIXTURES / "errors" / "wild.csv")
    theirs = table[(table["cluster"] == cluster) & (table["restricted"] == restricted)].iloc[1:]
    fit = amce(stimuli(), FORMULA, id=cluster)
    made = wild(fit, weights="rademacher", restricted=restricted)
    ours = made.frame.dropna(subset=["p"])
    assert made.provenance.extra["enumerated"]
    assert made.provenance.extra["draws"] == theirs["draws"].iloc[0]
    np.testing.assert_array_equal(ours["p"], theirs["p"])
    n, k = made.provenance.n_used, 6
    np.testing.assert_allclose(ours["z"], theirs["t"] * np.sqrt((n - 1) / (n - k)), rtol=1e-9)
    assert (np.abs(theirs["p"] - theirs["p_printed"]) <= 2 / theirs["draws"]).all()


def brute_force(
    design: np.ndarray,
    outcome: np.ndarray,
    weight: np.ndarray,
    cluster: np.ndarray,
    contrast: np.ndarray,
    null: float,
    weights: np.ndarray,
) -> float:
    """p of the restricted bootstrap, by regressions on rows."""
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    indicator = np.eye(weights.shape[1])[cluster]

    def statistic(values: np.ndarray) -> tuple[float, np.ndarray]:
        coef = bread @ (design.T @ (weight * values))
        scores = indicator.T @ (design * (weight * (values - design @ coef))[:, None])
        return float(
            (contrast @ coef - null) / np.sqrt((scores @ bread @ contrast) @ (scores @ bread @ contrast))
        ), coef

    observed, coef = statistic(outcome)
    step = bread @ contrast * (contrast @ coef - null) / (contrast @ bread @ contrast)
    fitted = design @ (coef - step)
    drawn = [statistic(fitted + (indicator @ one) * (outcome - fitted))[0] for one in weights]
    return float(np.mean(np.abs(drawn) >= abs(observed) * (1 - 1e-9)))


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
    bread = np.linalg.inv(design.T @ (design * weight[:, None]))
    coef = bread @ (design.T @ (weight * outcome))
    indicator = np.eye(clusters)[cluster]
    scores = indicator.T @ (design * (weight * (outcome - design @ coef))[:, None])
    pull = indicator.T @ (design * (weight * (design @ bread @ contrast))[:, None])
    found = moments(bread @ contrast, scores, pull, bread, drawn)
    ours = found.p(contrast @ coef - null)
    expected = brute_force(design, outcome, weight, cluster, contrast, null, drawn)
    assert ours == pytest.approx((199 * expected + 1) / 200, rel=1e-12)
    assert 0 < ours < 1
    below, above = limits(found, 0.1)
    for distance, inner in ((below, 0.999), (-above, 0.999)):
        assert found.p(distance * inner) > 0.1 >= found.p(distance * 1.000001)


def test_intervals_leave_out_the_null_value_exactly_where_p_is_at_most_alpha() -> None:
    made = wild(mm(stimuli(), FORMULA, id="site", h0=0.5), draws=399, seed=3).frame
    outside = (made["lower"] > 0.5) | (made["upper"] < 0.5)
    np.testing.assert_array_equal(outside, made["p"] <= 0.05)
    assert 0 < outside.sum() < len(outside)


def test_differences_between_groups_keep_the_clusters_that_they_share() -> None:
    data = stimuli()
    data["half"] = np.where(data["respondent"] % 2 == 0, "even", "odd")
    fit = amce_diffs(data, "chosen ~ tone + author", "half", id="site")
    made = wild(fit, weights="rademacher").frame
    tone = data["tone"].cat.codes.to_numpy()
    author = data["author"].cat.codes.to_numpy()
    dummies = np.column_stack([np.ones(len(data)), tone == 1, tone == 2, author == 1, author == 2]).astype(
        float
    )
    odd = (data["half"] == "odd").to_numpy()[:, None]
    used = data["chosen"].notna().to_numpy()
    design = np.hstack([dummies, dummies * odd])[used]
    contrast = np.eye(10)[7]
    p = brute_force(
        design,
        data.loc[used, "chosen"].to_numpy(dtype=float),
        np.ones(used.sum()),
        data.loc[used, "site"].to_numpy() - 1,
        contrast,
        0.0,
        signs(8),
    )
    assert made.set_index("level").loc["rude", "p"] == p


def test_the_same_seed_gives_the_same_numbers_and_few_clusters_six_points() -> None:
    fit = amce(stimuli(), FORMULA, id="site")
    first, again, other = (wild(fit, draws=199, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert not first.frame.equals(other.frame)
    assert first.provenance.extra["weights"] == "webb"
    assert wild(amce(stimuli(), FORMULA, id="user"), draws=99).provenance.extra["weights"] == "rademacher"


@pytest.mark.parametrize("kind", ["rademacher", "webb", "mammen"])
def test_weights_have_mean_zero_and_variance_one(kind: str) -> None:
    drawn = draw_weights(kind, 20_000, 10, np.random.default_rng(1))
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.var() - 1) < 0.01
    assert len(np.unique(drawn)) == {"rademacher": 2, "webb": 6, "mammen": 2}[kind]


def test_too_few_clusters_give_intervals_without_an_end_and_say_so() -> None:
    data = stimuli()
    data["half"] = (data["site"] > 5).map({True: "late", False: "early"}) + data["reply"].astype(str)
    with pytest.warns(UserWarning, match="draws of 4 clusters reject no value"):
        made = wild(amce(data, "chosen ~ tone", id="half"), weights="rademacher").frame
    assert np.isinf(made["upper"].dropna()).all()
    assert made["p"].min() >= 1 / 8


def test_what_cannot_be_drawn_is_refused_in_a_sentence() -> None:
    data = stimuli()
    fit = amce(data, FORMULA, id="site")
    with pytest.raises(InputError, match="fit with id="):
        wild(amce(data, FORMULA))
    with pytest.raises(InputError, match="name one with cluster="):
        wild(amce(data, FORMULA, id=["respondent", "text"]))
    with pytest.raises(InputError, match="has no cluster 'town'"):
        wild(fit, cluster="town")
    with pytest.raises(InputError, match="no weights 'normal'"):
        wild(fit, weights="normal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="linear models"):
        wild(amce(data, FORMULA, id="site", family="quasibinomial"))
    with pytest.raises(InputError, match="draws is 1"):
        wild(fit, draws=1)


def rejections(studies: int, seed: int, draws: int) -> tuple[float, float]:
    """Shares of studies without an effect, 12 texts of unequal size, where two tests reject at 5 percent."""
    random = np.random.default_rng(seed)
    texts, rows = 12, 360
    share = np.arange(1, texts + 1) / np.arange(1, texts + 1).sum()
    rejected = np.zeros(2)
    for _ in range(studies):
        text = random.choice(texts, rows, p=share)
        treated = np.isin(text, random.permutation(texts)[:5]).astype(float)
        outcome = random.normal(0, 0.5, texts)[text] + random.normal(size=rows)
        design = np.column_stack([np.ones(rows), treated])
        indicator = np.eye(texts)[text]
        bread = np.linalg.inv(design.T @ design)
        coef = bread @ (design.T @ outcome)
        scores = indicator.T @ (design * (outcome - design @ coef)[:, None])
        direction = bread[1]
        pull = indicator.T @ (design * (design @ direction)[:, None])
        drawn = draw_weights("rademacher", draws, texts, random)
        found = moments(direction, scores, pull, bread, drawn)
        error = np.sqrt(texts / (texts - 1) * found.variance)
        rejected += [abs(coef[1]) > 1.959964 * error, found.p(coef[1]) <= 0.05]
    clustered, bootstrapped = (rejected / studies).tolist()
    return clustered, bootstrapped


def test_the_level_holds_with_twelve_texts_where_clustered_errors_reject_too_often() -> None:
    clustered, bootstrapped = rejections(400, seed=11, draws=199)
    assert clustered > 0.1
    assert 0.02 < bootstrapped < 0.085


@pytest.mark.slow
def test_the_level_holds_closely_over_many_studies() -> None:
    clustered, bootstrapped = rejections(4000, seed=12, draws=399)
    assert clustered > 0.1
    assert abs(bootstrapped - 0.05) < 0.015


def test_ratios_of_draws_give_the_p_values() -> None:
    made = wild(mm(stimuli(), FORMULA, id="site", h0=0.5), draws=199, seed=4)
    tested = made.frame["p"].notna().to_numpy()
    larger = np.abs(made.ratios[:, tested]) >= made.frame["z"].abs().to_numpy()[tested] * (1 - 1e-9)
    np.testing.assert_allclose((larger.sum(axis=0) + 1) / 200, made.frame["p"].to_numpy()[tested])


def test_what_keeps_no_regressions_is_refused_with_its_own_remedy() -> None:
    data = stimuli().assign(pair_id=lambda d: np.arange(len(d)) // 2)
    drawn = bootstrap(amce, data, FORMULA, unit="site", draws=50, seed=1)
    with pytest.raises(InputError, match="a bootstrap keeps none"):
        wild(drawn)
    fit = amce(data, FORMULA, id="site")
    known = Corrected(
        fit.frame, fit.vcov, fit.provenance, uncorrected=fit, tau=pd.DataFrame({"group": ["given"]})
    )
    with pytest.raises(InputError, match="give their 'uncorrected'"):
        wild(known)
    assert wild(known.uncorrected, draws=99, seed=1).frame["p"].notna().any()
