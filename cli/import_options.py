"""Options of `conjury import`, and judgments from raw completions of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjury.inference.errors import InputError

from .automation import record
from .options import refuse_typed, typed_options
from .printing import console

if TYPE_CHECKING:
    from conjury.inference.study.models import ItemStudy

    from .reading_options import TableOptions


def _panel(title: str) -> Callable[..., Any]:
    """Options of one panel of the help, by their help and, where they differ from the field, their names."""

    def option(help: str, *names: str) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=title)

    return option


about_completions = _panel("Raw completions of models, and gold labels")
about_conjoint = _panel("Conjoint exports of Qualtrics")
about_columns = _panel("Ratings: columns")
about_values = _panel("Ratings: values")
about_marks = _panel("Ratings: exclusions")
about_people = _panel("People")


@dataclass(frozen=True)
class CompletionOptions:
    """Completions or gold labels of a study, and how they are read."""

    study: Annotated[
        str | None,
        about_completions(
            "The table contains raw completions or, with --gold, gold labels of this study; with --format "
            "answers of people to what `conjury export` wrote."
        ),
    ] = None
    parser: Annotated[
        str | None,
        about_completions(
            "Parsing rule for completions: lenient (the default), strict, published, published_v1 or "
            "published_first."
        ),
    ] = None
    run: Annotated[
        Path | None,
        about_completions(
            "Run that `conjury export` wrote, for answers of people with --study and --format; by default "
            "runs/STUDY."
        ),
    ] = None
    gold: Annotated[
        list[str] | None,
        about_completions("Column of gold labels, as joke_type=COLUMN or line=COLUMN; can be repeated."),
    ] = None
    lines: Annotated[
        Path | None,
        about_completions("Table with one row per line (item_id, line or line_no), for --gold line=COLUMN."),
    ] = None


@dataclass(frozen=True)
class ExportOptions:
    """Columns and cells of an export, who gave the ratings, and which are excluded."""

    outcomes: Annotated[
        list[str] | None,
        about_conjoint("Outcome of each task: choice1,choice2,... Further ones as NAME=COLUMN,COLUMN,..."),
    ] = None
    repeated: Annotated[
        str | None, about_conjoint("Outcome of the task that was shown again, as NAME or NAME=TASK.")
    ] = None
    flipped: Annotated[bool, about_conjoint("Whether the profiles of that task were swapped.")] = True
    first: Annotated[str | None, about_conjoint("Answer that means the first profile.")] = None
    second: Annotated[str | None, about_conjoint("Answer that means the second profile.")] = None
    labels: Annotated[
        Path | None,
        about_conjoint("CSV with attribute and level, in order, the reference level first.", "--level-order"),
    ] = None
    prefix: Annotated[str | None, about_conjoint("First part of the conjoint columns, such as K.")] = None
    draft_study: Annotated[Path | None, about_conjoint("Draft a study file, for `conjury fit`.")] = None

    ratings: Annotated[
        list[str] | None,
        about_columns(
            "Names of rating columns with {item}, {dimension}, {place}, {sample} or {judge}, such as "
            "'Q{item}_{dimension}', or 'funniness={item}_Q3'; can be repeated."
        ),
    ] = None
    value: Annotated[
        list[str] | None,
        about_columns(
            "Column of ratings in a table with one rating per row, as COLUMN or DIMENSION=COLUMN; can be "
            "repeated."
        ),
    ] = None
    dimension: Annotated[str | None, about_columns("Column that names the dimension of a row.")] = None
    item: Annotated[
        str | None,
        about_columns("Column (or field of a task) that names the item; with {place}, one column per place."),
    ] = None
    judge: Annotated[
        str | None,
        about_columns("Column that identifies the judge; for inspect grader, scorer or model."),
    ] = None
    judge_kind: Annotated[
        str | None, about_columns("Column that states whether a judge is a human or a model; for csv.")
    ] = None
    models: Annotated[
        list[str] | None,
        about_columns("Judge that is a model; all others are people; for csv; can be repeated."),
    ] = None
    people: Annotated[bool, about_columns("All judges are people; for csv.", "--all-people")] = False
    sample: Annotated[str | None, about_columns("Column that numbers repeated ratings of an item.")] = None
    dimensions: Annotated[
        str | None, about_columns("Dimensions to import, as wit,clarity, or as 1=wit,2=clarity to name them.")
    ] = None
    items: Annotated[
        str | None,
        about_columns(
            "Ids of items as 1=joke_a,2=joke_b, or a CSV with key and item_id; with --study the table of the "
            "items that were judged."
        ),
    ] = None
    all_shown: Annotated[
        bool,
        about_columns("Every person saw every item; items without a rating are missing.", "--all-shown"),
    ] = False
    duration: Annotated[str | None, about_columns("Column with the seconds per answer.")] = None
    timezone: Annotated[str | None, about_columns("Of the times in the file: Asia/Tokyo.")] = None

    anchors: Annotated[
        str | None,
        about_values(
            "Numbers of words, as 'Not at all=0,...,Very=4', or a CSV with label, value, perhaps dimension."
        ),
    ] = None

    check: Annotated[
        list[str] | None,
        about_marks(
            "Attention check as COLUMN=ANSWER or COLUMN=ANSWER|ANSWER; can be repeated.", "--attention-check"
        ),
    ] = None
    check_item: Annotated[
        list[str] | None,
        about_marks("Item with a known rating, ITEM=RATING; other ratings mark a judge; can be repeated."),
    ] = None
    min_seconds: Annotated[
        float | None, about_marks("Minimum seconds; respondents who took less are marked.")
    ] = None
    ignore: Annotated[
        str | None,
        about_marks("Reasons for exclusion by the program that are ignored: unfinished,preview,..."),
    ] = None
    again: Annotated[
        str,
        about_marks(
            "Treatment of a second rating of an item by the same judge: refuse, sample (number "
            "it) or exclude."
        ),
    ] = "refuse"

    covariates: Annotated[
        str | None,
        about_people("Columns of people to keep: age,party,... By default all of a conjoint, else none."),
    ] = None
    panel: Annotated[str | None, about_people("Column with the group of each person.", "--panel-column")] = (
        None
    )
    prolific: Annotated[
        Path | None, about_people("Demographic export of Prolific that is joined to people.")
    ] = None
    prolific_id: Annotated[
        str | None, about_people("Column with Prolific's ids; by default that of the judge.")
    ] = None
    judgments: Annotated[Path | None, about_people("Judgments to which --format prolific is joined.")] = None
    anonymise: Annotated[bool, about_people("Replace ids of people by r001, r002, ...", "--anonymise")] = (
        False
    )


JUDGMENTS, LABELS = Path("judgments.parquet"), Path("labels.parquet")


def import_for_study(
    table: Path,
    out: Path | None,
    completions: CompletionOptions,
    options: ExportOptions,
    reading: TableOptions,
) -> None:
    """Import completions of a study, or gold labels where --gold names their columns."""
    if completions.study is None:
        refuse_typed("requires a study; add --study NAME.", completions)
    assert completions.study is not None
    flags = [option for name, option in typed_options(options, reading).items() if name != "items"]
    flags += ["--run"] if completions.run is not None else []
    if flags:
        raise InputError(
            f"{flags[0]} cannot be combined with --study, which imports completions or gold labels; omit it."
        )
    if completions.gold and (completions.parser or options.items):
        name = "parser" if completions.parser else "items"
        raise InputError(f"--{name} applies to completions, and --gold imports labels; omit one of the two.")
    if completions.lines is not None and not completions.gold:
        raise InputError("--lines applies to gold labels of lines; add --gold line=COLUMN, or omit it.")
    study = _study_of_items(completions.study)
    if completions.gold:
        import_labels(table, study, completions.gold, completions.lines, out or LABELS)
    else:
        items = None if options.items is None else Path(options.items)
        import_completions(table, study, completions.parser or "lenient", items, out or JUDGMENTS)


def import_completions(table: Path, study: ItemStudy, parser: str, items: Path | None, out: Path) -> None:
    """Read completions by one rule; write judgments, and the unchanged completions next to them."""
    from conjury.inference.parsing import explain
    from conjury.inference.parsing.answer_rules import full_rules
    from conjury.inference.parsing.completions import read_completions
    from conjury.inference.tables.files import write_table

    read = read_completions(table, study, parser, items)
    raw = _responses_file(out)
    write_table(read.judgments, out)
    write_table(read.responses, raw)
    judges = read.judgments["judge_id"].nunique()
    record(rows={str(out): len(read.judgments), str(raw): len(read.responses)}, judges=judges)
    record(statuses={}, notes=list(read.notes))
    console.print(
        f"{len(read.responses):,} completions of {judges:,} judges gave {len(read.judgments):,} judgments in "
        f"{out}; the unchanged completions are in {raw}."
    )
    for rule in full_rules(study, parser):
        console.print(f"  {rule}: {explain(rule)}")
    for prompt in study.prompts:
        statuses = read.judgments.loc[read.judgments["prompt_id"] == prompt.id, "status"]
        counts = statuses.value_counts(sort=False)
        record(statuses={prompt.id: {str(status): int(n) for status, n in counts.items()}})
        if len(statuses):
            shares = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n)
            console.print(f"  {prompt.label}: {shares}")
    for note in read.notes:
        console.print(f"  {note}")


def import_labels(table: Path, study: ItemStudy, gold: Sequence[str], lines: Path | None, out: Path) -> None:
    """Make gold labels from columns of a table of items and, perhaps, of one of lines."""
    from conjury.inference.readers.judged.gold_labels import labels_from_columns
    from conjury.inference.tables.files import load, write_table

    columns = {}
    for text in gold:
        name, _, column = text.partition("=")
        if not name or not column:
            raise InputError(f"--gold {text}: give the label set and its column, as joke_type=COLUMN.")
        columns[name] = column
    items = load(table, {}, {})
    of_lines = None if lines is None else load(lines, {}, {})
    source = str(table) if lines is None else f"{table} and {lines}"
    notes: list[str] = []
    labels = labels_from_columns(items, study, columns, lines=of_lines, source=source, notes=notes)
    write_table(labels, out)
    record(rows={str(out): len(labels)}, items=labels["item_id"].nunique(), notes=notes)
    console.print(f"{len(labels):,} gold labels of {labels['item_id'].nunique():,} items in {out}")
    for note in notes:
        console.print(f"  {note}")


def _responses_file(out: Path) -> Path:
    stem, dot, ending = out.name.partition(".")
    return out.with_name(f"{stem}_responses{dot}{ending}")


def _study_of_items(name: str) -> ItemStudy:
    from conjury.inference.study.load import load_any_study
    from conjury.inference.study.models import ItemStudy

    study = load_any_study(name)
    if not isinstance(study, ItemStudy):
        raise InputError(
            f"--study {name} is a conjoint; completions and gold labels belong to items, so give a study of "
            "'kind: items'."
        )
    return study
