"""The command ``conjury trial``: simulation studies of estimators."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.analysis.numerics.workers import available_processors

from ..automation import record
from ..options import FigureFormats, grouped
from ..printing import (
    console,
    draw_figures,
    duration,
    figure_formats,
    print_frame,
    print_notes,
    show_count,
)
from ..wishes import details

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.trial.trial_runner import ExpectedWork

SHOWN = ("bias", "coverage", "width", "power")

PASSPORT = "passport"
FAILING = ("method", "quantity", "situation", "coverage", "width", "draws")

File = Annotated[
    str | None,
    typer.Argument(
        help="Trial file (.yaml), the name of a trial that ships, or passport: coverage of every interval."
    ),
]


@dataclass(frozen=True)
class TrialOptions:
    """How much is drawn, and where."""

    out: Annotated[
        Path, typer.Option("--out", help="Results folder, also for several trials. A rerun resumes.")
    ] = Path("results/trials")
    draws: Annotated[
        int | None, typer.Option(min=2, help="Draws per cell, in place of those in the file.")
    ] = None
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this method, by name; can be repeated.")
    ] = None
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None
    backend: Annotated[str, typer.Option(help="local, or ray: on a Ray cluster.")] = "local"
    figures: FigureFormats = None


@grouped
def trial(
    run: TrialOptions,
    file: File = None,
    lists: Annotated[
        bool,
        typer.Option("--list", help="List trials, and the processes and methods of trial files."),
    ] = False,
) -> None:
    """Compare estimators on simulated data with known truth.

    Bias, coverage, power and more.
    """
    if lists or file is None:
        _print_parts()
        return
    from conjury.analysis.pipeline.fitting import write_trial
    from conjury.analysis.trial import load_trial, run_trial
    from conjury.analysis.trial.trial_runner import expected_in_words

    if file == PASSPORT:
        measure_passport(run)
        return
    formats = figure_formats(run.figures)
    loaded_trial = load_trial(file, partial(_warn_of_code, file))
    workers = run.workers or available_processors()
    out = run.out

    def say(expected: ExpectedWork) -> None:
        about = f", about {duration(expected.seconds)}" if expected.draws else ""
        console.print(f"{loaded_trial.title}\n  {expected_in_words(expected, workers)}{about}")

    start_time = time.monotonic()
    try:
        with show_count("Draws") as progress:
            result = run_trial(
                loaded_trial,
                out,
                draws=run.draws,
                methods=run.only or (),
                workers=workers,
                backend=run.backend,
                started=say,
                progress=progress,
            )
    except KeyboardInterrupt:
        console.print(f"  Finished draws are kept in {out / 'draws'}; the same command resumes the trial.")
        raise
    write_trial(
        out, loaded_trial.name, result, time.monotonic() - start_time, partial(draw_figures, formats=formats)
    )
    record(results=out, estimates={loaded_trial.name: result.frame})
    print_frame(overview(result.frame, list(result.settings["parameters"])))
    print_notes(result.notes, out)
    console.print(f"Results in {out}; render them with `conjury report trials --results {out}`.")


def _print_parts() -> None:
    """Print the trials that ship, and what trial files can name."""
    from conjury.analysis.trial import list_trials
    from conjury.analysis.trial.trial_registry import described_parts

    trials = list_trials()
    parts = described_parts()
    record(trials=trials, parts=[vars(part) for part in parts])
    with details():
        for part in parts:
            console.print(f"{part.kind} {part.name}({part.parameters}): {part.about}")
        console.print()
    console.print(f"Trials that ship, and {PASSPORT} for coverage of every interval: {', '.join(trials)}.")
    for kind, title in (("process", "Processes"), ("method", "Methods"), ("measure", "Further measures")):
        names = ", ".join(part.name for part in parts if part.kind == kind)
        if names:
            console.print(f"{title} of trial files, besides yours (module:function): {names}.")
    console.print("Next: conjury trial NAME")


def _warn_of_code(file: str, code: Sequence[str]) -> None:
    """Say which code a trial file runs, before it does."""
    from conjury.inference.errors import listed

    console.print(f"{file} is a program: it runs {listed(code)}. Ctrl-C stops it.")


def measure_passport(run: TrialOptions) -> None:
    """Measure coverage and width of every interval, and write one table."""
    from conjury.analysis.frames.passport import LEAST_COVERAGE
    from conjury.analysis.trial.passport import run_passport, write_passport

    begun: set[str] = set()
    try:
        with show_count("Draws") as progress:

            def told(name: str, done: int, total: int) -> None:
                if name not in begun:
                    begun.add(name)
                    console.print(f"  {name}: {total:,} draws")
                progress(done, total)

            table = run_passport(
                run.out, draws=run.draws, only=run.only or (), workers=run.workers or available_processors(),
                progress=told,
            )  # fmt: skip
    except KeyboardInterrupt:
        console.print(f"  Finished draws are kept in {run.out / 'draws'}; the same command resumes.")
        raise
    path = run.out / "passport.csv"
    write_passport(table, path)
    failing = table[table["coverage_upper"] < LEAST_COVERAGE].sort_values("coverage")
    record(results=run.out, estimates={PASSPORT: table})
    print_frame(failing[list(FAILING)])
    console.print(
        f"{len(failing):,} of {len(table):,} intervals cover in less than {LEAST_COVERAGE:.0%} of draws "
        f"beyond Monte Carlo error. All of them are in {path}."
    )


def overview(frame: pd.DataFrame, parameters: list[str]) -> pd.DataFrame:
    """The main measures side by side, a row for each cell, estimand, quantity and method."""
    keys = ["process", *parameters, "estimand", "quantity", "method"]
    keys = [name for name in keys if name == "method" or frame[name].nunique(dropna=False) > 1]
    rows = frame[frame["measure"].isin(SHOWN)]
    wide = rows.pivot_table(index=keys, columns="measure", values="estimate", sort=False, dropna=False)
    wide = wide.dropna(how="all")
    return wide[[name for name in SHOWN if name in wide]].reset_index()
