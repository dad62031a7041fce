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

ITEMS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text("utf-8"))
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


@pytest.mark.parametrize("item", ITEMS, ids=[item["name"] for item in ITEMS])
def test_hostile_answers_are_read_as_their_authors_meant(item):
    response = FORMS[item.get("form", "choice")]
    message = {"message": {"content": item["text"]}, "finish_reason": item.get("finish_reason", "stop")}
    answer = read_completion({"choices": [message]})
    readings = read_answer(answer, response, {}, item.get("rule", "default"), item.get("shown", ()))
    status = item.get("status", "ok")
    expected = status if isinstance(status, list) else [status] * len(readings)
    assert [reading.dimension for reading in readings] == list(dimensions(response))
    assert [reading.value for reading in readings] == item["expected"], readings
    assert [reading.status for reading in readings] == expected, readings
