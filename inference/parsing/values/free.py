"""Text that a model writes."""

from __future__ import annotations

from collections.abc import Sequence

from ..completion import Answer
from ..spec import Finding, ResponseSpec


def whole(
    answer: Answer, response: ResponseSpec, order: Sequence[str], shown: Sequence[str]
) -> list[Finding]:
    """Take the text as it is, without blanks around it."""
    return [Finding("text", answer.text.strip() or None)]
