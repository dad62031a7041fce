"""The grid on which item qualities are summed out, and the scale of the links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....numerics.types import Floats
from .data import OrdinalData

REACH, INNER_REACH = 4.7, 4.0  # standard deviations to either side that the grids cover
INNER = 11
STEEP = 2.0  # discrimination, in standard deviations of the link, for which the grid is made
STEP, WIDEST = 1.3, 0.6  # of the grid, in standard deviations of an item's quality given its ratings
LEAST_SHARE, EDGE = 1e-300, 1e-9  # least share of a category; least cumulative share, and greatest from 1
LINK_SD = {"logit": float(np.pi / np.sqrt(3)), "probit": 1.0}


@dataclass(frozen=True)
class Grid:
    """Nodes at multiples of ``step``, of which ``n_window`` are used around a mean; and those of own effects.

    Attributes
    ----------
    step : float
    n_window : int
    inner_nodes, inner_weights : ndarray, shape (R,)
        Nodes of a standard normal variable, and masses that sum to 1.
    """

    step: float
    n_window: int
    inner_nodes: Floats
    inner_weights: Floats

    @property
    def inner(self) -> tuple[Floats, Floats]:
        """Nodes and masses of own effects."""
        return self.inner_nodes, self.inner_weights

    @property
    def nodes(self) -> Floats:
        """Standardised qualities, shape (n_window,)."""
        return np.asarray((np.arange(self.n_window) - self.n_window // 2) * self.step, dtype=float)

    @property
    def weights(self) -> Floats:
        """Masses of ``nodes``, which sum to 1."""
        mass = np.exp(-(self.nodes**2) / 2)
        return np.asarray(mass / mass.sum())


def grid(step: float, inner: int = INNER) -> Grid:
    """Evenly spaced nodes: for smooth integrands their error falls faster than any power of the step."""
    n_window = 4 * int(np.ceil((2 * REACH / step + 1) / 4))  # whole vectors of the processor
    inner_nodes = np.linspace(-INNER_REACH, INNER_REACH, inner)
    inner_weights = np.exp(-(inner_nodes**2) / 2)
    return Grid(step, n_window, inner_nodes, inner_weights / inner_weights.sum())


def grid_step(data: OrdinalData) -> float:
    """Distance of nodes that resolves the quality of the item with most ratings.

    What is summed at once are the ratings of an item by people and by one model. The distance is ``STEP``
    standard deviations of a quality that ``n`` ratings of discrimination ``STEEP`` determine, which leaves a
    relative error of about exp(-2 pi^2 / STEP^2), below one millionth.
    """
    pairs = np.zeros((len(data.groups), len(data.items)))
    np.add.at(pairs, (data.group[data.judge], data.item), 1)
    by_people, by_model = np.split(pairs, [data.n_panels])
    most = (by_people.sum(axis=0) + by_model.max(axis=0, initial=0)).max()
    return float(min(STEP / np.sqrt(1 + most * STEEP**2 / 4), WIDEST))
