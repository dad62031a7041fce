"""Judgments of made-up judges with known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.benchmark import Scored, score
from conjury.analysis.results import Result


def scored_answers(
    right: Mapping[str, Sequence[float]], *, lines: int = 0, samples: int = 1, **columns: Sequence[object]
) -> Scored:
    """Score judges by whether each answer is right: 1, 0, or NaN for no answer; None is not asked.

    Units run over items, then ``lines`` of an item, then samples. Gold is "x" and "y" in turn.
    """
    rows, gold = [], {}
    per_item = max(lines, 1) * samples
    for judge, answers in right.items():
        for place, value in enumerate(answers):
            if value is None:
                continue
            item, within = divmod(place, per_item)
            line, sample = divmod(within, samples)
            dimension = f"line_{line + 1}" if lines else "joke"
            label = "xy"[(item + line) % 2]
            gold[f"j{item}", dimension] = label
            missing = isinstance(value, float) and np.isnan(value)
            given = None if missing else label if value else "yx"[(item + line) % 2]
            rows.append((judge, f"j{item}", dimension, sample + 1, given, "refused" if missing else "ok"))
    judgments = pd.DataFrame(rows, columns=["judge_id", "item_id", "dimension", "sample", "value", "status"])
    judgments = judgments.assign(judge_kind="model", **columns)
    labels = pd.DataFrame(
        [(*key, label) for key, label in gold.items()], columns=["item_id", "label_set", "label"]
    )
    return score(judgments, labels, classes=["x", "y"])


def answers_of_judges(seed: int, judges: int, units: int, share: float = 0.5) -> dict[str, list[int]]:
    """Right and wrong answers that share the difficulty of their unit."""
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=units)
    return {
        "abcdefg"[k]: (rng.random(units) < 1 / (1 + np.exp(-(easy + k / 2 - 0.5)))).astype(int).tolist()
        for k in range(judges)
    }


def noted(result: Result, text: str) -> bool:
    """Whether a note of the result contains the text."""
    return any(text in note for note in result.notes)


def scored_probabilities(probability: np.ndarray, gold: np.ndarray, *, own_only: bool = False) -> Scored:
    """Judgments with the probabilities of all classes, or of the label that is given."""
    names = "abc"[: probability.shape[1]]
    items = [f"j{number:03d}" for number in range(len(gold))]
    value = [names[code] for code in probability.argmax(axis=1)]
    columns = {f"probability_{name}": probability[:, code] for code, name in enumerate(names)}
    judged = answers_to(items, value, **({"probability": probability.max(axis=1)} if own_only else columns))
    return score(judged, gold_of(items, [names[code] for code in gold]), classes=list(names))


def answers_to(items: Sequence[str], value: Any = "safe", **columns: Any) -> pd.DataFrame:
    """Judgments of harm by the model gpt, with these values and further columns."""
    known = {"item_id": list(items), "value": value, "judge_id": "gpt", "judge_kind": "model"}
    return pd.DataFrame({**known, "dimension": "harm", **columns})


def gold_of(items: Sequence[str], label: Any, label_set: Any = "harm") -> pd.DataFrame:
    """Gold labels of items."""
    return pd.DataFrame({"item_id": list(items), "label_set": label_set, "label": label})
