"""Properties that coefficients of agreement have for any ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conjury.analysis.numerics.rating_panel import RatingPanel, panel_from
from conjury.analysis.raters.agreement import chance_corrected, coefficient_intervals, icc, rater_pairs
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement.icc import kendall_w, reml_variances

pytestmark = pytest.mark.long

KINDS = ["fleiss", "gwet", "brennan_prediger", "conger"]
SCALE = range(4)
EYE = np.eye(4)
Floats = np.ndarray
often = settings(max_examples=25, deadline=None)


@st.composite
def tables(draw: st.DrawFn, complete: bool = False) -> Floats:
    n, raters = draw(st.integers(2, 7)), draw(st.integers(2, 4))
    values = draw(arrays(float, (n, raters), elements=st.sampled_from([0.0, 1.0, 2.0, 3.0])))
    if not complete:
        gone = draw(arrays(bool, (n, raters)))
        gone[np.arange(n), draw(arrays(int, n, elements=st.integers(0, raters - 1)))] = False
        values = np.where(gone, np.nan, values)
    return values


def ones(panel: RatingPanel) -> Floats:
    return np.ones((1, panel.n_items))


def every(panel: RatingPanel, drawn: Floats | None = None) -> dict[str, Floats]:
    """Every coefficient that panels have; complete ones have more."""
    drawn = ones(panel) if drawn is None else drawn
    made = {
        "alpha ordinal": chance_corrected.krippendorff(panel, None, drawn),
        "icc1": icc.one_way_icc(panel, drawn),
    }
    for name in chance_corrected.NAMES:
        weights = chance_corrected.weight_matrix(name, panel.categories)
        made[f"percent {name}"] = corrected.observed(panel, weights, drawn)
        made[f"alpha {name}"] = chance_corrected.krippendorff(panel, weights, drawn)
        made[f"cohen {name}"] = coefficient_intervals.mean_kappa(panel, weights, drawn)
        for kind in KINDS:
            made[f"{kind} {name}"] = corrected.coefficient(panel, weights, drawn, kind)
    if len(panel.item) == panel.n_items * panel.n_raters:
        made["kendall"] = kendall_w(panel, drawn)
        made["icc"] = icc.icc_from_mean_squares(icc.mean_squares(panel, drawn))
    return made


def assert_same(one: dict[str, Floats], other: dict[str, Floats]) -> None:
    for name, expected in other.items():
        assert one[name] == pytest.approx(expected, abs=1e-9, nan_ok=True), name


@often
@given(st.one_of(tables(), tables(complete=True)), st.data())
def test_counting_items_twice_is_having_them_twice(values: Floats, data: st.DataObject) -> None:
    times = data.draw(arrays(int, len(values), elements=st.integers(1, 3)))
    copied = panel_from(values.repeat(times, axis=0), SCALE)
    assert_same(every(panel_from(values, SCALE), times[None].astype(float)), every(copied))


@pytest.mark.parametrize("seed", range(3))
def test_variances_of_counted_items_are_those_of_copied_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=4) + rng.normal(size=(40, 4)))
    values[rng.random(values.shape) < 0.25] = np.nan
    times = rng.integers(1, 4, len(values))
    panel, copied = panel_from(values), panel_from(values.repeat(times, axis=0))
    whole = reml_variances(copied, ones(copied), True)[0]
    weighted = reml_variances(panel, times[None].astype(float), True)[0]
    assert weighted == pytest.approx(whole, abs=0.03 * float(whole.sum()))


@often
@given(tables(), st.permutations(range(4)))
def test_names_of_raters_items_and_nominal_categories_are_no_matter(values: Floats, names: list[int]) -> None:
    rng = np.random.default_rng(1)
    panel = panel_from(values, SCALE)
    mixed = panel_from(values[rng.permutation(len(values))][:, rng.permutation(values.shape[1])], SCALE)
    assert_same(every(mixed), every(panel))
    renamed = replace(panel, category=np.array(names)[panel.category])
    one, other = (
        {kind: corrected.coefficient(which, EYE, ones(panel), kind) for kind in KINDS}
        | {"alpha": chance_corrected.krippendorff(which, EYE, ones(panel))}
        for which in (renamed, panel)
    )
    assert_same(one, other)


@settings(max_examples=40, deadline=None)
@given(arrays(int, st.integers(2, 8), elements=st.integers(0, 3)), st.integers(2, 4))
def test_full_agreement_is_one(quality: Floats, raters: int) -> None:
    assume(len(set(quality.tolist())) > 1)
    found = every(panel_from(np.repeat(quality[:, None], raters, axis=1).astype(float), SCALE))
    for name, values in found.items():
        assert values.ravel()[0] == pytest.approx(1.0), name


def assert_slope(own: Floats, of: Callable[[Floats], Floats]) -> None:
    """An influence is the slope of the estimate in the weight of each item, where both are defined."""
    n = len(own)
    nudged = 1e-5 * np.eye(n)
    numeric = (of(1 + nudged) - of(1 - nudged)) / 2e-5 * n
    if np.isfinite(own).all() and np.isfinite(numeric).all():
        assert own == pytest.approx(numeric, abs=1e-5 * max(1, np.abs(own).max() ** 3))


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(chance_corrected.NAMES))
def test_influences_are_the_slopes_of_the_estimate(values: Floats, name: str) -> None:
    panel, weights = panel_from(values, SCALE), chance_corrected.weight_matrix(name, SCALE)
    for kind in KINDS:
        own = corrected.coefficient_influence(panel, weights, kind)
        if np.isfinite(own).all():
            assert_slope(own, lambda drawn, kind=kind: corrected.coefficient(panel, weights, drawn, kind))  # type: ignore[misc]
    own = coefficient_intervals.mean_kappa_influence(panel, weights)
    assert_slope(own, lambda drawn: coefficient_intervals.mean_kappa(panel, weights, drawn))


def test_influence_of_items_on_alpha_is_its_slope_up_to_the_small_sample_factor() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random((400, 5)) < 0.5, np.nan, rng.integers(0, 4, (400, 5)).astype(float))
    panel = panel_from(values[(~np.isnan(values)).any(axis=1)], SCALE)
    nudged = 1e-4 * np.eye(panel.n_items)
    for weights in (None, *(chance_corrected.weight_matrix(name, SCALE) for name in chance_corrected.NAMES)):
        own = np.nan_to_num(chance_corrected.krippendorff_influence(panel, weights))
        up, down = (chance_corrected.krippendorff(panel, weights, 1 + sign * nudged) for sign in (1, -1))
        assert own == pytest.approx((up - down) / 2e-4 * panel.n_items, abs=0.01)


def sides_of(first: Floats, second: Floats) -> rater_pairs.SideShares:
    return rater_pairs.SideShares(*(panel_from(part, SCALE).shares() for part in (first, second)))


@settings(max_examples=30, deadline=None)
@given(
    tables(complete=True),
    st.sampled_from(rater_pairs.KINDS),
    st.sampled_from([None, *chance_corrected.NAMES]),
)
def test_two_sides_have_influences_that_are_slopes(values: Floats, kind: str, name: str | None) -> None:
    kind = "krippendorff" if name is None else kind
    sides = sides_of(*np.split(values, [values.shape[1] // 2], axis=1))
    weights = None if name is None else chance_corrected.weight_matrix(name, SCALE)
    own = rater_pairs.paired_influence(sides, weights, kind)
    assume(np.isfinite(own).all())

    def estimate(drawn: Floats) -> Floats:
        found = rater_pairs.paired_coefficient(sides, weights, drawn, kind)
        if kind != "krippendorff":
            return found
        share = 0.5 / drawn.sum(axis=1)  # without its factor for small samples, which moves too
        return 1 - (1 - found) / (1 - share)

    assert_slope(own, estimate)


@often
@given(tables(complete=True))
def test_two_sides_of_one_rater_each_are_the_panel_of_two(values: Floats) -> None:
    panel, sides = panel_from(values[:, :2], SCALE), sides_of(values[:, :1], values[:, 1:2])
    for name in (None, *chance_corrected.NAMES):
        weights = None if name is None else chance_corrected.weight_matrix(name, SCALE)
        expected = {"krippendorff": chance_corrected.krippendorff(panel, weights, ones(panel))}
        for kind in () if weights is None else KINDS:
            two = "cohen" if kind == "conger" else kind
            expected[two] = corrected.coefficient(panel, weights, ones(panel), kind)
        assert_same(
            {kind: rater_pairs.paired_coefficient(sides, weights, ones(panel), kind) for kind in expected},
            expected,
        )


@pytest.mark.parametrize("used", [[1, 1, 1], [1, 0, 1, 1], [1, 1] + [0] * 40])
def test_one_item_is_added_to_pairs_that_differ_and_one_to_those_that_agree(used: list[int]) -> None:
    one, other, against, favour = coefficient_intervals.cells_of(np.array(used, dtype=bool))
    assert [against.sum(), favour.sum()] == pytest.approx([1, 1])
    assert (against > 0).tolist() == (one != other).tolist() == (favour == 0).tolist()


@pytest.mark.parametrize(("kind", "weight"), [("cohen", 2 / 3), ("conger", 2 / 3), ("fleiss", 1.0)])
def test_an_item_that_is_added_weighs_as_the_share_of_pairs_of_raters_who_share_one(
    kind: str, weight: float
) -> None:
    panel = panel_from(np.array([[0, 1, np.nan], [1, 1, 0]]), SCALE)  # one of three pairs, and three
    one, other = np.array([0, 1]), np.array([1, 1])
    ratings, found = coefficient_intervals.added_ratings(panel, 3, kind, one, other)
    assert found == pytest.approx(weight)
    usual = [[0, 1, 0], [1, 1, 1]] if kind != "fleiss" else [[0, 1, -1], [1, 1, -1]]
    assert ratings.tolist() == usual


@settings(max_examples=25, deadline=None)
@example(seed=3749, order=[0, 1, 3, 2])  # raters whom the items that they rated do not tell apart
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_limits_of_iccs_ignore_the_order_of_raters_with_the_same_ratings_in_all(
    seed: int, order: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    column = rng.integers(1, 4, 12).astype(float)
    values = np.stack([rng.permutation(column) for _ in range(4)], axis=1)
    cluster = np.arange(12) // 2
    panel, mixed = (replace(panel_from(each), cluster=cluster) for each in (values, values[:, order]))
    assert coefficient_intervals.of_icc(mixed, 0.05) == pytest.approx(
        coefficient_intervals.of_icc(panel, 0.05), abs=1e-12, nan_ok=True
    )


@often
@given(tables(), st.sampled_from(chance_corrected.NAMES))
def test_the_mean_kappa_is_the_mean_of_kappas_of_pairs_weighted_by_shared_items(
    values: Floats, name: str
) -> None:
    panel, weights = panel_from(values, SCALE), chance_corrected.weight_matrix(name, SCALE)
    above, below = 0.0, 0.0
    for first in range(values.shape[1]):
        for second in range(first):
            pair = values[~np.isnan(values[:, [first, second]]).any(axis=1)][:, [first, second]]
            if len(pair):
                sides = sides_of(pair[:, :1], pair[:, 1:])
                kappa = rater_pairs.paired_coefficient(sides, weights, np.ones((1, len(pair))), "cohen")[0]
                above, below = (
                    (above, below) if np.isnan(kappa) else (above + len(pair) * kappa, below + len(pair))
                )
    expected = above / below if below else np.nan
    found = coefficient_intervals.mean_kappa(panel, weights, ones(panel))
    assert found[0] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("share", "complete"), [(0.05, 3), (0.5, 3), (0.5, 0)])
def test_sums_of_many_and_of_few_raters_per_item_are_the_same(share: float, complete: int) -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random((60, 30)) < share, rng.integers(0, 4, (60, 30)).astype(float), np.nan)
    values[:, 0] = 1.0
    values[:complete] = rng.integers(0, 4, (complete, 30))  # all raters' items are summed by kind of rater
    lonely = np.full((60 * 9, 30), np.nan)
    lonely[:, 1] = 2.0  # items of one rater make the table sparse, and say nothing about pairs
    panels = [panel_from(np.vstack([values, extra]), SCALE) for extra in (lonely[:0], lonely)]
    samples = rng.gamma(1.0, size=(40, 600)) * (np.arange(600) < 60)
    for weights in (EYE, chance_corrected.weight_matrix("quadratic", SCALE)):
        means = [coefficient_intervals.mean_kappa(p, weights, samples[:, : p.n_items]) for p in panels]
        assert means[0] == pytest.approx(means[1], abs=1e-12)
        slopes = [coefficient_intervals.mean_kappa_influence(p, weights) / p.n_items for p in panels]
        assert slopes[0] == pytest.approx(slopes[1][:60], abs=1e-12)
