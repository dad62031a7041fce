"""``conjury validate``: all that is wrong with a study and its files at once, or what the study is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, listed

from ...automation import record
from ...printing import console, one_line, print_facts, warn

SHOWN = 20  # problems on the terminal

if TYPE_CHECKING:
    from conjury.inference.collecting.validating import ValidatedStudy
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
    """Check a study and list all its problems at once.

    With its prompts, items, labels and truth.

    Exit code 0: no problems; 2: at least one problem.
    """
    if schema:
        from conjury.inference.study.study_schema import schema_text

        record(schema=json.loads(schema_text()))
        typer.echo(schema_text(), nl=False)
        return
    if study is None:
        raise InputError("Give a study, such as study.yaml; `conjury init` lists templates.")
    from conjury.inference.collecting.validating import validate as examine

    validation = examine(study, files or ())
    record(study=str(study), problems=list(validation.problems))
    if validation.problems:
        _refuse(study, validation)
    assert validation.study is not None
    console.print(f"{validation.study.title}")
    facts = _facts(validation.study, validation)
    record(title=validation.study.title, facts={name.lower(): text for name, text in facts.items()})
    print_facts(facts)
    console.print(f"No problems in {validation.study.here}{_files_text(files or [])}.")


def _refuse(study: str, validation: ValidatedStudy) -> None:
    for problem in validation.problems[:SHOWN]:
        warn(one_line(problem))
    if len(validation.problems) > SHOWN:
        warn(f"{counted(len(validation.problems) - SHOWN, 'other problem')}; --json lists all of them.")
    if not validation.is_complete:
        warn("Fields that depend on these were not checked; run the command again when these are correct.")
    raise InputError(f"{counted(len(validation.problems), 'problem')} in {study}; see above.")


def _files_text(files: list[Path]) -> str:
    return f" and {listed(files)}" if files else ""


def _facts(study: Study | ItemStudy, validation: ValidatedStudy) -> dict[str, str]:
    """What a study is, by heading."""
    from conjury.inference.study.models import Study

    facts = _conjoint_facts(study) if isinstance(study, Study) else _item_facts(study, validation)
    models = [judge.id for judge in study.judges if judge.kind == "model"]
    people = any(judge.kind == "human" for judge in study.judges)
    facts["Prompts"] = listed(prompt.id for prompt in study.prompts) or "none"
    judges = f"{counted(len(models), 'model')} ({listed(models, 5)})" if models else "no model"
    facts["Judges"] = judges + (" and people" if people else "")
    facts |= _destination_facts(study) | _code_facts(study)
    facts["Simulated"] = listed(validation.simulated, 5) or "nobody, since there is no truth table"
    return facts


def _code_facts(study: Study | ItemStudy) -> dict[str, str]:
    """The judges whose engine runs code of others."""
    from conjury.inference.collecting.asked_judge import engine_code

    engines = {judge.id: engine_code(judge.ask) for judge in study.judges if judge.ask is not None}
    lines = [f"{judge} ({listed(names)})" for judge, names in engines.items() if names]
    return {"Runs code": f"{listed(lines)}; `conjury collect` asks for --engine-code"} if lines else {}


def _destination_facts(study: Study | ItemStudy) -> dict[str, str]:
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


def _conjoint_facts(study: Study) -> dict[str, str]:
    sizes = [f"{part.id} ({len(part.levels)})" for part in study.attributes]
    design = study.design
    return {
        "Kind": f"conjoint of {counted(len(sizes), 'attribute')}: {listed(sizes)}",
        "Design": f"{counted(design.pairs, 'pair')} for models; {counted(design.respondents, 'respondent')} "
        f"with {counted(design.tasks, 'task')} each; {counted(len(design.restrictions), 'restriction')}",
        "Analyses": listed(analysis.name for analysis in study.analyses) or "none",
    }


def _item_facts(study: ItemStudy, validation: ValidatedStudy) -> dict[str, str]:
    response = study.response
    response_text = {
        "ratings": f"ratings on {listed(study.scale_labels)}",
        "label": "a label",
        "line_labels": "one label per line",
    }.get(response.form, "text")
    strata = listed(f"{part.id} ({len(part.levels)})" for part in study.strata)
    return {
        "Kind": f"{counted(validation.items, 'item')} in {study.items}, answered by {response_text}",
        "Strata": strata or "none",
    }
