"""Coefficients of agreement among raters, with intervals."""

from .agreement import agreement

__all__ = ["agreement"]
