"""Functions that numba compiles, as the plain Python that they are written in."""

from __future__ import annotations

from types import ModuleType

import pytest


def uncompile(patch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Let functions of modules call each other without compiling."""
    for module in modules:
        for name, function in list(vars(module).items()):
            if hasattr(function, "py_func"):
                patch.setattr(module, name, function.py_func)
