"""Corrections of what models answer by what people answer, bounds for what nobody answered, and plans."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bounds import covering_interval, tipping_share
    from .correction_methods import CovariateAdjustment, DesignBased, PredictThenDebias, SwappingErrors
    from .labelling_plan import label_plan
    from .misclassification import calibration_split, rates

__all__ = [
    "CovariateAdjustment",
    "DesignBased",
    "PredictThenDebias",
    "SwappingErrors",
    "calibration_split",
    "covering_interval",
    "label_plan",
    "rates",
    "tipping_share",
]

_MODULES = {
    "bounds": ("covering_interval", "tipping_share"),
    "correction_methods": ("CovariateAdjustment", "DesignBased", "PredictThenDebias", "SwappingErrors"),
    "misclassification": ("calibration_split", "rates"),
    "labelling_plan": ("label_plan",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a correction of labels does not wait for plans of conjoints."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
