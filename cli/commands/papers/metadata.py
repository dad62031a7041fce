"""The command ``conjury paper metadata``: Croissant and RO-Crate of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted

from ...automation import record
from ...printing import console

if TYPE_CHECKING:
    from conjury.analysis.report.paper.folder_metadata import About


FORMATS = ("croissant", "ro-crate")


def metadata(
    folder: Annotated[Path, typer.Argument(help="Folder of a run or of results.")],
    to: Annotated[
        list[str] | None, typer.Option(help="croissant or ro-crate; by default both. Can be repeated.")
    ] = None,
    license: Annotated[str, typer.Option(help="License of the data, as an address or a name.")] = "",
    creator: Annotated[str, typer.Option(help="Creator of the data.")] = "",
) -> None:
    """Describe the files of a run for repositories of data.

    As Croissant and RO-Crate; also the files of a results folder.
    """
    from conjury.analysis.report.paper.folder_metadata import (
        CRATE,
        CROISSANT,
        as_json,
        croissant,
        files_of,
        ro_crate,
    )
    from conjury.inference.tables.writing import atomic_write

    formats = to or [*FORMATS]
    unknown = next((name for name in formats if name not in FORMATS), None)
    if unknown is not None:
        raise InputError(f"--to {unknown}: there is no such format; use {' or '.join(FORMATS)}.")
    files = files_of(folder)
    about, command, software = _describe_folder(folder, license, creator)
    outputs = {}
    if "croissant" in formats:
        outputs[CROISSANT] = croissant(about, files, folder)
    if "ro-crate" in formats:
        outputs[CRATE] = ro_crate(about, files, command, software)
    for name, content in outputs.items():
        with atomic_write(folder / name) as file:
            file.write(as_json(content))
    missing = [option for option, value in (("--license", license), ("--creator", creator)) if not value]
    record(described=len(files), missing=missing)
    console.print(
        f"{counted(len(files), 'file')} described in {' and '.join(str(folder / name) for name in outputs)}."
    )
    if missing:
        console.print(f"Add {' and '.join(missing)} before publication.")
    console.print("The address and the date of publication must be added by the author.")


def _describe_folder(folder: Path, license: str, creator: str) -> tuple[About, str, str]:
    """What a folder is about, by which command and version it was made."""
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.paper.folder_metadata import About

    from .paper_inputs import served_versions

    manifest = ResultsFolder(folder).manifest
    if manifest:
        title = str(manifest.get("title") or manifest.get("study") or folder.name)
        return (
            About(
                str(manifest.get("study") or folder.name),
                title,
                f"Data, tables and figures of the analyses of: {title}.",
                str(manifest.get("created") or ""),
                license,
                creator,
                bool(manifest.get("simulated")),
            ),
            str(manifest.get("command") or ""),
            str(manifest.get("conjury") or ""),
        )
    name, simulated = _study_of_run(folder)
    last_answer = max((str(version["last"]) for version in served_versions(folder)), default="")
    description = f"Requests, answers and judgments of a run of the study {name}."
    return About(name, f"Run of {name}", description, last_answer, license, creator, simulated), "", ""


def _study_of_run(folder: Path) -> tuple[str, bool]:
    """The study of a run, and whether its answers are simulated."""
    from conjury.inference.ledger import Ledger

    path = folder / "ledger.sqlite"
    if not path.is_file():
        return folder.resolve().name, False
    with Ledger.open(path, write=False) as ledger:
        inputs = ledger.get("inputs") or {}
    judges = (inputs.get("judges") or {}).values()
    return str(inputs.get("study") or folder.name), any(
        judge.get("backend") == "simulated" for judge in judges
    )
