"""Studies of ratings: items, who rates what, tiers by votes, and simulated ratings with a known truth."""

from ...design.run_design import assign_raters
from ...design.tiers import TierSelection, VoteFilter, select_tiers
from .rating_draws import RatingTruth, make_up_items, read_items
from .rating_simulation import RatingSimulation, simulate_ratings
from .rating_truth import true_ratings
from .rating_truth_table import read_rating_truth

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
