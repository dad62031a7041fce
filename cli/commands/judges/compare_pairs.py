"""The command ``compare-pairs``: which system wins, by verdicts on pairs of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError, counted, listed

from ...options import Alpha, grouped, split_names
from ...reading_options import TableOptions
from .judge import By, Human, Labelled, Output, finish, labels_statement


@dataclass(frozen=True)
class PairRoles:
    """Which columns there are."""

    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="Column of verdicts; or COL,COL: first, second answer shown first. Else guessed.",
        ),
    ] = None
    human: Human = None
    systems_in: Annotated[
        str | None,
        typer.Option(help="Columns with the names of both systems, COL,COL; the first is shown first."),
    ] = None
    lengths: Annotated[
        str | None, typer.Option(help="Columns of the lengths of both answers, or of their texts, COL,COL.")
    ] = None
    swapped: Annotated[
        str | None,
        typer.Option(help="Whether the second answer was shown first: a column, or COLUMN=VALUE (order=BA)."),
    ] = None
    by: By = None
    judge_names: Annotated[str | None, typer.Option(help="Column of who gave the verdict of a row.")] = None
    people: Annotated[
        list[str] | None,
        typer.Option("--people-names", help="Values of --judge-names that are people, NAME[,NAME...]."),
    ] = None
    labels: Annotated[
        Path | None, typer.Option(help="A second file with people's verdicts, matched by --id and systems.")
    ] = None
    labelled: Labelled = None


@dataclass(frozen=True)
class PairsRequest:
    """What is estimated."""

    systems: Annotated[
        str | None, typer.Option(help="Systems that are compared, NAME,NAME[,...]; the first one's win rate.")
    ] = None
    verdicts: Annotated[
        str | None, typer.Option(help="What 'a' and 'b' are: answers (of the columns) or positions.")
    ] = None
    ties: Annotated[str, typer.Option(help="half a win each, out, or modelled after Davidson.")] = "half"
    rank: Annotated[
        bool | None,
        typer.Option("--rank/--no-rank", help="Rank systems; by default where there are more than two."),
    ] = None
    alpha: Alpha = 0.05
    seed: Annotated[int, typer.Option(help="Seed of the folds of the correction.")] = 1


@grouped
def compare_pairs(
    file: Annotated[
        Path, typer.Argument(help="Any table with a row per pair; - for standard input.", show_default=False)
    ],
    roles: PairRoles,
    reading: TableOptions,
    request: PairsRequest,
    output: Output,
) -> None:
    """Win rates and rankings by verdicts on pairs.

    With the effects of position and length, corrected by people.

    Exit code 0: done; 1: a limit of --fail-under or --fail-over is not met; 2: a file or an option cannot be
    used.
    """
    from conjury.analysis.instrument.pairs import compare_pairs as compute
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport
    from conjury.inference.tables.reading import read

    gates = output.gates
    table = read(file, reading.rules())
    result = compute(
        table,
        split_names(roles.judge),
        split_names(roles.human),
        systems_in=_two("--systems-in", roles.systems_in),
        systems=split_names([request.systems] if request.systems else None),
        lengths=_two("--lengths", roles.lengths),
        swapped=roles.swapped,
        verdicts=request.verdicts,
        by=split_names(roles.by),
        judge_names=roles.judge_names,
        people=split_names(roles.people),
        labels=roles.labels,
        labelled=labels_statement(roles.labelled),
        ties=request.ties,
        rank=request.rank,
        alpha=request.alpha,
        seed=request.seed,
    )
    settings = result.settings
    systems = settings["systems"]
    people = ", ".join(f"'{name}'" for name in settings["human"]) or str(roles.labels or "none")
    columns = (
        f"verdicts: {listed(map(repr, settings['judge']))}; people: {people}; prompts: "
        f"{repr(settings['id']) if settings['id'] else 'rows'}; ties: {settings['ties']}",
        *([f"win rates are those of {systems[0]}"] if len(systems) == 2 else []),
    )
    title = f"{file.name}: {counted(settings['n_pairs'], 'pair')} of {listed(systems, 6)}"
    sources = (str(file), *([str(roles.labels)] if roles.labels else []))
    finish(ValidationReport(result, title, sources, columns), gates, output)


def _two(option: str, text: str | None) -> tuple[str, str] | None:
    """Two names of columns."""
    if text is None:
        return None
    names = split_names([text])
    if len(names) != 2:
        raise InputError(f"{option} {text!r}: give two columns, as len_a,len_b.")
    return names[0], names[1]
