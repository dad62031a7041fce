"""The command ``compare-runs``: two models, prompts or dates on the same items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from conjury.inference.errors import InputError, listed

from ...options import Alpha, grouped, split_names
from ...reading_options import RatingTableOptions
from .judge import By, Human, Labelled, Output, Positive, finish, labels_statement, run_names


@dataclass(frozen=True)
class Pairing:
    """Which answers are compared, and how they are paired."""

    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Column of the judge in both files, or COL_A,COL_B; otherwise guessed."),
    ] = None
    human: Human = None
    by: By = None
    cluster: Annotated[
        str | None, typer.Option(help="Column of items that belong together, such as topic_id.")
    ] = None
    names: Annotated[str | None, typer.Option(help="Names of the two runs, as old,new.")] = None
    positive: Positive = None
    labelled: Labelled = None


@dataclass(frozen=True)
class TestOptions:
    """What is tested."""

    margin: Annotated[float, typer.Option(help="Largest difference that counts as equivalent.")] = 0.05
    alpha: Alpha = 0.05


@grouped
def compare_runs(
    a: Annotated[Path, typer.Argument(help="File of the first run.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="File of the second run.", show_default=False)],
    pairing: Pairing,
    reading: RatingTableOptions,
    tested: TestOptions,
    output: Output,
) -> None:
    """Compare two judges, prompts or dates on the same items.

    Flips, rates, agreement and equivalence.

    Exit code 0: done; 1: a limit of --fail-under or --fail-over is not met; 2: a file or an option cannot be
    used.
    """
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport
    from conjury.analysis.raters.validation.run_comparison import compare_runs as compute
    from conjury.inference.readers.judged import read_judged
    from conjury.inference.readers.judged.judged_columns import columns_of, guessed_people
    from conjury.inference.tables.items import item_column
    from conjury.inference.tables.reading.account import AccountEntry

    gates = output.gates
    rules = reading.rules()
    judges = split_names([pairing.judge] if pairing.judge else None)
    if len(judges) > 2:
        raise InputError("--judge names more than two columns; give COL, or COL_A,COL_B.")
    human = split_names(pairing.human)
    runs = (read_judged(a, rules, (*judges, *human)), read_judged(b, rules, (*judges, *human)))
    roles = [
        columns_of(run, judges[min(place, len(judges) - 1)] if judges else None, human, needs_human=False)
        for place, run in enumerate(runs)
    ]
    if not human:
        guesses = [
            tuple(
                name for name in guessed_people(run, columns.judge, bool(rules.relabel)) if name not in judges
            )
            for run, columns in zip(runs, roles, strict=True)
        ]
        if guesses[0] and guesses[1] and guesses[0] != guesses[1]:
            raise InputError(
                f"Columns of people could be {listed(guesses[0])} of {a} or {listed(guesses[1])} of {b}; "
                "name those of both with --human."
            )
        human = guesses[0] or guesses[1]
    stated_items = [run.reading.rules.id for run in runs]  # which ratings by row have no more
    item = rules.id if rules.id in stated_items else None
    if item is None:
        guessed_items = [run.id or item_column(run.frame) for run in runs]
        shared = [
            name for name in guessed_items if name is not None and all(name in run.frame for run in runs)
        ]
        if not shared and None not in guessed_items:
            raise InputError(
                f"Items are in column '{guessed_items[0]}' of {a} and in column '{guessed_items[1]}' of {b}; "
                "give the column of items one name in both files."
            )
        item = shared[0] if shared else None
        if item is None or item not in [run.id for run in runs]:
            guess = f"Pairs are of rows with the same '{item}'" if item else "Rows are paired by their order"
            runs[0].reading.account.adding([AccountEntry("roles", guess, option="--id")])
    names = split_names([pairing.names] if pairing.names else None) or run_names((a, b))
    if len(names) != 2:
        raise InputError(f"--names {pairing.names!r}: give two names, as old,new.")
    result = compute(
        replace(runs[0].reading, rules=replace(rules, id=item)),
        replace(runs[1].reading, rules=replace(rules, id=item)),
        (roles[0].judge, roles[1].judge),
        human,
        cluster=pairing.cluster,
        by=split_names(pairing.by),
        margin=tested.margin,
        alpha=tested.alpha,
        names=(names[0], names[1]),
        positive=pairing.positive,
        labelled=labels_statement(pairing.labelled),
    )
    first, second = result.settings["names"]
    people = ", ".join(f"'{name}'" for name in human) or "none"
    columns = (
        f"judges: '{roles[0].judge}' of {first}, '{roles[1].judge}' of {second}; people: {people}; items: "
        f"{repr(item) if item else 'by order of rows'}; scale: {result.settings['scale']}",
    )
    title = f"{first} against {second}: {result.settings['n_pairs']:,} pairs"
    finish(ValidationReport(result, title, (str(a), str(b)), columns), gates, output)
