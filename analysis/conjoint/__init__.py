"""Conjoint estimators: effects and means with errors that fit the design, comparisons, reliability, power."""

from .amce import amce, amce_by_reference
from .anova import cj_anova
from .cj import cj
from .contrast import contrast
from .differences import amce_diffs, mm_diffs
from .equivalence import equivalence
from .error_choices import errors_under_choices
from .frequencies import cj_freqs, cj_props, cj_table
from .interaction import conditional_amce, interaction
from .marginal_means import mm
from .mixed import mixed
from .multiplicity import adjust
from .power import power
from .power_simulation import power_by_simulation
from .projoint import projoint
from .reliability import reliability
from .resample import Bootstrap, bootstrap
from .support import FewClusters
from .target import pamce, pmm, target_sensitivity
from .wald import wald
from .wild import wild

__all__ = [
    "Bootstrap",
    "FewClusters",
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
    "interaction",
    "mixed",
    "mm",
    "mm_diffs",
    "pamce",
    "pmm",
    "power",
    "power_by_simulation",
    "projoint",
    "reliability",
    "target_sensitivity",
    "wald",
    "wild",
]
