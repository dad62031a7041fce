"""The contract between collecting and analysing: which tables there are, how they are read and written."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .files import read_table, write_table
    from .schema import fields_of, require_columns, validate

__all__ = ["fields_of", "read_table", "require_columns", "validate", "write_table"]


def __getattr__(name: str) -> Any:
    """Import a name when it is used: the command line starts without pandas."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "files" if name.endswith("_table") else "schema"
    return getattr(import_module(f".{module}", __name__), name)
