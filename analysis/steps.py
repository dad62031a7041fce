"""Steps of the pipeline, and the registration by which an analysis says when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from .results import Result


@dataclass(frozen=True)
class Step:
    """An analysis to be run: its name in the results folder, its title, and the call.

    Nothing is written when a ``required`` step cannot be computed; any other step becomes a note.
    """

    name: str
    title: str
    call: Callable[[], Result]
    required: bool = False


Planner = Callable[[Any, Mapping[str, Any]], Iterable[Step]]  # of the data, and alpha, draws and seed


@dataclass(frozen=True)
class Registered:
    """A planner of steps, the data that it applies to, and its place in the order of a report."""

    planner: Planner
    order: int
    when: Callable[[Any], bool]


_REGISTERED: dict[str, list[Registered]] = {}


def analysis(
    room: str, order: int, when: Callable[[Any], bool] = lambda data: True
) -> Callable[[Planner], Planner]:
    """Register the planner of an analysis, in the module of the analysis; ``room`` is its folder."""

    def register(planner: Planner) -> Planner:
        _REGISTERED.setdefault(room, []).append(Registered(planner, order, when))
        return planner

    return register


def steps_of(room: ModuleType, data: Any, drawn: Mapping[str, Any]) -> Iterator[Step]:
    """Steps of all analyses of a folder that the data allow, in the order of a report."""
    for module in iter_modules(room.__path__, f"{room.__name__}."):
        import_module(module.name)
    registered = _REGISTERED.get(room.__name__.rpartition(".")[2], [])
    for one in sorted(registered, key=lambda known: known.order):
        if one.when(data):
            yield from one.planner(data, drawn)
