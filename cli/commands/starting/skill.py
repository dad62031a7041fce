"""The command ``skill``: how questions are answered with conjury, for assistants and people."""

from __future__ import annotations

from typing import Annotated

import typer

from conjury.inference.errors import unknown_name

from ...automation import record
from ...printing import console


def skill(
    task: Annotated[
        str | None, typer.Argument(help="systems, judges or conjoints; by default all.", show_default=False)
    ] = None,
) -> None:
    """Print the procedure for assistants and for people.

    It has stop checks, sentences, and the next command.
    """
    from conjury.analysis.frames.kinds import procedure_records, procedure_text, procedures

    if task is not None and task not in procedures():
        raise unknown_name("procedure", task, procedures())
    names = [task] if task else []
    record(procedures=procedure_records(names))
    console.print(procedure_text(names), markup=False, highlight=False, soft_wrap=True, end="")
