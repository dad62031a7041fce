"""Judgments from raw completions of models, and gold labels from columns of tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conjury.inference.errors import InputError
from conjury.inference.study.load import load_any_study
from conjury.inference.study.models import ItemStudy

from .import_options import JUDGMENTS, LABELS, CompletionOptions, ExportOptions, console, flag


def import_for_study(
    table: Path, out: Path | None, form: str, given: CompletionOptions, options: ExportOptions
) -> None:
    """Import completions of a study, or gold labels where --gold names their columns."""
    if given.study is None:
        raise InputError(f"--{given.typed()[0]} needs the study that it is about; add --study NAME.")
    other = [flag(name) for name in options.typed() if name != "items"]
    other += ["--format"] if form != "qualtrics" else []
    if other:
        raise InputError(
            f"{other[0]} does not go with --study, which reads completions or gold labels; omit it."
        )
    if given.gold and (given.parser or options.items):
        name = "parser" if given.parser else "items"
        raise InputError(f"--{name} is about completions, and --gold makes labels; omit one of the two.")
    if given.lines is not None and not given.gold:
        raise InputError("--lines is for gold labels of lines; add --gold line=COLUMN, or omit it.")
    study = _study_of_items(given.study)
    if given.gold:
        import_labels(table, study, given.gold, given.lines, out or LABELS)
    else:
        items = None if options.items is None else Path(options.items)
        import_completions(table, study, given.parser or "lenient", items, out or JUDGMENTS)


def import_completions(table: Path, study: ItemStudy, parser: str, items: Path | None, out: Path) -> None:
    """Read completions by one rule; write judgments, and the unchanged completions next to them."""
    from conjury.inference.parsing import explain
    from conjury.inference.parsing.completions import read_completions
    from conjury.inference.parsing.rules import full_rules
    from conjury.inference.tables.files import write_table

    read = read_completions(table, study, parser, items)
    raw = _beside(out)
    write_table(read.judgments, out)
    write_table(read.responses, raw)
    judges = read.judgments["judge_id"].nunique()
    console.print(
        f"{len(read.responses):,} completions of {judges:,} judges gave {len(read.judgments):,} judgments in "
        f"{out}; the unchanged completions are in {raw}."
    )
    for rule in full_rules(study, parser):
        console.print(f"  {rule}: {explain(rule)}")
    for prompt in study.prompts:
        statuses = read.judgments.loc[read.judgments["prompt_id"] == prompt.id, "status"]
        counts = statuses.value_counts(sort=False)
        if len(statuses):
            shares = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n)
            console.print(f"  {prompt.label}: {shares}")
    for note in read.notes:
        console.print(f"  {note}")


def import_labels(table: Path, study: ItemStudy, gold: Sequence[str], lines: Path | None, out: Path) -> None:
    """Make gold labels from columns of a table of items and, perhaps, of one of lines."""
    from conjury.inference.readers.judgments import labels_from_columns
    from conjury.inference.tables.files import load, write_table

    columns = {}
    for given in gold:
        name, _, column = given.partition("=")
        if not name or not column:
            raise InputError(f"--gold {given}: write the label set and its column, as joke_type=COLUMN.")
        columns[name] = column
    held = load(table, {}, {})
    of_lines = None if lines is None else load(lines, {}, {})
    source = str(table) if lines is None else f"{table} and {lines}"
    notes: list[str] = []
    labels = labels_from_columns(held, study, columns, lines=of_lines, source=source, notes=notes)
    write_table(labels, out)
    console.print(f"{len(labels):,} gold labels of {labels['item_id'].nunique():,} items in {out}")
    for note in notes:
        console.print(f"  {note}")


def _beside(out: Path) -> Path:
    stem, dot, ending = out.name.partition(".")
    return out.with_name(f"{stem}_responses{dot}{ending}")


def _study_of_items(name: str) -> ItemStudy:
    study = load_any_study(name)
    if not isinstance(study, ItemStudy):
        raise InputError(
            f"--study {name} is a conjoint; completions and gold labels are about items, so name a study of "
            "'kind: items'."
        )
    return study
