"""Judges scored against gold labels: metrics, repeated answers, missing answers, baselines."""

from .comparisons import differences
from .confusion import by_label, confusion
from .mixed import mixed_logit
from .passes import passes
from .probabilities import probabilities
from .published import published
from .readings import readings
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
