"""Preferences in choices between two profiles: choice-level estimates, cycles, importance, shares, bounds."""

from .afcp import afcp
from .choice_level import choice_level
from .cycles import preference_cycles

__all__ = [
    "afcp",
    "choice_level",
    "preference_cycles",
]
