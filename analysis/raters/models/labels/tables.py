"""What the label model reports, from its draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ....numerics.types import Floats
from ..checks import posterior_table
from .classes import accuracy, agreement, best_order, confusion_of, mean_class_posterior
from .data import Labelled

FRESH = 24  # people drawn anew from a panel at each draw of its parameters


@dataclass(frozen=True)
class LabelDraws:
    """Draws of the label model: C chains, D draws, J judges, U units of which H are panels, K labels.

    Attributes
    ----------
    prevalence : ndarray, shape (C, D, K)
    confusion : ndarray, shape (C, D, J, K, K)
        Judge, true class, label.
    fresh : ndarray, shape (C, D, H, FRESH, K, K)
        People drawn anew from each panel.
    """

    prevalence: Floats
    confusion: Floats
    fresh: Floats


def label_draws(data: Labelled, posterior: Any, seed: int) -> LabelDraws:
    """Confusion matrices from the sampled logits."""
    size = len(data.labels)
    unit = np.asarray(posterior["wrong"], dtype=float)
    rows = unit[:, :, data.unit]
    fresh = np.zeros((*unit.shape[:2], 0, FRESH, unit.shape[-1]))
    if data.n_panels:
        spread = np.asarray(posterior["spread"], dtype=float)
        rows[:, :, data.person] = _people(data, posterior, unit, spread)
        noise = np.random.default_rng([seed, 1]).standard_normal(
            (*unit.shape[:2], data.n_panels, FRESH, unit.shape[-1])
        )
        fresh = unit[:, :, : data.n_panels, None] + spread[..., None, None] * noise
    return LabelDraws(
        np.asarray(posterior["prevalence"], dtype=float), confusion_of(rows, size), confusion_of(fresh, size)
    )


def _people(data: Labelled, posterior: Any, unit: Floats, spread: Floats) -> Floats:
    """Logits of the people, shape (C, D, people, K (K - 1)), from how they were sampled."""
    panel = data.unit[data.person]
    known = data.centring[:, None]
    mean, sd = unit[:, :, panel], spread[:, :, panel, None]
    person = np.asarray(posterior["person"], dtype=float)
    return np.asarray(mean + sd ** (1 - known) * (person - known * mean))


def summary(data: Labelled, found: LabelDraws, alpha: float) -> pd.DataFrame:
    """Prevalence, accuracy of everyone, and agreement with a fresh person."""
    judges, groups = data.ratings.judges, data.ratings.groups
    keys = [("prevalence", "", "", label) for label in data.labels]
    parts = [found.prevalence]
    keys += [("accuracy", group, judge, "") for judge, group in zip(judges, groups, strict=True)]
    parts.append(accuracy(found.prevalence[:, :, None], found.confusion))
    panels = data.units[: data.n_panels]
    keys += [("accuracy of a fresh person", panel, "", "") for panel in panels]
    parts.append(_fresh_accuracy(found).mean(axis=3))
    for number, panel in enumerate(panels):
        one = found.fresh[:, :, number]
        other = np.roll(one, 1, axis=2)
        keys.append(("agreement of two fresh people", panel, "", ""))
        parts.append(agreement(found.prevalence[:, :, None], one, other).mean(axis=2)[..., None])
        models = _models(data)
        keys += [("agreement with a fresh person", panel, judges[place], "") for place in models]
        told = [
            agreement(found.prevalence[:, :, None], one, found.confusion[:, :, place, None]).mean(axis=2)
            for place in models
        ]
        parts += [draws[..., None] for draws in told]
    frame = pd.DataFrame(keys, columns=["quantity", "group", "judge", "label"])
    table = posterior_table(frame, np.concatenate(parts, axis=2), alpha)
    ratings = data.ratings
    items = pd.Series(ratings.item).groupby(ratings.judge).nunique()
    counted = {judge: (int(items[place]), int(data.answers[place])) for place, judge in enumerate(judges)}
    whole = (len(ratings.items), len(ratings.item))
    of_row = [counted.get(str(judge), whole) for judge in table["judge"]]
    return table.assign(n_items=[items for items, _ in of_row], n_ratings=[count for _, count in of_row])


def confusion_tables(data: Labelled, found: LabelDraws, alpha: float) -> dict[str, pd.DataFrame]:
    """Confusion matrices of a fresh person and each model, and of each judge."""
    judges, panels = data.ratings.judges, data.units[: data.n_panels]
    models = _models(data)
    groups = [*panels, *(data.ratings.groups[place] for place in models)]
    whole = np.concatenate([found.fresh.mean(axis=3), found.confusion[:, :, models]], axis=2)
    return {
        "confusion": _matrix_table(data, whole, pd.DataFrame({"group": groups}), alpha),
        "raters": _matrix_table(
            data,
            found.confusion,
            pd.DataFrame({"judge": judges, "group": data.ratings.groups}),
            alpha,
        ),
    }


def item_table(data: Labelled, found: LabelDraws) -> pd.DataFrame:
    """Posterior of each item's true class, a row for each class."""
    size = len(data.labels)
    flat = found.prevalence.reshape(-1, size), found.confusion.reshape(-1, *found.confusion.shape[2:])
    probability = mean_class_posterior(*flat, data.patterns)[data.patterns.pattern]
    ratings = data.ratings
    count = np.bincount(ratings.item, minlength=len(ratings.items))
    best = probability == probability.max(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "item_id": np.repeat(ratings.items, size),
            "label": pd.Categorical(list(data.labels) * len(ratings.items), categories=data.labels),
            "probability": probability.ravel(),
            "most_probable": best.ravel(),
            "n_ratings": np.repeat(count, size),
        }
    )


def replacement_table(data: Labelled, found: LabelDraws, alpha: float) -> pd.DataFrame:
    """Accuracy of each model less that of a fresh person, and how probably it is the greater."""
    keys, parts, better = [], [], []
    person = _fresh_accuracy(found)
    for number, panel in enumerate(data.units[: data.n_panels]):
        for place in _models(data):
            model = accuracy(found.prevalence, found.confusion[:, :, place])
            difference = model[..., None] - person[:, :, number]
            keys.append((data.ratings.judges[place], panel))
            parts.append(difference.mean(axis=2))
            better.append(float((difference > 0).mean()))
    if not keys:
        return pd.DataFrame()
    table = posterior_table(pd.DataFrame(keys, columns=["model", "group"]), np.stack(parts, axis=2), alpha)
    return table.assign(probability_better=better)


def told_of(data: Labelled, found: LabelDraws) -> list[str]:
    """Say where classes do not bear their own names, and what a small panel leaves open."""
    told = []
    by_chain = found.confusion.mean(axis=1)
    weight = data.answers.astype(float)
    orders = [best_order(chain, weight) for chain in by_chain]
    named = tuple(range(len(data.labels)))
    if any(order != named for order in orders):
        many = sum(order != named for order in orders)
        told.append(
            f"In {many} of {len(orders)} chains classes have traded their names (judges are right more often "
            "if they are exchanged): give a narrower prior 'wrong', or leave out labels that few use."
        )
    pooled = np.tensordot(weight / weight.sum(), by_chain.mean(axis=0), axes=1)
    for truth, label in enumerate(pooled.argmax(axis=1)):
        if label != truth:
            told.append(
                f"Items of class '{data.labels[truth]}' are mostly called '{data.labels[label]}': the class "
                "may not be what its name says."
            )
    for number, panel in enumerate(data.units[: data.n_panels]):
        people = int((data.unit == number).sum())
        if people < 3:
            who = "one person" if people == 1 else "two people"
            told.append(f"Group '{panel}' has {who}: how people differ rests on the prior 'people'.")
    return told


def _models(data: Labelled) -> list[int]:
    return [place for place, kind in enumerate(data.ratings.kinds) if kind != "human"]


def _fresh_accuracy(found: LabelDraws) -> Floats:
    """Accuracy of people drawn anew, shape (C, D, H, FRESH)."""
    return accuracy(found.prevalence[:, :, None, None], found.fresh)


def _matrix_table(data: Labelled, matrices: Floats, owners: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Tidy rows of matrices (C, D, N, K, K), one for each owner, truth and label."""
    size = len(data.labels)
    cells = pd.MultiIndex.from_product([data.labels, data.labels], names=["truth", "label"]).to_frame(
        index=False
    )
    keys = pd.concat(
        [
            owners.loc[owners.index.repeat(size**2)].reset_index(drop=True),
            pd.concat([cells] * len(owners), ignore_index=True),
        ],
        axis=1,
    )
    for name in ("truth", "label"):
        keys[name] = pd.Categorical(keys[name], categories=data.labels)
    return posterior_table(keys, matrices.reshape(*matrices.shape[:2], -1), alpha)
