"""What reports show of each kind of result; importing a module registers its exhibits."""

from . import (
    agreement,
    bounds,
    cards,
    conjoint,
    corrections,
    diagnostics,
    mistakes,
    people,
    published,
    rater_models,
    ratings,
    recovery,
    robustness,
    scores,
)
from .registry import KINDS, Drawn, Exhibit, Kind, Laid, exhibit

__all__ = [
    "KINDS",
    "Drawn",
    "Exhibit",
    "Kind",
    "Laid",
    "agreement",
    "bounds",
    "cards",
    "conjoint",
    "corrections",
    "diagnostics",
    "exhibit",
    "mistakes",
    "people",
    "published",
    "rater_models",
    "ratings",
    "recovery",
    "robustness",
    "scores",
]
