"""The linters of the project, as modules."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from shared_folder import REPOSITORY


def lint(name: str) -> ModuleType:
    """Return a linter in `.ci` by the name of its file."""
    specification = importlib.util.spec_from_file_location(name, REPOSITORY / ".ci" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
