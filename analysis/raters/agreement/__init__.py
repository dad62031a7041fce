"""Coefficients of agreement among raters, with intervals."""

from .agreement_coefficients import agreement

__all__ = ["agreement"]
