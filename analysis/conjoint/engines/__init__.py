"""Engines that solve a plan's regressions; each imports its library only when called."""

from ..estimates import Solution
from .solution import assemble, solve

__all__ = ["Solution", "assemble", "solve"]
