"""Properties that coefficients of agreement have for any ratings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conjury.analysis.numerics.bootstrap import clustered_errors
from conjury.analysis.numerics.panel import Panel, panel_from
from conjury.analysis.raters.agreement import chance_corrected as corrected
from conjury.analysis.raters.agreement import icc, pairs
from conjury.analysis.raters.agreement.chance_corrected import (
    NAMES,
    krippendorff,
    krippendorff_influence,
    weight_matrix,
)
from conjury.analysis.raters.agreement.icc import kendall_w, restricted

KINDS = ["fleiss", "gwet", "brennan_prediger", "conger"]
SCALE = range(4)


@st.composite
def tables(draw: st.DrawFn, complete: bool = False, least: int = 2) -> np.ndarray:
    n, raters = draw(st.integers(least, 7)), draw(st.integers(2, 4))
    values = draw(arrays(float, (n, raters), elements=st.sampled_from([0.0, 1.0, 2.0, 3.0])))
    if not complete:
        gone = draw(arrays(bool, (n, raters)))
        gone[np.arange(n), draw(arrays(int, n, elements=st.integers(0, raters - 1)))] = False
        values = np.where(gone, np.nan, values)
    return values


def every(panel: Panel, drawn: np.ndarray) -> dict[str, np.ndarray]:
    """Every coefficient that ragged panels have."""
    made = {"alpha ordinal": krippendorff(panel, None, drawn), "icc1": icc.one_way(panel, drawn)}
    for name in NAMES:
        weights = weight_matrix(name, panel.categories)
        made[f"percent {name}"] = corrected.observed(panel, weights, drawn)
        made[f"alpha {name}"] = krippendorff(panel, weights, drawn)
        made[f"cohen {name}"] = pairs.mean_kappa(panel, weights, drawn)
        for kind in KINDS:
            made[f"{kind} {name}"] = corrected.coefficient(panel, weights, drawn, kind)
    return made


def ones(panel: Panel) -> np.ndarray:
    return np.ones((1, panel.n_items))


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_counting_items_twice_is_having_them_twice(values: np.ndarray, data: st.DataObject) -> None:
    times = data.draw(arrays(int, len(values), elements=st.integers(1, 3)))
    copied = panel_from(values.repeat(times, axis=0), SCALE)
    weighted = every(panel_from(values, SCALE), times[None].astype(float))
    for name, expected in every(copied, ones(copied)).items():
        assert weighted[name] == pytest.approx(expected, abs=1e-9, nan_ok=True), name


@settings(max_examples=30, deadline=None)
@given(tables(complete=True), st.data())
def test_counting_items_twice_is_having_them_twice_in_complete_panels(
    values: np.ndarray, data: st.DataObject
) -> None:
    times = data.draw(arrays(int, len(values), elements=st.integers(1, 3)))
    panel, copied = panel_from(values, SCALE), panel_from(values.repeat(times, axis=0), SCALE)
    drawn = times[None].astype(float)
    assert kendall_w(panel, drawn) == pytest.approx(kendall_w(copied, ones(copied)), abs=1e-9, nan_ok=True)
    weighted = icc.icc_from_mean_squares(icc.mean_squares(panel, drawn))
    assert weighted == pytest.approx(
        icc.icc_from_mean_squares(icc.mean_squares(copied, ones(copied))), abs=1e-8, nan_ok=True
    )


@pytest.mark.parametrize("seed", range(6))
def test_variances_of_counted_items_are_those_of_copied_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=4) + rng.normal(size=(40, 4)))
    values[rng.random(values.shape) < 0.25] = np.nan
    times = rng.integers(1, 4, len(values))
    panel, copied = panel_from(values), panel_from(values.repeat(times, axis=0))
    weighted = restricted(panel, times[None].astype(float), True)[0]
    whole = restricted(copied, ones(copied), True)[0]
    assert weighted == pytest.approx(whole, abs=0.03 * float(whole.sum()))


@settings(max_examples=25, deadline=None)
@given(tables(), st.permutations(range(4)))
def test_names_of_raters_items_and_nominal_categories_are_no_matter(
    values: np.ndarray, renamed: list[int]
) -> None:
    rng = np.random.default_rng(1)
    panel = panel_from(values, SCALE)
    mixed = panel_from(values[rng.permutation(len(values))][:, rng.permutation(values.shape[1])], SCALE)
    moved = every(mixed, ones(mixed))
    for name, expected in every(panel, ones(panel)).items():
        assert moved[name] == pytest.approx(expected, abs=1e-9, nan_ok=True), name
    other = replace(panel, category=np.array(renamed)[panel.category])
    eye = np.eye(4)
    for kind in KINDS:
        expected = corrected.coefficient(panel, eye, ones(panel), kind)
        assert corrected.coefficient(other, eye, ones(panel), kind) == pytest.approx(
            expected, abs=1e-9, nan_ok=True
        )
    assert krippendorff(other, eye, ones(panel)) == pytest.approx(
        krippendorff(panel, eye, ones(panel)), abs=1e-9, nan_ok=True
    )


@settings(max_examples=40, deadline=None)
@given(arrays(int, st.integers(2, 8), elements=st.integers(0, 3)), st.integers(2, 4))
def test_full_agreement_is_one(quality: np.ndarray, raters: int) -> None:
    assume(len(set(quality.tolist())) > 1)
    panel = panel_from(np.repeat(quality[:, None], raters, axis=1).astype(float), SCALE)
    for name, found in every(panel, ones(panel)).items():
        assert found[0] == pytest.approx(1.0), name
    assert kendall_w(panel, ones(panel))[0] == pytest.approx(1.0)


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(NAMES))
def test_influences_are_the_slopes_of_the_estimate(values: np.ndarray, name: str) -> None:
    panel = panel_from(values, SCALE)
    weights = weight_matrix(name, SCALE)
    nudged = 1e-5 * np.eye(panel.n_items)

    def slope(of: object) -> np.ndarray:
        assert callable(of)
        return np.asarray((of(1 + nudged) - of(1 - nudged)) / 2e-5 * panel.n_items)

    for kind in KINDS:
        own = corrected.coefficient_influence(panel, weights, kind)
        if np.isfinite(own).all():
            numeric = slope(lambda drawn, kind=kind: corrected.coefficient(panel, weights, drawn, kind))
            assert own == pytest.approx(numeric, abs=1e-5 * max(1, np.abs(own).max() ** 3)), kind
    own = pairs.mean_kappa_influence(panel, weights)
    numeric = slope(lambda drawn: pairs.mean_kappa(panel, weights, drawn))
    if np.isfinite(own).all() and np.isfinite(numeric).all():
        assert own == pytest.approx(numeric, abs=1e-5 * max(1, np.abs(own).max() ** 3))


def test_influence_of_items_on_alpha_is_its_slope_up_to_the_small_sample_factor() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random((400, 5)) < 0.5, np.nan, rng.integers(0, 4, (400, 5)).astype(float))
    panel = panel_from(values[(~np.isnan(values)).any(axis=1)], SCALE)
    nudged = 1e-4 * np.eye(panel.n_items)
    for weights in (None, *(weight_matrix(name, SCALE) for name in NAMES)):
        own = np.nan_to_num(krippendorff_influence(panel, weights))
        up, down = (krippendorff(panel, weights, 1 + sign * nudged) for sign in (1, -1))
        assert own == pytest.approx((up - down) / 2e-4 * panel.n_items, abs=0.01)


@settings(max_examples=30, deadline=None)
@given(tables(complete=True), st.sampled_from(pairs.KINDS), st.sampled_from([None, *NAMES]))
def test_two_sides_have_influences_that_are_slopes(values: np.ndarray, kind: str, name: str | None) -> None:
    kind = "krippendorff" if name is None else kind
    half = values.shape[1] // 2
    sides = pairs.Sides(*(panel_from(part, SCALE).shares() for part in (values[:, :half], values[:, half:])))
    weights = None if name is None else weight_matrix(name, SCALE)
    own = pairs.paired_influence(sides, weights, kind)
    assume(np.isfinite(own).all())
    nudged = 1e-5 * np.eye(len(values))
    up, down = (pairs.paired(sides, weights, 1 + sign * nudged, kind) for sign in (1, -1))
    numeric = (up - down) / 2e-5 * len(values)
    if kind == "krippendorff":  # its factor for small samples moves too; it is left aside
        now = pairs.paired(sides, weights, np.ones((1, len(values))), kind)[0]
        factor = 1 - 0.5 / len(values)
        numeric = (numeric + (1 - now) / factor * 0.5 / len(values)) / factor
    assert own == pytest.approx(numeric, abs=1e-5 * max(1, np.abs(own).max() ** 3))


@settings(max_examples=25, deadline=None)
@given(tables(complete=True))
def test_two_sides_of_one_rater_each_are_the_panel_of_two(values: np.ndarray) -> None:
    panel = panel_from(values[:, :2], SCALE)
    sides = pairs.Sides(*(panel_from(values[:, [at]], SCALE).shares() for at in (0, 1)))
    one = ones(panel)
    for name in NAMES:
        weights = weight_matrix(name, SCALE)
        for kind in ("fleiss", "gwet", "brennan_prediger"):
            expected = corrected.coefficient(panel, weights, one, kind)
            assert pairs.paired(sides, weights, one, kind) == pytest.approx(expected, abs=1e-9, nan_ok=True)
        assert pairs.paired(sides, weights, one, "cohen") == pytest.approx(
            corrected.coefficient(panel, weights, one, "conger"), abs=1e-9, nan_ok=True
        )
        alpha = krippendorff(panel, weights, one)
        assert pairs.paired(sides, weights, one, "krippendorff") == pytest.approx(
            alpha, abs=1e-9, nan_ok=True
        )
    assert pairs.paired(sides, None, one, "krippendorff") == pytest.approx(
        krippendorff(panel, None, one), abs=1e-9, nan_ok=True
    )


def test_analytical_errors_are_those_of_the_bootstrap_and_cover() -> None:
    rng = np.random.default_rng(8)
    covered, n, truth = 0, 150, None
    eye = np.eye(4)

    def sample(n: int) -> Panel:
        quality = rng.normal(size=(n, 1))
        values = np.clip(np.round(1.5 + quality + rng.normal(size=(n, 4))), 0, 3)
        values[rng.random(values.shape) < 0.4] = np.nan
        return panel_from(values[(~np.isnan(values)).any(axis=1)], SCALE)

    large = sample(60_000)
    truth = corrected.coefficient(large, eye, ones(large), "gwet")[0]
    for _ in range(300):
        panel = sample(n)
        found = corrected.coefficient(panel, eye, ones(panel), "gwet")[0]
        influence = corrected.coefficient_influence(panel, eye, "gwet")[:, None]
        error = clustered_errors(influence, panel.cluster)[0][0]
        covered += abs(found - truth) < 1.976 * error
    assert 0.91 < covered / 300 < 0.98
    drawn = rng.multinomial(panel.n_items, np.full(panel.n_items, 1 / panel.n_items), 800).astype(float)
    boot = corrected.coefficient(panel, eye, drawn, "gwet").std()
    assert error == pytest.approx(boot, rel=0.1)
