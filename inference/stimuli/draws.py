"""Random numbers that belong to a profile: the same whichever other profiles are asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..streams import stream

Integers = NDArray[np.int64]


def draw_below(sizes: int | Integers, profile_ids: Integers, seed: int, *names: str) -> Integers:
    """Draw a whole number from 0 to below ``sizes`` for each profile.

    The number is a hash of the profile's id and of a key drawn from the stream of ``seed`` and ``names``: the
    finaliser of Steele, Lea and Flood's SplitMix64 (doi:10.1145/2660193.2660195).

    Parameters
    ----------
    sizes : int, or array of shape (n,)
    profile_ids : array of shape (n,)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> few = draw_below(6, np.array([3, 8]), 1, "likes")
    >>> many = draw_below(6, np.arange(10), 1, "likes")
    >>> bool((few == many[[3, 8]]).all())
    True
    """
    key = stream(seed, "posts", *names).integers(2**64, size=1, dtype=np.uint64)
    mixed = _mix(_mix(profile_ids.astype(np.uint64)) ^ key)
    drawn: Integers = (mixed % np.asarray(sizes, dtype=np.uint64)).astype(np.int64)
    return drawn


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
