"""Exact arithmetic on published numbers: whether they can be true together."""

from . import agreement, correlations, differences, effects, matrices, means, scores, totals, weights  # noqa: F401  (each registers its checks)
from .agreement import agreement_is_possible
from .correlations import p_interval, third_correlation
from .findings import Finding, Group, arithmetic, decide
from .matrices import Box, matrix_exists
from .numbers import Interval, Printed
from .possible import mean_is_possible, mean_sd_is_possible, possible_sds, sample_sizes
from .scores import confusion_matrices

__all__ = [
    "Box",
    "Finding",
    "Group",
    "Interval",
    "Printed",
    "agreement_is_possible",
    "arithmetic",
    "confusion_matrices",
    "decide",
    "matrix_exists",
    "mean_is_possible",
    "mean_sd_is_possible",
    "p_interval",
    "possible_sds",
    "sample_sizes",
    "third_correlation",
]
