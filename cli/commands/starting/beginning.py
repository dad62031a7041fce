"""``conjury init``, a study to edit in a new folder, and ``conjury demo``, the same run to its report."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError
from conjury.inference.tables.writing import note_written

from ...automation import record
from ...printing import console, finding_sentences
from ...wishes import details
from .study_templates import StudyTemplate, copy_study, find_template, templates, write_template

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[TEMPLATE]",
        help="minimal, hiring, product, moderation, ratings, labels or preference.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="A new or empty folder; by default the name of the template."),
]
DEMO, DEMO_FOLDER = "hiring", Path("conjury-demo")


def init(
    template: Name = None,
    folder: Folder = None,
    like: Annotated[
        str | None,
        typer.Option(help="Copy a study that ships: `conjury init --like moderation [FOLDER]`."),
    ] = None,
) -> None:
    """Write a working study to edit, with a README."""
    if like is not None:
        if template is not None and folder is not None:
            raise InputError(f"{template} and {folder} are given with --like {like}; give one folder.")
        _init_like(like, Path(template or like))
        return
    if template is None:
        record(templates={entry.name: entry.about for entry in templates().values()})
        for entry in templates().values():
            console.print(f"{entry.name}: {entry.about}")
        console.print("To write one of them into a new folder, use `conjury init TEMPLATE FOLDER`.")
        return
    study_template = find_template(template)
    folder = Path(study_template.name) if folder is None else folder
    files = write_template(study_template, folder)
    console.print(f"{', '.join(files)} in {folder}: {study_template.about}.")
    record(folder=folder, next=[_command_line(command) for command in study_template.commands])
    record(files=[folder / file for file in files])
    console.print("Next:")
    if folder.resolve() != Path.cwd():
        console.print(f"  cd {shlex.quote(str(folder))}")
    for command in study_template.commands:
        console.print(f"  {_command_line(command)}")


def _init_like(study: str, folder: Path) -> None:
    """Copy a study that ships, with the settings in which it differs from its paper."""
    from conjury.inference.collecting.validating import validate as validated
    from conjury.inference.study import load_any_study

    files = copy_study(study, folder)
    console.print(f"{', '.join(files)} in {folder}: the study {study}, to edit.")
    commands = [["validate", "study.yaml"]]
    if validated(study).simulated:
        commands.append(["simulate", "study.yaml", "--out", "answers.parquet"])
    else:
        judge = load_any_study(study).judges[0].id
        commands.append(["collect", "study.yaml", "--judge", judge, "--backend", "simulated"])
    record(folder=folder, files=[folder / file for file in files])
    record(next=[_command_line(command) for command in commands])
    console.print("Next:")
    if folder.resolve() != Path.cwd():
        console.print(f"  cd {shlex.quote(str(folder))}")
    for command in commands:
        console.print(f"  {_command_line(command)}")


def demo(context: typer.Context, template: Name = DEMO, folder: Folder = DEMO_FOLDER) -> None:
    """Make a study, simulated answers and a report in a minute.

    A first look, offline and free.
    """
    from conjury.analysis.report.render import NEEDED, PACKAGES
    from conjury.inference.errors import require_installed

    require_installed(PACKAGES, NEEDED)
    study_template = find_template(template or DEMO)
    place = folder or DEMO_FOLDER
    console.print(f"{study_template.about[0].upper()}{study_template.about[1:]}.")
    _announce(["init", study_template.name, str(place)])
    write_template(study_template, place)
    console.print(f"$ cd {shlex.quote(str(place))}")
    root = context.find_root().command
    with contextlib.chdir(place):
        for command in study_template.commands:
            _announce(command)
            with details():
                code = root.main(command, prog_name="conjury", standalone_mode=False)
            if code:
                raise typer.Exit(code)
        figures = sorted(path.name for path in Path("results", "figures").glob("*.svg"))
        finding = " ".join(finding_sentences(Path("results")))
    note_written([place / "reports" / f"{study_template.report}.html"])  # whose path was that of a step
    _print_end(study_template, place, figures, finding)


def _print_end(study_template: StudyTemplate, place: Path, figures: list[str], finding: str) -> None:
    record(folder=place, ran=[_command_line(command) for command in study_template.commands])
    record(files=[place / "reports" / f"{study_template.report}.html"])
    record(files=[place / "results" / "figures" / figure for figure in figures])
    console.print(f"\nThis shows {study_template.shows}. In the simulated answers:")
    console.print(finding)
    console.print(f"  Report   {place / 'reports' / study_template.report}.html")
    if figures:
        console.print(f"  Figures  {place / 'results' / 'figures'}: {', '.join(figures)}")
    console.print(f"  Study    {place / 'study.yaml'}; README.md explains what to change")
    console.print(
        f"Next, in {place}: edit the study, run `conjury validate study.yaml`, and ask a real model:"
    )
    for command in study_template.further:
        console.print(f"  {_command_line(command)}")
    console.print("`conjury init` lists other studies.")


def _announce(command: list[str]) -> None:
    console.print(f"$ {_command_line(command)}")


def _command_line(command: list[str]) -> str:
    return shlex.join(["conjury", *command])
