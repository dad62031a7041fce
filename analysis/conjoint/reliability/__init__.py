"""Reliability from repeated tasks, and estimates corrected for it."""

from .reliability_estimate import Reliability, reliability

__all__ = ["Reliability", "reliability"]
