"""Panels of people and models who rate items, with the parameters of the rater model that made them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice, product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LOGISTIC_SD = np.pi / np.sqrt(3)
COLUMNS = ["judge_id", "judge_kind", "item_id", "value"]


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


def made_up_panel(panel: Panel) -> tuple[pd.DataFrame, dict[str, float]]:
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
