"""Requests of corrections and of their plans that cannot be are refused in one sentence."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from cases import refused

from conjury.analysis.correction import label_plan, rates
from conjury.analysis.raters import prediction_powered
from conjury.analysis.results import Result
from conjury.inference.errors import InputError


def plan(table: dict[str, Any] | None = None, **options: Any) -> Result:
    measured = pd.DataFrame(table or {"rho": [0.6], "sd": [0.4]}).assign(feature="price", level="l0")
    return label_plan(measured, **{"tasks": 10, "other": 100, **options})


def corrected(asked: int = 1, **options: Any) -> Result:
    """Of 20 items that a person rates: a model rates these (0), 40 more (1), or only others (-1)."""
    items = {0: range(20), 1: range(60), -1: range(20, 60)}[asked]
    rows = [("ann", "human", item) for item in range(20)] + [("gpt", "model", item) for item in items]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id"]).assign(
        alone=lambda rows: rows["item_id"], empty=None
    )
    return prediction_powered(table.assign(value=table["item_id"] % 7 % 5), **options)


def of_classes(unlabelled: int = 10, **options: Any) -> Result:
    label = ["a"] * 4 + ["b"] * 4 + [None] * unlabelled
    table = pd.DataFrame({"label": label, "judged": ["a", "b"] * (len(label) // 2), "topic": "only"})
    return rates(table, **options)


VERBS = {"label_plan": plan, "prediction_powered": corrected, "rates": of_classes}


@pytest.mark.parametrize(("verb", "options", "says"), refused(__file__))
def test_what_cannot_be_is_refused_in_one_sentence(verb: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        VERBS[verb](**options)


def test_results_without_correlations_have_no_plan() -> None:
    with pytest.raises(InputError, match="has no rho"):
        label_plan(Result(pd.DataFrame(), "amce"))
