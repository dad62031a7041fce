"""Bootstrap weights of units from a hash of their names: alike on every machine, in every order of rows.

The hash of a unit is the state of a generator (splitmix64; Steele, Lea and Flood 2014,
doi:10.1145/2660193.2660195). Each of its numbers of 64 bits gives two draws, by the inverse distribution
function of the Poisson distribution with mean one. Such weights, which are drawn for each unit on its own,
stand for multinomial ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from .types import Floats

States = NDArray[np.uint64]
# Of SplitMix64 (Steele, Lea, Flood 2014).
GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# A number of 32 bits counts as one more at each of these: 2**32 times P(weight <= 0, 1, ...).
STEPS = np.array([share for share in np.round(pdtr(np.arange(20), 1.0) * 2**32) if share < 2**32], np.uint32)
NUMBERS_AT_A_TIME = 1 << 17  # that fit into the cache of a processor


def states_of(names: Iterable[str], seed: int, factor: int = 0) -> States:
    """Hash names of units, shape (U,); equal names of different factors have different hashes."""
    key = blake2b(str(seed).encode(), digest_size=32).digest()
    start = blake2b(digest_size=8, key=key, person=str(factor).encode())
    digests = []
    for name in names:
        hashed = start.copy()
        hashed.update(name.encode())
        digests.append(hashed.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def poisson_weights(states: States, draws: int) -> NDArray[np.uint8]:
    """How often each of U units is drawn, by their states (U,): shape (U, draws)."""
    half = -(-draws // 2)
    steps = np.arange(1, half + 1, dtype=np.uint64) * np.uint64(GAMMA)
    weights = np.empty((len(states), 2 * half), dtype=np.uint8)
    size = max(1, NUMBERS_AT_A_TIME // max(half, 1))
    for first in range(0, len(states), size):
        mixed = _mix_bits(states[first : first + size, None] + steps)
        numbers = mixed.astype("<u8", copy=False).view("<u4")
        block = weights[first : first + size]
        np.greater_equal(numbers, STEPS[0], out=block.view(bool))
        for step in STEPS[1:]:
            block += numbers >= step
    return weights[:, :draws]


def crossed_weights(states: States, draws: int) -> Floats:
    """Product of the weights of the factors of each unit, by their states (U, factors): (U, draws)."""
    weights = poisson_weights(states[:, 0], draws).astype(float)
    for factor in range(1, states.shape[1]):
        weights *= poisson_weights(states[:, factor], draws)
    return weights


def _mix_bits(numbers: States) -> States:
    """Scramble the bits of numbers, in place."""
    for shift, factor in ((30, FIRST), (27, SECOND)):
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    numbers ^= numbers >> np.uint64(31)
    return numbers
