"""The JSON schema of study files: it describes every field, and accepts and rejects what the models do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from pydantic import ValidationError

from conjury.inference.study import ItemStudy, Study
from conjury.inference.study.study_schema import SCHEMA_FILE, schema_text, study_schema
from conjury.inference.tables.files import EXAMPLES, ROOT, STUDIES, TEMPLATES

SCHEMA = study_schema()
VALIDATOR = Draft7Validator(SCHEMA)
SHIPPED = sorted(
    [*STUDIES.glob("*/study.yaml"), *TEMPLATES.glob("*/study.yaml"), *EXAMPLES.glob("instrument/*.yaml")]
)
WRONG: tuple[Any, ...] = (7, "", "No such thing!", [], {}, True, -3.5)


def as_editors_read(content: Any) -> Any:
    """The content of a file with dates as text, as YAML 1.2 has them."""
    if isinstance(content, dict):
        return {name: as_editors_read(value) for name, value in content.items()}
    if isinstance(content, list):
        return [as_editors_read(value) for value in content]
    return content.isoformat() if isinstance(content, date) else content


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = as_editors_read(yaml.safe_load(path.read_text(encoding="utf-8")))
    return content


def models_accept(content: dict[str, Any]) -> bool:
    try:
        (ItemStudy if content.get("kind") == "items" else Study).model_validate(content)
    except ValidationError:
        return False
    return True


def places(content: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place of a content: keys of all mappings, and the first two of all lists."""
    inside = content.items() if isinstance(content, dict) else enumerate(content[:2])
    for name, value in inside:
        yield (*at, name)
        if isinstance(value, dict | list):
            yield from places(value, (*at, name))


def around(content: Any, at: tuple[str | int, ...]) -> Any:
    for step in at[:-1]:
        content = content[step]
    return content


def spoiled(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Copies of a content with one thing changed: a field gone, unknown, or with a value of another type."""
    for at in places(content):
        changes: list[Any] = [lambda part, key: part.pop(key)]
        changes += [lambda part, key, value=value: part.__setitem__(key, value) for value in WRONG]
        if isinstance(around(content, at), dict):
            changes.append(lambda part, key: part.__setitem__("no_such_field", 1))
        for number, change in enumerate(changes):
            copy = deepcopy(content)
            change(around(copy, at), at[-1])
            yield f"{at} {number}", copy


def test_the_schema_is_one_and_the_file_that_is_published_is_this_schema():
    Draft7Validator.check_schema(SCHEMA)
    assert (ROOT / "data" / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text()


def test_every_field_has_a_description_and_none_repeats_its_name_as_a_title():
    for name, part in SCHEMA["definitions"].items():
        assert part["description"], name
        for field, schema in part["properties"].items():
            assert re.fullmatch(r"[A-Z`a-z].{4,}[.)]", schema["description"]), (name, field)
            assert "title" not in schema, (name, field)
    assert "``" not in schema_text()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}")
def test_studies_that_ship_are_accepted(path):
    assert [error.message for error in VALIDATOR.iter_errors(read(path))] == []


@pytest.mark.parametrize(
    "template", ["minimal", *(pytest.param(name, marks=pytest.mark.long) for name in ("ratings", "labels"))]
)
def test_a_file_with_one_thing_changed_is_rejected_exactly_if_the_models_reject_it(template):
    content = read(TEMPLATES / template / "study.yaml")
    verdicts = [(what, models_accept(copy), VALIDATOR.is_valid(copy)) for what, copy in spoiled(content)]
    assert [what for what, accepted, valid in verdicts if accepted != valid] == []
    assert 100 < sum(not accepted for _, accepted, _ in verdicts) < len(verdicts)


def test_numbers_may_be_fractions_in_text_and_comparisons_are_lists():
    content = read(TEMPLATES / "minimal" / "study.yaml")
    levels = content["attributes"][0]["levels"]
    levels[0]["probability"], levels[1]["probability"] = "1/7", "6/7"
    comparisons = {"name": "c", "verb": "choice_level", "title": "C", "formula": "chosen ~ size"}
    content["analyses"].append(comparisons | {"comparisons": [["small", "large"]]})
    assert VALIDATOR.is_valid(content)
    assert models_accept(content)
    levels[0]["probability"] = "one seventh"
    assert not VALIDATOR.is_valid(content)
    assert not models_accept(content)
    content["kind"] = "survey"
    assert any("'conjoint' was expected" in error.message for error in VALIDATOR.iter_errors(content))
