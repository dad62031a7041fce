"""Answers asked again: passes of k samples, flips, drift, order effects, variance components, reliability."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from ..trial_registry import Drawn, method, process, true_values
from .worlds import ItemSample, cluster_of_items, numbers, sample_of

SAMPLES = 4
STRONG = 0.95  # probability of a right answer to an easy item; prevalence is the share of such items
WEAK = 0.05


@process("passport_samples")
def samples(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.5,
    clusters: int = 0,
    shape: str = "equal",
    icc: float = 0.2,
) -> Drawn:
    """Items that a model answers four times, rightly with a probability of .95 or .05."""
    cluster = cluster_of_items(n, clusters, shape)
    shared, individual = (rng.random(n) < prevalence for _ in range(2))
    copies = rng.random(n) < np.sqrt(icc if clusters else 0.0)
    easy = np.where(copies, shared[cluster], individual)
    right = rng.random((n, SAMPLES)) < np.where(easy, STRONG, WEAK)[:, None]
    item = np.array([f"i{k}" for k in range(n)])
    frame = pd.DataFrame(
        {
            "item_id": np.repeat(item, SAMPLES),
            "group": np.repeat([f"g{k}" for k in cluster], SAMPLES),
            "judge_id": "a",
            "judge_kind": "model",
            "dimension": "harm",
            "sample": np.tile(np.arange(SAMPLES), n),
            "prompt_id": np.tile(["p", "p", "q", "q"], n),
            "value": np.where(right, "yes", "no").ravel(),
            "status": "ok",
        }
    )
    return Drawn(sample_of(frame, clusters), truth_of(prevalence))


@lru_cache(maxsize=16)
def truth_of(prevalence: float) -> pd.DataFrame:
    """Values by the two kinds of items."""
    share, p = np.array([prevalence, 1 - prevalence]), np.array([STRONG, WEAK])
    values = {}
    for k in (1, 2, 4):
        values[f"pass_at_k {k}"] = values[f"best_of_k {k}"] = float(share @ (1 - (1 - p) ** k))
        values[f"pass_all_k {k}"] = float(share @ p**k)
    majority = {1: p, 2: p, 4: p**4 + 4 * p**3 * (1 - p) + 3 * p**2 * (1 - p) ** 2}
    values |= {f"majority_of_k {k}": float(share @ chance) for k, chance in majority.items()}
    flip_rate = float(share @ (2 * p * (1 - p)))
    values |= {"flips": flip_rate, "any flips": flip_rate, "repetition": flip_rate, "net": 0.0, "drift": 0.0}
    return true_values(population=values)


@method("passport_passes")
def passes_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Every metric of `passes` at one, two and four samples."""
    from ...benchmark import passes, score

    frame = data.frame.drop(columns="prompt_id")
    items = frame[["item_id", "group"]].drop_duplicates()
    gold = pd.DataFrame({"item_id": items["item_id"], "label_set": "harm", "label": "yes"})
    estimates = passes(
        score(frame, gold, classes=["yes", "no"], items=items), k=[1, 2, 4],
        cluster=data.cluster or "item_id", alpha=alpha,
    ).frame  # fmt: skip
    estimates = estimates[estimates["judge"] == "a"]
    return numbers(estimates, estimates["metric"].astype(str) + " " + estimates["k"].astype(int).astype(str))


@method("passport_flips")
def flips_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Shares of decisions that flip between two prompts, and between repeats."""
    from ...instrument import flips

    frame = data.frame.assign(sample=data.frame["sample"] % 2)
    estimates = flips(frame, facet="prompt_id", cluster=data.cluster, alpha=alpha).frame
    prefix = np.where(estimates["first"].astype(str) == "any", "any ", "")
    return numbers(estimates, pd.Series(prefix, index=estimates.index) + estimates["quantity"].astype(str))


@method("passport_drift")
def drift_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """Change of the share of a label between two occasions on which the same items were judged."""
    from ...instrument import drift

    frame = data.frame.assign(sample=data.frame["sample"] % 2).rename(columns={"prompt_id": "occasion"})
    estimates = drift(frame, cluster=data.cluster, alpha=alpha).frame
    estimates = estimates[(estimates["quantity"] == "judge") & (estimates["label"].astype(str) == "yes")]
    return numbers(estimates, ["drift"] * len(estimates))


@process("passport_facets")
def facets(rng: np.random.Generator, *, n: int = 100, levels: int = 5, repeats: int = 2) -> Drawn:
    """Ratings by object, prompt and their interaction, with normal effects of known variances."""
    effects = [
        rng.normal(0, np.sqrt(VARIANCES[name]), size)
        for name, size in (
            ("object", (n, 1, 1)),
            ("prompt_id", (1, levels, 1)),
            ("object:prompt_id", (n, levels, 1)),
            ("residual", (n, levels, repeats)),
        )
    ]
    value = np.broadcast_to(sum(effects), (n, levels, repeats))
    item, prompt, sample = np.indices(value.shape).reshape(3, -1)
    frame = pd.DataFrame(
        {
            "judge_id": "a",
            "judge_kind": "model",
            "item_id": np.char.add("i", item.astype(str)),
            "prompt_id": np.char.add("p", prompt.astype(str)),
            "sample": sample,
            "value": value.ravel(),
        }
    )
    return Drawn(
        ItemSample(frame), true_values(population={f"variance of {k}": v for k, v in VARIANCES.items()})
    )


VARIANCES = {"object": 1.0, "prompt_id": 0.2, "object:prompt_id": 0.3, "residual": 0.5}


@method("passport_components")
def components_of(data: ItemSample, *, unbalanced: float = 0.0, alpha: float = 0.05) -> pd.DataFrame:
    """Variance components; a share of the answers is excluded where ``unbalanced`` says so."""
    from ...instrument import variance_components

    frame = data.frame
    if unbalanced:
        frame = frame[np.random.default_rng(len(frame)).random(len(frame)) >= unbalanced]
    estimates = variance_components(frame, alpha=alpha, draws=2000).frame
    return numbers(estimates, "variance of " + estimates["component"].astype(str))


@process("passport_repeated_tasks")
def repeated_tasks(
    rng: np.random.Generator,
    *,
    n: int = 100,
    prevalence: float = 0.1,
    clusters: int = 30,
    shape: str = "equal",
) -> Drawn:
    """``n`` pairs by people, asked again with exchanged sides; ``prevalence`` is the swapping error."""
    # A share of people errs twice as often as the others.
    who = cluster_of_items(n, clusters, shape)
    careless = rng.random(int(who.max()) + 1) < 0.5
    tau = prevalence * np.where(careless, 4 / 3, 2 / 3)[who]
    stable = rng.random(n) < 0.5
    first, second = (stable ^ (rng.random(n) < tau) for _ in range(2))
    rows = []
    for sides, answer, repeat in (((1, 2), first, False), ((2, 1), second, True)):
        right = answer if not repeat else ~answer
        rows.append(
            pd.DataFrame(
                {
                    "judge_id": np.char.add("r", np.repeat(who, 2).astype(str)),
                    "judge_kind": "human",
                    "pair_id": np.repeat(np.arange(n), 2) + n * repeat,
                    "profile_id": (np.repeat(np.arange(n), 2) * 2 + np.tile(sides, n)),
                    "position": np.tile(["A", "B"], n),
                    "chosen": np.column_stack([right, ~right]).ravel().astype(int),
                    "repeat": repeat,
                }
            )
        )
    rates = prevalence * np.array([4 / 3, 2 / 3])
    agree = float(np.mean(rates**2 + (1 - rates) ** 2))
    truth = true_values(
        population={
            "agreement": agree, "tau": float((1 - np.sqrt(2 * agree - 1)) / 2), "net_bias": 0.0,
            "share_a": 0.5,
            "first_share": 0.5, "same_profile": agree, "always_first": (1 - agree) / 2,
            "always_second": (1 - agree) / 2, "net_first": 0.0,
        }
    )  # fmt: skip
    return Drawn(ItemSample(pd.concat(rows, ignore_index=True), "judge_id"), truth)


@method("passport_reliability")
def reliability_of(data: ItemSample, *, draws: int = 1000, alpha: float = 0.05) -> pd.DataFrame:
    """Agreement of repeated tasks, the swapping error, and the position."""
    from ...conjoint import reliability

    estimates = reliability(data.frame, draws=draws, seed=1, alpha=alpha)
    frame, position = estimates.frame.iloc[[0]], estimates.position.iloc[[0]]
    tables = []
    for table, name, low, high in (
        (frame, "agreement", "agreement_lower", "agreement_upper"),
        (frame, "tau", "tau_lower", "tau_upper"),
        (position, "net_bias", "net_lower", "net_upper"),
        (position, "share_a", "share_a_lower", "share_a_upper"),
    ):
        if name in table:
            tables.append(numbers(table.assign(estimate=table[name]), [name], low, high))
    return pd.concat(tables, ignore_index=True)


@method("passport_order")
def order_of(data: ItemSample, *, alpha: float = 0.05) -> pd.DataFrame:
    """How far choices follow the order of the profiles."""
    from ...instrument import order_effects

    frame = data.frame.assign(
        option_order=np.where(data.frame["repeat"], "swapped", "given"),
        pair_id=data.frame["profile_id"].sub(1) // 2,
    )
    estimates = order_effects(frame, alpha=alpha).frame
    estimates = estimates[estimates["facet"].astype(str) == "all"]
    return numbers(estimates, estimates["quantity"].astype(str))
