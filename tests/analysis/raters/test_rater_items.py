"""What is known of items joins their judgments by text, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from conjury.analysis.raters import rater_model, with_items
from conjury.analysis.raters.scales import item_clusters
from conjury.inference.errors import InputError


def test_whole_numbers_and_text_name_the_same_items() -> None:
    judgments = pd.DataFrame({"judge_id": "ann", "item_id": [2, 1], "value": [1, 2]})
    items = pd.DataFrame({"item_id": ["1", "2"], "kind": ["x", "y"]})
    assert with_items(judgments, items, ["kind"])["kind"].tolist() == ["y", "x"]


def test_items_are_not_asked_for_columns_that_only_the_judgments_have() -> None:
    judgments = pd.DataFrame({"judge_id": "ann", "item_id": ["a"], "value": [1], "kind": ["x"]})
    items = pd.DataFrame({"item_id": ["b"], "other": ["y"]})
    assert with_items(judgments, items, ["kind"])["kind"].tolist() == ["x"]


def test_a_rater_model_refuses_items_without_a_row() -> None:
    judgments = pd.DataFrame(
        {"judge_id": ["ann", "gpt"] * 2, "judge_kind": ["human", "model"] * 2, "item_id": [1, 1, 2, 2],
         "value": [1, 2, 2, 3]}
    )  # fmt: skip
    items = pd.DataFrame({"item_id": ["1"], "kind": ["x"]})
    with pytest.raises(InputError, match=r"judged item '2' .* has no row"):
        rater_model(judgments, items=items, covariates=["kind"])


@pytest.mark.parametrize(
    ("items", "columns", "sentence"),
    [
        ({"item_id": ["a"], "kind": ["x"]}, None, "judged item 'b' .* has no row"),
        ({"item_id": ["a", "b", "b"], "kind": list("xyz")}, None, "item 'b' has two rows"),
        ({"item_id": ["a", "b"], "kind": ["x", "y"]}, ["kin"], "no column 'kin' .did you mean 'kind'"),
        (None, ["kind"], "judgments: there is no column 'kind'"),
    ],
)
def test_items_that_do_not_fit_are_refused(
    items: dict[str, list[str]] | None, columns: list[str] | None, sentence: str
) -> None:
    judgments = pd.DataFrame({"judge_id": "ann", "item_id": ["a", "b"], "value": [1, 2]})
    with pytest.raises(InputError, match=sentence):
        with_items(judgments, None if items is None else pd.DataFrame(items), columns)


@pytest.mark.parametrize(
    ("clusters", "sentence"),
    [(["t", None, "t"], "'b' has no 'topic'"), (["t", "u", "v"], "'a' has two values of 'topic'")],
)
def test_items_of_two_clusters_and_of_none_are_refused(clusters: list[str | None], sentence: str) -> None:
    column = pd.Series(clusters, name="topic", dtype="string")
    with pytest.raises(InputError, match=sentence):
        item_clusters(np.array([0, 1, 0]), column, ["a", "b"])
