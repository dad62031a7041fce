"""Conjoint estimators: effects and means with errors that fit the design, comparisons, reliability, power."""

from .amce import amce, amce_by_reference
from .anova import cj_anova
from .cj import cj
from .comparisons import (
    adjust,
    conditional_amce,
    contrast,
    equivalence,
    interaction,
    pamce,
    pmm,
    target_sensitivity,
    wald,
)
from .differences import amce_diffs, mm_diffs
from .errors import errors_under_choices, mixed, wild
from .frequencies import cj_freqs, cj_props, cj_table
from .marginal_means import mm
from .people import people_diffs
from .power import power, power_by_simulation
from .reliability import projoint, reliability
from .repeated import RepeatsExcluded, include_repeats
from .resample import Bootstrap, bootstrap
from .support import FewClusters

__all__ = [
    "Bootstrap",
    "FewClusters",
    "RepeatsExcluded",
    "adjust",
    "amce",
    "amce_by_reference",
    "amce_diffs",
    "bootstrap",
    "cj",
    "cj_anova",
    "cj_freqs",
    "cj_props",
    "cj_table",
    "conditional_amce",
    "contrast",
    "equivalence",
    "errors_under_choices",
    "include_repeats",
    "interaction",
    "mixed",
    "mm",
    "mm_diffs",
    "pamce",
    "people_diffs",
    "pmm",
    "power",
    "power_by_simulation",
    "projoint",
    "reliability",
    "target_sensitivity",
    "wald",
    "wild",
]
