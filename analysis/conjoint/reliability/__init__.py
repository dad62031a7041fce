"""Reliability from repeated tasks, and estimates corrected for it."""

from .estimate import Reliability, reliability
from .projoint import projoint

__all__ = ["Reliability", "projoint", "reliability"]
