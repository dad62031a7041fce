"""What reports show of each kind of result; importing this package registers all exhibits."""

from functools import partial
from importlib import import_module
from pkgutil import walk_packages

from ...frames.kinds import kinds
from .exhibit_registry import EXHIBITS, Drawn, Exhibit, ExhibitBuilder, Laid, exhibit
from .template import TemplateCode, from_texts

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
for _kind in kinds().values():
    if _kind.lead:
        EXHIBITS.setdefault(_kind.name, ExhibitBuilder(partial(from_texts, TemplateCode())))

__all__ = ["EXHIBITS", "Drawn", "Exhibit", "ExhibitBuilder", "Laid", "exhibit"]
