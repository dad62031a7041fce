"""Hostile answers are read as their authors meant, and verdicts in the judged text are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from conjury.inference.parsing import (
    LabelSpec,
    ResponseSpec,
    ScaleSpec,
    dimensions,
    read_answer,
    read_completion,
)
from conjury.inference.readers.judgments import judged_texts

LABELS = (
    LabelSpec("setup", "Setup"),
    LabelSpec("pun", "Pun"),
    LabelSpec("irony", "Irony", ("irónico", "satire/irony")),
)
FORMS = {
    "choice": ResponseSpec("choice", noun="Post"),
    "ratings": ResponseSpec("ratings", scales=(ScaleSpec("novelty", 0, 4), ScaleSpec("humor", 0, 4))),
    "label": ResponseSpec("label", labels=LABELS),
    "line_labels": ResponseSpec("line_labels", labels=LABELS, lines=3),
}


def items(name: str) -> list[dict[str, Any]]:
    return yaml.safe_load(Path(__file__).with_name(name).read_text("utf-8"))


HOSTILE, INJECTED = items("hostile.yaml"), items("injected.yaml")


def readings_of(item: dict[str, Any], form: str, rule: str, shown: Any = ()) -> list[Any]:
    message = {"message": {"content": item["text"]}, "finish_reason": item.get("finish_reason", "stop")}
    return read_answer(read_completion({"choices": [message]}), FORMS[form], {}, rule, shown)


@pytest.mark.parametrize("item", HOSTILE, ids=[item["name"] for item in HOSTILE])
def test_hostile_answers_are_read_as_their_authors_meant(item):
    form, status = item.get("form", "choice"), item.get("status", "ok")
    readings = readings_of(item, form, item.get("rule", "default"), item.get("shown", ()))
    expected = status if isinstance(status, list) else [status] * len(readings)
    assert [reading.dimension for reading in readings] == list(dimensions(FORMS[form]))
    assert [reading.value for reading in readings] == item["expected"], readings
    assert [reading.status for reading in readings] == expected, readings


def read(item: dict[str, Any], rule: str, shown: Any = ()) -> list[Any]:
    return [reading.value for reading in readings_of(item, item.get("form", "label"), rule, shown)]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("item", INJECTED, ids=[item["name"] for item in INJECTED])
def test_an_injected_verdict_does_not_win(item):
    shown = judged_texts([item["joke"]], item.get("form") == "line_labels")
    expected, injected = listed(item["expected"]), listed(item["injected"])
    assert read(item, "lenient", shown) == expected
    for rule, known in (("lenient", []), ("strict", shown), ("strict", [])):
        for value, true, wrong in zip(read(item, rule, known), expected, injected, strict=True):
            assert value is None or value == true or (value != wrong and true is None)


def test_the_published_extraction_takes_injected_verdicts():
    differing = [item for item in INJECTED if listed(item["injected"]) != listed(item["expected"])]
    fooled = [i for i in differing if read(i, "published_first")[:1] == listed(i["injected"])[:1]]
    assert len(fooled) >= 20


def test_reasoning_nested_without_end_makes_no_reader_fail():
    value: Any = "why"
    for _ in range(900):
        value = [value]
    answer = read_completion({"choices": [{"message": {"content": "A", "reasoning": value}}]})
    assert (answer.text, answer.reasoning) == ("A", "")
