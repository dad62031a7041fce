"""Ratings with a known truth: topics x response types, people and models, correlated dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

TYPES = ("high", "mid", "low", "unrelated", "serious", "gpt", "gemini", "claude")
QUALITY = (2.6, 1.9, 1.2, 0.7, 1.0, 1.6, 1.8, 1.5)
MODELS = ("gpt", "gemini", "claude")
Tables = tuple[pd.DataFrame, pd.DataFrame]


def simulated(
    topics: int = 40,
    *,
    dimensions: Sequence[str] = ("novelty", "empathy", "funniness"),
    models: Sequence[str] = MODELS,
    raters: int = 4,
    agreement: float = 0.5,
    lift: float = 1.0,
    prefer: float = 0.0,
    noise: float = 0.8,
    topic_sd: float = 0.3,
    whole: bool = True,
    seed: int = 0,
) -> Tables:
    """Judgments and items; ``agreement`` is the slope of a model on true quality, ``prefer`` what it adds
    to what it wrote itself, ``lift`` what it adds to all."""
    rng = np.random.default_rng(seed)
    items = pd.DataFrame(
        {
            "item_id": [f"t{t}_{kind}" for t in range(topics) for kind in TYPES],
            "topic_id": [f"t{t}" for t in range(topics) for _ in TYPES],
            "modality": ["text" if t % 2 else "image" for t in range(topics) for _ in TYPES],
            "response_type": list(TYPES) * topics,
            "generator": [{"serious": "gpt"}.get(kind, kind if kind in MODELS else "human") for kind in TYPES]
            * topics,
        }
    )
    n = len(items)
    general = rng.normal(0, 0.35, n)
    frames = []
    for k, dimension in enumerate(dimensions):
        quality = np.tile(QUALITY, topics) + np.repeat(rng.normal(0, topic_sd, topics), len(TYPES))
        quality = quality + general + rng.normal(0, 0.3, n)
        for r in range(raters):
            made = quality + rng.normal(0, noise, n) + 0.2 * rng.normal()
            frames.append(_rows(items, f"person_{(k + r) % 30}_{r}", "human", dimension, made, whole))
        for name in models:
            own = (items["generator"] == name).to_numpy()
            made = lift + 1.0 + agreement * (quality - 1.0) + prefer * own + rng.normal(0, 0.5, n)
            frames.append(_rows(items, name, "model", dimension, made, whole))
    return pd.concat(frames, ignore_index=True), items


def _rows(
    items: pd.DataFrame, judge: str, kind: str, dimension: str, made: np.ndarray, whole: bool
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "judge_id": judge,
            "judge_kind": kind,
            "item_id": items["item_id"],
            "dimension": dimension,
            "value": np.clip(np.round(made), 0, 4) if whole else made,
        }
    )


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Tables]:
    return simulated


@pytest.fixture(scope="session")
def tables() -> Tables:
    return simulated(24)
