"""Pairs of answers that a judge compared: win rates, position, length, and rankings of systems."""

from .pairs_comparison import compare_pairs

__all__ = ["compare_pairs"]
