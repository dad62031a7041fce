"""Comparisons: contrasts, joint and equivalence tests, interactions, multiplicity, target distributions."""

from .contrast import contrast
from .equivalence import equivalence
from .interaction import conditional_amce, interaction
from .multiplicity import adjust
from .target import pamce, pmm, target_sensitivity
from .wald import wald

__all__ = [
    "adjust",
    "conditional_amce",
    "contrast",
    "equivalence",
    "interaction",
    "pamce",
    "pmm",
    "target_sensitivity",
    "wald",
]
