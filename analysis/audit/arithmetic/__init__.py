"""Exact arithmetic on published numbers: whether they can be true together."""

from .findings import Finding, Group, arithmetic, decide
from .numbers import Interval, Printed

__all__ = ["Finding", "Group", "Interval", "Printed", "arithmetic", "decide"]
