"""Cells as conditions on columns, and what else the queries of scores rest on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up.choices import profiles_with_gaps
from stored import F, in_duckdb, same

from conjury.analysis.conjoint import amce, mm_diffs
from conjury.analysis.conjoint.engines import queries, stored_rows
from conjury.analysis.conjoint.engines.conditions import codes_of, level_sets, radix_of
from conjury.analysis.numerics import sandwich

pytest.importorskip("ibis", reason="Ibis is not installed (the extra database)")

CODES = np.array([[a, b] for a in (-1, 0, 1) for b in (0, 1, 2)])


def test_cells_are_products_of_sets_of_levels_or_refused() -> None:
    found = level_sets(CODES, (CODES[:, 0] >= 0) & (CODES[:, 1] != 1))
    assert {column: codes.tolist() for column, codes in found.items()} == {0: [0, 1], 1: [0, 2]}
    assert level_sets(CODES, np.ones(len(CODES), dtype=bool)) == {}
    with pytest.raises(ValueError, match="not a product"):
        level_sets(CODES, (CODES[:, 0] == 0) | (CODES[:, 1] == 0))


def test_keys_give_their_codes_back() -> None:
    levels = {"a": ("x", "y"), "b": ("p", "q", "r")}
    keys = (CODES + 1) @ radix_of(levels)
    assert len(set(keys)) == len(CODES)
    assert (codes_of(keys, levels) == CODES).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["MOST_LEVELS", "MOST_KEYS"])
@pytest.mark.filterwarnings("ignore:Column 'g' is missing")
def test_attributes_of_many_levels_are_grouped_by_their_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = profiles_with_gaps(500)
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    monkeypatch.setattr(stored_rows, name, 1)
    same(mm_diffs(in_duckdb(data), F, id="text", by="g"), mm_diffs(data, F, id="text", by="g"))


def test_a_text_that_is_missing_everywhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    data = profiles_with_gaps(300)
    with pytest.raises(queries.InputError, match="Feature 'a' is missing in every row"):
        amce(in_duckdb(data.assign(a=pd.array([None] * len(data), dtype="string"))), F, id="text")


def by_hand(data: pd.DataFrame) -> np.ndarray:
    """Effective numbers of clusters of each level but the first, cluster by cluster."""
    design = pd.get_dummies(data[["a", "b", "c"]].astype("category"), drop_first=True).to_numpy(dtype=float)
    design = np.column_stack([np.ones(len(design)), design])
    bread = np.linalg.inv(design.T @ design)
    found = []
    for contrast in np.eye(design.shape[1])[1:]:
        gamma = []
        for _, rows in data.reset_index(drop=True).groupby("text"):
            own = design[rows.index]
            across = own @ bread @ contrast
            gamma.append((across @ across, across.sum() ** 2))
        each = np.array(gamma)
        spread = ((each / each.mean(axis=0) - 1) ** 2).mean(axis=0)
        found.append(len(each) / (1 + spread))
    return np.array(found)


def test_effective_numbers_of_clusters_are_those_of_their_definition() -> None:
    data = profiles_with_gaps(500).dropna()
    table = amce(data, F, id="text", vcov="CV3").extra["effective_clusters"]
    known = table[["independent", "equal"]].dropna().to_numpy()
    np.testing.assert_allclose(known, by_hand(data), rtol=1e-10)
    assert (known < data["text"].nunique()).all()


@pytest.mark.filterwarnings("ignore::conjury.analysis.conjoint.FewClusters")
def test_clusters_that_are_alike_count_in_full() -> None:
    one = pd.DataFrame({"a": ["x", "x", "y", "z"], "y": [0.0, 1.0, 1.0, 0.0]})
    data = pd.concat([one.assign(u=number, y=np.roll(one["y"], number)) for number in range(6)])
    table = amce(data, "y ~ a", id="u", vcov="CV3").extra["effective_clusters"].dropna()
    np.testing.assert_allclose(table["independent"], 6)


def test_the_jackknife_of_many_cells_is_that_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    data = profiles_with_gaps(900)
    expected = amce(data, F, id="text", vcov="CV3")
    monkeypatch.setattr(sandwich, "_NUMBERS_OF_CELLS", 0)
    same(amce(data, F, id="text", vcov="CV3"), expected)
