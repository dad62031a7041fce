"""The contract between collecting and analysing: which tables there are, how they are read and written."""

from typing import TYPE_CHECKING

from ..lazy_names import import_when_used

if TYPE_CHECKING:
    from .files import read_table, write_table
    from .schema import fields_of, require_columns, validate

__all__ = ["fields_of", "read_table", "require_columns", "validate", "write_table"]

import_when_used(
    __name__,
    {
        ".files": ("read_table", "write_table"),
        ".schema": ("fields_of", "require_columns", "validate"),
    },
)
