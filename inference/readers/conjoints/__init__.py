"""Conjoint surveys in tables of others: outcomes of profiles and levels of attributes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conjoint_reading import ConjointTable, read_conjoint
    from .qualtrics_profiles import has_drawn_levels

__all__ = ["ConjointTable", "has_drawn_levels", "read_conjoint"]


def __getattr__(name: str) -> Any:
    """Import a name when it is used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = ".qualtrics_profiles" if name == "has_drawn_levels" else ".conjoint_reading"
    return getattr(import_module(module, __name__), name)
