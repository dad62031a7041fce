"""Tables of others: one reader, one set of rules about cells, and an account of what was done."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .account import AccountEntry, ReadingAccount
    from .compared_answers import ComparedAnswers, read_answers
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
_PLACES = {
    "AccountEntry": "account",
    "ReadingAccount": "account",
    "ComparedAnswers": "compared_answers",
    "read_answers": "compared_answers",
    "FORMATS": "containers",
    "ReadingRules": "reading_rules",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: tables of the contract need none of these formats."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES.get(name, 'table_reading')}", __name__), name)
