"""Reading answers: from the JSON of a chat completion to values with a status and the rule that read them."""

from typing import TYPE_CHECKING

from ..lazy_names import import_when_used

if TYPE_CHECKING:
    from .answer_rules import explain, read_answer, rules
    from .received import read_completion
    from .sentences.refusals import refusal_version
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

import_when_used(
    __name__,
    {
        ".answer_rules": ("explain", "read_answer", "rules"),
        ".sentences.refusals": ("refusal_version",),
        ".received": ("read_completion",),
        ".spec": ("Answer", "LabelSpec", "Reading", "ResponseSpec", "ScaleSpec", "dimensions"),
    },
)
