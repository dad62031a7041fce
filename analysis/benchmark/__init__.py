"""Judges scored against gold labels: metrics, repeated answers, missing answers, baselines."""

from .result import BenchmarkResult
from .scoring import Scored, score

__all__ = ["BenchmarkResult", "Scored", "score"]
