"""Choices and ratings of a made-up judge whose facets are crossed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from made_up_people import model_and_people
from scipy.special import expit


def crossed_choices(
    pairs: int = 200,
    *,
    lean: float = 0.0,
    effect: float = 1.0,
    prompts: Sequence[str] = ("plain", "long"),
    samples: int = 1,
    by_prompt: float = 0.0,
    seed: int = 1,
) -> pd.DataFrame:
    """Choices of a model, every pair in both orders under each prompt.

    On the logit scale the first profile has ``lean`` more, and a kind one ``effect`` more than a rude one,
    plus ``by_prompt`` under every prompt but the first.
    """
    rng = np.random.default_rng(seed)
    tone, length = rng.integers(0, 2, (pairs, 2)), rng.integers(0, 2, (pairs, 2))
    rows = []
    for k, prompt in enumerate(prompts):
        weight = effect + by_prompt * (k > 0)
        for order in ("given", "swapped"):
            shown = tone if order == "given" else tone[:, ::-1]
            sides = length if order == "given" else length[:, ::-1]
            ids = np.arange(2 * pairs).reshape(pairs, 2)
            ids = ids if order == "given" else ids[:, ::-1]
            for sample in range(samples):
                p = expit(lean + weight * (shown[:, 0] - shown[:, 1]))
                first = rng.random(pairs) < p
                for side, position in enumerate("AB"):
                    rows.append(
                        pd.DataFrame(
                            {
                                "pair_id": [f"p{i:04d}" for i in range(pairs)],
                                "prompt_id": prompt,
                                "option_order": order,
                                "sample": sample,
                                "position": position,
                                "profile_id": ids[:, side],
                                "tone": np.where(shown[:, side] == 1, "kind", "rude"),
                                "length": np.where(sides[:, side] == 1, "long", "short"),
                                "chosen": np.where(first, 1 - side, side),
                            }
                        )
                    )
    table = pd.concat(rows, ignore_index=True)
    table["judge_id"], table["judge_kind"] = "gpt", "model"
    categories = {"tone": ["rude", "kind"], "length": ["short", "long"]}
    for name, levels in categories.items():
        table[name] = pd.Categorical(table[name], levels)
    return table


def crossed_ratings(
    items: int,
    prompts: int,
    orders: int,
    *,
    repeats: int = 1,
    spread: Sequence[float] = (1.0, 0.5, 0.3, 0.5, 0.0, 0.0, 0.0, 0.5),
    seed: int = 1,
) -> pd.DataFrame:
    """Ratings with random effects of these standard deviations.

    They are those of item, prompt, order, item x prompt, item x order, prompt x order, all three, residual.
    """
    rng = np.random.default_rng(seed)
    shape = (items, prompts, orders)
    axes = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    value = np.zeros((*shape, repeats))
    for sd, own in zip(spread, axes, strict=False):
        size = [shape[k] if k in own else 1 for k in range(3)]
        value = value + sd * rng.standard_normal([*size, 1])
    value = value + spread[-1] * rng.standard_normal(value.shape)
    index = pd.MultiIndex.from_product([range(n) for n in value.shape])
    table = pd.DataFrame({"value": value.ravel()})
    names = ("item_id", "prompt_id", "option_order")
    for k, (name, letter) in enumerate(zip(names, "ipo", strict=True)):
        table[name] = [f"{letter}{one}" for one in index.get_level_values(k)]
    return table.assign(sample=index.get_level_values(3), judge_id="m", judge_kind="model")


def in_both_orders(pairs: int = 60) -> pd.DataFrame:
    """Choices of a model that is asked every pair in both orders and prefers the first position."""
    given = model_and_people(pairs, 5, 6)[0].assign(sample=1)
    swapped = given.assign(
        position=given["position"].astype("string").map({"A": "B", "B": "A"}).astype(given["position"].dtype),
        sample=given["sample"] + 1,
    )
    flip = np.repeat(np.random.default_rng(1).random(len(given) // 2) < 0.5, 2)
    swapped["chosen"] = swapped["chosen"].where(~flip, 1 - swapped["chosen"])
    return pd.concat([given.assign(option_order="given"), swapped.assign(option_order="swapped")])
