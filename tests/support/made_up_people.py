"""A model's simulated choices, and people who judge some of its pairs and mostly choose as it does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from conjury.inference.simulation import simulate
from conjury.inference.study import load_study


@cache
def model_and_people(pairs: int = 600, people: int = 30, each: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choices of gpt4o on all pairs, and of a panel ``people`` on the first ones, alike in four of five."""
    study, random = load_study("moderation"), np.random.default_rng(1)
    models = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=pairs, truth=False).choices
    shown = models.head(2 * people * each).reset_index(drop=True)
    names = [f"person_{k % people:02d}" for k in range(people * each)]
    other = np.repeat(random.random(people * each) < 0.2, 2)
    panel = shown.assign(
        judge_id=pd.array(np.repeat(names, 2), dtype="string"),
        judge_kind=pd.Categorical(["human"] * len(shown), categories=["human", "model"]),
        prompt_id=pd.array([pd.NA] * len(shown), dtype="string"),
        panel=pd.array(["people"] * len(shown), dtype="string"),
        chosen=shown["chosen"].where(~other, 1 - shown["chosen"]),
    )
    return models, panel
