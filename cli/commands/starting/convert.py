"""The command ``convert``: a table in another format, with its level order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...automation import record
from ...options import LevelsFile
from ...printing import console


def convert(
    table: Annotated[Path, typer.Argument(help="A table: .parquet, .csv or .csv.gz.")],
    out: Annotated[Path, typer.Option("--out", help="The same rows: .parquet, .csv or .csv.gz.")],
    levels: LevelsFile = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="In a CSV put ' before texts that begin with =, +, - or @, which spreadsheets run.",
        ),
    ] = False,
) -> None:
    """Write a table in another format.

    The level order of a CSV is written to NAME.levels.json.
    """
    import json

    import pandas as pd

    from conjury.inference.errors import InputError, counted
    from conjury.inference.tables.columns import companion
    from conjury.inference.tables.files import (
        check_ending,
        count_formulas,
        read_table,
        without_formulas,
        write_table,
    )
    from conjury.inference.tables.parquet import plain_cells
    from conjury.inference.tables.writing import is_private, write_text

    check_ending(out)
    if out.resolve() == table.resolve():
        raise InputError(f"{out} is the input file; give another file by --out.")
    frame = read_table(table, levels=levels)
    if out.suffix != ".parquet":  # which has lists and bytes
        frame = plain_cells(frame)
    formulas = 0 if out.suffix == ".parquet" else count_formulas(frame)
    if escape_formulas and out.suffix == ".parquet":
        raise InputError("--escape-formulas applies to CSV; omit it, or end the name of --out in .csv.")
    write_table(without_formulas(frame) if escape_formulas else frame, out, private=is_private(table))
    paths = [out]
    level_order = {
        str(name): [str(level) for level in column.cat.categories]
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }
    if out.suffix != ".parquet" and level_order:
        paths.append(companion(out, "levels"))
        write_text(paths[1], json.dumps(level_order, ensure_ascii=False, indent=2) + "\n")
    record(rows=len(frame), levels=level_order, formulas=formulas)
    console.print(f"{counted(len(frame), 'row')} in {' and '.join(map(str, paths))}")
    if formulas and escape_formulas:
        console.print(
            f"{counted(formulas, 'text')} that spreadsheets would run as formulas now begin with '."
        )
    elif formulas:
        console.print(
            f"{counted(formulas, 'text')} begin with =, +, - or @, and spreadsheets run such texts; "
            "--escape-formulas puts ' before them."
        )
