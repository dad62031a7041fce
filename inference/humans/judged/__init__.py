"""Files with answers of judges next to those of people: tables, and what evaluation programs write."""

from .files import read_judged
from .table import Judged

__all__ = ["Judged", "read_judged"]
