"""Few clusters of unequal sizes, and answers that depart from the stable pick."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...numerics.types import Codes, Floats
from ..trial_registry import Drawn, process, true_values
from .profile_pairs import draw_levels, probit_effects, table_of, utilities


@process("unequal_clusters")
def unequal_clusters(
    rng: np.random.Generator,
    *,
    clusters: int = 10,
    rows: int = 1000,
    unequal: float = 1.0,
    icc: float = 0.1,
    effect_sd: float = 0.2,
    treated: float = 0.5,
) -> Drawn:
    """Outcomes of raters whose levels and whose reactions to a rude tone differ."""
    # Sizes are proportional to exp(unequal * g / G), as in MacKinnon and Webb (2017). The effect of `tone` is
    # normal between clusters with mean 0.2; `group`, drawn for whole clusters, has none.
    share = np.exp(unequal * np.arange(1, clusters + 1) / clusters)
    sizes = np.maximum(4, np.floor(rows * share / share.sum()).astype(int))
    cluster = np.repeat(np.arange(clusters), sizes)
    n = len(cluster)
    tone = rng.integers(0, 2, n)
    chosen = rng.permutation(clusters)[: max(1, round(treated * clusters))]
    group = np.isin(cluster, chosen).astype(int)
    level = rng.normal(0, np.sqrt(icc), clusters)[cluster]
    effect = rng.normal(0.2, effect_sd, clusters)[cluster]
    y = effect * tone + level + rng.normal(0, np.sqrt(1 - icc), n)
    data = pd.DataFrame(
        {
            "y": y,
            "cluster": cluster,
            "tone": pd.Categorical.from_codes(tone, pd.Index(["kind", "rude"])),
            "group": pd.Categorical.from_codes(group, pd.Index(["a", "b"])),
        }
    )
    return Drawn(data, true_values(population={"tone=rude": 0.2, "group=b": 0.0}))


@process("swapping_errors")
def swapping_errors(
    rng: np.random.Generator,
    *,
    people: int = 100,
    tasks: int = 8,
    reliability: float = 0.77,
    taste: float = 0.3,
) -> Drawn:
    """People whose answers depart from their stable picks, so that repeats agree with this probability."""
    # Truth is about stable picks, over all pairs and over those whose levels differ; `taste` is the standard
    # deviation of people's part-worths of a rude tone.
    tau = (1 - np.sqrt(2 * reliability - 1)) / 2
    pairs = people * tasks
    codes = draw_levels(rng, pairs)
    utility = utilities(codes)
    who = np.repeat(np.arange(people), tasks)
    rude = (codes["tone"] == 1) * 1.0
    deviation = rng.normal(0, taste, people)[who] * (rude[:, 0] - rude[:, 1])
    stable = utility[:, 0] - utility[:, 1] + deviation + rng.normal(size=pairs) > 0
    answers = stable ^ (rng.random(pairs) < tau)
    names = np.array([f"person_{k:04d}" for k in range(people)])
    data = table_of(
        codes, answers * 1.0, judge_id=names[who], judge_kind="human", repeat=np.zeros(pairs, bool)
    )
    data["position"] = np.tile(["A", "B"], pairs)
    second_answers = stable[::tasks] ^ (rng.random(people) < tau)
    rows = np.flatnonzero(np.arange(pairs) % tasks == 0)
    repeated = table_of(
        {name: code[rows] for name, code in codes.items()},
        second_answers * 1.0,
        judge_id=names,
        judge_kind="human",
        repeat=np.ones(people, bool),
    )
    repeated["repeat_of"] = np.repeat(rows, 2)
    repeated["pair_id"] += pairs
    repeated["position"] = np.tile(["B", "A"], people)

    def variance(codes: Mapping[str, Codes]) -> Floats:
        return 1 + taste**2 * flags_differ(codes["tone"] == 1)

    return Drawn(
        pd.concat([data, repeated], ignore_index=True),
        true_values(
            stable_picks=probit_effects(variance=variance),
            where_levels_differ=probit_effects(variance=variance, differing=True),
        ),
    )


def flags_differ(flags: np.ndarray) -> np.ndarray:
    """Whether two profiles differ in a flag (M,), for all pairs (M, M), as 0 or 1."""
    return np.asarray((flags[:, None] != flags) * 1.0)
