"""Conjoint estimators: effects and means with errors that fit the design, comparisons, reliability, power."""

from typing import TYPE_CHECKING

from ...inference.lazy_names import import_when_used

if TYPE_CHECKING:
    from ..frames.cells import RepeatsExcluded, RespondentsExcluded
    from .choice_bounds import bounds
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
    from .standard_errors import errors_under_choices, mixed, sequential, wild
    from .standard_errors.resample import Bootstrap, bootstrap
    from .verbs.amce import amce, amce_by_reference
    from .verbs.cj import amce_diffs, cj, cj_anova, mm, mm_diffs
    from .verbs.conjoint_survey import SurveyResult, conjoint
    from .verbs.frequencies import cj_freqs, cj_props, cj_table
    from .verbs.people_diffs import people_diffs
    from .verbs.projoint import projoint

__all__ = [
    "Bootstrap",
    "FewClusters",
    "RepeatsExcluded",
    "RespondentsExcluded",
    "SurveyResult",
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
    "conjoint",
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

import_when_used(
    __name__,
    {
        "..frames.cells": ("RepeatsExcluded", "RespondentsExcluded"),
        ".choice_bounds": ("bounds",),
        ".comparisons": (
            "adjust",
            "conditional_amce",
            "contrast",
            "equivalence",
            "interaction",
            "pamce",
            "pmm",
            "target_sensitivity",
            "wald",
        ),
        ".engines.bayes.choice_model": ("choice_model",),
        ".engines.few_clusters": ("FewClusters",),
        ".power": ("power", "power_by_simulation"),
        ".preferences": (
            "afcp",
            "choice_level",
            "choice_shares",
            "importance",
            "preference_cycles",
            "share_preferring",
            "substitution",
        ),
        ".reliability": ("reliability",),
        ".reliability.repeats": ("include_repeats",),
        ".standard_errors": ("errors_under_choices", "mixed", "sequential", "wild"),
        ".standard_errors.resample": ("Bootstrap", "bootstrap"),
        ".verbs.amce": ("amce", "amce_by_reference"),
        ".verbs.cj": ("amce_diffs", "cj", "cj_anova", "mm", "mm_diffs"),
        ".verbs.conjoint_survey": ("SurveyResult", "conjoint"),
        ".verbs.frequencies": ("cj_freqs", "cj_props", "cj_table"),
        ".verbs.people_diffs": ("people_diffs",),
        ".verbs.projoint": ("projoint",),
    },
)
