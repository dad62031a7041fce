"""Which column names items that are there more than once, and which rows are copies."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.inference.tables.items import copies, other_order, repeated_items


def rows_of(distinct: int, rows: int, name: str = "item_id") -> pd.DataFrame:
    """Rows in which a column has so many distinct values, each about as often as the others."""
    return pd.DataFrame({name: [f"i{k % distinct}" for k in range(rows)], "score": range(rows)})


@pytest.mark.parametrize(
    ("distinct", "rows", "counts"),
    [(10, 30, True), (9, 30, False), (2, 4, True), (2, 5, False), (4, 4, False), (1, 2, False)],
)
def test_ten_items_or_half_as_many_as_there_are_rows_count(distinct, rows, counts):
    frame = rows_of(distinct, rows)
    assert repeated_items(frame, ["score"])[0] == ("item_id" if counts else None)
    frame.loc[0, "item_id"] = None
    assert repeated_items(frame, ["score"])[0] is None


@pytest.mark.parametrize(("distinct", "named"), [(9, []), (10, ["doc_uid"])])
def test_other_columns_that_may_name_items_have_ten_values_or_more(distinct, named):
    frame = rows_of(distinct, 30, "doc_uid")
    assert repeated_items(frame, ["score"]) == (None, named)
    raters = frame.rename(columns={"doc_uid": "rater_id"})
    assert repeated_items(raters, ["score"]) == (None, [])


def test_rows_are_copies_where_a_column_tells_the_others_apart():
    frame = pd.DataFrame({"item_id": ["a", "b", "a"], "label": ["x", "x", "x"]})
    assert copies(frame, ["label"]).tolist() == [False, False, True]
    assert not copies(frame.assign(label=["x", "x", "y"]), ["label"]).any()
    assert not copies(frame[["label"]], ["label"]).any()
    texts = pd.DataFrame({"text": [*map(str, range(10)), "0"]})
    assert copies(texts).tolist() == [False] * 10 + [True]
    assert not copies(pd.DataFrame({"text": [*map(str, range(9)), "0"]})).any()


def test_the_same_items_in_another_order_are_found_by_the_column_that_names_them():
    one, turned = rows_of(12, 12), rows_of(12, 12).iloc[::-1].reset_index(drop=True)
    assert other_order(one, turned, ["score"]) == "item_id"
    assert other_order(one, one, ["score"]) is None
    assert (
        other_order(one.rename(columns={"item_id": "x"}), turned.rename(columns={"item_id": "x"}), ["score"])
        == "x"
    )
    few = [table.head(9).rename(columns={"item_id": "x"}) for table in (one, turned)]
    assert other_order(*few, ["score"]) is None
