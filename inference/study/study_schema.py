"""The JSON schema of study files, from the models that read them: what editors complete and underline."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic.json_schema import models_json_schema

from .models import ItemStudy, Study
from .study_yaml import Part

SCHEMA_FILE = "study.schema.json"
DIALECT = "http://json-schema.org/draft-07/schema#"  # the one that editors of YAML know best
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(/[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)?$"  # 0.2, 1/7
LITERAL = ("default", "enum", "const")  # keywords with values of the file
OF_NAMES = ("properties", "definitions")
LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def study_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 7) of study files."""
    # It accepts whatever `load_any_study` accepts; what several fields state together, such as formulas, and
    # whether files are there, only `conjury validate` checks.
    kinds = (Study, ItemStudy)
    _, json_schema = models_json_schema(
        [(kind, "validation") for kind in kinds], ref_template="#/definitions/{model}"
    )
    definitions = json_schema["$defs"]
    models = {model.__name__: model for model in _models(Part)}
    for name, definition in definitions.items():
        docs = field_docs(models[name])
        for field, schema in definition["properties"].items():
            schema["description"] = docs[field]
        definition["description"] = _plain((inspect.getdoc(models[name]) or "").partition("\n\n")[0])
    condition = {"properties": {"kind": {"const": "items"}}, "required": ["kind"]}
    document = {
        "$schema": DIALECT,
        "title": "Study file of conjury",
        "description": "What is judged, by whom, under which prompts, and how answers are analysed.",
        "type": "object",
        "if": condition,
        "then": {"$ref": f"#/definitions/{ItemStudy.__name__}"},
        "else": {"$ref": f"#/definitions/{Study.__name__}"},
        "definitions": definitions,
    }
    tidy: dict[str, Any] = _tidy(document)
    return tidy


@cache
def schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"


def field_docs(model: type[Part]) -> dict[str, str]:
    """Return the docstring below each field of a model, those of its bases included."""
    docs: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, Part):
            docs |= _docs_in(inspect.getmodule(kind)).get(kind.__name__, {})
    return docs


@cache
def _docs_in(module: ModuleType | None) -> Mapping[str, Mapping[str, str]]:
    """Read the docstrings below fields from the source of a module, by class and field."""
    if module is None or module.__file__ is None:
        return {}
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_docs_of(node)) for node in classes}


def _docs_of(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            yield field.target.id, _plain(inspect.cleandoc(str(below.value.value)))


def _models(model: type[Part]) -> Iterator[type[Part]]:
    for kind in model.__subclasses__():
        yield kind
        yield from _models(kind)


def _plain(text: str) -> str:
    """A docstring as a text: one line a paragraph, without marks of Sphinx."""
    paragraphs = re.sub(r"`{2}|:func:", "`", text).replace("``", "`").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _tidy(schema: Any, names: bool = False) -> Any:
    """Write parts of a schema in the form of draft 7; in ``names`` keys are names of fields."""
    # Titles repeat names, and are left out. Numbers may be written as text such as 1/7, with limits that no
    # schema can state.
    if isinstance(schema, list):
        return [_tidy(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {name: _tidy(part) for name, part in schema.items()}
    dropped = {"discriminator", "prefixItems", *(() if "definitions" in schema else ("title",))}
    tidy = {
        key: part if key in LITERAL else _tidy(part, names=key in OF_NAMES)
        for key, part in schema.items()
        if key not in dropped
    }
    if "prefixItems" in schema:
        tidy["items"] = _tidy(schema["prefixItems"][0])
    if schema.get("type") == "number" and LIMITS.keys() & schema.keys():
        limits = {LIMITS[key]: tidy.pop(key) for key in LIMITS if key in tidy}
        del tidy["type"]
        tidy["anyOf"] = [{"type": "number", **limits}, {"type": "string", "pattern": NUMBER}]
    return tidy
