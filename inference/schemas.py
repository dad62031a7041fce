"""The answers that a response form allows, as a list of options and as a JSON schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .collecting_parts import Choice, FreeText, Label, LineLabels, Ratings, Response


def answer_options(response: Response) -> list[str]:
    """Return the options, labels or scales of a response form, in the order of the study file.

    Examples
    --------
    >>> answer_options(Choice(form="choice"))
    ['A', 'B']
    """
    if isinstance(response, Choice):
        return list(response.options)
    if isinstance(response, Ratings):
        return [scale.id for scale in response.scales]
    if isinstance(response, FreeText):
        return []
    return [label.id for label in response.labels]


def answer_schema(response: Response, order: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer, its options in the given order.

    A choice is ``{"choice": ...}``, a label has the name of its dimension or a key of its own, ratings have
    one whole number a scale, line labels are the list ``labels``, free text is ``text``. Reasoning that is
    asked for stands behind the label.
    """
    if isinstance(response, Choice):
        return _object({"choice": {"type": "string", "enum": list(order)}})
    if isinstance(response, Label | LineLabels):
        one: dict[str, Any] = {"type": "string", "enum": list(order)}
        given = one if isinstance(response, Label) else {"type": "array", "items": one}
        reasoning = {} if response.reasoning is None else {response.reasoning: {"type": "string"}}
        return _object({response.json_key: given, **reasoning})
    if isinstance(response, Ratings):
        scales = {scale.id: scale for scale in response.scales}
        ranges = {
            name: {"type": "integer", "minimum": scales[name].minimum, "maximum": scales[name].maximum}
            for name in order
        }
        return _object(ranges)
    return _object({"text": {"type": "string"}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
