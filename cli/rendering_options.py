"""Options of `conjury render`, by what they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

WHICH, LOOK, DELIVERY = "Which profiles", "What pictures look like", "Where they go"


@dataclass(frozen=True)
class Selection:
    """Which pictures are drawn."""

    cues: Annotated[
        list[str] | None,
        typer.Option(
            help="Cues of an author's identity: both (the default), name, face or none; can be "
            "repeated. Prompts say which they need under `cues`.",
            rich_help_panel=WHICH,
        ),
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(help="Run whose design is drawn; by default runs/STUDY.", rich_help_panel=WHICH),
    ] = None
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Only the first pairs of the design.", rich_help_panel=WHICH)
    ] = None
    all: Annotated[bool, typer.Option("--all", help="Every profile of the study.", rich_help_panel=WHICH)] = (
        False
    )


@dataclass(frozen=True)
class Look:
    """How pictures are drawn."""

    layout: Annotated[
        str | None,
        typer.Option(help="Layout that ships, or a file; by default the study's.", rich_help_panel=LOOK),
    ] = None
    theme: Annotated[
        str | None, typer.Option(help="Theme of the layout; by default the study's.", rich_help_panel=LOOK)
    ] = None
    faces: Annotated[
        Path | None,
        typer.Option(
            help="Folder with a folder of pictures for each group, in place of drawn faces.",
            rich_help_panel=LOOK,
        ),
    ] = None
    emoji_font: Annotated[
        Path | None, typer.Option(help="Font of the emoji; else it is looked for.", rich_help_panel=LOOK)
    ] = None


@dataclass(frozen=True)
class Delivery:
    """Where pictures go, and how."""

    out: Annotated[
        Path, typer.Option("--out", help="Folder of pictures and their tables.", rich_help_panel=DELIVERY)
    ] = Path("stimuli")
    format: Annotated[
        str,
        typer.Option(help="png, or webp (smaller, slower; as exact).", rich_help_panel=DELIVERY),
    ] = "png"
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that draw; by default one per core.", rich_help_panel=DELIVERY),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show the number, time and size of pictures; keep none.",
            rich_help_panel=DELIVERY,
        ),
    ] = False
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Read what was drawn again and name what is missing or damaged; exit code 1 if any is.",
            rich_help_panel=DELIVERY,
        ),
    ] = False
    upload: Annotated[
        str | None,
        typer.Option(
            help="Copy the pictures to storage that fsspec reaches, such as s3://bucket/prefix; credentials "
            "come from the environment.",
            rich_help_panel=DELIVERY,
        ),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            help="Where judges fetch what is uploaded, such as https://host/prefix.", rich_help_panel=DELIVERY
        ),
    ] = None


def next_step(study: str, selection: Selection, delivery: Delivery) -> str:
    """Name the command that shows to a judge what was drawn."""
    options = {
        "stimuli": "images" if delivery.upload is None else "links",
        "out": selection.run,
        "pairs": selection.pairs,
        "pictures": None if delivery.out == Path("stimuli") else delivery.out,
    }
    given = (f"--{name} {value}" for name, value in options.items() if value is not None)
    return f"Next: conjury collect {study} {' '.join(given)} --judge ..."
