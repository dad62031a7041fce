"""``conjury validate``: all that is wrong with a study and its files at once, or what the study is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, listed

from ...automation import record
from ...printing import console, one_line, warn

SHOWN = 20  # problems on the terminal

if TYPE_CHECKING:
    from conjury.inference.collecting.validating import Validated
    from conjury.inference.study.models import ItemStudy, Study

StudyFile = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY", help="Name of a study that ships, a folder, or the path of a study.yaml."
    ),
]
Tables = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Tables to check against the study: choices, judgments, items or gold labels.",
    ),
]


def validate(
    study: StudyFile = None,
    files: Tables = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of study files, which editors use.")
    ] = False,
) -> None:
    """Check a study with its prompts, items, labels and truth, and list all problems at once.

    Exit code 0: no problems; 2: at least one problem.
    """
    if schema:
        from conjury.inference.study.schema import schema_text

        record(schema=json.loads(schema_text()))
        typer.echo(schema_text(), nl=False)
        return
    if study is None:
        raise InputError("Give a study, such as study.yaml; `conjury init` lists templates.")
    from conjury.inference.collecting.validating import validate as examine

    found = examine(study, files or ())
    record(study=str(study), problems=list(found.problems))
    if found.problems:
        _refuse(study, found)
    assert found.study is not None
    console.print(f"{found.study.title}")
    facts = _facts(found.study, found)
    record(title=found.study.title, facts={name.lower(): text for name, text in facts.items()})
    for name, text in facts.items():
        console.print(f"  {name:<10} {text}")
    console.print(f"No problems in {found.study.here}{_beside(files or [])}.")


def _refuse(study: str, found: Validated) -> None:
    for problem in found.problems[:SHOWN]:
        warn(one_line(problem))
    if len(found.problems) > SHOWN:
        warn(f"{counted(len(found.problems) - SHOWN, 'other problem')}; --json lists all of them.")
    if not found.is_complete:
        warn("Fields that depend on these were not checked; run the command again when these are correct.")
    raise InputError(f"{counted(len(found.problems), 'problem')} in {study}; see above.")


def _beside(files: list[Path]) -> str:
    return f" and {listed(files)}" if files else ""


def _facts(study: Study | ItemStudy, found: Validated) -> dict[str, str]:
    """What a study is, by heading."""
    from conjury.inference.study.models import Study

    facts = _of_conjoint(study) if isinstance(study, Study) else _of_items(study, found)
    models = [judge.id for judge in study.judges if judge.kind == "model"]
    people = any(judge.kind == "human" for judge in study.judges)
    facts["Prompts"] = listed(prompt.id for prompt in study.prompts) or "none"
    judges = f"{counted(len(models), 'model')} ({listed(models, 5)})" if models else "no model"
    facts["Judges"] = judges + (" and people" if people else "")
    facts |= _sent_to(study) | _runs_code(study)
    facts["Simulated"] = listed(found.simulated, 5) or "nobody, since there is no truth table"
    return facts


def _runs_code(study: Study | ItemStudy) -> dict[str, str]:
    """The judges whose engine runs code of others."""
    from conjury.inference.collecting.options import engine_code

    engines = {judge.id: engine_code(judge.ask) for judge in study.judges if judge.ask is not None}
    lines = [f"{judge} ({listed(names)})" for judge, names in engines.items() if names]
    return {"Runs code": f"{listed(lines)}; `conjury collect` asks for --engine-code"} if lines else {}


def _sent_to(study: Study | ItemStudy) -> dict[str, str]:
    """The servers to which the judges' requests go, and the variables of the keys that go with them."""
    from conjury.inference.backends.endpoints import destination_of

    places: dict[str, list[str]] = {}
    for judge in study.judges:
        destination = None if judge.ask is None else destination_of(judge.ask)
        if destination is not None:
            address, problem = destination.address.url, destination.problem
            words = f"{address}: {problem}" if problem else destination.in_words
            places.setdefault(words, []).append(judge.id)
    lines = [f"{place} ({listed(names, 5)})" for place, names in places.items()]
    return {"Sent to": f"\n{'':13}".join(lines)} if lines else {}


def _of_conjoint(study: Study) -> dict[str, str]:
    sizes = [f"{part.id} ({len(part.levels)})" for part in study.attributes]
    design = study.design
    return {
        "Kind": f"conjoint of {counted(len(sizes), 'attribute')}: {listed(sizes)}",
        "Design": f"{counted(design.pairs, 'pair')} for models; {counted(design.respondents, 'respondent')} "
        f"with {counted(design.tasks, 'task')} each; {counted(len(design.restrictions), 'restriction')}",
        "Analyses": listed(analysis.name for analysis in study.analyses) or "none",
    }


def _of_items(study: ItemStudy, found: Validated) -> dict[str, str]:
    response = study.response
    asked = {
        "ratings": f"ratings on {listed(study.scale_labels)}",
        "label": "a label",
        "line_labels": "one label per line",
    }.get(response.form, "text")
    strata = listed(f"{part.id} ({len(part.levels)})" for part in study.strata)
    return {
        "Kind": f"{counted(found.items, 'item')} in {study.items}, answered by {asked}",
        "Strata": strata or "none",
    }
