"""Ratings with a known truth: topics x response types, people and models, correlated dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

TYPES = ("high", "mid", "low", "unrelated", "serious", "gpt", "gemini", "claude")
QUALITY = dict(zip(TYPES, (2.6, 1.9, 1.2, 0.7, 1.0, 1.6, 1.8, 1.5), strict=True))
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
    items = pd.DataFrame([(t, kind) for t in range(topics) for kind in TYPES], columns=["t", "response_type"])
    kinds = items["response_type"]
    authors = kinds.replace("serious", "gpt").where(kinds.isin([*MODELS, "serious"]), "human")
    items = pd.DataFrame(
        {
            "item_id": "t" + items["t"].astype(str) + "_" + kinds,
            "topic_id": "t" + items["t"].astype(str),
            "modality": np.where(items["t"] % 2, "text", "image"),
            "response_type": kinds,
            "generator": authors,
        }
    )
    n, frames = len(items), []
    general = rng.normal(0, 0.35, n)

    def rated(judge: str, kind: str, dimension: str, latent: np.ndarray) -> None:
        value = np.clip(np.round(latent), 0, 4) if whole else latent
        columns = {"judge_id": judge, "judge_kind": kind, "item_id": items["item_id"], "dimension": dimension}
        frames.append(pd.DataFrame({**columns, "value": value}))

    for k, dimension in enumerate(dimensions):
        of_topics = np.repeat(rng.normal(0, topic_sd, topics), len(TYPES))
        quality = kinds.map(QUALITY).to_numpy() + of_topics + general + rng.normal(0, 0.3, n)
        for r in range(raters):
            latent = quality + rng.normal(0, noise, n) + 0.2 * rng.normal()
            rated(f"person_{(k + r) % 30}_{r}", "human", dimension, latent)
        for name in models:
            own = prefer * (authors == name).to_numpy()
            latent = lift + 1.0 + agreement * (quality - 1.0) + own + rng.normal(0, 0.5, n)
            rated(name, "model", dimension, latent)
    return pd.concat(frames, ignore_index=True), items


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Tables]:
    return simulated


@pytest.fixture(scope="session")
def tables() -> Tables:
    return simulated(24)
