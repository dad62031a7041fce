"""Cells and entries hold the same sums as the rows that they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.frames import cells as cells_module
from conjury.analysis.frames.cells import build_cells
from conjury.analysis.frames.variables import unit_codes
from conjury.inference.errors import InputError


def posts(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "y": rng.normal(size=n).round(2),
            "a": pd.Categorical(rng.choice(list("xyz"), n), list("zyxw")),
            "b": rng.choice(["u", "v"], n),
            "id": rng.integers(0, 40, n),
            "w": rng.random(n).round(2),
        }
    )
    frame.loc[rng.random(n) < 0.05, "a"] = np.nan
    frame.loc[rng.random(n) < 0.05, "y"] = np.nan
    return frame


def test_cell_sums_are_those_of_a_group_by() -> None:
    frame = posts()
    found = build_cells(frame, "y", ["a", "b"], clusters=["id"], weights="w")
    used = frame.assign(a=frame["a"].astype(object)).dropna(subset=["y"])
    used = used.assign(t=used["w"] * used["y"], a=used["a"].fillna("missing"))
    sums = used.groupby(["a", "b"])[["w", "t"]].sum()
    for number, codes in enumerate(found.codes):
        level = found.levels["a"][codes[0]] if codes[0] >= 0 else "missing"
        expected = sums.loc[(level, found.levels["b"][codes[1]])]
        np.testing.assert_allclose(found.cell_weight[number], expected["w"])
        np.testing.assert_allclose(found.cell_total[number], expected["t"], atol=1e-12)


def test_categories_keep_their_order_and_strings_are_sorted() -> None:
    found = build_cells(posts(), "y", ["a", "b"])
    assert found.levels == {"a": ("z", "y", "x", "w"), "b": ("u", "v")}


def test_a_reference_comes_first_and_keeps_the_rows_of_each_level() -> None:
    plain = build_cells(posts(), "y", ["a", "b"])
    turned = build_cells(posts(), "y", ["a", "b"], reference={"a": "x"})
    assert turned.levels["a"] == ("x", "z", "y", "w")

    def by_row(found: Any) -> list[Any]:
        codes = found.code("a")[found.cell]
        return [found.levels["a"][code] if code >= 0 else None for code in codes]

    assert by_row(plain) == by_row(turned)


def test_sparse_and_dense_numbering_of_cells_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = build_cells(posts(), "y", ["a", "b"])
    monkeypatch.setattr(cells_module, "_DENSE_CODES", 0)
    sparse = build_cells(posts(), "y", ["a", "b"])
    np.testing.assert_array_equal(dense.cell, sparse.cell)
    np.testing.assert_array_equal(dense.codes, sparse.codes)


def test_many_levels_need_no_more_than_a_byte_can_hold() -> None:
    frame = pd.DataFrame({"y": np.ones(400), "a": [f"{i:03d}" for i in range(200)] * 2})
    turned = build_cells(frame, "y", ["a"], reference={"a": "199"})
    np.testing.assert_array_equal(turned.cell_weight, np.full(200, 2.0))
    assert turned.levels["a"][:2] == ("199", "000")


def test_clusters_without_an_answer_are_counted() -> None:
    frame = posts().assign(y=lambda d: d["y"].where(d["id"] > 9))
    assert build_cells(frame, "y", ["a"], clusters=["id"]).clusters.n == 40


def test_entries_of_units_add_up_to_the_cells() -> None:
    found = build_cells(posts(), "y", ["a", "b"], clusters=["id"], weights="w")
    entries = found.entries()
    weight, total = entries.matrices()
    assert weight.shape == (40, found.n_cells)
    np.testing.assert_allclose(weight.sum(axis=0), found.cell_weight)
    np.testing.assert_allclose(total.sum(axis=0), found.cell_total, atol=1e-12)
    by_unit = np.bincount(found.clusters.code, found.weight, 40)
    np.testing.assert_allclose(weight.sum(axis=1), by_unit)


def test_blocks_of_units_stack_to_the_whole() -> None:
    entries = build_cells(posts(), "y", ["a", "b"], clusters=["id"]).entries()
    whole = entries.matrix(entries.total).toarray()
    parts = [entries.matrix(entries.total, first, first + 7).toarray() for first in range(0, 40, 7)]
    np.testing.assert_array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize(
    "values",
    [
        [7, 7, 3, 9],
        [10**15, 10**15, 5, -(10**15)],
        [1.5, 1.5, 0.25, 9.0],
        ["b", "b", "a", "c"],
        pd.Categorical(["b", "b", "a", "c"], ["c", "a", "z", "b"]),
        pd.array([7, 7, 3, 9], dtype="Int64"),
        pd.array(["b", "b", "a", "c"], dtype="string"),
        pd.to_datetime(["2020-01-02", "2020-01-02", "2020-01-01", "2020-01-03"]),
        np.array([2**64 - 1, 2**64 - 1, 2**64 - 5, 2**64 - 3], dtype=np.uint64),
    ],
    ids=["small", "wide", "float", "object", "category", "Int64", "string", "date", "uint64"],
)
def test_units_of_every_kind_are_numbered_without_gaps(values: Any) -> None:
    codes, n_units = unit_codes(pd.DataFrame({"id": values}), "id")
    assert n_units == 3
    assert sorted(set(codes.tolist())) == [0, 1, 2]
    assert codes[0] == codes[1]
    assert len({codes[1], codes[2], codes[3]}) == 3


def test_an_unknown_level_or_feature_is_no_reference() -> None:
    with pytest.raises(InputError, match="'q' is no level of feature 'a'"):
        build_cells(posts(), "y", ["a"], reference={"a": "q"})
    with pytest.raises(InputError, match="'q', which is no feature"):
        build_cells(posts(), "y", ["a"], reference={"q": "x"})
    with pytest.raises(InputError, match="mapping"):
        build_cells(posts(), "y", ["a"], reference=["x"])  # type: ignore[arg-type]


def test_the_row_that_is_wrong_is_named() -> None:
    with pytest.raises(InputError, match="negative in row 3"):
        build_cells(posts().assign(w=[1, 1, -1] + [1] * 397), "y", ["a"], weights="w")
    with pytest.raises(InputError, match="infinite in row 2"):
        build_cells(posts().assign(y=[1, np.inf] + [1] * 398), "y", ["a"])
    with pytest.raises(InputError, match="'no' in row 2"):
        build_cells(posts().assign(y=["1", "no"] + ["1"] * 398), "y", ["a"])
    with pytest.raises(InputError, match="empty in row 4"):
        build_cells(posts().assign(id=[1, 1, 1, None] + [2] * 396), "y", ["a"], clusters=["id"])
