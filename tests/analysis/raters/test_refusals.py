"""Requests to analyses of ratings that cannot be are refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import refused

from conjury.analysis import raters
from conjury.analysis.raters.validation import compare_runs, judge
from conjury.analysis.raters.validation.gates import gates_of, outcomes
from conjury.inference.errors import InputError

JUDGES = {"ann": "human", "bob": "human", "cy": "human", "gpt": "model"}
SCORINGS = {"not finite": lambda one, other: np.nan, "no numbers": lambda one, other: one - other}
RUN = pd.DataFrame({"id": range(20), "verdict": ["ok", "spam"] * 10, "label": ["ok"] * 10 + ["spam"] * 10})
RUN["by"] = ["x", "y"] * 10


def rated(
    dimensions: tuple[str, ...] = (), *, text: bool = False, steps: int = 5, keep: str = ""
) -> pd.DataFrame:
    """Those of the ratings of forty items by three people and a model that are kept."""
    rows = [
        (judge, kind, f"i{item}", (item // (place + 1) + place) % steps, name)
        for place, (judge, kind) in enumerate(JUDGES.items())
        for item in range(40)
        for name in dimensions or ("",)
    ]
    table = pd.DataFrame(rows, columns=["judge_id", "judge_kind", "item_id", "value", "dimension"])
    table = table.assign(value="label " + table["value"].astype(str) if text else table["value"], dry="dry")
    table = table.query(keep) if keep else table
    return table.assign(overall="overall") if dimensions else table.drop(columns="dimension")


def of_ratings(verb: Callable[..., Any], *dimensions: str, **usual: Any) -> Callable[..., Any]:
    def call(text: bool = False, steps: int = 5, keep: str = "", **options: Any) -> None:
        verb(**{"judgments": rated(dimensions, text=text, steps=steps, keep=keep), **usual, **options})

    return call


def judged(
    judge_by: Any = ("a", "b"), human: Any = ("a", "b"), item: Any = ("x", "y"), **options: Any
) -> None:
    table = pd.DataFrame({"judge": judge_by, "human": human})
    judge(table.assign(item=item) if "id" in options else table, "judge", "human", **options)


VERBS: dict[str, Callable[..., Any]] = {
    "agreement": of_ratings(raters.agreement, draws=0),
    "alt_test": lambda scoring=None, **o: of_ratings(raters.alt_test)(
        scoring=SCORINGS.get(scoring, scoring) if isinstance(scoring, str) else scoring, **o
    ),
    "alt_test_power": raters.alt_test_power,
    "dimension_model": of_ratings(raters.dimension_model, "wit", "tact"),
    "label_model": of_ratings(raters.label_model),
    "rater_model": of_ratings(raters.rater_model),
    "correlations": of_ratings(raters.correlations, "wit", "tact"),
    "bounds": of_ratings(raters.bounds, scale=range(5)),
    "biases": of_ratings(raters.biases),
    "judge": lambda judge=("a", "b"), **o: judged(judge, **o),
    "compare_runs": lambda second, **o: compare_runs(RUN, pd.DataFrame(second), "verdict", **o),
    "limit": lambda text: outcomes(judge(RUN, "verdict", "label"), gates_of([text], [])),
}


@pytest.mark.parametrize(("verb", "options", "says"), refused(__file__))
def test_what_cannot_be_is_refused_in_one_sentence(verb: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        VERBS[verb](**options)
