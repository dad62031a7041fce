"""What users ask for most, at the top: ``import conjury as cj; cj.amce(...)``.

Each name is imported from its module when it is first used, so that ``import conjury`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conjury.analysis.benchmark import score as score
    from conjury.analysis.checks import diagnose as diagnose
    from conjury.analysis.conjoint import amce as amce
    from conjury.analysis.conjoint import amce_diffs as amce_diffs
    from conjury.analysis.conjoint import cj as cj
    from conjury.analysis.conjoint import cj_freqs as cj_freqs
    from conjury.analysis.conjoint import conjoint as conjoint
    from conjury.analysis.conjoint import mm as mm
    from conjury.analysis.conjoint import mm_diffs as mm_diffs
    from conjury.analysis.conjoint import people_diffs as people_diffs
    from conjury.analysis.conjoint import power as power
    from conjury.analysis.conjoint import wild as wild
    from conjury.analysis.instrument.pairs import compare_pairs as compare_pairs
    from conjury.analysis.raters import agreement as agreement
    from conjury.analysis.raters import alt_test as alt_test
    from conjury.analysis.raters import prediction_powered as prediction_powered
    from conjury.analysis.raters.automation import automate as automate
    from conjury.analysis.raters.labelling import label as label
    from conjury.analysis.raters.systems import combine_judges as combine_judges
    from conjury.analysis.raters.systems import compare_systems as compare_systems
    from conjury.analysis.raters.validation import compare_runs as compare_runs
    from conjury.analysis.raters.validation import judge as judge
    from conjury.analysis.trial import run_trial as run_trial
    from conjury.inference.collecting import collect as collect
    from conjury.inference.readers.any_file import read as read

    __version__: str

MODULES = {
    "analysis.benchmark": ("score",),
    "analysis.checks": ("diagnose",),
    "analysis.conjoint": (
        "amce",
        "amce_diffs",
        "cj",
        "cj_freqs",
        "conjoint",
        "mm",
        "mm_diffs",
        "people_diffs",
        "power",
        "wild",
    ),
    "analysis.instrument.pairs": ("compare_pairs",),
    "analysis.raters": ("agreement", "alt_test", "prediction_powered"),
    "analysis.raters.automation": ("automate",),
    "analysis.raters.labelling": ("label",),
    "analysis.raters.systems": ("combine_judges", "compare_systems"),
    "analysis.raters.validation": ("compare_runs", "judge"),
    "analysis.trial": ("run_trial",),
    "inference.collecting": ("collect",),
    "inference.readers.any_file": ("read",),
}
FURTHER = {  # names that were at the top, and are found there until version 0.3
    "MapRequest": "analysis.raters.systems",
    "check_collected": "analysis.checks",
    "load_any_study": "inference.study",
}
__all__ = [name for names in MODULES.values() for name in names]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("conjury")
    homes = {each: module for module, names in MODULES.items() for each in names} | FURTHER
    if name in homes:
        return getattr(import_module(f"conjury.{homes[name]}"), name)
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, n=1)
    raise AttributeError(
        f"conjury has no {name!r}{f' (did you mean {close[0]!r}?)' if close else ''}; it has "
        f"{', '.join(sorted(__all__))}, and more in the modules "
        f"{', '.join(f'conjury.{module}' for module in MODULES)}"
    )


def __dir__() -> list[str]:
    return sorted(__all__)
