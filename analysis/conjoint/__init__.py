"""Conjoint estimators: effects and means with errors that fit the design, comparisons, reliability, power."""

from ..frames.cells import NumberedAlike, RepeatsExcluded
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
from .engines.bayes.choice_model import choice_model
from .engines.few_clusters import FewClusters
from .missing import bounds
from .power import power, power_by_simulation
from .preferences import (
    afcp,
    choice_level,
    choice_shares,
    importance,
    preference_cycles,
    share_preferring,
    substitution,
)
from .reliability import reliability
from .reliability.repeats import include_repeats
from .resample import Bootstrap, bootstrap
from .standard_errors import errors_under_choices, mixed, sequential, wild
from .verbs.amce import amce, amce_by_reference
from .verbs.cj import amce_diffs, cj, cj_anova, mm, mm_diffs
from .verbs.frequencies import cj_freqs, cj_props, cj_table
from .verbs.people import people_diffs
from .verbs.projoint import projoint

__all__ = [
    "Bootstrap",
    "FewClusters",
    "NumberedAlike",
    "RepeatsExcluded",
    "adjust",
    "afcp",
    "amce",
    "amce_by_reference",
    "amce_diffs",
    "bootstrap",
    "bounds",
    "choice_level",
    "choice_model",
    "choice_shares",
    "cj",
    "cj_anova",
    "cj_freqs",
    "cj_props",
    "cj_table",
    "conditional_amce",
    "contrast",
    "equivalence",
    "errors_under_choices",
    "importance",
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
    "preference_cycles",
    "projoint",
    "reliability",
    "sequential",
    "share_preferring",
    "substitution",
    "target_sensitivity",
    "wald",
    "wild",
]
