"""Published numbers: checked against each other, and compared with ours."""

from .harm_or_humor import compare_harm
from .moderation import compare_moderation
from .multiturn import compare_multiturn, published_protocol
from .oogiri import compare_oogiri, published_checks
from .paper_comparison import compare, published_numbers
from .published import check_table, check_tables

__all__ = [
    "check_table",
    "check_tables",
    "compare",
    "compare_harm",
    "compare_moderation",
    "compare_multiturn",
    "compare_oogiri",
    "published_checks",
    "published_numbers",
    "published_protocol",
]
