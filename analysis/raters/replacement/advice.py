"""What readers of the alternative annotator test should know: what makes it weak, what was not used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from conjury.inference.columns import as_text, listed

from ..ratings import Ratings
from .decide import NO_SPREAD, Evidence
from .panel import Panel
from .scoring import MANY, Mask, Scoring

FEW_ANNOTATORS, FEW_INSTANCES = 3, 30  # what the authors advise at least


def weaknesses(panel: Panel, found: Evidence, kept: Mask, min_instances: int) -> list[str]:
    """Say what makes these tests weak: few annotators, few items, people left out, no spread."""
    told = []
    missed = [name for name, row in zip(panel.models, kept, strict=True) if not row.any()]
    if missed:
        told.append(f"{listed(missed, 6)}: no annotator has {min_instances} items with it, so no test.")
    for ever in np.unique(kept[kept.any(axis=1)].sum(axis=1)):
        if ever < FEW_ANNOTATORS:
            told.append(
                f"{ever} annotator{'s are' if ever > 1 else ' is'} tested; the authors advise at least "
                f"{FEW_ANNOTATORS}, since one person's habits weigh heavily on fewer."
            )
    lost = ~kept[kept.any(axis=1)]
    out = [name for at, name in enumerate(panel.people) if lost[:, at].any()]
    if out:
        told.append(
            f"{len(out)} of {len(panel.people)} annotators have fewer than {min_instances} items with "
            f"some model and are left out there ({listed(out, 6)}); others are still compared with them."
        )
    if (found.clusters[kept] < FEW_INSTANCES).any():
        what = "items" if len(panel.cluster) == panel.n_clusters else "clusters of items"
        told.append(
            f"Some annotators have fewer than {FEW_INSTANCES} {what}; the t test is doubtful for them."
        )
    flat = int((kept & (found.std_error <= NO_SPREAD)).sum())
    if flat:
        told.append(
            f"{flat} comparison{'s have' if flat > 1 else ' has'} the same difference on every item: the "
            "model wins where it lies below epsilon, without a t test."
        )
    return told


def unequal(frame: pd.DataFrame) -> list[str]:
    """Say that models are compared on different items."""
    most, fewest = int(frame["n_items"].max()), int(frame["n_items"].min())
    if most == fewest:
        return []
    return [
        f"Models are compared on different items (from {fewest:,} to {most:,}), those that each answered; a "
        "model that leaves hard items out looks better for it."
    ]


def without(judgments: pd.DataFrame, ratings: Ratings, model: str | Sequence[str] | None) -> list[str]:
    """Name the models of which no rating can be used."""
    if model is not None:
        return []
    first = judgments.drop_duplicates("judge_id")
    machines = as_text(first["judge_id"])[(as_text(first["judge_kind"]) == "model").to_numpy(dtype=bool)]
    used = set(as_text(ratings.frame.drop_duplicates("judge")["judge_id"]))
    lost = [name for name in machines if name not in used]
    return [f"{listed(lost, 6)}: no rating that can be used, so no test."] if lost else []


def repeats(panel: Panel, samples: str) -> list[str]:
    """Say what becomes of repeated ratings and of several samples."""
    told = []
    if panel.repeats:
        told.append(f"{panel.repeats:,} repeated ratings by people are not used; their first counts.")
    if panel.answers.shape[1] > 1 and samples == "each":
        told.append("Models with several samples of an item: each is compared, the comparisons averaged.")
    return told


def coarse(scoring: Scoring, ratings: Ratings) -> list[str]:
    """Say that exact agreement is rare among many different numbers."""
    if scoring == "accuracy" and ratings.numeric and len(ratings.categories) > MANY:
        return [
            f"Accuracy counts exact matches, which are rare among {len(ratings.categories)} different "
            "numbers; neg_rmse or neg_mae tells more."
        ]
    return []
