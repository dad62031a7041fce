"""Conjoint estimators: effects and means with errors that fit the design, comparisons, reliability, power."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "..frames.cells": ("RepeatsExcluded", "RespondentsExcluded"),
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
    ".choice_bounds": ("bounds",),
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
    ".standard_errors.resample": ("Bootstrap", "bootstrap"),
    ".standard_errors": ("errors_under_choices", "mixed", "sequential", "wild"),
    ".verbs.amce": ("amce", "amce_by_reference"),
    ".verbs.cj": ("amce_diffs", "cj", "cj_anova", "mm", "mm_diffs"),
    ".verbs.frequencies": ("cj_freqs", "cj_props", "cj_table"),
    ".verbs.people_diffs": ("people_diffs",),
    ".verbs.projoint": ("projoint",),
    ".verbs.conjoint_survey": ("SurveyResult", "conjoint"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: an AMCE does not wait for power, preferences and models."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _VerbModule(ModuleType):
    """A module in which verbs keep their names when a folder of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds a folder to its parent after import, and `power` and `reliability` are functions here.
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _VerbModule
