"""The command ``conjury check``: every check on whatever was collected."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.programs.formats import PROGRAMS

from ..options import FigureFormats, grouped, read_pairs, refuse_typed
from ..printing import (
    console,
    draw_figures,
    figure_formats,
    print_blocks,
    save_figures,
    show_steps,
    warn_if_quiet,
)
from ..reading_options import FileReadingOptions
from ..wishes import details
from .checked_results import CheckSettings, FittedChoices, check_results

if TYPE_CHECKING:
    from conjury.analysis.checks import Check
    from conjury.analysis.checks.output.check_findings import Findings
    from conjury.inference.readers.collected import CollectedData
    from conjury.inference.tables.reading import ReadingRules

OUTPUTS = ("text", "json", "sarif")
LIMITS = ("warning", "error", "none")
TYPED = "ignored on the command line"  # the reason of --ignore

What = Annotated[
    list[str],
    typer.Argument(
        help="A study, the folder of a run, a results folder, tables, or another program's export (--format)."
    ),
]


@dataclass(frozen=True)
class ReadingOptions:
    """What is read, and how."""

    study: Annotated[
        str | None, typer.Option(help="Study that ships, or a study.yaml, where the input names none.")
    ] = None
    form: Annotated[
        str | None, typer.Option("--format", help=f"Export of another program: {', '.join(PROGRAMS)}.")
    ] = None
    ratings: Annotated[
        list[str] | None, typer.Option(help="With --format: names of rating columns, as in `conjury import`.")
    ] = None
    value: Annotated[
        list[str] | None,
        typer.Option(help="With --format: column of ratings, COLUMN or DIMENSION=COLUMN."),
    ] = None
    dimension: Annotated[str | None, typer.Option(help="With --format: column of the dimension.")] = None
    item: Annotated[str | None, typer.Option(help="With --format: column of the item.")] = None
    judge: Annotated[str | None, typer.Option(help="With --format: column of the judge.")] = None
    people: Annotated[bool, typer.Option("--all-people", help="With --format: all judges are people.")] = (
        False
    )


@dataclass(frozen=True)
class CheckedFiles(FileReadingOptions):
    """What a user states about tables of answers; --format names the program of an export."""

    form: str | None = None


@dataclass(frozen=True)
class CheckSelection:
    """Which checks are run, and how."""

    select: Annotated[
        str | None, typer.Option(help="Only these checks: codes, beginnings of codes or names, as CJ3,CJ102.")
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(help="Checks that are reported but do not affect the exit code, as CJ101,CJ3."),
    ] = None
    filter: Annotated[
        list[str] | None,
        typer.Option(help="Column that records who passed an attention check; can be repeated."),
    ] = None
    checks: Annotated[
        list[Path] | None,
        typer.Option("--check-file", help="Python file with checks of yours; can be repeated."),
    ] = None
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level of all tests together.")] = 0.05
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random designs.")] = 1


@dataclass(frozen=True)
class CheckOutput:
    """Where findings go, and which end the command with exit code 1."""

    out: Annotated[
        Path | None, typer.Option("--out", help="Results folder to which tables and figures are added.")
    ] = None
    output: Annotated[str, typer.Option(help="text, json or sarif (2.1.0), on the standard output.")] = "text"
    as_json: Annotated[bool, typer.Option("--json", help="The same as --output json.")] = False
    figures: FigureFormats = None
    html: Annotated[Path | None, typer.Option(help="Write one HTML page with figures.")] = None
    fail_on: Annotated[str, typer.Option(help="Exit with 1 on: warning (and error), error, or none.")] = (
        "error"
    )


@grouped
def check(
    what: What,
    fitted: FittedChoices,
    reading: ReadingOptions,
    choosing: CheckSelection,
    writing: CheckOutput,
    files: CheckedFiles,
) -> None:
    """Check what was collected, or the choices of a fit.

    It looks at design, people, answers, files and provenance.

    Exit code 0: no finding at or above --fail-on; 1: at least one; 2: the input cannot be read.
    """
    from conjury.analysis.checks.check_runner import load_checks, pick_codes

    if writing.as_json:
        writing = replace(writing, output="json")
    _refuse_unknown(writing)
    further_codes = [code for file in choosing.checks or () for code in load_checks(file)]
    selected = None if choosing.select is None else pick_codes(_listed(choosing.select), "--select")
    ignore = dict.fromkeys(pick_codes(_listed(choosing.ignore), "--ignore"), TYPED) if choosing.ignore else {}
    settings = CheckSettings(
        selected, ignore, choosing.filter, choosing.alpha, choosing.seed, figure_formats(writing.figures)
    )
    if fitted.results is not None:
        findings = _check_results(what, fitted, reading, settings, writing, files, further_codes)
    else:
        refuse_typed("applies to choices of a results folder; add --results, or omit it.", fitted)
        findings = _check_collected(what, reading, settings, writing, files)
    if writing.html is not None:
        _write_page(writing.html, findings)
    _print(findings, writing, fitted.results)
    stops = LIMITS[LIMITS.index(writing.fail_on) :]
    if findings.worst in stops:
        from conjury.analysis.checks.output.check_findings import verdict_counts

        warn_if_quiet(f"{verdict_counts(findings)}.")
        raise typer.Exit(1)


def _check_results(
    what: list[str],
    fitted: FittedChoices,
    reading: ReadingOptions,
    settings: CheckSettings,
    writing: CheckOutput,
    files: CheckedFiles,
    further_codes: Sequence[str],
) -> Findings:
    """Check the choices of a results folder, and add what is found to it."""
    from conjury.analysis.checks.check_runner import OF_CONJOINTS

    if len(what) > 1:
        raise InputError("--results takes a study alone; name one, and a table of choices with --data.")
    refuse_typed(
        "does not apply with --results; omit it. Rows of a file are chosen by --where.",
        reading,
        CheckOutput(out=writing.out),
    )
    if settings.codes is None and further_codes:
        settings = replace(settings, codes=(*OF_CONJOINTS, *further_codes))
    return check_results(what[0], fitted, settings, replace(files, form=None))


def _check_collected(
    what: list[str],
    reading: ReadingOptions,
    settings: CheckSettings,
    writing: CheckOutput,
    files: CheckedFiles,
) -> Findings:
    """Check whatever was collected."""
    from conjury.analysis.checks.check_runner import pick_codes, run_checks

    collected = _read(what, reading, files.rules())
    _refuse_filters(collected, settings.filters)
    with show_steps(len(pick_codes(settings.codes))) as step:
        checks = run_checks(
            collected,
            checks=settings.codes,
            ignore=settings.ignore,
            alpha=settings.alpha,
            seed=settings.seed,
            filters=settings.filters,
            progress=step,
        )
    findings = _findings(collected, checks, what, settings)
    if writing.out is not None:
        _add(writing.out, findings, collected, settings.figures)
    return findings


def _refuse_unknown(writing: CheckOutput) -> None:
    for option, word, names in (
        ("--output", writing.output, OUTPUTS),
        ("--fail-on", writing.fail_on, LIMITS),
    ):
        if word not in names:
            raise InputError(f"{option} {word!r} is unknown; use {listed(names)}.")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read(what: list[str], reading: ReadingOptions, rules: ReadingRules) -> CollectedData:
    from conjury.inference.readers.collected import read_collected

    columns = ("ratings", "value", "dimension", "item", "judge", "people")
    if reading.form is None:
        refuse_typed("applies to exports only; add --format, or omit it.", reading, only=columns)
        return read_collected(what, reading.study, rules)
    if len(what) > 1:
        raise InputError("--format takes one export; name one file.")
    from conjury.inference.inference_wings import WINGS
    from conjury.inference.study.load import load_any_study

    value = read_pairs("--value", [v if "=" in v else f"{v}={v}" for v in reading.value or ()])
    exported: CollectedData = WINGS.find("exports")(
        what[0],
        reading.form,
        None if reading.study is None else load_any_study(reading.study),
        ratings=reading.ratings or (),
        value=value,
        dimension=reading.dimension,
        item=reading.item,
        judge=reading.judge,
        people=reading.people,
        reading=rules,
    )
    return exported


def _refuse_filters(collected: CollectedData, filters: Sequence[str] | None) -> None:
    for name in filters or ():
        if collected.choices is None or name not in collected.choices:
            raise InputError(
                f"--filter {name}: choices have no such column; name the column of an attention check."
            )


def _findings(
    collected: CollectedData, checks: list[Check], what: list[str], settings: CheckSettings
) -> Findings:
    from conjury.analysis.checks.output.check_findings import Findings
    from conjury.analysis.figures.labels import resolve_labels
    from conjury.inference.readers.collected import ROLES

    tables = {role: getattr(collected, role) for role in (*ROLES, "requests")}
    return Findings(
        checks,
        title=collected.study.title if collected.study is not None else ", ".join(what),
        sources=tuple(what),
        files=collected.files,
        rows=_sizes(tables),
        notes=collected.notes,
        alpha=settings.alpha,
        seed=settings.seed,
        labels=resolve_labels(collected.study),
    )


def _sizes(tables: Mapping[str, object]) -> dict[str, int]:
    return {role: len(table) for role, table in tables.items() if table is not None}  # type: ignore[arg-type]


def _print(findings: Findings, writing: CheckOutput, results: Path | None) -> None:
    if writing.output == "text":
        from conjury.analysis.checks.output.checks_text import further_lines, lines

        print_blocks(lines(findings))
        with details():
            print_blocks(further_lines(findings))
        folder = results or writing.out
        if folder is not None:
            document = "checks" if results is None else "diagnostics"
            console.print(
                f"Tables and figures of the checks in {folder}; render them with `conjury report {document} "
                f"--results {folder}`."
            )
        return
    if writing.output == "json":
        from conjury.analysis.checks.output.check_findings import to_json

        sys.stdout.write(to_json(findings))
        return
    from conjury.analysis.checks.output.sarif import to_sarif

    sys.stdout.write(to_sarif(findings))


def _write_page(path: Path, findings: Findings) -> None:
    from conjury.analysis.checks.output.checks_page import to_page
    from conjury.inference.tables.writing import write_text

    write_text(path, to_page(findings))


def _add(out: Path, findings: Findings, collected: CollectedData, formats: tuple[str, ...]) -> None:
    from conjury.analysis.pipeline.results_folder import ResultsFolder
    from conjury.analysis.pipeline.wings.checks_in_folder import add_checks

    add_checks(ResultsFolder(out), findings, collected, partial(_draw, findings, formats))


def _draw(findings: Findings, formats: tuple[str, ...], folder: Path, part: str) -> list[str]:
    from conjury.analysis.checks.output.check_results import drawings
    from conjury.analysis.pipeline.wings.checks_in_folder import PREFIX

    of_checks = drawings(findings.checks, findings.labels, PREFIX)
    return [
        *save_figures(folder, of_checks, quiet=True, formats=formats),
        *draw_figures(folder, part, quiet=True, formats=formats),
    ]
