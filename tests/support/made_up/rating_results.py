"""Results on ratings with made-up numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from conjury.analysis.results import Result

FILE = Path(__file__).parents[2] / "fixtures" / "made_up" / "rating_results.yaml"
TABLES: dict[str, dict[str, list[Any]]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
LABELS: dict[Any, str] = {("judges", "gpt_4_1"): "GPT-4.1", ("dimension", "fun"): "Overall fun"}


def means(types: bool = True) -> Result:
    rows = [
        (dimension, group, kind, 2.0, 1.5, 2.5, 0.5)
        for dimension in ("wit", "fun", "tact")
        for group in ("human", "gpt_4_1")
        for kind in ("high", "low")
    ]
    columns = ["dimension", "group", "response_type", "estimate", "lower", "upper", "sd"]
    by = ["response_type"] if types else ["modality", "response_type"]
    frame = pd.DataFrame(rows, columns=columns).assign(modality="text")
    return Result(
        frame[["dimension", "group", *by, *columns[3:]]], "means", settings={"by": by, "alpha": 0.05}
    )


def biases(**settings: Any) -> Result:
    return Result(_table("biases"), "biases", settings={"by": [], "alpha": 0.05, **settings})


def shares(wide: float = 0.03) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"group": group, "category": float(k), "observed": 0.2 + 0.01 * k, "expected": 0.22,
             "lower": 0.22 - wide, "upper": 0.22 + wide}
            for group in ("human", "gpt_4_1") for k in range(5)
        ]
    )  # fmt: skip


def rater_model(**extra: pd.DataFrame) -> Result:
    """Tables like those of a fitted model of raters."""
    settings = {"dimension": "fun", "alpha": 0.05, "priors_changed": {"severity_sd": [0.5]}}
    tables = {"priors": _table("priors"), **extra}
    return Result(_table("rater_model"), "rater_model", settings=settings, extra=tables)


def label_model() -> Result:
    frame = _table("label_model").assign(
        estimate=np.linspace(0.3, 0.9, 7), lower=0.2, upper=0.95, n_items=9, n_ratings=20
    )
    confusion = pd.DataFrame(
        [(group, truth, label, 0.8 if truth == label else 0.2) for group in ("human", "gpt_4_1")
         for truth in ("yes", "no") for label in ("yes", "no")],
        columns=["group", "truth", "label", "estimate"],
    ).assign(lower=0.1, upper=0.9)  # fmt: skip
    return Result(frame, "label_model", extra={"replacement": _table("replacement"), "confusion": confusion})


def alt_test(**more: Any) -> Result:
    """One model above and one below a winning rate of one half."""
    settings = {"epsilon": 0.1, "q_fdr": 0.05, "alpha": 0.05, "multiplicity": "by"}
    return Result(_table("alt_test").assign(**more), "alt_test", settings=settings)


def published() -> pd.DataFrame:
    return _table("published")


def recovered() -> pd.DataFrame:
    return _table("recovered").assign(inside=pd.array([True, False, pd.NA], dtype="boolean"))


def _table(name: str) -> pd.DataFrame:
    return pd.DataFrame(TABLES[name])
