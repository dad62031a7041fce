"""``conjury init``, a study to edit in a new folder, and ``conjury demo``, the same run to its report."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Annotated

import typer

from ...automation import record
from ...printing import console
from .templates import Template, find_template, templates, write_template

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


def init(template: Name = None, folder: Folder = None) -> None:
    """Write a working study to edit: study.yaml, prompts, items, a truth table for simulation, a README."""
    if template is None:
        record(templates={known.name: known.about for known in templates().values()})
        for known in templates().values():
            console.print(f"{known.name}: {known.about}")
        console.print("To write one of them into a new folder, use `conjury init TEMPLATE FOLDER`.")
        return
    chosen = find_template(template)
    folder = Path(chosen.name) if folder is None else folder
    files = write_template(chosen, folder)
    console.print(f"{', '.join(files)} in {folder}: {chosen.about}.")
    record(folder=folder, next=[_written(command) for command in chosen.commands])
    record(files=[folder / file for file in files])
    console.print("Next:")
    if folder.resolve() != Path.cwd():
        console.print(f"  cd {shlex.quote(str(folder))}")
    for command in chosen.commands:
        console.print(f"  {_written(command)}")


def demo(context: typer.Context, template: Name = DEMO, folder: Folder = DEMO_FOLDER) -> None:
    """Write a study, collect simulated answers, estimate and report: a first look, offline and free."""
    chosen = find_template(template or DEMO)
    place = folder or DEMO_FOLDER
    _announce(["init", chosen.name, str(place)])
    write_template(chosen, place)
    console.print(f"Study in {place}: {chosen.about}.")
    console.print(f"\n$ cd {shlex.quote(str(place))}")
    root = context.find_root().command
    with contextlib.chdir(place):
        for command in chosen.commands:
            _announce(command)
            code = root.main(command, prog_name="conjury", standalone_mode=False)
            if code:
                raise typer.Exit(code)
        figures = sorted(path.name for path in Path("results", "figures").glob("*.png"))
    _print_end(chosen, place, figures)


def _print_end(chosen: Template, place: Path, figures: list[str]) -> None:
    record(folder=place, ran=[_written(command) for command in chosen.commands])
    record(files=[place / "reports" / f"{chosen.report}.html"])
    record(files=[place / "results" / "figures" / figure for figure in figures])
    console.print(f"\nThis shows {chosen.shows}. The answers are simulated.")
    console.print(f"  Report   {place / 'reports' / chosen.report}.html")
    if figures:
        console.print(f"  Figures  {place / 'results' / 'figures'}: {', '.join(figures)}")
    console.print(f"  Study    {place / 'study.yaml'}; {place / 'README.md'} explains what to change")
    console.print(
        f"Next, in {place}: edit the study, run `conjury validate study.yaml`, and ask a real model:"
    )
    for command in chosen.further:
        console.print(f"  {_written(command)}")
    console.print("`conjury init` lists other studies.")


def _announce(command: list[str]) -> None:
    console.print(f"\n$ {_written(command)}")


def _written(command: list[str]) -> str:
    return shlex.join(["conjury", *command])
