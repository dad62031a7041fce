"""Judges scored against gold labels: metrics, repeated answers, missing answers, baselines."""

from .confusion import by_label, confusion
from .passes import passes
from .probabilities import probabilities
from .published import published
from .readings import readings
from .result import BenchmarkResult
from .scores import scores
from .scoring import Scored, score

__all__ = [
    "BenchmarkResult",
    "Scored",
    "by_label",
    "confusion",
    "passes",
    "probabilities",
    "published",
    "readings",
    "score",
    "scores",
]
