"""Exact arithmetic on published numbers: whether they can be true together."""

from .agreement_arithmetic import agreement_is_possible
from .correlation_arithmetic import p_interval, third_correlation
from .findings import Finding, Group, arithmetic, decide
from .matrix_arithmetic import Box, matrix_exists
from .numbers import Interval, Printed
from .possible_means import mean_is_possible, mean_sd_is_possible, possible_sds, sample_sizes
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
