"""Formulas are read as cregg reads them; cells and entries contain the same sums as the rows behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from cases import refused

from conjury.analysis.frames import cells as cells_module
from conjury.analysis.frames.cells import build_cells
from conjury.analysis.frames.variables import Formula, parse, unit_codes
from conjury.inference.errors import InputError

FORMULAS = yaml.safe_load((Path(__file__).parent / "formulas.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", FORMULAS, ids=lambda row: row["formula"])
def test_a_formula_is_read_and_reads_back_as_it_is_written(row: dict[str, Any]) -> None:
    found, crossed = parse(row["formula"]), [set(pair) for pair in row.get("crossed", [])]
    features = list(found.features)
    assert found.outcome == row.get("outcome", "y")
    assert sorted(features) == sorted(row["features"]) if crossed else features == row["features"]
    assert [set(pair) for pair in found.restrictions] == crossed
    assert parse(str(found)) == found


def test_names_that_r_does_not_know_are_quoted_and_features_take_their_restrictions_along() -> None:
    assert str(Formula("y", ("_a", "b c", "d"))) == "y ~ `_a` + `b c` + d"
    assert parse("y ~ a * b + c").without(["b"]) == Formula("y", ("a", "c"))


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


POSTS = posts()
CELLS = build_cells(POSTS, "y", ["a", "b"], clusters=["id"], weights="w")


def test_cell_sums_are_those_of_a_group_by() -> None:
    used = POSTS.assign(a=POSTS["a"].astype(object)).dropna(subset=["y"])
    used = used.assign(t=used["w"] * used["y"], a=used["a"].fillna("missing"))
    sums = used.groupby(["a", "b"])[["w", "t"]].sum()
    for number, codes in enumerate(CELLS.codes):
        level = CELLS.levels["a"][codes[0]] if codes[0] >= 0 else "missing"
        expected = sums.loc[(level, CELLS.levels["b"][codes[1]])]
        np.testing.assert_allclose(CELLS.cell_weight[number], expected["w"])
        np.testing.assert_allclose(CELLS.cell_total[number], expected["t"], atol=1e-12)
    assert CELLS.levels == {"a": ("z", "y", "x", "w"), "b": ("u", "v")}


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


def test_many_levels_need_no_more_than_a_byte_can_hold_and_clusters_without_an_answer_are_counted() -> None:
    frame = pd.DataFrame({"y": np.ones(400), "a": [f"{i:03d}" for i in range(200)] * 2})
    turned = build_cells(frame, "y", ["a"], reference={"a": "199"})
    np.testing.assert_array_equal(turned.cell_weight, np.full(200, 2.0))
    assert turned.levels["a"][:2] == ("199", "000")
    few = POSTS.assign(y=POSTS["y"].where(POSTS["id"] > 9))
    assert build_cells(few, "y", ["a"], clusters=["id"]).clusters.n == 40


def test_entries_of_units_add_up_to_the_cells_and_blocks_of_units_to_the_whole() -> None:
    entries = CELLS.entries()
    weight, total = entries.matrices()
    assert weight.shape == (40, CELLS.n_cells)
    np.testing.assert_allclose(weight.sum(axis=0), CELLS.cell_weight)
    np.testing.assert_allclose(total.sum(axis=0), CELLS.cell_total, atol=1e-12)
    by_unit = np.bincount(CELLS.clusters.code, CELLS.weight, 40)
    np.testing.assert_allclose(weight.sum(axis=1), by_unit)
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


def cells_of(rows: dict[str, Any] | None = None, **options: Any) -> None:
    build_cells(POSTS.head(3).assign(**(rows or {})), "y", ["a"], **options)


@pytest.mark.parametrize(("what", "options", "says"), refused(__file__))
def test_formulas_references_and_rows_that_are_wrong_are_named(what: str, options: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        {"formula": parse, "cells": cells_of}[what](**options)
    assert "\n" not in str(caught.value)
