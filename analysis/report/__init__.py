"""Reports: what Quarto documents print of a results folder."""

from .report import Report, load

__all__ = ["Report", "load"]
