"""The bootstrap of several crossed units, against weighted estimates and against crossed clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.conjoint import amce, bootstrap, cj_freqs, mm
from conjury.analysis.conjoint.standard_errors.resample import draw_weights
from conjury.analysis.frames.variables import unit_codes
from conjury.analysis.numerics.bootstrap import cross
from conjury.analysis.numerics.rating_panel import RowClusters
from conjury.inference.errors import InputError

FORMULA = "chosen ~ tone + author"
pytestmark = pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")


def shown(seed: int, rows: int = 1500, texts: int = 40, users: int = 40, noise: float = 0.3) -> pd.DataFrame:
    """Ratings of posts by texts and users that have effects of their own, and no other effects."""
    random = np.random.default_rng(seed)
    text, user = random.integers(0, texts, rows), random.integers(0, users, rows)
    worth = random.normal(0, 0.5, texts)[text] + random.normal(0, 0.5, users)[user]
    return pd.DataFrame(
        {
            "text": text,
            "user": user,
            "tone": np.where(text % 2 == 0, "kind", "rude"),
            "author": np.where(user % 2 == 0, "man", "woman"),
            "chosen": worth + random.normal(0, noise, rows),
        }
    )


DATA = shown(1, rows=300, texts=12, users=9).assign(site=np.arange(300) % 7)


@pytest.mark.parametrize("unit", [["text", "user"], ["text", "user", "site"]])
def test_a_replicate_is_the_estimate_with_products_of_weights(unit: list[str]) -> None:
    found = bootstrap(amce, DATA, FORMULA, unit=unit, draws=4, seed=8)
    units = cross([RowClusters(*unit_codes(DATA, name)) for name in unit])
    drawn = np.vstack([block() for block in draw_weights(units, 4, 8)])
    assert drawn.max() > 3
    for weight, replicate in zip(drawn[:, units.code], found.replicates, strict=True):
        expected = amce(DATA.assign(w=weight), FORMULA, weights="w").frame["estimate"]
        np.testing.assert_allclose(replicate, expected, rtol=1e-9, atol=1e-12)


def test_weights_of_each_factor_have_mean_one_and_are_independent() -> None:
    text, user = np.divmod(np.arange(600), 20)
    units = cross([RowClusters(text, 30), RowClusters(user, 20)])
    drawn = np.vstack([block() for block in draw_weights(units, 2000, 4)]).astype(float)
    np.testing.assert_allclose(drawn.sum(axis=1), 600)
    one, other = 1 - 1 / 30, 1 - 1 / 20
    np.testing.assert_allclose(drawn.var(axis=0).mean(), (1 + one) * (1 + other) - 1, rtol=0.05)
    same_text, same_user = (np.cov(drawn[:, [0, i]].T)[0, 1] for i in (1, 20))
    assert abs(same_text - (1 + one) * (1 - 1 / 20) + 1) < 0.2
    assert abs(same_user - (1 + other) * (1 - 1 / 30) + 1) < 0.2


def test_seeds_lists_of_one_and_counts_are_drawn_by_crossed_units() -> None:
    draws = {"draws": 60, "unit": ["text", "user"]}
    first, again, other = (bootstrap(mm, DATA, FORMULA, seed=seed, **draws) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.replicates, again.replicates)
    assert not np.array_equal(first.replicates, other.replicates)
    listed, named = (bootstrap(mm, DATA, FORMULA, unit=u, draws=60, seed=1) for u in (["text"], "text"))
    np.testing.assert_array_equal(listed.replicates, named.replicates)
    assert (first.provenance.extra["unit"], first.provenance.extra["n_units"]) == ("text, user", 9)
    counts = bootstrap(cj_freqs, DATA, "~ tone", seed=1, method="basic", **draws)
    assert (counts.frame["std_error"] > 0).all()


@pytest.mark.parametrize(
    ("unit", "method", "words"),
    [
        *((["text", "user"], method, f"has no {method} interval") for method in ("bca", "studentized")),
        *((unit, "basic", "several different ones") for unit in ([], ["text", "text"], ["text", 3])),
        (["text", "one"], "basic", "single value"),
        (["text", "town"], "basic", "unit='town'"),
    ],
)
def test_what_crossed_units_cannot_do_is_refused_in_a_sentence(unit, method: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        bootstrap(amce, DATA.assign(one=1), FORMULA, unit=unit, method=method, draws=20)


@pytest.mark.long
def test_errors_agree_with_crossed_clusters_where_texts_and_users_have_effects() -> None:
    ratios = []
    for seed in range(4):
        data = shown(seed)
        by_clusters = amce(data, FORMULA, id=["text", "user"], vcov="CR1").frame["std_error"]
        drawn = bootstrap(amce, data, FORMULA, unit=["text", "user"], draws=400, seed=seed)
        ratios.append((drawn.frame["std_error"] / by_clusters).dropna())
        by_rows = bootstrap(amce, data, FORMULA, unit="row", draws=100, seed=seed).frame["std_error"]
        assert (by_clusters / by_rows).min() > 2
    assert 1 < np.concatenate(ratios).mean() < 1.12
    assert np.abs(np.concatenate(ratios) - 1).max() < 0.2


def test_errors_are_too_wide_where_rows_differ_by_noise_alone() -> None:
    data = shown(5, noise=1.0)
    data["chosen"] = np.random.default_rng(5).normal(size=len(data))
    crossed = bootstrap(amce, data, FORMULA, unit=["text", "user"], draws=400, seed=1).frame["std_error"]
    rows = amce(data, FORMULA).frame["std_error"]
    ratio = (crossed / rows).dropna()
    assert (abs(ratio - np.sqrt(3)) < 0.35).all()
