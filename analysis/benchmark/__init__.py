"""Judges scored against gold labels: metrics, repeated answers, missing answers, baselines."""

from ..audit.multiturn import published
from .confusion import by_label, confusion
from .differences import differences
from .mixed import mixed_logit
from .parse_status import readings
from .pass_at_k import passes
from .probabilities import probabilities
from .result import BenchmarkResult
from .robustness import robustness
from .scores import scores
from .scoring import Scored, score

__all__ = [
    "BenchmarkResult",
    "Scored",
    "by_label",
    "confusion",
    "differences",
    "mixed_logit",
    "passes",
    "probabilities",
    "published",
    "readings",
    "robustness",
    "score",
    "scores",
]
