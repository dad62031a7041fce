"""Where results find what lays them out for papers: a room above theirs, which is entered from above."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

_rooms: list[Callable[[], ModuleType]] = []


def enter_layouts(load: Callable[[], ModuleType]) -> None:
    """Enter what imports the module whose functions lay out a result."""
    _rooms[:] = [load]


def layouts() -> ModuleType:
    """Import the module that was entered: `table`, `text` and `word` of a result."""
    return _rooms[0]()
