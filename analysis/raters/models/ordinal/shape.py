"""The shape of the distribution of items' qualities: free weights on the grid, about a normal density.

Log weights are those of a standard normal variable plus a smooth function, a sum of bumps. What is called
quality is this variable on its standard scale (mean 0, standard deviation 1), whatever the shape.
"""

from __future__ import annotations

import numpy as np

from ....numerics.types import Floats

BUMPS = np.linspace(-3.0, 3.0, 7)  # centres of the bumps; their width is their distance
FINE = np.linspace(-6.0, 6.0, 97)  # as in ordinal_target


def log_weights(shape: Floats, at: Floats) -> Floats:
    """Log density of the raw variable, but for a constant, at points of any shape."""
    return np.asarray(np.exp(-0.5 * (at[..., None] - BUMPS) ** 2) @ shape - 0.5 * at**2)


def moments(shape: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the raw variable."""
    logs = log_weights(shape, FINE)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    mean = float(mass @ FINE)
    return mean, float(np.sqrt(mass @ FINE**2 - mean**2))


def standardised(shape: Floats, nodes: Floats) -> tuple[Floats, Floats]:
    """Qualities at nodes of the raw variable, and their masses, each of shape (Q,)."""
    mean, sd = moments(shape)
    logs = log_weights(shape, nodes)
    mass = np.exp(logs - logs.max())
    return (nodes - mean) / sd, mass / mass.sum()


def drawn(shape: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Random qualities, shape (size,)."""
    qualities, mass = standardised(shape, FINE)
    within = rng.uniform(-0.5, 0.5, size) * (qualities[1] - qualities[0])
    return np.asarray(rng.choice(qualities, size, p=mass) + within)
