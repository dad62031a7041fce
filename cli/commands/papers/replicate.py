"""The command ``conjury replicate``: every table and figure of a paper, with published numbers and ours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.collecting.run_options import Asking
from conjury.inference.errors import InputError, counted, listed

from ...automation import record
from ...options import grouped, not_a_file, read_pairs, refuse_typed, typed_options
from ...printing import console, print_blocks, warn
from ...wishes import details

if TYPE_CHECKING:
    import pandas as pd

    from conjury.analysis.report.replication import Replication
    from conjury.analysis.report.replication.exhibit_layouts import PaperLayout
    from conjury.inference.study.models import AnyStudy

FORMATS = ("html", "latex", "word", "markdown")
FIRST_LINES, FIRST_EXHIBITS = 16, 9  # of tables and of counts that are printed first
PARTICIPANTS = "participants"  # a table that is made where there are any
FREE = ("vllm", "ray", "simulated", "replay")  # backends without a price


@dataclass(frozen=True)
class NumbersOfOurs:
    """Where our numbers come from: a results folder, answers, or a simulation."""

    results: Annotated[Path | None, typer.Option(help="Results folder that `conjury fit` wrote.")] = None
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="Answers, which `conjury fit` analyses first; repeat to stack several."),
    ] = None
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Answers simulated at the size of the paper.")
    ] = False


@dataclass(frozen=True)
class AddedJudge:
    """A judge that is asked first, to stand beside those of the paper."""

    add_judge: Annotated[
        str | None,
        typer.Option(
            help="Ask this judge first, of the study or of your own with --model, as `collect` does."
        ),
    ] = None
    pairs: Annotated[
        int, typer.Option(min=1, help="How many pairs, drawn at random, or items --add-judge gets.")
    ] = 500
    max_cost: Annotated[float, typer.Option(min=0, help="Costs at which --add-judge stops.")] = 5.0
    prices: Annotated[Path | None, typer.Option(help="Table of prices, in place of the one that ships.")] = (
        None
    )


@dataclass(frozen=True)
class OptionsOfFit:
    """Options that `conjury fit` gets with --data."""

    rename: Annotated[list[str] | None, typer.Option(help="As in `conjury fit`.")] = None
    variant: Annotated[list[str] | None, typer.Option(help="As in `conjury fit`.")] = None
    judge: Annotated[str | None, typer.Option(help="As in `conjury fit`.")] = None
    prompt: Annotated[str | None, typer.Option(help="As in `conjury fit`.")] = None
    items: Annotated[Path | None, typer.Option("--items", help="As in `conjury fit`.")] = None
    gold: Annotated[Path | None, typer.Option("--gold", help="As in `conjury fit`.")] = None
    reading: Annotated[list[Path] | None, typer.Option("--reading", help="As in `conjury fit`.")] = None
    draws: Annotated[int | None, typer.Option(help="Bootstrap draws, with --data or --simulate.")] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of simulation and bootstrap.")] = 1


@dataclass(frozen=True)
class FilesOfExhibits:
    """Which tables and figures are written, and as what."""

    out: Annotated[
        Path | None, typer.Option("--out", callback=not_a_file, help="Folder; by default replication/STUDY.")
    ] = None
    only: Annotated[
        list[str] | None, typer.Option(help='Only this table or figure, as "Table 3"; can be repeated.')
    ] = None
    published: Annotated[
        Path | None,
        typer.Option(help="Folder with published numbers as CSV, in place of those that ship."),
    ] = None
    layout: Annotated[
        Path | None, typer.Option(help="Layout of tables and figures in YAML, in place of the study's.")
    ] = None
    to: Annotated[
        list[str] | None,
        typer.Option(help="html, latex, word or markdown; can be repeated. [default: all]"),
    ] = None


@grouped
def replicate(
    context: typer.Context,
    ours: NumbersOfOurs,
    added: AddedJudge,
    asking: Asking,
    fitting: OptionsOfFit,
    files: FilesOfExhibits,
    study: Annotated[
        str | None, typer.Argument(help="Name of a study that ships, or the path of a study.yaml.")
    ] = None,
) -> None:
    """Write every table and figure of the paper of a study.

    Published numbers, ours, and their difference stand side by side.
    """
    from conjury.analysis.report.replication import replicate as lay_out
    from conjury.analysis.report.replication.exhibit_layouts import read_layout
    from conjury.inference.study import load_any_study
    from conjury.inference.tables.files import REPLICATIONS, shipped_names

    if study is None:
        papers = [f"{name} ({read_layout(name).paper})" for name in shipped_names(REPLICATIONS)]
        raise InputError(f"Name the study of a paper: {'; '.join(papers)}.")
    unknown = next((name for name in files.to or () if name not in FORMATS), None)
    if unknown is not None:
        raise InputError(f"--to {unknown}: there is no such format; use one of: {', '.join(FORMATS)}.")
    name = load_any_study(study).name
    paper = read_layout(files.layout if files.layout is not None else name)
    paper.select(files.only or [])
    out = files.out if files.out is not None else Path("replication") / name
    if added.add_judge is None:
        refuse_typed("applies to --add-judge; give both, or omit it.", added, asking)
    elif ours.results is not None:
        raise InputError(
            "--add-judge fits new answers, and --results has fitted ones; give --data, or omit one."
        )
    elif ours.simulate:
        raise InputError(
            "--add-judge asks a judge, and --simulate draws all answers; give --data for those of other "
            "judges, or omit one."
        )
    else:
        answers = _ask(context, study, out, added, asking, fitting.prompt)
        answers = _with_names_of(added.add_judge, answers, load_any_study(study), ours.data or [], fitting)
        ours = replace(ours, data=[*(ours.data or ()), answers])
    results = _results(context, study, out, ours, fitting, paper, files.only or [])
    replication = lay_out(
        study, results=results, published=files.published, layout=files.layout, only=files.only or ()
    )
    notes = replication.write(out, files.to or FORMATS)
    if files.only:
        _print_tables(replication)
    _print_parity(replication.parity, replication.has_results)
    _print_reasons(replication)
    record(
        out=str(out),
        exhibits=len(replication.exhibits),
        notes=notes,
        files=[out / name for name in ("index.html", "numbers.csv", "parity.csv")],
    )
    record(parity=replication.parity.set_index("exhibit").to_dict("index"))
    for note in notes:
        warn(note)
    _print_empty(replication)
    with details():
        if replication.layout.settings:
            console.print("What the study that ships has otherwise than the paper:")
        for text in replication.layout.settings:
            console.print(f"- {text}")
    exhibits = counted(len(replication.exhibits), "table or figure", "tables and figures")
    console.print(f"{exhibits} of {replication.layout.paper} in {out / 'index.html'}.")


def _results(
    context: typer.Context,
    study: str,
    out: Path,
    ours: NumbersOfOurs,
    fitting: OptionsOfFit,
    paper: PaperLayout,
    only: list[str],
) -> Path | None:
    """The results folder with our numbers, which is made where answers are given or simulated."""
    typed = typed_options(ours)
    if len(typed) > 1:
        raise InputError(f"{' and '.join(typed.values())} are given; choose one of them.")
    options = typed_options(fitting)
    if options and not (ours.data or ours.simulate):
        raise InputError(f"{next(iter(options.values()))} applies to --data; give both, or omit it.")
    if not (ours.data or ours.simulate):
        return ours.results
    refused = [option for name, option in options.items() if name not in ("draws", "seed")]
    if ours.simulate and refused:
        raise InputError(f"{refused[0]} applies to --data, and these answers are simulated; omit it.")
    data = list(ours.data or ())
    exhibits = paper.select(only)
    needed = [name for exhibit in exhibits for name in exhibit.results(paper.numbers)]
    numbers = listed([exhibit.number for exhibit in exhibits], 9)
    if only and not needed:
        console.print(f"{numbers}: nothing there is computed from answers.")
        return None
    if ours.simulate and set(needed) == {PARTICIPANTS}:
        console.print(f"{numbers}: people are counted there, and simulated answers have no participants.")
        return None
    if ours.simulate:
        data = [out / "answers" / "simulated.parquet"]
        data[0].parent.mkdir(parents=True, exist_ok=True)
        _run(
            context, ["simulate", study, *paper.simulate, "--seed", str(fitting.seed), "--out", str(data[0])]
        )
    command = ["fit", study, *_repeated("--data", data), "--out", str(out / "results"), "--figures", "none"]
    for name in ("rename", "variant", "reading"):
        command += _repeated(f"--{name}", getattr(fitting, name) or ())
    for name in ("judge", "prompt", "items", "gold"):
        value = getattr(fitting, name)
        command += [] if value is None else [f"--{name}", str(value)]
    draws = ["--draws", str(fitting.draws)] if fitting.draws is not None else paper.fit
    if only:  # beside others, a name that the data do not allow is no error
        command += ["--only", ",".join(dict.fromkeys([*needed, PARTICIPANTS]))]
    _run(context, [*command, *draws, "--seed", str(fitting.seed)])
    return out / "results"


def _with_names_of(
    judge: str, answers: Path, study: AnyStudy, ours: list[Path], fitting: OptionsOfFit
) -> Path:
    """Put the judge before the names of its pairs where other answers are to other pairs of these names."""
    from conjury.analysis.pipeline.loading import CHOICES, FileSelection, read_choices_of
    from conjury.inference.readers.prepare import other_profiles
    from conjury.inference.study.models import Study
    from conjury.inference.tables import write_table

    if not isinstance(study, Study) or not ours:
        return answers
    choices = read_choices_of(study, ours, None, FileSelection(read_pairs("--rename", fitting.rename)))
    added = read_choices_of(study, [answers], None, FileSelection({})).tables[CHOICES]
    if not other_profiles(study, str(ours[0]), choices.tables[CHOICES], str(answers), added):
        return answers
    renamed = added.assign(pair_id=f"{judge}: " + added["pair_id"].astype("string"))
    path = answers.with_name("added_choices.parquet")
    write_table(renamed, path)
    files = listed([str(file) for file in ours])
    console.print(
        f"Pairs of {judge} are others than those of the same names in {files}: their names begin with "
        f"'{judge}' in {path}."
    )
    return path


def _ask(
    context: typer.Context, study: str, out: Path, added: AddedJudge, asking: Asking, prompt: str | None
) -> Path:
    """Ask a judge as `conjury collect` does, within costs; return the file of its answers."""
    folder = out / "run"
    command = ["collect", study, "--judge", str(added.add_judge), "--pairs", str(added.pairs)]
    command += ["--out", str(folder)]
    for name, value in asking.changed().items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    command += [] if prompt is None else ["--prompt", prompt]
    if asking.backend not in FREE:
        command += ["--max-cost", f"{added.max_cost:g}"]
        command += [] if added.prices is None else ["--prices", str(added.prices)]
    _run(context, command)
    paths = [folder / f"{name}.parquet" for name in ("choices", "judgments")]
    answers = next((path for path in paths if path.is_file()), None)
    if answers is None:
        raise InputError(f"--add-judge {added.add_judge}: there is no answer of it in {folder}.")
    return answers


def _repeated(option: str, values: object) -> list[str]:
    return [text for value in values for text in (option, str(value))]  # type: ignore[attr-defined]


def _run(context: typer.Context, command: list[str]) -> None:
    """Run another command as a user types it."""
    console.print(f"$ {shlex.join(['conjury', *command])}")
    code = context.find_root().command.main(command, prog_name="conjury", standalone_mode=False)
    if code:
        raise typer.Exit(code)


def _print_tables(replication: Replication) -> None:
    """Print what was asked for: a table whole, of several as many lines as a screen has."""
    from conjury.analysis.report.paper.document_writing import to_markdown

    tables = [table for exhibit in replication.exhibits for table in exhibit.printed_tables]
    if not tables:
        return
    text = re.sub(r"\\([\[\]*_])", r"\1", to_markdown(tables))  # escapes are for files
    lines = text.strip().split("\n")
    cut = FIRST_LINES if len(tables) > 1 and len(lines) > FIRST_LINES + 3 else len(lines)
    console.print("\n".join(lines[:cut]), soft_wrap=True)
    with details():
        if lines[cut:]:
            console.print("\n".join(lines[cut:]), soft_wrap=True)
    console.print()


def _print_empty(replication: Replication) -> None:
    """Name the tables and figures without a number, and where their numbers come from."""
    empty = [
        exhibit.layout
        for exhibit in replication.exhibits
        if not (exhibit.tables or exhibit.figures or exhibit.layout.shows or exhibit.layout.command)
    ]
    if not empty:
        return
    names = f"{listed([layout.number for layout in empty])}: {'this is' if len(empty) == 1 else 'these are'}"
    if replication.has_results:
        console.print(f"{names} empty, since the results have no such numbers.")
    else:
        console.print(f"{names} computed from answers; give them by --data, --simulate or --add-judge.")
    for layout in empty:
        if layout.note:
            console.print(f"  {layout.number}: {layout.note}")


def _print_parity(parity: pd.DataFrame, has_results: bool) -> None:
    """Print how many numbers agree, or were published: of all exhibits, and of each."""
    lines = [_parity_line(row, has_results) for row in parity.to_dict("records")]
    if len(lines) > 1:
        total = {"exhibit": "All", **parity.drop(columns="exhibit").select_dtypes("number").sum().to_dict()}
        lines = [_parity_line(total, has_results), *lines]
    cut = FIRST_EXHIBITS if len(lines) > FIRST_EXHIBITS + 1 else len(lines)
    print_blocks(lines[:cut])
    with details():
        print_blocks(lines[cut:])


def _print_reasons(replication: Replication) -> None:
    """Print why numbers differ from published ones, how many have each reason, and what has none of ours."""
    numbers = replication.numbers
    different = numbers[numbers["verdict"] == "different"]
    for reason, count in different["reason"].value_counts().items():
        console.print(f"  {count:,} different: {reason or 'no reason is known.'}")
    ours = numbers.groupby("exhibit", sort=False)["ours"].count()
    without = list(ours.index[ours == 0]) if replication.has_results else []
    if without:
        console.print(f"  {listed(without)}: the answers that were given have no such numbers.")


def _parity_line(row: Mapping[Any, Any], has_results: bool) -> str:
    if not has_results:
        return f"  {row['exhibit']}: {counted(int(row['published']), 'published number')}"
    names = ("equal", "within rounding", "different", "not compared")
    counts = [f"{row[name]:,.0f} {name}" for name in names if row[name]]
    return f"  {row['exhibit']}: {listed(counts)}"
