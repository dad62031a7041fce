"""Reports: what Quarto documents print of a results folder."""

from .results_report import Report, load

__all__ = ["Report", "load"]
