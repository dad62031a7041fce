"""Tables of others: one reader, one set of rules about cells, and an account of what was done."""

from typing import TYPE_CHECKING

from ...lazy_names import import_when_used

if TYPE_CHECKING:
    from .account import AccountEntry, ReadingAccount
    from .answers.compared_answers import ComparedAnswers, read_answers
    from .containers import FORMATS
    from .reading_rules import ReadingRules
    from .table_reading import TableReading, read

__all__ = [
    "FORMATS",
    "AccountEntry",
    "ComparedAnswers",
    "ReadingAccount",
    "ReadingRules",
    "TableReading",
    "read",
    "read_answers",
]

import_when_used(
    __name__,
    {
        ".account": ("AccountEntry", "ReadingAccount"),
        ".answers.compared_answers": ("ComparedAnswers", "read_answers"),
        ".containers": ("FORMATS",),
        ".reading_rules": ("ReadingRules",),
        ".table_reading": ("TableReading", "read"),
    },
)
