"""Choices and ratings of a made-up judge whose facets are crossed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
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
