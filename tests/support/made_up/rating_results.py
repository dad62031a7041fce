"""Results on ratings with made-up numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.results import Result

CORRELATIONS = ("correlation", "latent_correlation_rating")
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
    frame = pd.DataFrame(
        {
            "dimension": ["fun", "fun"],
            "judge": ["gpt_4_1", "other_model"],
            "bias": "positivity",
            "quantity": "difference",
            "estimate": [0.4, 0.1],
            "lower": [0.2, 0.0],
            "upper": [0.6, 0.2],
        }
    )
    return Result(frame, "biases", settings={"by": [], "alpha": 0.05, **settings})


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
    frame = pd.DataFrame(
        {
            "group": ["human", "human", *["gpt_4_1"] * 4],
            "judge_kind": ["human", "human", *["model"] * 4],
            "quantity": [*CORRELATIONS, *CORRELATIONS, "closer_than_human", "better_than_human"],
            "estimate": [0.6, 0.7, 0.5, 0.6, 0.4, 0.3],
            "lower": [0.5, 0.6, 0.4, 0.5, 0.3, 0.1],
            "upper": [0.7, 0.8, 0.6, 0.7, 0.45, 0.6],
        }
    )
    priors = pd.DataFrame(
        {
            "prior": ["severity_sd", "bias"],
            "meaning": ["SD of people's severities in a panel", "a model's bias"],
            "distribution": ["half-normal with sd 0.5", "normal with mean -0.1 and sd 0.6"],
        }
    )
    settings = {"dimension": "fun", "alpha": 0.05, "priors_changed": {"severity_sd": [0.5]}}
    return Result(frame, "rater_model", settings=settings, extra={"priors": priors, **extra})


def label_model() -> Result:
    rows = [
        ("prevalence", "", "", "yes"), ("prevalence", "", "", "no"), ("accuracy", "human", "ann", ""),
        ("accuracy", "gpt_4_1", "gpt_4_1", ""), ("accuracy of a new person", "human", "", ""),
        ("agreement of two new people", "human", "", ""),
        ("agreement with a new person", "human", "gpt_4_1", ""),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["quantity", "group", "judge", "label"]).assign(
        estimate=np.linspace(0.3, 0.9, 7), lower=0.2, upper=0.95, n_items=9, n_ratings=20
    )
    replacement = pd.DataFrame({"model": ["gpt_4_1"], "group": "human", "estimate": 0.1, "lower": 0.0,
                                "upper": 0.2, "probability_better": 0.97})  # fmt: skip
    confusion = pd.DataFrame(
        [(group, truth, label, 0.8 if truth == label else 0.2) for group in ("human", "gpt_4_1")
         for truth in ("yes", "no") for label in ("yes", "no")],
        columns=["group", "truth", "label", "estimate"],
    ).assign(lower=0.1, upper=0.9)  # fmt: skip
    return Result(frame, "label_model", extra={"replacement": replacement, "confusion": confusion})


def alt_test(**more: Any) -> Result:
    columns = {
        "dimension": "fun", "scoring": "neg_rmse", "model": ["gpt_4_1", "other"], "epsilon": 0.1,
        "winning_rate": [0.2, 0.6], "winning_rate_lower": [0.0, 0.4], "winning_rate_upper": [0.4, 0.8],
        "advantage_probability": [0.4, 0.7], "advantage_probability_lower": [0.3, 0.6],
        "advantage_probability_upper": [0.5, 0.8], "passes": [False, True], "smallest_epsilon": [0.35, 0.05],
        "n_annotators": 4,
    }  # fmt: skip
    settings = {"epsilon": 0.1, "q_fdr": 0.05, "alpha": 0.05, "multiplicity": "by"}
    return Result(pd.DataFrame({**columns, **more}), "alt_test", settings=settings)


def published() -> pd.DataFrame:
    return pd.DataFrame(
        {"table": [1, 4, 1], "dimension": "fun", "group": ["human", "gpt_4_1", "human"],
         "modality": ["overall", "overall", "text"], "response_type": "high", "estimate": [2.5, 3.0, 2.0],
         "printed": [2.4, 3.2, 2.2], "difference": [0.1, -0.2, -0.2]}
    )  # fmt: skip


def recovered() -> pd.DataFrame:
    return pd.DataFrame(
        {"analysis": "means", "quantity": ["expected_rating", "expected_rating", "positivity"],
         "judge": ["human", "gpt_4_1", "gpt_4_1"], "dimension": "fun", "response_type": "",
         "truth": [2.0, 2.5, 0.5], "estimate": [2.1, 3.0, 0.4], "lower": [1.9, 2.8, np.nan],
         "upper": [2.3, 3.2, np.nan], "inside": pd.array([True, False, pd.NA], dtype="boolean")}
    )  # fmt: skip
