"""Published tables: read from files, described, and checked number by number."""

from .checking import check_table, check_tables, write_description
from .description import Description, read_description
from .grid import Table
from .shipped import shipped_checks
from .tables import locate, read_tables

__all__ = [
    "Description",
    "Table",
    "check_table",
    "check_tables",
    "locate",
    "read_description",
    "read_tables",
    "shipped_checks",
    "write_description",
]
