"""Corrections of what models answer by what people answer, bounds for what nobody answered, and plans."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bounds import covering_interval, tipping_share
    from .misclassification import calibration_split, rates
    from .plan import label_plan

__all__ = ["calibration_split", "covering_interval", "label_plan", "rates", "tipping_share"]

_PLACES = {"calibration_split": "misclassification", "rates": "misclassification", "label_plan": "plan"}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a correction of labels does not wait for plans of conjoints."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES.get(name, 'bounds')}", __name__), name)
