"""Conditions of items: as they were, or perturbed in one of several ways."""

from __future__ import annotations

from typing import Any

UNPERTURBED = "none"
KINDS = ("orthographic", "drift", "preserving", "dialect")  # of perturbations
FEW_PAIRS = 10  # fewer items and their copies tell little about judges


def copy_id(item: Any, condition: Any) -> Any:
    """Return the id of the copy of an item under a condition; of columns, those of all rows.

    Examples
    --------
    >>> copy_id("j1", "drift")
    'j1__drift'
    """
    return item + "__" + condition
