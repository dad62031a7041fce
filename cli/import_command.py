"""The command `conjury import`: choices, ratings, completions and gold labels from other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, listed
from conjury.inference.readers.programs.formats import (
    ANSWERS,
    CHOICES,
    JOINED,
    PROGRAMS,
    Format,
    find_format,
    readers_of,
)
from conjury.inference.tables.reading.containers import FORMATS as KINDS_OF_FILES

from .automation import record
from .import_options import CompletionOptions, ExportOptions
from .options import grouped, split_names, typed_options
from .printing import console
from .reading_options import TableOptions, about_reading

if TYPE_CHECKING:
    import pandas as pd

    from conjury.inference.humans import Imported, Layout, Rules
    from conjury.inference.tables.reading import ReadingRules
    from conjury.inference.tables.reading.containers import FileContent

    Source = Path | FileContent

QUALTRICS, ANY_TABLE, RESPONSE_ID = "qualtrics", "csv", "ResponseId"
KINDS = tuple(kind for kind in KINDS_OF_FILES if kind != ANY_TABLE)  # files that are read as any table


@dataclass(frozen=True)
class ProgramTable(TableOptions):
    """What a user states about an export, its program among it."""

    form: Annotated[
        str | None,
        about_reading(
            "--format",
            text=f"{', '.join(f'{name} ({what})' for name, what in PROGRAMS.items())}, or a kind of file, "
            f"read as csv is ({', '.join(KINDS)}); otherwise recognised, by default qualtrics.",
        ),
    ] = None


@grouped
def import_(
    export: Annotated[
        Path,
        typer.Argument(
            help="Export of a program, a table in any format, - for standard input, or completions."
        ),
    ],
    completions: CompletionOptions,
    options: ExportOptions,
    reading: ProgramTable,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File of the choices, judgments or labels (.parquet, .csv, .csv.gz); with --study by "
            "default judgments.parquet or labels.parquet.",
        ),
    ] = None,
) -> None:
    """Convert an export to choices, judgments or labels.

    Exports of survey and annotation programs, logs, or raw completions.
    """
    form = reading.form
    if completions.study is not None and form is not None:
        _import_fielded(export, out, form, completions, options)
        return
    if typed_options(completions):
        from .import_options import import_for_study

        import_for_study(export, out, completions, options, reading)
        return
    rules = replace(reading.rules(), form=form if form in KINDS else None, id=None)
    if out is None:
        raise InputError("--out is missing; give the file to write, such as --out choices.parquet.")
    source: Source = export
    if form is None:
        source, form = _recognised(export, rules)
    is_guess, form = form is None, form or _usual_format(options, reading)
    form = ANY_TABLE if form in KINDS else form
    reader = find_format(form, with_ratings=bool(options.ratings or options.value))
    for name, option in typed_options(options, reading).items():
        if name not in (*reader.options, "form"):
            raise InputError(
                f"{option} does not apply to {reader.content} from {form}; omit it (it "
                f"applies to {', '.join(readers_of(name))}; --ratings names columns of ratings)."
            )
    try:
        if reader.content == CHOICES:
            _import_choices(source, out, reader, options, reading.id, rules)
        elif reader.content == ANSWERS:
            _import_answers(source, out, replace(rules, form=form), options)
        else:
            _import_judgments(source, out, reader, options, reading.id, rules)
    except InputError as error:
        if is_guess and f"'{RESPONSE_ID}' is missing" in str(error):
            _refuse_table(source, export, rules)
        raise


def _recognised(export: Path, rules: ReadingRules) -> tuple[Source, str | None]:
    """The content of an export and the program that probably wrote it; None where none is known."""
    from conjury.inference.readers.programs.recognised_files import recognise
    from conjury.inference.tables.reading.account import ReadingAccount

    recognised = recognise(export, rules)
    entries = recognised.entries
    ReadingAccount(strict=rules.strict).adding(entries)
    if recognised.format is None:
        return recognised.content, None
    if recognised.format.name != QUALTRICS:
        _print_notes([entry.sentence for entry in entries])
    return recognised.content, recognised.format.name


def _usual_format(options: ExportOptions, reading: ProgramTable) -> str:
    """The format of a table of no known program: any table where its columns or options name judges."""
    of_table, of_survey = (find_format(name, with_ratings=True).options for name in (ANY_TABLE, QUALTRICS))
    names_judges = any("{judge}" in pattern for pattern in options.ratings or ())
    is_table = names_judges or (of_table - of_survey) & typed_options(options, reading).keys()
    return ANY_TABLE if options.value or (options.ratings and is_table) else QUALTRICS


def _refuse_table(content: Source, export: Path, rules: ReadingRules) -> None:
    """Refuse a table that no program wrote, with the command that reads it as it is."""
    from conjury.inference.readers.programs.record_shapes import is_qualtrics
    from conjury.inference.tables.reading import read

    from .commands.starting.read_command import next_command

    reading = read(content, rules)
    columns = list(map(str, reading.frame))
    if is_qualtrics(dict.fromkeys(columns)):
        return
    command = next_command(reading, export)[0]
    following = f"continue with `{command}`" if command.startswith("conjury") else command.rstrip(".")
    raise InputError(
        f"{export}: this is a table ({listed(columns)}), and no export of a program that is recognised; it "
        f"needs no import: {following}. An export is named by --format, or --id COLUMN of its respondents."
    )


def _import_answers(export: Source, out: Path, rules: ReadingRules, options: ExportOptions) -> None:
    """Read a log with a column of the judge next to one of people, and write a row for each answer."""
    from conjury.inference.humans import Imported
    from conjury.inference.readers.judgments import load_judgments

    notes: list[str] = []
    models = () if options.judge is None else (options.judge,)
    judgments = load_judgments(export, rules=rules, notes=notes, models=models)
    _write_judgments(Imported(judgments.assign(excluded=None), tuple(notes)), out, _is_private(export))


def _import_fielded(
    export: Path, out: Path | None, form: str, completions: CompletionOptions, options: ExportOptions
) -> None:
    """Import answers of people to a study that `conjury export` wrote."""
    from .commands.people.fielded import import_fielded

    typed = typed_options(completions, options)
    flags = [option for name, option in typed.items() if name not in ("study", "run")]
    if flags:
        raise InputError(
            f"{flags[0]} cannot be combined with --study and --format, which read answers to a study that "
            "`conjury export` wrote; omit it."
        )
    assert completions.study is not None
    import_fielded(export, out, form, completions.study, completions.run)


def _import_choices(
    export: Source, out: Path, reader: Format, options: ExportOptions, id: str | None, reading: ReadingRules
) -> None:
    """Read an export, write its choices, print the notes, and draft a study file on request."""
    from conjury.inference.humans import draft_study, make_ids
    from conjury.inference.readers.conjoints.study_draft import empty_pairs_of, joined, restrictions_of
    from conjury.inference.tables.files import write_table

    draft = options.draft_study
    if draft is not None and draft.exists():
        raise InputError(f"{draft} exists and is not overwritten; give another file.")
    survey = reader.load()(
        export,
        outcomes=_outcomes(options.outcomes),
        repeated=options.repeated,
        flipped=options.flipped,
        labels=options.labels,
        first=options.first,
        second=options.second,
        covariates=None if options.covariates is None else list(split_names([options.covariates])),
        prefix=options.prefix,
        id=id or RESPONSE_ID,
        rules=_rules(options, reading),
        duration=options.duration,
        anonymous=options.anonymise,
    )
    write_table(survey.choices, out, private=_is_private(export))
    record(rows={str(out): len(survey.choices)}, respondents=survey.respondents, tasks=survey.tasks)
    record(attributes=survey.labels["attribute"].nunique())
    n_excluded = survey.choices["judge_id"].nunique() - survey.respondents
    console.print(
        f"{len(survey.choices):,} rows of choices in {out}: {survey.respondents:,} respondents, "
        f"{survey.tasks} tasks, {survey.labels['attribute'].nunique()} attributes"
        + (f"; {n_excluded:,} more respondents are excluded" if n_excluded else "")
    )
    _print_notes(survey.notes)
    if draft is not None:
        file = Path(str(export)).name
        name = make_ids([file.partition(".")[0]], "study")[0]
        draft.parent.mkdir(parents=True, exist_ok=True)
        record(files=[draft])
        pairs = empty_pairs_of(survey.choices, survey.labels["attribute_id"].unique().tolist())
        for tie in pairs:
            console.print(f"  {tie.sentence()}")
        content = draft_study(survey, name, file, restrictions=restrictions_of(pairs), joined=joined(pairs))
        draft.write_text(content, encoding="utf-8")
        console.print(f"Draft of the study in {draft}; continue with `conjury fit {draft} --data {out}`.")


def _import_judgments(
    export: Source, out: Path, reader: Format, options: ExportOptions, id: str | None, reading: ReadingRules
) -> None:
    """Read an export of ratings, join demographics, write judgments, and print the notes."""
    from conjury.inference.humans import anonymise

    if reader.content == JOINED:
        imported = reader.load()(_read_judgments(options, reader), export, options.prolific_id)
    else:
        if options.prolific_id is not None and options.prolific is None:
            raise InputError("--prolific-id applies to --prolific; add --prolific FILE, or omit it.")
        named = {"id": id or RESPONSE_ID} if "id" in reader.options else {}
        rules = _rules(options, reading)
        imported = reader.load()(export, layout=_layout(options), rules=rules, **reader.fixed, **named)
        if options.prolific is not None:
            imported = find_format("prolific", with_ratings=False).load()(imported, options.prolific)
    if options.anonymise:
        imported = anonymise(imported)
    _write_judgments(imported, out, _is_private(export))


def _is_private(export: Source) -> bool:
    """Whether what is made of an export is for its owner alone, as the export is."""
    from conjury.inference.tables.writing import is_private

    path = Path(str(export))
    return path.exists() and is_private(path)


def _write_judgments(imported: Imported, out: Path, private: bool) -> None:
    """Write judgments, and print what they are and what was assumed."""
    from conjury.inference.tables.reading.companion_levels import write_with_levels

    beside = write_with_levels(imported.judgments, out, private=private)
    console.print(_summary(imported.judgments, out))
    _print_notes(imported.notes)
    if beside is not None:
        console.print(f"  Labels that look like missing cells, and orders of labels, are in {beside}.")


def _print_notes(notes: Sequence[str]) -> None:
    record(notes=list(notes))
    for note in notes:
        console.print(f"  {note}")


def _layout(options: ExportOptions) -> Layout:
    from conjury.inference.humans import Layout, read_names

    return Layout(
        ratings=tuple(options.ratings or ()),
        value=_values(options.value),
        dimension=options.dimension,
        item=options.item,
        judge=options.judge,
        sample=options.sample,
        panel=options.panel,
        duration=options.duration,
        person=options.prolific_id if options.prolific is not None else None,
        dimensions=read_names(options.dimensions, "--dimensions"),
        items=read_names(options.items, "--items"),
        covariates=split_names([options.covariates or ""]),
        kind=options.judge_kind,
        models=split_names(options.models),
        people=options.people,
        all_shown=options.all_shown,
        timezone=options.timezone,
    )


def _rules(options: ExportOptions, reading: ReadingRules) -> Rules:
    from conjury.inference.humans import Rules, read_checks, read_scale

    return Rules(
        scale=read_scale(options.anchors),
        reading=reading,
        checks=read_checks(options.check or ()),
        check_items=read_checks(options.check_item or (), "--check-item"),
        min_seconds=options.min_seconds,
        again=options.again,
        ignore=split_names([options.ignore or ""]),
    )


def _read_judgments(options: ExportOptions, reader: Format) -> Imported:
    """The judgments to which demographics are joined."""
    from conjury.inference.humans import Imported
    from conjury.inference.tables.files import read_table

    if options.judgments is None:
        raise InputError(
            f"--format {reader.name} joins {reader.help} to judgments; give these by --judgments, or import "
            f"ratings with --{reader.name}."
        )
    return Imported(read_table(options.judgments, "judgments"), ())


def _values(texts: Sequence[str] | None) -> dict[str, str]:
    """Read ``COLUMN`` and ``DIMENSION=COLUMN`` as columns by dimension."""
    columns: dict[str, str] = {}
    for text in texts or ():
        name, equals, column = text.partition("=")
        name, column = (name, column) if equals else (text, text)
        if not name or not column or name in columns:
            raise InputError(f"--value {text!r} is invalid; give each dimension once, as NAME=COLUMN.")
        columns[name] = column
    return columns


def _outcomes(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read ``choice1,choice2`` and ``trusted=trust1,trust2`` as columns by the name of the result."""
    columns_by_outcome: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, columns = text.rpartition("=")
        name = name if equals else "chosen"
        if name in columns_by_outcome or not columns:
            raise InputError(
                f"--outcomes {text!r} is invalid; give each outcome once, as NAME=COLUMN,COLUMN."
            )
        columns_by_outcome[name] = list(split_names([columns]))
    return columns_by_outcome or None


def _summary(judgments: pd.DataFrame, out: Path) -> str:
    kinds = judgments.groupby("judge_kind", observed=True)["judge_id"].nunique()
    nouns = {"human": ("person", "people"), "model": ("model", "models")}
    judges = " and ".join(f"{count:,} {nouns[str(kind)][count > 1]}" for kind, count in kinds.items())
    dimensions = listed(judgments["dimension"].drop_duplicates())
    kinds_of = {str(kind): int(count) for kind, count in kinds.items()}
    n_usable = int(((judgments["status"] == "ok") & judgments["excluded"].isna()).sum())
    record(
        rows={str(out): len(judgments)}, judges=kinds_of, items=judgments["item_id"].nunique(), used=n_usable
    )
    return (
        f"{len(judgments):,} judgments in {out}: {judges}, {judgments['item_id'].nunique():,} items, "
        f"{dimensions}; {n_usable:,} to be used"
    )
