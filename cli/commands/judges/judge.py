"""The command ``judge``: a judge's column next to those of people, from any file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError

from ...automation import HELP
from ...options import Alpha, grouped, read_pairs, split_names
from ...printing import console, print_blocks, warn_if_quiet
from ...reading_options import RatingTableOptions
from ...wishes import details

if TYPE_CHECKING:
    from conjury.analysis.raters.validation.gates import Gate
    from conjury.analysis.raters.validation.judging import Validation
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport

Human = Annotated[
    list[str] | None,
    typer.Option("--human", help="Columns of people, COL[,COL...]; otherwise guessed."),
]
By = Annotated[
    list[str] | None, typer.Option("--by", help="Column of subgroups; can be repeated, or COL,COL.")
]
Labelled = Annotated[
    str | None,
    typer.Option(
        "--labelled",
        help="How labels came about, as by=person,blind=yes,sampled=random,judge_saw=no (by=model; "
        "sampled=judge or chosen); or columns label_by, label_blind, label_sampled, judge_saw_label.",
    ),
]
Positive = Annotated[str | None, typer.Option("--positive", help="The class that is reported first.")]


@dataclass(frozen=True)
class JudgeColumns:
    """Which columns are compared."""

    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Column of the judge, or COL,COL of several; otherwise guessed."),
    ] = None
    human: Human = None
    by: By = None
    labelled: Labelled = None
    positive: Positive = None


@dataclass(frozen=True)
class DecisionOptions:
    """What the verdict is about."""

    threshold: Annotated[
        float | None,
        typer.Option(
            help="Threshold for kappa (of ratings: for the ICC); by default the highest of --fail-under."
        ),
    ] = None
    width: Annotated[float, typer.Option(help="Width of the interval that is wanted.")] = 0.1
    epsilon: Annotated[
        float,
        typer.Option(help="Margin of the replacement test: 0.1 crowd, 0.15 skilled people, 0.2 experts."),
    ] = 0.1
    alpha: Alpha = 0.05


@dataclass(frozen=True)
class Output:
    """Where the result goes, and which limits it has to reach."""

    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", help="Exit with 1 below a limit, as kappa.lower=0.6; can be repeated."),
    ] = None
    fail_over: Annotated[
        list[str] | None,
        typer.Option("--fail-over", help="Exit with 1 above a limit, as flips.upper=0.05; can be repeated."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help=HELP)] = False
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML page with figures.")] = None

    @property
    def gates(self) -> list[Gate]:
        """The limits."""
        from conjury.analysis.raters.validation.gates import gates_of

        return gates_of(self.fail_under or (), self.fail_over or ())


@grouped
def judge(
    file: Annotated[
        Path,
        typer.Argument(
            help="Any table, or what an evaluation or annotation program wrote (see `conjury read`); - for "
            "standard input.",
            show_default=False,
        ),
    ],
    columns: JudgeColumns,
    reading: RatingTableOptions,
    asked: DecisionOptions,
    output: Output,
) -> None:
    """Say whether a judge is good enough, beside people.

    Agreement, errors, rates, and the number of labels needed for a decision.

    Exit code 0: done; 1: a limit of --fail-under or --fail-over is not met; 2: the file or an option cannot
    be used.
    """
    from conjury.analysis.raters.validation.judging import judge as compute
    from conjury.analysis.raters.validation.output.validation_report import ValidationReport
    from conjury.inference.readers.judged import read_judged
    from conjury.inference.readers.judged.judged_columns import columns_of

    gates = output.gates
    judges, people = split_names([columns.judge] if columns.judge else None), split_names(columns.human)
    judged_file = read_judged(file, reading.rules(), (*judges, *people))
    program = f", {judged_file.program}" if judged_file.program else ""
    title = f"{Path(judged_file.source).name}{program}: {judged_file.reading.size_in_words}"
    if len(judges) > 1 and columns.judge not in judged_file.frame:
        from conjury.analysis.raters.systems import combine_judges

        _refuse_single(columns, asked)
        people = people or columns_of(judged_file, judges[0], ()).human
        people = tuple(name for name in people if name not in judges)
        together = combine_judges(
            judged_file.reading,
            judges,
            people,
            positive=columns.positive,
            labelled=labels_statement(columns.labelled),
            alpha=asked.alpha,
        )
        named = f"judges: {', '.join(map(repr, judges))}; people: {', '.join(map(repr, people))}"
        sources = (judged_file.source,)
        finish(ValidationReport(together, title, sources, (named, *judged_file.notes)), gates, output)
        return
    roles = columns_of(judged_file, columns.judge, people)
    result = compute(
        judged_file.reading,
        roles.judge,
        roles.human,
        by=split_names(columns.by),
        positive=columns.positive,
        threshold=_threshold(asked, gates),
        width=asked.width,
        epsilon=asked.epsilon,
        labelled=labels_statement(columns.labelled),
        alpha=asked.alpha,
    )
    report = ValidationReport(
        result, title, (judged_file.source,), (_columns_in_words(roles.guessed, result), *judged_file.notes)
    )
    finish(report, gates, output)


def _refuse_single(columns: JudgeColumns, request: DecisionOptions) -> None:
    """Refuse options that are about one judge, beside several."""
    by = {"--by": columns.by, "--threshold": request.threshold}
    option = next((name for name, value in by.items() if value), None)
    if option is not None:
        raise InputError(f"{option} is about one judge; name one column with --judge, or omit {option}.")


def run_names(files: Sequence[Path]) -> tuple[str, ...]:
    """Names of runs in several files: those of the files, else of their folders, else both."""
    stems = [path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem for path in files]
    folders = [path.resolve().parent.name for path in files]
    paths = [f"{folder}/{stem}" for folder, stem in zip(folders, stems, strict=True)]
    return tuple(next((names for names in (stems, folders) if len(set(names)) == len(names)), paths))


def labels_statement(text: str | None) -> dict[str, str]:
    """How all labels came about, as by=person,blind=yes."""
    return read_pairs("--labelled", split_names([text] if text else None))


def _threshold(request: DecisionOptions, gates: Sequence[Gate]) -> float | None:
    """The threshold that is named, else the highest that --fail-under states of a main coefficient."""
    mains, limits = ("kappa", "weighted_kappa", "icc"), ("estimate", "lower", "upper")
    bounds = [gate.bound for gate in gates if gate.least and gate.name in mains and gate.limit in limits]
    return request.threshold if request.threshold is not None else max(bounds, default=None)


def _columns_in_words(guesses: Sequence[str], result: Validation) -> str:
    """Which columns were compared, and which of them were guessed."""
    people = ", ".join(f"'{name}'" for name in result.settings["human"])
    text = f"judge: '{result.settings['judge']}'; people: {people}; scale: {result.settings['scale']}"
    return (
        f"{text} (guessed {' and '.join(guess.partition(':')[0] for guess in guesses)})" if guesses else text
    )


def finish(report: ValidationReport, gates: Sequence[Gate], output: Output) -> None:
    """Print a report or its JSON, write its page, and exit with 1 where a limit is not met."""
    from dataclasses import replace

    from conjury.analysis.raters.validation.gates import outcomes

    report = replace(report, outcomes=outcomes(report.result, gates))
    if output.html is not None:
        _write(output.html, report)
    if output.as_json:
        from conjury.analysis.raters.validation.output.validation_report import to_json

        sys.stdout.write(to_json(report))
    else:
        from conjury.analysis.raters.validation.output.validation_text import blocks, further_blocks

        print_blocks(blocks(report))
        with details():
            print_blocks(further_blocks(report))
        if output.html is not None:
            console.print(f"\nPage with figures: {output.html}")
    failures = [str(outcome) for outcome in report.outcomes if not outcome.passes]
    if failures:
        warn_if_quiet("\n".join(failures))
        raise typer.Exit(1)


def _write(path: Path, report: ValidationReport) -> None:
    from conjury.analysis.raters.validation.output.validation_page import to_page
    from conjury.inference.tables.writing import write_text

    refuse_other_page(path)
    write_text(path, to_page(report))


def refuse_other_page(path: Path) -> None:
    """Refuse a page whose name is not that of one."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--html {path}: name a file that ends in .html.")
