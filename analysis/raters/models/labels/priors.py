"""Priors of the label model, and draws of its parameters from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from conjury.inference.errors import InputError

from ....numerics.types import Floats
from ..priors import Prior, Priors, changed
from .classes import confusion_of
from .data import PEOPLE_SD, Labelled


def default_priors(n_labels: int) -> dict[str, Prior]:
    """Priors that have judges right three times out of four, give or take a lot."""
    wrong = float(np.log(0.25 / 0.75 / (n_labels - 1)))
    return {
        "prevalence": Prior("dirichlet", (1.0,), "shares of the true classes"),
        "wrong": Prior(
            "normal",
            (wrong, 1.0),
            "logit of a wrong label against the right one, of a panel's mean and of each model",
        ),
        "people": Prior("half_normal", (PEOPLE_SD,), "SD of these logits between the people of a panel"),
    }


def assumed_priors(n_labels: int, changes: Mapping[str, Any] | None) -> dict[str, Prior]:
    """The priors that a fit uses; InputError where the prevalence has no Dirichlet prior."""
    made = changed(default_priors(n_labels), changes)
    if made["prevalence"].family != "dirichlet":
        raise InputError("Prior 'prevalence' of label_model must be dirichlet; change its number.")
    return made


def draw_parameters(
    data: Labelled, priors: Priors, rng: np.random.Generator, size: int
) -> tuple[Floats, Floats]:
    """Draw prevalence and everyone's confusion matrix from the priors."""
    n_labels = len(data.labels)
    n_wrong = n_labels * (n_labels - 1)
    prevalence = priors["prevalence"].draws(rng, (size, n_labels))
    unit = priors["wrong"].draws(rng, (size, len(data.units), n_wrong))
    rows = unit[:, data.unit]
    if data.n_panels:
        spread = priors["people"].draws(rng, (size, data.n_panels))
        noise = rng.standard_normal((size, len(data.person), n_wrong))
        rows[:, data.person] += spread[:, data.unit[data.person], None] * noise
    return prevalence, confusion_of(rows, n_labels)
