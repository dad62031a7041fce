"""Files with answers of judges next to those of people: tables, and what evaluation programs write."""

from .judged_files import read_judged
from .judged_table import Judged

__all__ = ["Judged", "read_judged"]
