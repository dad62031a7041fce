"""Reading answers: from the JSON of a chat completion to values with a status and the rule that read them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answer_rules import explain, read_answer, refusal_version, rules
    from .received import read_completion
    from .spec import Answer, LabelSpec, Reading, ResponseSpec, ScaleSpec, dimensions

__all__ = [
    "Answer",
    "LabelSpec",
    "Reading",
    "ResponseSpec",
    "ScaleSpec",
    "dimensions",
    "explain",
    "read_answer",
    "read_completion",
    "refusal_version",
    "rules",
]

_MODULES = {
    "answer_rules": ("explain", "read_answer", "refusal_version", "rules"),
    "received": ("read_completion",),
    "spec": ("Answer", "LabelSpec", "Reading", "ResponseSpec", "ScaleSpec", "dimensions"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a backend reads the end of an answer without the rules of studies."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
