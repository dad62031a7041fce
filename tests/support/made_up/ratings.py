"""Made-up ratings and labels of items by people and models who differ in quality, severity and precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from conjury.analysis.raters.models.dimensions.dimension_data import GroupRatings

RATED_STUDY = """
name: tone
title: Tone of messages
kind: items
question: Which tone has this message?
items: items.csv
judges: [{id: gpt_4_1, label: GPT-4.1, kind: model}, {id: gemini, label: Gemini, kind: model}]
strata:
  - id: stratum
    label: Kind
    levels: [{id: high, label: High}, {id: mid_level, label: Middle}, {id: low, label: Low}]
response:
  form: ratings
  scales: [{id: warmth, label: Warmth, minimum: 1, maximum: 5}, {id: wit, label: Wit, minimum: 1, maximum: 5}]
"""
LABELS = "response: {form: label, id: tone, labels: [{id: calm, label: Calm}, {id: angry, label: Angry}]}\n"
LABELLED_STUDY = RATED_STUDY.partition("strata:")[0] + LABELS
MODELS = ("gpt_4_1", "gemini")
STRATA = ("high", "mid_level", "low")
CLASSES = ("calm", "angry")
LOGISTIC_SD = np.pi / np.sqrt(3)
COLUMNS = ["judge_id", "judge_kind", "item_id", "value"]


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


def ratings_by_few_people(
    n: int = 60,
    labelled: int = 12,
    *,
    people: int = 5,
    models: Sequence[str] = MODELS[:1],
    dimensions: Sequence[str] = ("warmth",),
    labels: bool = False,
    seed: int = 1,
) -> pd.DataFrame:
    """Ratings from 1 to 5, or two labels, of the first items by people and of all by models."""
    rng = np.random.default_rng(seed)
    rows = []
    for dimension in dimensions:
        quality = rng.normal(3, 1, n)
        asked = [(f"person_{k}", "human", labelled, 0.0) for k in range(people)]
        asked += [(name, "model", n, 0.5) for name in models]
        for judge, kind, items, higher in asked:
            value = np.clip(np.round(quality[:items] + higher + rng.normal(0, 0.7, items)), 1, 5)
            given = np.array(CLASSES)[(value > 3).astype(int)] if labels else value.astype(int)
            rows += [(judge, kind, f"i{k:02d}", dimension, one) for k, one in enumerate(given)]
    return pd.DataFrame(rows, columns=[*COLUMNS[:3], "dimension", "value"]).assign(status="ok")


def items_in_strata(n: int = 60) -> pd.DataFrame:
    """Items in three strata."""
    names = [f"i{k:02d}" for k in range(n)]
    return pd.DataFrame({"item_id": names, "stratum": [STRATA[k % 3] for k in range(n)]})


def write_rated_study(folder: Path, judgments: pd.DataFrame, n: int = 60, study: str = RATED_STUDY) -> Path:
    """A study of ratings on two dimensions, or of labels, with its items and judgments."""
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    items_in_strata(n).to_csv(folder / "items.csv", index=False)
    judgments.to_csv(folder / "judgments.csv", index=False)
    return folder


@dataclass(frozen=True)
class Panel:
    """Size of a panel; ``ragged`` has each person rate about two thirds of the items.

    ``spread`` and ``severity`` are the standard deviations between people (of log discriminations and of
    severities), drawn between bounds where they are None.
    """

    n_people: int
    n_models: int
    n_items: int
    n_categories: int = 5
    ragged: bool = False
    seed: int = 1
    spread: float | None = None
    severity: float | None = None


def panel_ratings(panel: Panel) -> tuple[pd.DataFrame, dict[str, float]]:
    """Judgments of a panel, and the truth by ``quantity[who]``."""
    rng = np.random.default_rng([panel.seed, panel.n_people, panel.n_models, panel.n_items])
    n = panel.n_people
    spread = rng.uniform(0.05, 0.4) if panel.spread is None else panel.spread
    severity_sd = rng.uniform(0.1, 0.7) if panel.severity is None else panel.severity
    typical = np.exp(rng.normal(np.log(1.2), 0.3))
    slopes = typical * np.exp(spread * rng.normal(size=n))
    severities = severity_sd * rng.normal(size=n)
    of_models = rng.uniform(0.3, 1.8, panel.n_models)
    width = panel.n_categories
    wide = np.sqrt(1 + np.array([typical, *of_models]) ** 2)
    cuts = wide[:, None] * np.linspace(-1.2, 1.2, width - 1) + rng.normal(
        0, 0.15, (1 + panel.n_models, width - 1)
    )
    cuts.sort(axis=1)
    quality = rng.normal(size=panel.n_items)
    rows = []
    for j in range(n + panel.n_models):
        person = j < n
        latent = (slopes[j] if person else of_models[j - n]) * quality - (severities[j] if person else 0.0)
        values = (latent + rng.logistic(size=panel.n_items) / LOGISTIC_SD)[:, None] > cuts[max(j - n + 1, 0)]
        rated = rng.random(panel.n_items) < 2 / 3 if person and panel.ragged else np.ones(panel.n_items, bool)
        name = f"p{j:02d}" if person else f"m{j - n}"
        kind = "human" if person else "model"
        rows += [(name, kind, i, int(values[i].sum()) + 1) for i in np.flatnonzero(rated)]
    truth = {
        "discrimination_sd[human]": spread,
        "severity_sd[human]": severity_sd,
        "discrimination[human]": float(typical),
    }
    truth |= {f"discrimination[p{j:02d}]": float(slope) for j, slope in enumerate(slopes)}
    truth |= {f"severity[p{j:02d}]": float(one - severities.mean()) for j, one in enumerate(severities)}
    truth |= {f"discrimination[m{m}]": float(slope) for m, slope in enumerate(of_models)}
    truth |= {
        f"latent_correlation_rating[m{m}]": float(slope / np.sqrt(1 + slope**2))
        for m, slope in enumerate(of_models)
    }
    return pd.DataFrame(rows, columns=COLUMNS), truth


def panel_grid(n_panels: int) -> list[Panel]:
    """Panels of 2 to 10 people, spread over models, items, categories, complete and ragged."""
    every = list(product((2, 3, 4, 5, 7, 10), (1, 2, 3), (40, 100, 200, 400), (3, 4, 5, 7), (False, True)))
    order = np.random.default_rng(0).permutation(len(every))
    chosen = islice(cycle(order), n_panels)
    return [Panel(*every[at], seed=number) for number, at in enumerate(chosen)]


def group_ratings(
    item: np.ndarray,
    judge: np.ndarray,
    dimensions: tuple[str, ...],
    n_cuts: int = 3,
    name: str = "human",
    **changes: Any,
) -> GroupRatings:
    """Ratings 0, 1, 2, ... in turn of these items by these judges."""
    n_items, n_judges = int(item.max()) + 1, int(judge.max()) + 1
    known: dict[str, Any] = {
        "group": name,
        "human": name == "human",
        "dimensions": dimensions,
        "y": np.tile(np.arange(len(item)) % (n_cuts + 1), (len(dimensions), 1)),
        "values": (tuple(float(k) for k in range(n_cuts + 1)),) * len(dimensions),
        "item": item.astype(np.int64),
        "judge": judge.astype(np.int64),
        "x": np.zeros((n_items, 0)),
        "terms": (),
        "items": tuple(f"item {k}" for k in range(n_items)),
        "judges": tuple(f"judge {k}" for k in range(n_judges)),
        "n_repeated": int((np.bincount(item) > 1).sum()),
    }
    return GroupRatings(**(known | changes))


def ratings_in_tiers() -> pd.DataFrame:
    """Ratings of twelve items in three tiers by two people and a model."""
    return pd.DataFrame(
        [
            (judge, "model" if judge == "gpt_4_1" else "human", f"i{k}", f"t{k // 3}", dimension, tier,
             float((k * step + len(dimension)) % 5))
            for judge, step in (("ann", 1), ("bob", 2), ("gpt_4_1", 3))
            for dimension in ("fun", "wit")
            for k in range(12)
            for tier in [("high", "middle", "low")[k % 3]]
        ],
        columns=["judge_id", "judge_kind", "item_id", "topic_id", "dimension", "response_type", "value"],
    )  # fmt: skip


def by_judge(values: Mapping[str, Iterable[Any]], **columns: Any) -> pd.DataFrame:
    """One row per judge and item ``i0``, ``i1``, ...; None is no judgment, and names of models begin so."""
    rows = [
        (judge, "model" if judge.startswith(("gpt", "llama", "claude")) else "human", f"i{item}", value)
        for judge, answers in values.items()
        for item, value in enumerate(answers)
        if value is not None
    ]
    return pd.DataFrame(rows, columns=COLUMNS).assign(**columns)
