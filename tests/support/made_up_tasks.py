"""Tasks drawn from known choice probabilities between two profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

PREFERENCES = Path(__file__).resolve().parents[1] / "fixtures" / "preferences"
Levels = Mapping[str, Sequence[str]]
# of the level codes of two profiles, each {attribute: (T,)}: probability that the first is chosen, (T,)
Choice = Callable[[Mapping[str, np.ndarray], Mapping[str, np.ndarray]], np.ndarray]


def tasks(levels: Levels, choice: Choice, n_tasks: int, seed: int, per_judge: int = 10) -> pd.DataFrame:
    """One row per profile, with levels drawn uniformly."""
    random = np.random.default_rng(seed)
    sides = [{name: random.integers(len(own), size=n_tasks) for name, own in levels.items()} for _ in "AB"]
    first = random.random(n_tasks) < choice(*sides)
    task = np.arange(n_tasks)
    tables = [
        pd.DataFrame(
            {
                "judge_id": task // per_judge,
                "pair_id": task,
                "position": position,
                "chosen": chosen.astype(float),
            }
        ).assign(**{name: pd.Categorical.from_codes(side[name], list(own)) for name, own in levels.items()})
        for position, side, chosen in zip("AB", sides, (first, ~first), strict=True)
    ]
    return pd.concat(tables).sort_values(["pair_id", "position"], ignore_index=True)


def reference_choices() -> pd.DataFrame:
    """The choices from which R made the reference tables."""
    frame = pd.read_csv(PREFERENCES / "choices.csv")
    tones = pd.Categorical(frame["tone"], ["calm", "sharp", "rude", "mild"])
    return frame.assign(tone=tones, topic=pd.Categorical(frame["topic"]))


def reference(name: str) -> pd.DataFrame:
    """A reference table made by R."""
    return pd.read_csv(PREFERENCES / f"{name}.csv")
