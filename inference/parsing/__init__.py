"""Reading answers: from the JSON of a chat completion to values with a status and the rule that read them."""

from .received import read_completion
from .rules import explain, read_answer, refusal_version, rules
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
