"""Preferences in choices between two profiles: choice-level estimates, cycles, importance, shares, bounds."""

from .afcp import afcp
from .choice_level import choice_level
from .choice_shares import choice_shares
from .cycles import preference_cycles
from .importance import importance
from .share_preferring import share_preferring
from .substitution import substitution

__all__ = [
    "afcp",
    "choice_level",
    "choice_shares",
    "importance",
    "preference_cycles",
    "share_preferring",
    "substitution",
]
