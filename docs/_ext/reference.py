"""Pages of the reference that are made from what they describe: modules, commands, study files, tables."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.core import TyperGroup

from conjury.cli.main import COMMANDS, app
from conjury.inference.tables.files import ROOT
from conjury.inference.tables.schema import KEYS, TABLES, Field

ROOMS = {
    "Results": ("analysis.results",),
    "Conjoints": ("analysis.conjoint",),
    "Ratings and labels": (
        "analysis.raters",
        "analysis.raters.validation",
        "analysis.benchmark",
        "analysis.correction",
    ),
    "Prompts, order and drift": ("analysis.instrument",),
    "Checks, published tables and trials": ("analysis.checks", "analysis.audit", "analysis.trial"),
    "Figures, reports and papers": ("analysis.figures", "analysis.report", "analysis.report.paper"),
    "Studies, designs and simulation": ("inference.study", "inference.design", "inference.simulation"),
    "Collecting": (
        "inference.collecting",
        "inference.vignettes",
        "inference.perturb",
        "inference.parsing",
        "inference.ledger",
    ),
    "Data of people, and tables": ("inference.humans", "inference.tables"),
}

COMMANDS_LEAD = """# Commands

A command ends with 0 if all is well, 1 if a condition that you set is not met, 2 if the input is wrong, and
130 if it was interrupted. With `--json` it prints one document
([Automation](../../howto/collecting/automation.md)).

| command | what it does |
|---|---|
"""
FIELDS_LEAD = """# Fields of the study file

Made from the JSON schema of study files, which `conjury validate --schema` prints.
[The study file](study-file.md) explains the fields in context. `Study` is the file of a conjoint, `ItemStudy`
that of ratings and labels.

"""
TABLES_LEAD = """# Tables

The columns that conjury knows, from the schemas by which it validates every table. Further columns, such as
the attributes of a conjoint, are kept. `conjury validate STUDY TABLE` checks a table.

"""


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of every page."""
    yield from _api()
    yield from _commands()
    yield "reference/study-fields.md", _study_fields()
    yield "reference/tables.md", _tables()


def public(module: Any) -> dict[str, Any]:
    """What ``__all__`` of a module names, without modules."""
    things = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}


def _api() -> Iterator[tuple[str, str]]:
    listed_before = set[int]()
    for rooms in ROOMS.values():
        for room in rooms:
            module = importlib.import_module(f"conjury.{room}")
            title = f"conjury.{room}"
            lead = (inspect.getdoc(module) or "").split("\n\n")[0]
            things = {name: thing for name, thing in public(module).items() if id(thing) not in listed_before}
            listed = "\n".join(f"   {name}" for name in things)
            listed_before |= {id(thing) for thing in things.values()}
            yield (
                f"reference/api/{room}.rst",
                f"{title}\n{'=' * len(title)}\n\n{lead}\n\n.. currentmodule:: {title}\n\n"
                f".. autosummary::\n   :toctree: ../names\n   :nosignatures:\n\n{listed}\n",
            )
    top = importlib.import_module("conjury")
    rows = [f"- {{py:obj}}`conjury.{name} <{_home(name)}>`" for name in top.__all__]
    groups = "\n\n".join(
        f"```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n\n" + "\n".join(rooms) + "\n```"
        for caption, rooms in ROOMS.items()
    )
    yield (
        "reference/api/index.md",
        "# Python\n\nWhat is used most is at the top of the package: `import conjury`.\n\n"
        + "\n".join(rows)
        + f"\n\nAll public names, by room:\n\n{groups}\n",
    )


def _home(name: str) -> str:
    """The full name under which a name at the top of the package is documented."""
    import conjury

    room = next(module for module, names in conjury.MODULES.items() if name in names)
    return f"conjury.{room}.{name}"


def _commands() -> Iterator[tuple[str, str]]:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    context = typer.Context(command, info_name="conjury")
    rows = []
    for name in sorted(COMMANDS):
        sub = command.get_command(context, name)
        assert sub is not None
        with typer.Context(sub, info_name=name, parent=context) as inner:
            text = get_docs_for_click(obj=sub, ctx=inner, name=f"conjury {name}")
        lead = (sub.help or "").strip().split("\n\n")[0].replace("\n", " ")
        rows.append(f"| [conjury {name}]({name}.md) | {lead} |")
        yield f"reference/commands/{name}.md", re.sub(r"^(#+) `(.*)`$", r"\1 \2", text, flags=re.MULTILINE)
    listed = "\n".join(sorted(COMMANDS))
    yield (
        "reference/commands/index.md",
        COMMANDS_LEAD + "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )


def _kind(field: Mapping[str, Any]) -> str:
    """The type of a field of the study file in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "allOf" in field:
        return _kind(field["allOf"][0])
    if "anyOf" in field or "oneOf" in field:
        kinds = [_kind(one) for one in field.get("anyOf", field.get("oneOf", ()))]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}" if field.get("items") else "list"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"mapping to {_kind(values)}" if isinstance(values, dict) and values else "mapping"
    return str(field.get("type", "any value"))


def _study_fields() -> str:
    schema = json.loads((ROOT / "data" / "study.schema.json").read_text(encoding="utf-8"))
    sections = []
    definitions = schema["definitions"]
    for name in ("Study", "ItemStudy", *sorted(set(definitions) - {"Study", "ItemStudy"})):
        definition = definitions[name]
        rows = []
        for field, described in definition.get("properties", {}).items():
            required = field in definition.get("required", ())
            default = "required" if required else f"`{json.dumps(described.get('default'))}`"
            meaning = " ".join(described.get("description", "").split())
            rows.append(f"| `{field}` | {_kind(described)} | {default} | {meaning} |")
        head = ["| field | value | default | meaning |", "|---|---|---|---|"] if rows else []
        sections.append(
            f"## {name}\n\n{definition.get('description', '')}\n\n" + "\n".join([*head, *rows]) + "\n"
        )
    return FIELDS_LEAD + "\n".join(sections)


def _values(field: Field) -> str:
    """The valid values of a column in words."""
    if field.levels:
        return ", ".join(f"`{level}`" for level in field.levels)
    kind = {"free": "any value", "id": "text or number", "binary": "0 or 1"}.get(field.kind, field.kind)
    if field.minimum is None:
        return kind
    least = f"{'above' if field.above else 'at least'} {field.minimum:g}"
    return f"{kind}, {least}" + (f", at most {field.maximum:g}" if field.maximum is not None else "")


def _tables() -> str:
    sections = []
    for name, fields in TABLES.items():
        rows = [
            f"| `{column}` | {_values(field)} | {'required' if field.required else 'optional'} | "
            f"{'allowed' if field.nullable else 'refused'} |"
            for column, field in fields.items()
        ]
        keys = ", ".join(f"`{key}`" for key in KEYS[name])
        head = "| column | values | column is | missing values are |\n|---|---|---|---|"
        sections.append(f"## {name}\n\nOne row for each combination of {keys}.\n\n{head}\n")
        sections[-1] += "\n".join(rows) + "\n"
    return TABLES_LEAD + "\n".join(sections)
