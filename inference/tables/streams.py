"""Conditions of items: as they were, or perturbed in one of several ways."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

UNPERTURBED = "none"
KINDS = ("orthographic", "drift", "preserving", "dialect")  # of perturbations
FEW_PAIRS = 10  # fewer items and their copies tell little about judges


def copy_id(item: Any, condition: Any) -> Any:
    """Return the id of the copy of an item under a condition; of columns, those of all rows."""
    return item + "__" + condition


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of a seed and a path of names."""
    key = tuple(zlib.crc32(name.encode()) for name in names)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
