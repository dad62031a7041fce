"""People who rate or label few items, and models that answer about all: judgments, and estimates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from conjury.analysis.benchmark import score, scores
from conjury.analysis.raters import means, prediction_powered
from conjury.analysis.results import Result

MODELS = ("gpt_4_1", "gemini")
STRATA = ("high", "mid_level", "low")
CLASSES = ("calm", "angry")
STATUS = {"status": "ok"}
COLUMNS = ["judge_id", "judge_kind", "item_id", "dimension", "value"]


def ratings(
    n: int = 60,
    labelled: int = 12,
    *,
    people: int = 5,
    models: Sequence[str] = MODELS[:1],
    dimensions: Sequence[str] = ("warmth",),
    labels: bool = False,
    seed: int = 1,
) -> pd.DataFrame:
    """Ratings from 1 to 5, or two labels, of the first items by people and of all by models."""
    rng = np.random.default_rng(seed)
    rows = []
    for dimension in dimensions:
        quality = rng.normal(3, 1, n)
        asked = [(f"person_{k}", "human", labelled, 0.0) for k in range(people)]
        asked += [(name, "model", n, 0.5) for name in models]
        for judge, kind, items, higher in asked:
            value = np.clip(np.round(quality[:items] + higher + rng.normal(0, 0.7, items)), 1, 5)
            given = np.array(CLASSES)[(value > 3).astype(int)] if labels else value.astype(int)
            rows += [(judge, kind, f"i{k:02d}", dimension, one) for k, one in enumerate(given)]
    return pd.DataFrame(rows, columns=COLUMNS).assign(**STATUS)


def items(n: int = 60) -> pd.DataFrame:
    """Items in three strata."""
    names = [f"i{k:02d}" for k in range(n)]
    return pd.DataFrame({"item_id": names, "stratum": [STRATA[k % 3] for k in range(n)]})


@cache
def means_of(
    dimensions: Sequence[str] = ("overall_fun",), *, strata: bool = False, models: int = 1
) -> Result:
    """Mean ratings among people, with one model or two."""
    table = ratings(dimensions=dimensions, models=MODELS[:models], labelled=18)
    options = {"by": "stratum", "overall": True} if strata else {}
    return means(table, items(), correct="ppi", **options)  # type: ignore[arg-type]


@cache
def shares_of() -> Result:
    """Shares of labels among people."""
    return prediction_powered(ratings(labels=True, dimensions=("tone",)), statistic="share")


@cache
def scores_of() -> Result:
    """Scores of a model against people's labels, with the help of another model."""
    table = ratings(labels=True, dimensions=("tone",), models=MODELS)
    labels = {
        name: table[table["judge_id"] == name]
        .rename(columns={"dimension": "label_set", "value": "label"})
        .drop_duplicates("item_id")
        for name in ("person_0", "gemini")
    }
    judged = table[table["judge_id"] == "gpt_4_1"]
    people, model = (score(judged, labels[name]) for name in ("person_0", "gemini"))
    return scores(people, correct="ppi", model={"gemini": model}, missing=["wrong"])
