"""The command `conjury import`: choices, ratings, completions and gold labels from other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .import_options import CompletionOptions, ConjointOptions, RatingOptions
from .options import grouped


@grouped
def import_(
    export: Annotated[
        Path, typer.Argument(help="Export of another program (.csv, .tsv, .json, .eval), or completions.")
    ],
    completions: CompletionOptions,
    conjoint: ConjointOptions,
    ratings: RatingOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Where the choices, judgments or labels go (.parquet, .csv, .csv.gz); with --study by "
            "default judgments.parquet or labels.parquet.",
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", help="qualtrics, mturk, lancers, csv, label-studio, inspect or prolific."),
    ] = "qualtrics",
) -> None:
    """Turn an export or completions into choices (a conjoint), judgments (ratings, labels) or gold labels."""
    from conjury.inference.errors import InputError

    if completions.typed():
        from .importing_completions import import_for_study

        import_for_study(export, out, form, completions, conjoint, ratings)
        return
    if out is None:
        raise InputError("--out is missing; say where the choices or judgments go, as --out choices.parquet.")
    from .importing import import_export

    import_export(export, form, out, conjoint, ratings)
