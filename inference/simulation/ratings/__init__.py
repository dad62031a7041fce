"""Studies of ratings: items, who rates what, tiers by votes, and simulated ratings with a known truth."""

from ...design.drawn import assign_raters
from ...design.tiers import TierSelection, VoteFilter, select_tiers
from .draws import RatingTruth, make_up_items, read_items
from .simulate import RatingSimulation, simulate_ratings
from .truth import true_ratings
from .truth_table import read_rating_truth

__all__ = [
    "RatingSimulation",
    "RatingTruth",
    "TierSelection",
    "VoteFilter",
    "assign_raters",
    "make_up_items",
    "read_items",
    "read_rating_truth",
    "select_tiers",
    "simulate_ratings",
    "true_ratings",
]
