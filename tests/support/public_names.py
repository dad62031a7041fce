"""The functions that `__all__` of any module names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from golden import REPOSITORY


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for layer in ("analysis", "inference"):
        for path in sorted((REPOSITORY / layer).rglob("*.py")):
            if "__all__ = [" not in path.read_text(encoding="utf-8") or path.name == "__main__.py":
                continue
            parts = ("conjury", *path.relative_to(REPOSITORY).with_suffix("").parts)
            module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
            for name in module.__all__:
                thing = getattr(module, name)
                if inspect.isfunction(thing):
                    yield f"{inspect.unwrap(thing).__module__}.{name}", thing
