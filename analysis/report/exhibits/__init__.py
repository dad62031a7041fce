"""What reports show of each kind of result; importing this package registers all exhibits."""

from importlib import import_module
from pkgutil import walk_packages

from .exhibit_registry import KINDS, Drawn, Exhibit, Kind, Laid, exhibit

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = ["KINDS", "Drawn", "Exhibit", "Kind", "Laid", "exhibit"]
