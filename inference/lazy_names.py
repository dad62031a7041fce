"""Names of a package, imported from its modules when they are used, so that a command loads what it runs."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyPackage(ModuleType):
    """A package whose names are imported on demand, also where a folder is called like a function of it."""

    _homes: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        """Import a name of the package from its module."""
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(self._homes[name], self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds a folder to its parent after import, where `power` and `agreement` are functions.
        if name not in self._homes or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._homes})


def import_when_used(package: str, modules: Mapping[str, Sequence[str]]) -> None:
    """Let a package have the names of its modules, by their relative path, without importing them."""
    module = sys.modules[package]
    module.__dict__["_homes"] = {name: place for place, names in modules.items() for name in names}
    module.__class__ = _LazyPackage
