"""Conjoint estimators: AMCEs, marginal means, their differences, the bootstrap."""

from .amce import amce, amce_by_reference
from .anova import cj_anova
from .cj import cj
from .differences import amce_diffs, mm_diffs
from .frequencies import cj_freqs, cj_props, cj_table
from .marginal_means import mm
from .resample import Bootstrap, bootstrap

__all__ = [
    "Bootstrap",
    "amce",
    "amce_by_reference",
    "amce_diffs",
    "bootstrap",
    "cj",
    "cj_anova",
    "cj_freqs",
    "cj_props",
    "cj_table",
    "mm",
    "mm_diffs",
]
