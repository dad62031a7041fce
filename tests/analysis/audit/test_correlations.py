"""Published correlations: what is never called inconsistent, and what always is."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from math import atanh, sqrt, tanh

import numpy as np
import pytest
from published_numbers import findings, verdict
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from conjury.analysis.audit.arithmetic import Box, Printed, matrix_exists, p_interval, third_correlation
from conjury.analysis.audit.arithmetic.matrix_arithmetic import _refutes, is_semidefinite, partial_range
from conjury.analysis.audit.arithmetic.numbers import Interval


def box_of(**published: str) -> Box:
    pairs = {tuple(name.split("_")): Printed.read(text).interval() for name, text in published.items()}
    return Box.from_pairs(pairs)  # type: ignore[arg-type]


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
def test_p_values_of_published_correlations_contain_that_of_the_data(coefficient):
    tests = {"pearson": pearsonr, "spearman": spearmanr, "kendall": partial(kendalltau, method="asymptotic")}
    rng = np.random.default_rng(1)
    for n in (4, 7, 20, 150):
        for _ in range(60):
            x, y = rng.normal(size=(2, n))
            found = tests[coefficient](x, y + rng.normal() * x)
            low, high = p_interval(f"{found.statistic:.2f}", n, coefficient=coefficient)
            assert low * (1 - 1e-9) <= found.pvalue <= high * (1 + 1e-9)


@pytest.mark.parametrize("digits", [2, 3])
def test_correlations_of_real_data_are_never_inconsistent(digits):
    rng = np.random.default_rng(2)
    for n in (5, 12, 40, 300):
        for _ in range(40):
            x, y = rng.integers(0, 5, (2, n)).astype(float)
            if np.ptp(x) == 0 or np.ptp(y) == 0:
                continue
            found = pearsonr(x, y)
            interval = found.confidence_interval(0.95) if n > 3 else None
            numbers = {"r": f"{found.statistic:.{digits}f}", "p": f"{found.pvalue:.3f}"}
            if interval is not None:
                numbers |= {"lower": f"{interval.low:.{digits}f}", "upper": f"{interval.high:.{digits}f}"}
            marks = {"significant": str(found.pvalue < 0.05), "n": n}
            assert {one.verdict for one in findings("correlation", numbers, **marks)} == {"consistent"}
            assert {
                one.verdict for one in findings("correlation", numbers, significant=marks["significant"])
            } <= {"untested"}


@pytest.mark.parametrize("n", [5, 50, 700])
def test_an_interval_with_twelve_digits_fits_its_number_of_observations_alone(n):
    half = norm.ppf(0.975) / sqrt(n - 3)
    ends = {"lower": tanh(atanh(0.505) - half), "upper": tanh(atanh(0.505) + half)}
    [finding] = findings(
        "correlation", {"r": f"{0.505:.12f}"} | {role: f"{end:.12f}" for role, end in ends.items()}
    )
    assert finding.reason.endswith(f" fits {n} observations.")


@pytest.mark.parametrize("r", ["1.00", "-1.00", "0.00"])
def test_extreme_correlations_and_three_observations_are_answered(r):
    for n in (3, 4):
        assert all(one.reason for one in findings("correlation", {"r": r, "p": ".000"}, n=n))


@pytest.mark.long
def test_printed_matrices_of_three_variables_agree_with_the_exact_answer():
    """In angles the condition is linear, so that the least of three violated sums over the box is exact."""
    rng = np.random.default_rng(3)
    texts = [f"{x:.1f}" for x in np.arange(-10, 11) / 10]
    checked = 0
    for a, b, c in rng.choice(texts, (250, 3)):
        found = matrix_exists(box_of(x_y=a, x_z=b, y_z=c))
        expected = exists_by_angles([Printed.read(t).interval() for t in (a, b, c)])
        if found is None:
            continue
        assert found == expected, (a, b, c)
        checked += 1
    assert checked > 245


def exists_by_angles(intervals: list[Interval]) -> bool:
    """Whether angles in the box satisfy the triangle inequalities, by their linear programme."""
    from scipy.optimize import linprog

    bounds = [
        (float(np.arccos(min(float(i.upper), 1))), float(np.arccos(max(float(i.lower), -1))))
        for i in intervals
    ]
    a = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]]
    return (
        linprog(
            [0, 0, 0], A_ub=a, b_ub=[1e-12, 1e-12, 1e-12, 2 * np.pi], bounds=bounds, method="highs"
        ).status
        == 0
    )


@pytest.mark.parametrize("k", [4, 6, 9])
def test_matrices_of_real_data_exist_and_are_refused_when_an_entry_changes_its_sign(k):
    rng = np.random.default_rng(k)
    for _ in range(6):
        data = rng.normal(size=(30, 1)) + rng.normal(size=(30, k)) * 0.5
        matrix = np.corrcoef(data.T)
        names = [f"v{i}" for i in range(k)]
        published = {(names[i], names[j]): f"{matrix[i, j]:.2f}" for i in range(k) for j in range(i)}
        box = Box.from_pairs({pair: Printed.read(text).interval() for pair, text in published.items()})
        assert matrix_exists(box) is True
        broken = published | {("v1", "v0"): f"{-matrix[1, 0]:.2f}"}
        assert (
            matrix_exists(Box.from_pairs({p: Printed.read(t).interval() for p, t in broken.items()})) is False
        )


def test_matrices_of_few_observations_that_have_no_full_rank_exist_within_rounding():
    rng = np.random.default_rng(5)
    for _ in range(10):
        matrix = np.corrcoef(rng.normal(size=(3, 6)).T)
        pairs = {
            (f"v{i}", f"v{j}"): Printed.read(f"{matrix[i, j]:.2f}").interval()
            for i in range(6)
            for j in range(i)
        }
        assert matrix_exists(Box.from_pairs(pairs)) is not False


@pytest.mark.parametrize("r", [-1, 1])
def test_a_matrix_with_an_eigenvalue_of_zero_is_not_refuted(r):
    box = Box.from_pairs({("a", "b"): Interval(Fraction(r), Fraction(r))})
    assert not _refutes([np.array([1.0, -r])], np.ones(1), box)
    far = Interval(Fraction(-9, 10), Fraction(-9, 10))
    box = Box.from_pairs(dict.fromkeys((("a", "b"), ("a", "c"), ("b", "c")), far))
    assert _refutes([np.ones(3)], np.ones(1), box)


def test_correlations_that_are_not_published_can_be_anything():
    assert matrix_exists(box_of(a_b="0.9", a_c="0.9")) is True


def test_semidefinite_matrices_are_told_exactly():
    for values in product((-1, 0, 1), repeat=3):
        matrix = [[Fraction(1)] * 3 for _ in range(3)]
        for (i, j), value in zip(((0, 1), (0, 2), (1, 2)), values, strict=True):
            matrix[i][j] = matrix[j][i] = Fraction(value)
        assert is_semidefinite(matrix) == (np.linalg.eigvalsh(np.array(matrix, dtype=float))[0] > -1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.5, -0.3), (0.5, 0.8), (-0.5, -0.8)])
def test_the_third_correlation_is_bounded_as_by_search(first, second):
    low, high = third_correlation(f"{first:.2f}", f"{second:.2f}")
    a, b = np.meshgrid(*[np.linspace(r - 0.005, r + 0.005, 60) for r in (first, second)])
    rest = np.sqrt((1 - a**2) * (1 - b**2))
    assert low == pytest.approx((a * b - rest).min(), abs=1e-6)
    assert high == pytest.approx((a * b + rest).max(), abs=1e-6)


def test_ranges_of_partial_correlations_are_those_of_a_dense_search():
    rng = np.random.default_rng(7)
    for _ in range(25):
        centre = rng.uniform(-0.6, 0.6, 3)
        box = [Interval(Fraction(c - 0.2), Fraction(c + 0.2)) for c in centre]
        a, b, c = (x.ravel() for x in np.meshgrid(*[np.linspace(v - 0.2, v + 0.2, 41) for v in centre]))
        values = (a - b * c) / np.sqrt((1 - b**2) * (1 - c**2))
        low, high = partial_range(*box)  # type: ignore[misc]
        assert low <= values.min() + 1e-12 or low == -1
        assert high >= values.max() - 1e-12 or high == 1
        assert low >= max(values.min() - 0.02, -1)
        assert high <= min(values.max() + 0.02, 1)


def test_partial_correlations_of_real_data_are_consistent_and_another_order_is_named():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    r = np.corrcoef(x.T)
    partial = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    other = (r[0, 2] - r[0, 1] * r[1, 2]) / np.sqrt((1 - r[0, 1] ** 2) * (1 - r[1, 2] ** 2))
    numbers = {"r12": f"{r[0, 1]:.3f}", "r13": f"{r[0, 2]:.3f}", "r23": f"{r[1, 2]:.3f}"}
    assert verdict("partial_correlation", numbers | {"partial": f"{partial:.3f}"}) == "consistent"
    swapped = findings("partial_correlation", numbers | {"partial": f"{other:.3f}"})[0]
    assert swapped.under == ("given variable 2",)
