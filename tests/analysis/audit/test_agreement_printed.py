"""Published agreement: ratings that exist are never called inconsistent, and the harm paper's table is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from published_numbers import findings, verdict
from sklearn.metrics import cohen_kappa_score

from conjury.analysis.audit.arithmetic import agreement_is_possible
from conjury.analysis.audit.arithmetic.agreement_arithmetic import of_pairs, squares
from conjury.analysis.audit.arithmetic.numbers import Interval


def coefficients(ratings: np.ndarray, labels: int) -> dict[str, float]:
    """Coefficients of a full table of ratings, shape (items, raters), by their definitions."""
    items, raters = ratings.shape
    counts = np.stack([(ratings == k).sum(axis=1) for k in range(labels)], axis=1)
    observed = float(((counts**2).sum(axis=1) - raters).mean() / (raters * (raters - 1)))
    share = counts.sum(axis=0) / counts.sum()
    s = float((share**2).sum())
    found = {"percent_agreement": 100 * observed, **{f"share:{k}": 100 * p for k, p in enumerate(share)}}
    if s < 1:
        kappa = (observed - s) / (1 - s)
        found |= {"fleiss_kappa": kappa, "krippendorff_alpha": kappa + (1 - kappa) / (items * raters)}
    e = (1 - s) / (labels - 1)
    return found | {"gwet_ac1": (observed - e) / (1 - e)}


def tables(rng: np.random.Generator, n: int):
    for _ in range(n):
        labels, items, raters = int(rng.integers(2, 5)), int(rng.integers(2, 40)), int(rng.integers(2, 8))
        truth = rng.integers(0, labels, items)[:, None]
        ratings = np.where(
            rng.random((items, raters)) < rng.random(), truth, rng.integers(0, labels, (items, raters))
        )
        yield labels, ratings


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_agreement_of_real_ratings_is_never_inconsistent(n):
    rng = np.random.default_rng(1)
    for labels, ratings in tables(rng, n):
        found = coefficients(ratings, labels)
        digits = {role: 1 if role.startswith(("share", "percent")) else 3 for role in found}
        numbers = {role: f"{value:.{digits[role]}f}" for role, value in found.items()}
        items, raters = ratings.shape
        for settings in ({"labels": labels}, {"labels": labels, "raters": raters, "items": items}):
            assert {one.verdict for one in findings("agreement", numbers, **settings)} <= {
                "consistent",
                "untested",
            }


@pytest.mark.long
def test_agreement_of_two_raters_is_never_inconsistent():
    rng = np.random.default_rng(2)
    for labels, ratings in tables(rng, 80):
        first, second = ratings[:, 0], ratings[:, 1]
        kappa = cohen_kappa_score(first, second, labels=list(range(labels)))
        if np.isnan(kappa):
            continue
        numbers = {
            "percent_agreement": f"{100 * (first == second).mean():.1f}",
            "cohen_kappa": f"{kappa:.2f}",
        }
        assert verdict("agreement", numbers, labels=labels) == "consistent"


@pytest.mark.parametrize(
    ("percent", "kappa", "settings", "largest"),
    [("80.0", "0.50", {"labels": 2}, 1), ("62.5", "0.31", {"labels": 3, "raters": 3}, Fraction(3, 4))],
)
def test_the_chance_of_agreement_is_the_share_of_coefficients_that_would_fit(
    percent, kappa, settings, largest
):
    lower, upper = (Fraction(percent) / 100 + sign * Fraction(1, 2000) for sign in (-1, 1))
    fitting = 0
    for k in range(-100, 101):
        low, high = Fraction(2 * k - 1, 200), Fraction(2 * k + 1, 200)
        least_implied = (lower - high) / (1 - high) if high < 1 else -1000
        fitting += least_implied <= largest and (upper - low) / (1 - low) >= Fraction(1, settings["labels"])
    [found] = findings("agreement", {"percent_agreement": percent, "fleiss_kappa": kappa}, **settings)
    assert found.chance == pytest.approx(fitting / 201)


def test_the_harm_paper_states_no_agreement_of_pairs():
    [found] = findings("agreement", {"percent_agreement": "92.1", "fleiss_kappa": "0.87"}, labels=2, raters=7)
    assert found.verdict == "conditional"
    assert "agreement of all raters" in found.under
    assert "0.84" in found.nearest or "0.85" in found.nearest
    assert found.chance is not None


def test_other_meanings_of_agreement_contain_the_agreement_of_pairs():
    rng = np.random.default_rng(3)
    for labels, ratings in tables(rng, 200):
        counts = np.stack([(ratings == k).sum(axis=1) for k in range(labels)], axis=1)
        raters = ratings.shape[1]
        pairs = Fraction(int((counts**2).sum() - counts.sum()), int(len(ratings) * raters * (raters - 1)))
        most = counts.max(axis=1)
        for meaning, value in (("all", np.mean(most == raters)), ("majority", np.mean(most / raters))):
            exact = Fraction(float(value)).limit_denominator(10_000)
            at = of_pairs(Interval(exact, exact), meaning, raters)
            assert at.lower <= pairs <= at.upper, (meaning, raters)


def test_sums_of_squared_shares_are_those_of_a_search():
    grid = [Fraction(k, 40) for k in range(41)]
    for low, high in (((0.1, 0.3, 0.2), (0.3, 0.6, 0.5)), ((0.0, 0.0, 0.4), (0.2, 1.0, 0.5))):
        shares = [Interval(Fraction(str(a)), Fraction(str(b))) for a, b in zip(low, high, strict=True)]
        values = [
            a * a + b * b + (1 - a - b) ** 2
            for a, b in product(grid, grid)
            if a in shares[0] and b in shares[1] and 1 - a - b in shares[2]
        ]
        least, largest = squares(shares)
        assert least <= min(values) <= largest
        assert largest == max(values)
        assert float(min(values) - least) < 0.01


def test_agreement_of_four_raters_below_chance_is_possible():
    assert agreement_is_possible("50.0", "-0.33", labels=2, raters=4)
