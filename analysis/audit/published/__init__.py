"""Published tables: read from files, described, and checked number by number."""

from .checked_tables import check_table, check_tables, write_description
from .description import Description, read_description
from .shipped import shipped_checks
from .table_files import locate, read_tables
from .table_grid import Table

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
