"""Exact arithmetic on published numbers: whether they can be true together."""

from . import means, totals, weights  # noqa: F401  (each registers its checks)
from .findings import Finding, Group, arithmetic, decide
from .numbers import Interval, Printed
from .possible import common_sample_sizes, mean_is_possible, mean_sd_is_possible, possible_sds, sample_sizes

__all__ = [
    "Finding",
    "Group",
    "Interval",
    "Printed",
    "arithmetic",
    "common_sample_sizes",
    "decide",
    "mean_is_possible",
    "mean_sd_is_possible",
    "possible_sds",
    "sample_sizes",
]
