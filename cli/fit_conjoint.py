"""What the commands do: read, call the layers, write, say what was made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study.load import load_study
from conjury.inference.tables.bounded import TRUE_CELLS
from conjury.inference.tables.files import PUBLISHED

from .loading import Variants, describe_study, origins, truth_file

if TYPE_CHECKING:
    from conjury.analysis.pipeline.conjoint import Fitted, Options

console = Console(highlight=False, markup=False, soft_wrap=True)
NOTES = 20  # notes that are printed; all are in the manifest
DIFFERENCE = "published_difference"


@dataclass(frozen=True)
class Repeats:
    """How simulated models are asked again, as ``simulate`` takes it."""

    swapped_share: float = 0.0
    samples: int = 1
    noise: float | None = None


def simulate_study(
    study: str,
    out: Path,
    seed: int,
    respondents: int | None,
    pairs: int | None,
    repeats: Repeats,
    judges: Sequence[str] | None,
    prompts: Sequence[str] | None,
) -> None:
    """Simulate choices and write them with the true values beside them."""
    from conjury.inference.simulation.conjoint.simulate import simulate
    from conjury.inference.tables.files import write_table

    for name, number in (("respondents", respondents), ("pairs", pairs)):
        if number is not None and number < 1:
            raise InputError(f"--{name} is {number}; give a whole number above 0.")
    made = simulate(
        load_study(study),
        seed,
        respondents=respondents,
        pairs=pairs,
        judges=judges,
        prompts=prompts,
        **asdict(repeats),
    )
    write_table(made.choices, out)
    console.print(f"{len(made.choices):,} rows of choices in {out}")
    if made.truth is not None:
        write_table(made.truth, truth_file(out))
        console.print(f"{len(made.truth):,} true values in {truth_file(out)}")
    else:
        console.print(
            f"No true values: they are computed for at most {TRUE_CELLS:,} combinations of attributes, and "
            "this study has more."
        )


def fit_choices(loaded: Variants, out: Path, options: Options) -> None:
    """Fit a study's analyses and write the results folder."""
    from conjury.analysis.pipeline.conjoint import fit_study, groups
    from conjury.analysis.pipeline.people import people_analyses
    from conjury.analysis.pipeline.results_folder import ResultsFolder, describe_run

    study = loaded.study
    loaded.require("--id", options.id)
    n_groups = sum(1 for _ in groups(loaded.choices))
    asked = "judge and prompt" if n_groups == 1 else "combinations of judge, prompt and variant"
    n_analyses = len({part.name for part in [*study.analyses, *people_analyses(study)]})
    analyses = f"{len(study.analyses)} {'analysis' if len(study.analyses) == 1 else 'analyses'}"
    console.print(
        f"{study.title}: {sum(map(len, loaded.choices.values())):,} rows, {n_groups} {asked}, {analyses}, "
        f"{options.draws:,} bootstrap draws each."
    )
    folder = ResultsFolder(out)
    before = folder.origin
    with folder.replaced(loaded.files) as draft:
        with show_progress(n_groups * n_analyses) as step:
            fitted = fit_study(study, loaded.choices, options, step)
        tables = fitted.tables | _true_values(loaded, fitted) | _published(loaded, fitted)
        manifest: dict[str, Any] = {
            **describe_study(study),
            **describe_run(["conjury", *sys.argv[1:]], [options.engine]),
            **origins(loaded.choices.values()),
            "data": loaded.described(),
            "analyses": fitted.analyses,
            "notes": list(dict.fromkeys(loaded.notes() + fitted.notes)),
        }
        draft.write(tables, manifest, loaded.choices)
        used = {made["name"]: len(made["groups"]) for made in fitted.analyses if not made.get("against")}
        for name, table in tables.items():
            absent = n_groups - used.get(name, n_groups)
            left_out = f", {absent} of {n_groups} groups LEFT OUT" if absent else ""
            console.print(f"  {name}: {len(table):,} rows{left_out}")
        _print_notes(manifest["notes"], out)
        undrawn = _draw_figures(draft.path)
        draft.write({}, manifest | {"notes": [*manifest["notes"], *undrawn]})
    print_place(out, before)


def print_place(out: Path, before: str) -> None:
    """Say where results are, and in place of which; ``before`` is the origin of these."""
    console.print(f"Results in {out}" + (f", in place of those {before}" if before else ""))


def render_report(name: str, results: Path, out: Path, to: str) -> None:
    """Render a report and say with what."""
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.report.render import render, reports

    if name in reports() and not (results.is_dir() and ResultsFolder(results).manifest):
        raise InputError(
            f"{results} holds no results (manifest.json is missing); run `conjury fit` first or name another "
            "folder with --results."
        )
    made = render(name, results, out, to)  # type: ignore[arg-type]
    console.print(f"{made.message} It shows the results in {results}.")
    for warning in made.warnings:
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(f"Quarto warned: {warning}")


def _true_values(loaded: Variants, fitted: Fitted) -> dict[str, pd.DataFrame]:
    """True values that lie beside simulated choices, and how well the estimates find them."""
    from conjury.analysis.recovery.conjoint import KEYS, recovery
    from conjury.inference.readers.prepare import judges_by_origin
    from conjury.inference.tables.files import read_table

    simulated, _ = judges_by_origin(loaded.choices[""])
    files = [truth_file(made.file) for made in loaded.sources if made.variant == ""]
    tables = [read_table(file) for file in files if file.is_file()] if simulated else []
    if not tables:
        return {}
    truth = pd.concat(tables, ignore_index=True)
    if len(tables) > 1:
        truth = truth.drop_duplicates([key for key in KEYS if key in truth])
    truth = truth[truth["judge"].isin(simulated)] if "judge" in truth else truth
    found = recovery(truth, fitted.tables)
    return {"truth": truth} | ({} if found.empty else {"recovery": found})


def _published(loaded: Variants, fitted: Fitted) -> dict[str, pd.DataFrame]:
    """Printed numbers of the study, and ours beside them, of judges who are in both and not simulated."""
    from conjury.analysis.audit import compare_moderation

    file, known = PUBLISHED / f"{loaded.study.name}.csv", origins(loaded.choices.values())
    if not file.is_file() or "amce" not in fitted.tables or not known["real_judges"]:
        return {}
    printed = pd.read_csv(file).assign(source="printed")
    ours = fitted.tables["amce"]
    ours = ours[ours["judge"].isin(known["real_judges"])]
    if not set(ours["judge"]) & set(printed["judge"]):
        return {} if known["simulated"] else {"published": printed}
    return {"published": printed, DIFFERENCE: compare_moderation(printed, ours)}


def _print_notes(notes: Sequence[str], out: Path) -> None:
    """Print what should be known about the fit, what was left out first."""
    ordered = sorted(notes, key=lambda note: "left out" not in note)
    for note in ordered[:NOTES]:
        console.print(f"  Note: {note}")
    if len(notes) > NOTES:
        console.print(f"  {len(notes) - NOTES} more notes in {out / 'manifest.json'}")


def _draw_figures(results: Path) -> list[str]:
    """Draw what the manifest names a figure for; return why any could not be drawn."""
    from conjury.analysis.figures import save
    from conjury.analysis.report import Report

    report, notes, count = Report(results), [], 0
    for name, draw in report.figures():
        try:
            save(draw(), results / "figures" / name)
            count += 1
        except ConjuryError as error:
            reason = str(error).replace(str(report.path), "the results")
            notes.append(f"Figure {name}: {reason} It was not drawn.")
    console.print(f"  {count} {'figure' if count == 1 else 'figures'} as PNG, SVG and PDF")
    for note in notes:
        console.print(f"  {note}")
    return notes


@contextmanager
def show_progress(total: int) -> Iterator[Any]:
    """Show a bar of steps on a terminal, and hand out a function to be told what starts next."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, description=what, advance=1)

        yield step
