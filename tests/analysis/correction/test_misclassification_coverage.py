"""Coverage of corrected rates: one population, and label shift between labelled and unlabelled units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.correction import rates

pytestmark = pytest.mark.long

SIMULATIONS = 300
JUDGED = {  # the judge's labels of a unit of each class
    2: np.array([[0.8, 0.2], [0.2, 0.8]]),
    3: np.array([[0.8, 0.15, 0.05], [0.1, 0.75, 0.15], [0.1, 0.1, 0.8]]),
}
TRUE = {2: np.array([0.7, 0.3]), 3: np.array([0.5, 0.3, 0.2])}


def simulate(rng, k, calibration, labelled=150, unlabelled=600):
    """Units of k classes; the labelled ones have class frequencies of their own."""
    names = np.array(list("abc")[:k])
    label = np.r_[rng.choice(k, labelled, p=calibration), rng.choice(k, unlabelled, p=TRUE[k])]
    judged = (rng.random(len(label))[:, None] > JUDGED[k].cumsum(axis=1)[label]).sum(axis=1)
    gold = pd.Series(names[label]).mask(np.arange(len(label)) >= labelled)
    return pd.DataFrame({"label": gold, "judged": names[np.minimum(judged, k - 1)]})


def coverage(k, calibration):
    """Share of intervals that contain the true rate, and mean width, by method."""
    rng = np.random.default_rng(5)
    parts = []
    for _ in range(SIMULATIONS):
        frame = rates(simulate(rng, k, calibration)).frame
        true = frame["class"].map(dict(zip("abc", TRUE[k], strict=False)))
        hit = frame["lower"].le(true) & frame["upper"].ge(true)
        parts.append(frame.assign(hit=hit, width=frame["upper"] - frame["lower"]))
    return pd.concat(parts).groupby("method")[["hit", "width"]].mean()


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_in_one_population_corrections_cover_and_the_efficient_one_is_narrowest(k):
    found = coverage(k, TRUE[k])
    error = np.sqrt(0.05 * 0.95 / SIMULATIONS)
    for method in ("human", "rogan_gladen", "efficient", "mle"):
        assert abs(found.loc[method, "hit"] - 0.95) < 3 * error, method
    assert found.loc["naive", "hit"] < 0.7
    assert found.loc["efficient", "width"] < 0.95 * found["width"][["human", "rogan_gladen"]].min()
    assert found.loc["mle", "width"] == pytest.approx(found.loc["efficient", "width"], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_under_label_shift_rogan_gladen_covers_and_the_others_do_not(k):
    found = coverage(k, np.full(k, 1 / k))
    assert abs(found.loc["rogan_gladen", "hit"] - 0.95) < 3 * np.sqrt(0.05 * 0.95 / SIMULATIONS)
    for method in ("naive", "human", "efficient", "mle"):
        assert found.loc[method, "hit"] < 0.8, method


def sparse(rng, true, judged, labelled, unlabelled=1000, clusters=0):
    """Units of a rare last class; with clusters, the units of one are of one class and labelled together."""
    n = labelled + unlabelled
    size = n // clusters if clusters else 1
    label = np.repeat(rng.choice(len(true), -(-n // size), p=true), size)[:n]
    answer = (rng.random(n)[:, None] > np.cumsum(judged, axis=1)[label]).sum(axis=1)
    names = np.array(list("abcd"))
    gold = pd.Series(names[label]).mask(np.arange(n) >= labelled)
    return pd.DataFrame({"label": gold, "judged": names[answer], "unit": np.arange(n) // size})


NOISY = np.array([[0.97, 0.03], [0.2, 0.8]])
SPARSE = {
    "2% of 100": ([0.98, 0.02], NOISY, 100, 0),
    "2% of 50": ([0.98, 0.02], NOISY, 50, 0),
    "three classes": ([0.7, 0.27, 0.03], [[0.9, 0.08, 0.02], [0.1, 0.85, 0.05], [0.1, 0.1, 0.8]], 150, 0),
    "0.5% of 100": ([0.995, 0.005], NOISY, 100, 0),
    "0.5% of 30": ([0.995, 0.005], NOISY, 30, 0),
    "perfect judge, 2% of 60": ([0.98, 0.02], np.eye(2), 60, 0),
    "perfect judge, 30% of 60": ([0.7, 0.3], np.eye(2), 60, 0),
    "nearly perfect judge, 30% of 60": ([0.7, 0.3], [[0.98, 0.02], [0.02, 0.98]], 60, 0),
    "a category of its own, 5% of 60": ([0.95, 0.05], [[0.95, 0.04, 0.01], [0.2, 0.7, 0.1]], 60, 0),
    "5% of 200 in 20 clusters": ([0.95, 0.05], NOISY, 200, 120),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        pytest.param(name, marks=[] if place % 4 == 0 else [pytest.mark.slow])
        for place, name in enumerate(SPARSE)
    ],
)
def test_rates_of_a_rare_class_are_covered_by_every_method_that_gives_an_interval(world):
    true, judged, labelled, clusters = SPARSE[world]
    rng, hits = np.random.default_rng(11), {"efficient": [], "mle": [], "rogan_gladen": []}
    names = list("abc")[: len(true)]
    for _ in range(SIMULATIONS):
        data = sparse(rng, true, judged, labelled, clusters=clusters)
        cluster = "unit" if clusters else None
        frame = rates(data, classes=names, cluster=cluster).frame.set_index(["class", "method"])
        for method, hit in hits.items():
            lower, upper = frame.loc[(names[-1], method), ["lower", "upper"]]
            if np.isfinite(lower):
                hit.append(lower <= true[-1] + 1e-9 and upper >= true[-1] - 1e-9)
                assert upper > lower
    for method, hit in hits.items():
        least = 0.93 - 2 * np.sqrt(0.07 * 0.93 / max(len(hit), 1))
        assert np.mean(hit or [1.0]) > least, (method, np.mean(hit), len(hit))
