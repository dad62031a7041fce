"""The contract between collecting and analysing: which tables there are, how they are read and written."""

from .files import read_table, write_table
from .schema import fields_of, require_columns, schema, validate

__all__ = ["fields_of", "read_table", "require_columns", "schema", "validate", "write_table"]
