"""Engines that solve a plan's regressions; each imports its library only when called."""

from .solution import Solution, assemble, solve

__all__ = ["Solution", "assemble", "solve"]
