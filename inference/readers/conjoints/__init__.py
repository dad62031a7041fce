"""Conjoint surveys in tables of others: outcomes of profiles and levels of attributes."""

from typing import TYPE_CHECKING

from ...lazy_names import import_when_used

if TYPE_CHECKING:
    from .conjoint_reading import ConjointTable, read_conjoint
    from .qualtrics_profiles import has_drawn_levels

__all__ = ["ConjointTable", "has_drawn_levels", "read_conjoint"]

import_when_used(
    __name__,
    {
        ".conjoint_reading": ("ConjointTable", "read_conjoint"),
        ".qualtrics_profiles": ("has_drawn_levels",),
    },
)
