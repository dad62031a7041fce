"""What reports show of each kind of result."""

from .exhibit_registry import EXHIBITS, Drawn, Exhibit, ExhibitBuilder, Laid, exhibit

__all__ = ["EXHIBITS", "Drawn", "Exhibit", "ExhibitBuilder", "Laid", "exhibit"]
