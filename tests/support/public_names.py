"""The modules with an `__all__`, and the functions that these name."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from shared_folder import REPOSITORY


def public_modules() -> Iterator[str]:
    for layer in ("analysis", "cli", "inference"):
        for path in sorted((REPOSITORY / layer).rglob("*.py")):
            if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                parts = path.relative_to(REPOSITORY).with_suffix("").parts
                name = ".".join(("conjury", *(part for part in parts if part != "__init__")))
                yield name.removesuffix(".cli.package")


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in public_modules():
        module = importlib.import_module(name)
        for public in module.__all__:
            thing = getattr(module, public)
            if inspect.isfunction(thing):
                yield f"{inspect.unwrap(thing).__module__}.{public}", thing
