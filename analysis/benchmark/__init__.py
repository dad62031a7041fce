"""Judges scored against gold labels: metrics, repeated answers, missing answers, baselines."""

from ..results import Result
from .answer_odds import mixed_logit
from .confusion import by_label, confusion
from .data.score import score
from .data.scoring import Scored
from .differences import differences
from .parse_status import readings
from .pass_at_k import passes
from .probabilities import calibration, probabilities
from .robustness import robustness
from .score_bounds import bounds
from .score_gaps import score_gaps
from .scores import scores

__all__ = [
    "Result",
    "Scored",
    "bounds",
    "by_label",
    "calibration",
    "confusion",
    "differences",
    "mixed_logit",
    "passes",
    "probabilities",
    "readings",
    "robustness",
    "score",
    "score_gaps",
    "scores",
]
