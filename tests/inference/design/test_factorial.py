"""Fractions of a factorial: balanced in levels and pairs of levels, the same for every judge and machine."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from fakes.studies import items, towns, write_study

from conjury.inference.design.factorial import FactorialCell, asked_cells, balanced_fraction
from conjury.inference.study import load_any_study


def counts(rows: np.ndarray) -> list[Counter]:
    """Frequencies of all pairs of levels, for each two factors."""
    return [
        Counter(zip(rows[:, a], rows[:, b], strict=True)) for a, b in combinations(range(rows.shape[1]), 2)
    ]


@pytest.mark.parametrize(("levels", "n"), [((2, 2, 2), 4), ((2,) * 5, 8), ((3, 3, 3), 9), ((4, 2, 2), 8)])
def test_a_fraction_is_an_orthogonal_array_where_there_is_one(levels, n):
    rows = np.array(list(product(*map(range, levels))))
    chosen = rows[balanced_fraction(rows, n, np.random.default_rng(5))]
    assert len(np.unique(chosen, axis=0)) == n
    for factor, size in enumerate(levels):
        assert set(np.bincount(chosen[:, factor])) == {n // size}
    for pairs in counts(chosen):
        assert len(set(pairs.values())) == 1


@pytest.mark.parametrize("n", [7, 12, 17, 30])
def test_levels_are_balanced_to_one_and_main_effects_estimable_in_any_fraction(n):
    levels = (2, 2, 3, 3)
    rows = np.array(list(product(*map(range, levels))))
    chosen = rows[balanced_fraction(rows, n, np.random.default_rng(2))]
    for factor, size in enumerate(levels):
        frequencies = np.bincount(chosen[:, factor], minlength=size)
        assert frequencies.max() - frequencies.min() <= 1
    dummies = [(chosen[:, [f]] == np.arange(1, size)).astype(float) for f, size in enumerate(levels)]
    assert np.linalg.matrix_rank(np.hstack([np.ones((n, 1)), *dummies])) == 1 + sum(levels) - len(levels)


def instrument(**changes):
    return towns() | {
        "instrument": {"facets": {"option_labels": ["letters", "numbers"], "sample": 3}, **changes}
    }


def test_cells_are_the_factorial_or_a_fraction_that_depends_on_the_study_alone(tmp_path):
    whole = asked_cells(load_any_study(write_study(tmp_path / "a", instrument())), 3)
    assert len(whole) == 2 * 2 * 3
    assert whole[0] == FactorialCell("plain", "given", "letters", "", 1)
    assert whole[0].facets == {"option_order": "given", "option_labels": "letters"}
    half = load_any_study(write_study(tmp_path / "b", instrument(fraction=0.5)))
    chosen = asked_cells(half, 3)
    assert len(chosen) == 6
    assert chosen == asked_cells(half, 3)
    assert set(Counter(cell.prompt for cell in chosen).values()) == {3}
    assert set(Counter(cell.sample for cell in chosen).values()) == {2}


def test_without_an_instrument_cells_are_prompts_by_samples(tmp_path):
    study = load_any_study(write_study(tmp_path, items({"form": "text"})))
    assert asked_cells(study, 2) == [
        FactorialCell("plain", "", "", "", 1),
        FactorialCell("plain", "", "", "", 2),
    ]
