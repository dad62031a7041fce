"""``conjury paper``: the texts and files that go with a paper."""

from __future__ import annotations

import typer

from .checklist import checklist
from .metadata import metadata
from .methods import methods
from .preregister import preregister

paper = typer.Typer(no_args_is_help=True, help="Preregistration, methods, checklists, metadata.")
for command in (preregister, methods, checklist, metadata):
    paper.command()(command)
