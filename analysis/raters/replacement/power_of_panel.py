"""Power of the alternative annotator test with a given panel: its size, its items, its agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from conjury.inference.errors import InputError

from ...numerics.types import Floats
from ...results import Result
from ..ratings import Judgments
from ..reading import only_dimension
from .annotator_panel import ACCURACY, NEG_RMSE, AnnotatorPanel, models_of, panel_of
from .replacement_power import Kind, alt_test_power

SIZES = (0.25, 0.5, 1.0, 2.0)  # numbers of items, as shares of those given
MOST_CATEGORIES = 21
WORK = 12_000_000  # simulated ratings of people, in all studies of one model together
SIMULATIONS = (100, 1000)
TERMS = 60  # of the series of the correlation of cut normal values
ALIKE = (
    "The simulation assumes that people agree equally with each other, that none is more severe, and that "
    "items are independent; otherwise power can differ."
)


@dataclass(frozen=True)
class PanelTraits:
    """What a simulation must know of a panel."""

    kind: Kind  # {"labels", "ratings"}
    annotators: int  # People, people who rate an item (on average, rounded), and items that two of them rated
    per_item: int
    instances: int
    shares: Floats  # shape (K,): how often each category was given
    agreement: float  # of two people beyond chance, as `alt_test_power` takes it


def panel_power(
    judgments: Judgments,
    *,
    dimension: str | None = None,
    epsilon: float = 0.1,
    scoring: str | None = None,
    simulations: int | None = None,
    alpha: float = 0.05,
    seed: int = 1,
) -> Result:
    """Simulate how often models of known agreement pass with a panel like the given one."""
    ratings = only_dimension(judgments, dimension)
    panel = panel_of(ratings, models_of(ratings, None))
    hand = measure_panel(panel, len(ratings.categories), ratings.numeric)
    human = max(round(hand.agreement, 2), 0.01)
    sizes = sorted({max(2, round(share * hand.instances)) for share in SIZES})
    least, most = SIMULATIONS
    n_simulations = int(np.clip(WORK // (sizes[-1] * hand.annotators), least, most))
    result = alt_test_power(
        annotators=hand.annotators,
        instances=sizes,
        epsilon=epsilon,
        human_agreement=human,
        model_agreement=[human, np.floor(100 * human**0.5) / 100],
        kind=hand.kind,
        categories=hand.shares.tolist(),
        per_item=hand.per_item,
        scoring=scoring or (NEG_RMSE if ratings.numeric else ACCURACY),
        simulations=n_simulations if simulations is None else simulations,
        alpha=alpha,
        seed=seed,
    )
    panel_settings = {"dimension": dimension, "epsilon": epsilon, "instances": hand.instances,
           "annotators": hand.annotators, "per_item": hand.per_item}  # fmt: skip
    return replace(result, settings={**result.settings, **panel_settings}, notes=(*result.notes, ALIKE))


def measure_panel(panel: AnnotatorPanel, n_categories: int, numeric: bool) -> PanelTraits:
    """Measure a panel: items that two people rated, and how they agree there."""
    if n_categories > MOST_CATEGORIES:
        raise InputError(
            f"There are {n_categories} different ratings, and power is simulated for up to "
            f"{MOST_CATEGORIES}; omit it, or use a coarser scale."
        )
    counts = np.zeros((len(panel.packed), n_categories))
    np.add.at(counts, (panel.item, panel.value), 1)
    size = counts.sum(axis=1)
    several = size > 1
    if not several.any():
        raise InputError("No item was rated by two people, so their agreement is not known; collect more.")
    counts, size = counts[several], size[several]
    shares = counts.sum(axis=0) / counts.sum()
    is_used = shares > 0
    counts, shares = counts[:, is_used], shares[is_used]
    agreement = _latent(counts, shares) if numeric else _kappa(counts, shares)
    if not agreement > 0:
        raise InputError(
            "The people of this panel agree no better than by chance, so no model can be distinguished from "
            "them; power is not simulated."
        )
    people = np.unique(panel.annotator[several[panel.item]])
    per_item = min(max(round(float(size.mean())), 2), len(people))
    return PanelTraits(
        "ratings" if numeric else "labels", len(people), per_item, len(size), shares, min(agreement, 1.0)
    )


def _pairs(counts: Floats) -> float:
    size = counts.sum(axis=1)
    return float((size * (size - 1)).sum())


def _kappa(counts: Floats, shares: Floats) -> float:
    """Agreement of pairs of people beyond chance, with shares in common."""
    observed = float((counts * (counts - 1)).sum()) / _pairs(counts)
    chance = float((shares**2).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else 0.0


def _latent(counts: Floats, shares: Floats) -> float:
    """Correlation of the normal values behind ratings that gives those of pairs of people."""
    value = np.arange(len(shares), dtype=float)
    centred = value - value @ shares
    variance = float(centred**2 @ shares)
    if variance == 0:
        return 0.0
    total, square = counts @ centred, counts @ centred**2
    observed = float((total**2 - square).sum()) / _pairs(counts) / variance
    grid = np.linspace(0, 1, 1001)
    return float(np.interp(observed, cut_correlation(grid, shares), grid)) if observed > 0 else 0.0


def cut_correlation(latent: Floats, shares: Floats) -> Floats:
    """Correlation of whole numbers cut from two normal values, from that of the values."""
    from scipy.special import ndtri

    cut = ndtri(np.cumsum(shares)[:-1])
    weight = np.exp(-(cut**2) / 2) / np.sqrt(2 * np.pi)
    before, here = np.zeros_like(cut), np.ones_like(cut)  # Hermite polynomials over root k!
    coefficients = []
    for k in range(1, TERMS + 1):
        coefficients.append(float(weight @ here) ** 2 / k)
        before, here = here, (cut * here - np.sqrt(k - 1) * before) / np.sqrt(k)
    powers = np.asarray(latent, dtype=float)[:, None] ** np.arange(1, TERMS + 1)
    value = np.arange(len(shares), dtype=float)
    variance = float((value - value @ shares) ** 2 @ shares)
    correlations: Floats = np.minimum(powers @ np.array(coefficients) / variance, 1.0)
    return correlations
