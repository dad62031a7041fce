"""Reports: what Quarto documents print of a folder of results."""

from .exhibits.diagnostics import DiagnosticsReport
from .exhibits.engines import EngineReport
from .missing import load
from .ratings_report import BenchmarkReport, RatingsReport
from .report import Results

__all__ = ["BenchmarkReport", "DiagnosticsReport", "EngineReport", "RatingsReport", "Results", "load"]
