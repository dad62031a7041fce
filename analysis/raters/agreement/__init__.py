"""Coefficients of agreement among raters, with intervals."""

from .agree import agreement

__all__ = ["agreement"]
