"""What the label model reports, from its draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ....frames.rounding import percentage
from ....numerics.intervals import draw_limits
from ....numerics.types import Codes, Floats
from ..model_checks import frequency_check, named_statistic_check, posterior_table
from .panel_labels import (
    ATTENTIVE,
    PanelLabels,
    accuracy,
    agreement,
    best_order,
    by_attention,
    confusion_of,
    mean_class_posterior,
)

FRESH = 24  # people drawn anew from a panel at each draw of its parameters
REPLICATIONS = 100  # a random part of the draws: each replicates all labels
FAR_BELOW = 0.7  # of how well a typical person recognises classes, under which a person does not follow
SURE = 0.9  # posterior probability from which this is stated
LEAST_PEOPLE = 3  # of whom one can be said to be unlike the others
BETWEEN = ("people", "models", "people and models")


@dataclass(frozen=True)
class LabelDraws:
    """Draws of the label model: C chains, D draws, J judges, U units of which H are panels, K labels."""

    prevalence: Floats  # (C, D, K)
    confusion: Floats  # (C, D, J, K, K); judge, true class, label
    fresh: Floats  # (C, D, H, FRESH, K, K); people drawn anew from each panel


def label_draws(data: PanelLabels, posterior: Any, seed: int) -> LabelDraws:
    """Confusion matrices from the sampled logits."""
    size = len(data.labels)
    unit = np.asarray(posterior["wrong"], dtype=float)
    rows = unit[:, :, data.unit]
    fresh = np.zeros((*unit.shape[:2], 0, FRESH, unit.shape[-1]))
    if data.n_panels:
        spread = np.asarray(posterior["spread"], dtype=float)
        rows[:, :, data.person] = _people(data, posterior, unit, spread)
        panels = (unit[:, :, : data.n_panels], spread, np.asarray(posterior["careless"], dtype=float))
        means, sds, shares = (np.repeat(values[:, :, :, None], FRESH, axis=3) for values in panels)
        fresh = new_people(means, sds, shares, np.random.default_rng([seed, 1]))
    return LabelDraws(
        np.asarray(posterior["prevalence"], dtype=float), confusion_of(rows, size), confusion_of(fresh, size)
    )


def new_people(mean: Floats, spread: Floats, careless: Floats, rng: np.random.Generator) -> Floats:
    """Draw logits (..., K (K - 1)) of people by the means of their panels."""
    # `spread` and `careless`, the share of careless people, have the shape (...,).
    attention = rng.beta(np.where(rng.random(careless.shape) < careless, 1.0, ATTENTIVE), 1.0)
    centre, sd = by_attention(mean, spread[..., None], attention[..., None])
    return np.asarray(centre + sd * rng.standard_normal(mean.shape))


def _people(data: PanelLabels, posterior: Any, unit: Floats, spread: Floats) -> Floats:
    """Logits of the people, shape (C, D, people, K (K - 1)), from how they were sampled."""
    panel = data.unit[data.person]
    centring_weight = data.centring[:, None]
    attention = np.asarray(posterior["attention"], dtype=float)[..., None]
    mean, sd = by_attention(unit[:, :, panel], spread[:, :, panel, None], attention)
    person = np.asarray(posterior["person"], dtype=float)
    return np.asarray(mean + sd ** (1 - centring_weight) * (person - centring_weight * mean))


def summary(data: PanelLabels, posterior: LabelDraws, alpha: float) -> pd.DataFrame:
    """Prevalence, accuracy of everyone, and agreement with a new person."""
    judges, groups = data.ratings.judges, data.ratings.groups
    keys = [("prevalence", "", "", label) for label in data.labels]
    parts = [posterior.prevalence]
    keys += [("accuracy", group, judge, "") for judge, group in zip(judges, groups, strict=True)]
    parts.append(accuracy(posterior.prevalence[:, :, None], posterior.confusion))
    panels = data.units[: data.n_panels]
    keys += [("accuracy of a new person", panel, "", "") for panel in panels]
    parts.append(_fresh_accuracy(posterior).mean(axis=3))
    for number, panel in enumerate(panels):
        person = posterior.fresh[:, :, number]
        second_person = np.roll(person, 1, axis=2)
        keys.append(("agreement of two new people", panel, "", ""))
        parts.append(
            agreement(posterior.prevalence[:, :, None], person, second_person).mean(axis=2)[..., None]
        )
        models = _models(data)
        keys += [("agreement with a new person", panel, judges[place], "") for place in models]
        panel_agreements = [
            agreement(posterior.prevalence[:, :, None], person, posterior.confusion[:, :, place, None]).mean(
                axis=2
            )
            for place in models
        ]
        parts += [draws[..., None] for draws in panel_agreements]
    frame = pd.DataFrame(keys, columns=["quantity", "group", "judge", "label"])
    table = posterior_table(frame, np.concatenate(parts, axis=2), alpha)
    ratings = data.ratings
    items = pd.Series(ratings.item).groupby(ratings.judge).nunique()
    counted = {judge: (int(items[place]), int(data.answers[place])) for place, judge in enumerate(judges)}
    totals = (len(ratings.items), len(ratings.item))
    of_row = [counted.get(str(judge), totals) for judge in table["judge"]]
    return table.assign(n_items=[items for items, _ in of_row], n_ratings=[count for _, count in of_row])


def confusion_tables(data: PanelLabels, posterior: LabelDraws, alpha: float) -> dict[str, pd.DataFrame]:
    """Confusion matrices of a new person and each model, and of each judge."""
    judges, panels = data.ratings.judges, data.units[: data.n_panels]
    models = _models(data)
    groups = [*panels, *(data.ratings.groups[place] for place in models)]
    matrices = np.concatenate([posterior.fresh.mean(axis=3), posterior.confusion[:, :, models]], axis=2)
    return {
        "confusion": _matrix_table(data, matrices, pd.DataFrame({"group": groups}), alpha),
        "raters": _matrix_table(
            data,
            posterior.confusion,
            pd.DataFrame({"judge": judges, "group": data.ratings.groups}),
            alpha,
        ),
    }


def item_table(data: PanelLabels, posterior: LabelDraws) -> pd.DataFrame:
    """Posterior of each item's true class, a row for each class."""
    size = len(data.labels)
    flat = (
        posterior.prevalence.reshape(-1, size),
        posterior.confusion.reshape(-1, *posterior.confusion.shape[2:]),
    )
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


def replacement_table(data: PanelLabels, posterior: LabelDraws, alpha: float) -> pd.DataFrame:
    """Accuracy of each model less that of a new person, and how probably it is the greater."""
    keys, parts, better = [], [], []
    person = _fresh_accuracy(posterior)
    for number, panel in enumerate(data.units[: data.n_panels]):
        for place in _models(data):
            model = accuracy(posterior.prevalence, posterior.confusion[:, :, place])
            difference = model[..., None] - person[:, :, number]
            keys.append((data.ratings.judges[place], panel))
            parts.append(difference.mean(axis=2))
            better.append(float((difference > 0).mean()))
    if not keys:
        return pd.DataFrame()
    table = posterior_table(pd.DataFrame(keys, columns=["model", "group"]), np.stack(parts, axis=2), alpha)
    return table.assign(probability_better=better)


def notes_on_classes(data: PanelLabels, posterior: LabelDraws) -> list[str]:
    """State where classes do not bear their own names, and what a small panel leaves open."""
    notes = []
    by_chain = posterior.confusion.mean(axis=1)
    weight = data.answers.astype(float)
    orders = [best_order(chain, weight) for chain in by_chain]
    named = tuple(range(len(data.labels)))
    if any(order != named for order in orders):
        many = sum(order != named for order in orders)
        notes.append(
            f"In {many} of {len(orders)} chains labels of classes are switched (judges are correct more "
            "often if they are exchanged): give a narrower prior 'wrong', or exclude rare labels."
        )
    pooled = np.tensordot(weight / weight.sum(), by_chain.mean(axis=0), axes=1)
    for truth, label in enumerate(pooled.argmax(axis=1)):
        if label != truth:
            notes.append(
                f"Items of class '{data.labels[truth]}' are mostly labelled '{data.labels[label]}': the "
                "class may not correspond to its name."
            )
    for number, panel in enumerate(data.units[: data.n_panels]):
        people = int((data.unit == number).sum())
        if people < 3:
            who = "one person" if people == 1 else "two people"
            notes.append(
                f"Group '{panel}' has {who}: estimated differences between people depend on the prior "
                "'people'."
            )
    return notes


def notes_on_nonfollowers(data: PanelLabels, posterior: LabelDraws, alpha: float) -> list[str]:
    """Name people who do not follow their panel: who recognise classes far less than its typical person."""
    notes = []
    # 1 without errors, 0 if labels do not depend on the class, whatever the shares of the classes
    recognised = (np.trace(posterior.confusion, axis1=-2, axis2=-1) - 1) / (len(data.labels) - 1)
    right = accuracy(posterior.prevalence[:, :, None], posterior.confusion)
    for number in range(data.n_panels):
        members = np.flatnonzero(data.unit == number)
        typical, usual = (np.median(part[..., members], axis=2) for part in (recognised, right))
        for j in members if len(members) >= LEAST_PEOPLE else ():
            if (recognised[..., j] < FAR_BELOW * typical).mean() > SURE:
                lower, upper = draw_limits(right[..., j].ravel(), alpha)
                notes.append(
                    f"'{data.ratings.judges[j]}' follows the panel less than its other people do: accuracy "
                    f"{right[..., j].mean():.2f} ({lower:.2f} to {upper:.2f}), a typical person's is "
                    f"{usual.mean():.2f}; inspect these labels, and fit again without them if they were "
                    "given carelessly."
                )
    return notes


def _models(data: PanelLabels) -> list[int]:
    return [place for place, kind in enumerate(data.ratings.kinds) if kind != "human"]


def _fresh_accuracy(posterior: LabelDraws) -> Floats:
    """Accuracy of people drawn anew, shape (C, D, H, FRESH)."""
    return accuracy(posterior.prevalence[:, :, None, None], posterior.fresh)


def _matrix_table(data: PanelLabels, matrices: Floats, owners: pd.DataFrame, alpha: float) -> pd.DataFrame:
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


@dataclass(frozen=True)
class LabelCheck:
    """Labels that the model makes, beside those that were given."""

    made: Codes  # (R, n); positions of replicated labels
    # Shares of labels by judge, as ``checks.frequency_check`` makes them, in a column ``label``
    shares: pd.DataFrame
    # Agreement among people, among models and between them, as of ``checks.named_statistic_check``
    agreement: pd.DataFrame


def check_labels(
    data: PanelLabels, prevalence: Floats, confusion: Floats, rng: np.random.Generator, alpha: float
) -> LabelCheck:
    """Compare the labels with those made at R draws of the parameters, from the posterior or the priors."""
    replications = replicate(data, prevalence, confusion, rng)
    judges = pd.DataFrame({"judge": np.array(data.ratings.judges)[data.ratings.judge]})
    shares = frequency_check(data.label, replications, data.labels, judges, alpha)
    replicated_agreements = [agreements(data, codes) for codes in replications]
    agreeing = named_statistic_check(agreements(data, data.label), replicated_agreements, alpha)
    return LabelCheck(replications, shares.rename(columns={"category": "label"}), agreeing)


def subsample_posterior(posterior: LabelDraws, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Prevalence and confusion matrices of ``REPLICATIONS`` draws of the posterior, at random."""
    prevalence = posterior.prevalence.reshape(-1, posterior.prevalence.shape[-1])
    confusion = posterior.confusion.reshape(-1, *posterior.confusion.shape[2:])
    chosen = rng.choice(len(prevalence), size=REPLICATIONS, replace=len(prevalence) < REPLICATIONS)
    return prevalence[chosen], confusion[chosen]


def replicate(data: PanelLabels, prevalence: Floats, confusion: Floats, rng: np.random.Generator) -> Codes:
    """Draw new true classes and labels for every judgment, one set a draw, shape (R, n)."""
    item, judge = data.ratings.item, data.ratings.judge
    replications = []
    for shares, matrices in zip(prevalence, confusion, strict=True):
        truth = _draw(np.broadcast_to(shares, (len(data.ratings.items), len(data.labels))), rng)
        replications.append(_draw(matrices[judge, truth[item]], rng))
    return np.array(replications)


def agreements(data: PanelLabels, label: Codes) -> dict[str, float]:
    """Share of pairs of judgments of one item that agree, among people, among models and between them."""
    ratings, size = data.ratings, len(data.labels)
    counts = {
        kind: np.bincount((ratings.item * size + label)[part], minlength=len(ratings.items) * size).reshape(
            -1, size
        )
        for kind, part in (("people", ratings.is_human), ("models", ~ratings.is_human))
    }
    people, models = counts["people"].astype(float), counts["models"].astype(float)
    same = {
        "people": (people * (people - 1)).sum(),
        "models": (models * (models - 1)).sum(),
        "people and models": (people * models).sum(),
    }
    of_people, of_models = people.sum(axis=1), models.sum(axis=1)
    pairs = {
        "people": (of_people * (of_people - 1)).sum(),
        "models": (of_models * (of_models - 1)).sum(),
        "people and models": (of_people * of_models).sum(),
    }
    return {f"agreement of {name}": float(same[name] / pairs[name]) for name in BETWEEN if pairs[name]}


def shared_errors(agreement: pd.DataFrame) -> list[str]:
    """State which judges agree more than judges who err independently would."""
    return [
        f"The {row['statistic']} is {percentage(row['observed'])}, judges who err independently would have "
        f"{percentage(row['lower'])} to {percentage(row['upper'])}: beyond the true class they share errors "
        "or views, so intervals are too narrow, and the class may not be theirs; fit them alone to see what "
        "it is for them."
        for row in agreement.to_dict("records")
        if row["observed"] > row["upper"]
    ]


def _draw(probability: Floats, rng: np.random.Generator) -> Codes:
    """Draw a position in each row of probabilities (n, K), shape (n,)."""
    ends = probability.cumsum(axis=1)
    return np.asarray((rng.random(len(ends))[:, None] * ends[:, -1:] > ends).sum(axis=1), dtype=np.int64)
