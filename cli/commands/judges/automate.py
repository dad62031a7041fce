"""The command ``automate``: which verdicts of a judge need no person, at an error that is stated first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError

from ...options import grouped, split_names
from ...reading_options import TableOptions
from .judge import By, Human, Labelled, Output, finish, labels_statement


@dataclass(frozen=True)
class AutomationRequest:
    """Which columns there are, and which errors are allowed."""

    certainty: Annotated[
        str, typer.Option("--certainty", help="Column of how sure the judge is, larger for surer.")
    ]
    judge: Annotated[str | None, typer.Option("--judge", help="Column of verdicts; otherwise guessed.")] = (
        None
    )
    human: Human = None
    error: Annotated[
        str, typer.Option(help="Shares of wrong verdicts that are allowed, one or several as 0.02,0.05.")
    ] = "0.01,0.02,0.05,0.1"
    by: By = None
    labelled: Labelled = None
    alpha: Annotated[
        float, typer.Option("--alpha", help="Probability with which the error may be larger than stated.")
    ] = 0.05
    out: Annotated[
        Path | None, typer.Option(help="Write the rows with a column per error: whether a person is needed.")
    ] = None


@grouped
def automate(
    file: Annotated[
        Path,
        typer.Argument(help="Any table (see `conjury read`); - for standard input.", show_default=False),
    ],
    request: AutomationRequest,
    reading: TableOptions,
    output: Output,
) -> None:
    """Find the share of verdicts that may stand alone.

    The largest share at which errors stay below a limit, by the judge's confidence and some labels.

    Exit code 0: done; 1: a limit of --fail-under or --fail-over is not met; 2: the file or an option cannot
    be used.
    """
    from conjury.analysis.raters.automation import automate as compute
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport
    from conjury.inference.readers.judged.judged_columns import columns_of
    from conjury.inference.readers.judged.judged_files import read_answers_alone

    gates = output.gates
    people = split_names(request.human)
    judged_file = read_answers_alone(file, reading.rules(), (request.judge, *people))
    roles = columns_of(judged_file, request.judge, people)
    result = compute(
        judged_file.reading,
        roles.judge,
        roles.human,
        request.certainty,
        errors=read_errors(request.error),
        by=split_names(request.by),
        labelled=labels_statement(request.labelled),
        alpha=request.alpha,
    )
    if request.out is not None:
        from conjury.inference.tables.files import write_table

        needed = result.extra["decisions"].drop(columns="row")
        rows = judged_file.reading.frame.reset_index(drop=True)
        # A file that this command wrote has such columns already.
        write_table(rows.drop(columns=list(needed), errors="ignore").join(needed), request.out)
    persons = ", ".join(f"'{name}'" for name in roles.human)
    columns = f"judge: '{roles.judge}'; certainty: '{request.certainty}'; people: {persons}"
    title = f"{Path(judged_file.source).name}: {judged_file.reading.size_in_words}"
    finish(
        ValidationReport(result, title, (judged_file.source,), (columns, *judged_file.notes)), gates, output
    )


def read_errors(text: str) -> tuple[float, ...]:
    """Shares of wrong verdicts, as 0.02,0.05."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(f"--error '{text}': give shares between 0 and 1, as 0.02,0.05.") from None
