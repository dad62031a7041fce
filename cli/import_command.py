"""The command `conjury import`: choices and ratings from files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .import_options import ConjointOptions, RatingOptions
from .option_groups import grouped


@grouped
def import_(
    export: Annotated[Path, typer.Argument(help="Export of another program (.csv, .tsv, .json, .eval).")],
    out: Annotated[
        Path, typer.Option("--out", help="Where the choices or judgments go (.parquet, .csv, .csv.gz).")
    ],
    conjoint: ConjointOptions,
    ratings: RatingOptions,
    form: Annotated[
        str,
        typer.Option("--format", help="qualtrics, mturk, lancers, csv, label-studio, inspect or prolific."),
    ] = "qualtrics",
) -> None:
    """Turn an export into choices (a conjoint) or judgments (ratings and labels)."""
    from .importing import import_export

    import_export(export, form, out, conjoint, ratings)
