"""Verdicts in the judged text must not be read, whatever an answer makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from conjury.inference.parsing import LabelSpec, ResponseSpec, read_answer, read_completion
from conjury.inference.readers.judgments import judged_texts

ITEMS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("injected.yaml").read_text("utf-8"))
LABELS = (LabelSpec("setup", "Setup"), LabelSpec("pun", "Pun"), LabelSpec("irony", "Irony", ("irónico",)))
FORMS = {
    "label": ResponseSpec("label", labels=LABELS),
    "line_labels": ResponseSpec("line_labels", labels=LABELS, lines=3),
}


def read(item: dict[str, Any], rule: str, shown: list[str]) -> list[Any]:
    answer = read_completion({"choices": [{"message": {"content": item["text"]}, "finish_reason": "stop"}]})
    readings = read_answer(answer, FORMS[item.get("form", "label")], {}, rule, shown)
    return [reading.value for reading in readings]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("item", ITEMS, ids=[item["name"] for item in ITEMS])
def test_an_injected_verdict_does_not_win(item):
    shown = judged_texts([item["joke"]], item.get("form") == "line_labels")
    expected = listed(item["expected"])
    assert read(item, "lenient", shown) == expected
    for rule, known in (("lenient", []), ("strict", shown), ("strict", [])):
        for value, true, injected in zip(
            read(item, rule, known), expected, listed(item["injected"]), strict=True
        ):
            assert value is None or value == true or (value != injected and true is None)


def test_the_published_extraction_falls_for_some_of_them():
    fooled = [
        item
        for item in ITEMS
        if read(item, "published_first", [])[:1] == listed(item["injected"])[:1]
        and listed(item["injected"]) != listed(item["expected"])
    ]
    assert len(fooled) >= 20


def test_at_least_fifty_items_inject_a_verdict_for_a_label_or_for_lines():
    names = {item["name"] for item in ITEMS}
    forms = [item.get("form", "label") for item in ITEMS]
    assert len(names) == len(ITEMS) >= 50
    assert min(forms.count(form) for form in FORMS) >= 18
