"""What can be added by name: by modules of a folder, by installed distributions, or found in a wing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import InputError, MissingDependency

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry]):
    """Entries by name: registered by modules of some folders, or found at places on demand."""

    # `group` names entry points by which other distributions add entries: one that names a module imports it,
    # so that its decorators register entries; one that names `module:object` is a place. `places` are
    # `module:object` or a module, by the name of the entry; one whose module is absent is no entry.

    def __init__(
        self, group: str, folders: Iterable[str] = (), places: Mapping[str, str] | None = None
    ) -> None:
        self.group, self.folders, self.places = group, tuple(folders), dict(places or {})
        self.registered: dict[str, Entry] = {}
        self._distributions: dict[str, str] = {}  # that add places, by the name of the entry
        self._is_complete = False

    def __getitem__(self, name: str) -> Entry:
        if name not in self.places:
            self.complete()
        if name in self.places and name not in self.registered and _is_there(self.places[name]):
            self.registered[name] = self._imported(self.places[name], self._distributions.get(name))
        return self.registered[name]

    def __iter__(self) -> Iterator[str]:
        self.complete()
        names = [name for name, place in self.places.items() if _is_there(place)]
        return iter(dict.fromkeys([*names, *self.registered]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str) -> Entry:
        """Return an entry; MissingDependency where the installation lacks its module."""
        try:
            return self[name]
        except KeyError:
            module = self.places.get(name, name).partition(":")[0]
            raise MissingDependency(
                f"This installation of conjury has no {module}; install it as a whole, with "
                "`pip install --force-reinstall conjury`."
            ) from None

    def complete(self) -> None:
        """Import the modules of the folders and those of entry points, and note the places of others."""
        if self._is_complete:
            return
        for folder in self.folders:
            for module in walk_packages(import_module(folder).__path__, f"{folder}."):
                import_module(module.name)
        for point in _entry_points().select(group=self.group):
            distribution = point.dist.name if point.dist is not None else "a distribution"
            if not point.attr:
                self._imported(point.module, distribution)
            elif self.places.setdefault(point.name, place := f"{point.module}:{point.attr}") == place:
                self._distributions[point.name] = distribution
            else:
                raise InputError(
                    f"{distribution} adds {point.name!r} to {self.group}, which has it from "
                    f"{self.places[point.name]}; rename the entry point, or uninstall {distribution}."
                )
        self._is_complete = True

    def _imported(self, place: str, distribution: str | None) -> Any:
        """What a place names; InputError where another distribution names what cannot be imported."""
        module, _, name = place.partition(":")
        try:
            loaded = import_module(module)
            return getattr(loaded, name) if name else loaded
        except Exception as error:
            if distribution is None:
                raise
            raise InputError(
                f"{distribution} adds {place} to {self.group}, which cannot be imported ({error}); repair or "
                f"uninstall {distribution}."
            ) from error


@cache
def _entry_points() -> EntryPoints:
    """Entry points of all installed distributions."""
    from importlib.metadata import entry_points  # here, since it takes as long as a short command

    return entry_points()


def _is_there(place: str) -> bool:
    """Whether there is a module by the name of a place."""
    try:
        return find_spec(place.partition(":")[0]) is not None
    except ModuleNotFoundError:  # of the folder of the module
        return False
