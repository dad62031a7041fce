"""The command ``label``: the rows to label next, drawn with known probabilities, until they say enough."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjury.inference.errors import InputError, counted, listed, option_of

from ...automation import record
from ...options import grouped, split_names
from ...printing import console, one_line
from ...reading_options import TableOptions
from .judge import refuse_other_page
from .queued_rows import shown_fields

if TYPE_CHECKING:
    from conjury.analysis.raters.labelling import LabelQueue
    from conjury.analysis.raters.labelling.label_population import LabelPlan
    from conjury.inference.readers.judged import Judged

LATER, UNDO, NOBODY, STOP = "s", "u", "x", "q"
KEYS = {LATER: "later", UNDO: "undo", NOBODY: "nobody can say", STOP: "stop"}
ALPHA, SEED = 0.05, 1
TEXT = 20  # characters that cells of a column have on average, from which it is one of texts


@dataclass(frozen=True)
class LabelColumns:
    """Which columns there are."""

    judge: Annotated[
        str | None,
        typer.Option("--judge", help="Column of the judge, or COL,COL of several; otherwise guessed."),
    ] = None
    human: Annotated[
        str | None, typer.Option("--human", help="Column that gets labels. [default: label]")
    ] = None
    system: Annotated[
        str | None, typer.Option("--system", help="Column of systems, whose difference is estimated.")
    ] = None
    show: Annotated[
        list[str] | None, typer.Option("--show", help="Columns that people see, COL[,COL...]; else texts.")
    ] = None
    certainty: Annotated[
        str | None, typer.Option("--certainty", help="Column of how sure the judge is, larger for surer.")
    ] = None
    strata: Annotated[
        list[str] | None,
        typer.Option("--strata", help="Columns of groups whose labels may vary differently."),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option("--positive", help="The label whose share is estimated; else the second of two."),
    ] = None
    range: Annotated[
        str | None,
        typer.Option("--range", help="Lowest and highest rating of a person, as 1,5; for ratings."),
    ] = None


@dataclass(frozen=True)
class LabelSession:
    """Who labels, how many rows at a time, and until when."""

    annotator: Annotated[str | None, typer.Option("--annotator", help="Name of the person who labels.")] = (
        None
    )
    until: Annotated[
        str | None,
        typer.Option(
            help="Stop when 'level < 0.03' (half an interval), with --system 'difference < 0.03', or "
            "'lower > 0', or one 'or' the other."
        ),
    ] = None
    batch: Annotated[
        int, typer.Option("--batch-size", min=1, help="Rows that are labelled before the next are drawn.")
    ] = 20
    hand_picked: Annotated[
        bool,
        typer.Option(
            "--hand-picked", help="Labels in the file were chosen by somebody: they count for their rows."
        ),
    ] = False
    out: Annotated[Path | None, typer.Option(help="Table with the labels. [default: NAME.labelled.csv]")] = (
        None
    )
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with the estimates after each batch.")
    ] = None
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="One minus the confidence level. [default: 0.05]")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of draws and order. [default: 1]")] = None


@grouped
def label(
    file: Annotated[Path, typer.Argument(help="Any table (see `conjury read`).", show_default=False)],
    columns: LabelColumns,
    reading: TableOptions,
    session: LabelSession,
) -> None:
    """Label the rows that say most about a judge's errors.

    Labels are given blind, until the interval is short enough.

    Labels are read from the terminal, or one per line from standard input. Whatever ends it, the same command
    goes on; `conjury view FILE --label NAME` goes on in a browser.
    """
    if session.annotator is None or not session.annotator.strip():
        raise InputError("Name the person who labels with --annotator NAME.")
    queue, close = open_labelling(file, columns, reading, session)
    try:
        _ask(queue, session.annotator.strip(), file)
    finally:
        close()
    report_labels(queue, file, session.html)


def open_labelling(
    file: Path, columns: LabelColumns, reading: TableOptions, session: LabelSession
) -> tuple[LabelQueue, Callable[[], None]]:
    """Begin to label a file, or go on; and what lets others label it."""
    from conjury.analysis.raters.labelling.label_journal import LabelJournal
    from conjury.analysis.raters.labelling.label_opening import journal_of, lock_of, open_queue
    from conjury.inference.readers.judged.judged_files import read_answers_alone

    if session.html is not None:
        refuse_other_page(session.html)
    if str(file) == "-":
        raise InputError("Labels are read from standard input, so the table cannot be; name a file.")
    out = session.out or _out_of(file)
    lock = lock_of(out)
    try:
        recorded = LabelJournal.open(journal_of(out))
        options = {name: value for name, value in vars(reading).items() if value not in (None, False)}
        reading = TableOptions(**{**recorded.reading, **options})
        named = (columns.judge, columns.human)
        judged = read_answers_alone(file, reading.rules(), named)
        plan = _plan(judged, columns, session, reading.id, recorded.plan)
        show = recorded.shown_columns if recorded.plan is not None else _shown(judged, columns, plan)
        queue = open_queue(
            judged.reading,
            plan,
            out,
            until=session.until,
            batch=session.batch,
            show=show,
            is_declared=session.hand_picked,
            options={**recorded.reading, **options},
        )
    except BaseException:
        lock.release()
        raise
    for note in (*judged.notes, *queue.population.notes):
        console.print(f"  Note: {note}")
    count = len(queue.journal.labels)
    console.print(
        f"{file.name}: {counted(len(queue.population.unit), 'row')}, {counted(count, 'label')} so far; "
        f"shown: {listed(map(repr, show)) or 'nothing'}; hidden: all other columns"
    )
    return queue, lock.release


def _out_of(file: Path) -> Path:
    """Where labels are written, and looked for, unless another place is named."""
    return Path(f"{file.stem}.labelled.csv")


def report_labels(queue: LabelQueue, file: Path, html: Path | None = None) -> None:
    """Print where labels are and what may be claimed, write a page, and record all of it."""
    result = queue.result
    settings = result.settings
    batch, labelled, size = queue.place
    if queue.stop is None and 0 < labelled < size:
        console.print(
            f"Batch {batch} has {labelled} of {size} labels; they count, and join {queue.out}, when it is "
            "complete. The same command goes on."
        )
    if not queue.frame.empty:
        console.print(f"\n{settings['claim']}")
        console.print(f"Labels with their probabilities: {queue.out}")
        command = _next(queue)
        if command:
            console.print(f"Next: {command}")
    if html is not None:
        from conjury.analysis.raters.labelling.label_page import page_of_labels
        from conjury.inference.tables.writing import write_text

        write_text(html, page_of_labels(result, f"{file.name}: {counted(settings['n_labels'], 'label')}"))
        console.print(f"Page with the estimates after each batch: {html}")
    record(
        labels=settings["n_labels"],
        rows=settings["n_rows"],
        stopped=settings["stopped"],
        hand_picked=settings["hand_picked"],
        verdict=list(settings["verdict"]),
        claim=settings["claim"],
        estimates=result.frame,
        out=str(queue.out),
        notes=list(result.notes),
    )


def _plan(
    judged: Judged, columns: LabelColumns, session: LabelSession, id: str | None, recorded: LabelPlan | None
) -> LabelPlan:
    """What is typed, else what the journal has, else what is guessed."""
    from dataclasses import replace

    from conjury.analysis.raters.labelling.label_population import LabelPlan
    from conjury.inference.readers.judged.judged_columns import columns_of

    typed = {
        "judge": split_names([columns.judge] if columns.judge else None),
        "human": columns.human,
        "system": columns.system,
        "id": id,
        "certainty": columns.certainty,
        "strata": split_names(columns.strata),
        "positive": columns.positive,
        "limits": _limits(columns.range),
        "alpha": session.alpha,
        "seed": session.seed,
    }
    plan_fields = {name: value for name, value in typed.items() if value not in (None, ())}
    if recorded is None:
        if "judge" not in plan_fields:
            judge = columns_of(judged, None, (), needs_human=False).judge
            plan_fields["judge"] = (judge,)
            console.print(f"judge: '{judge}' (guessed)")
        recorded = LabelPlan(judge=(), id=judged.id, alpha=ALPHA, seed=SEED)
    return replace(recorded, **plan_fields)  # type: ignore[arg-type]


def _limits(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--range '{text}' is no range; give the lowest and the highest rating, as 1,5."
        ) from None
    return low, high


def _shown(judged: Judged, columns: LabelColumns, plan: LabelPlan) -> tuple[str, ...]:
    """Columns that are named, else those of texts."""
    if columns.show:
        return split_names(columns.show)
    hidden = {*plan.judge, plan.human, *plan.strata, plan.system, plan.id}
    texts = []
    for name in map(str, judged.frame.columns):
        cells = judged.frame[name].dropna().astype("string")
        if name not in hidden and len(cells) and cells.str.len().mean() >= TEXT:
            texts.append(name)
    if not texts:
        raise InputError(
            f"{judged.source}: no column has texts that a person could judge; name those that are shown with "
            "--show."
        )
    return tuple(texts)


def _ask(queue: LabelQueue, annotator: str, file: Path) -> None:
    """Ask for labels until the person or the rule stops it."""
    printed = len(queue.frame)
    choices = _choices(queue)
    console.print(choices)
    while (row := queue.row) is not None:
        _print_row(queue, row)
        while True:
            line = _next_line()
            text = line.strip()
            if not line or (text == STOP and not _is_label(queue, text)):
                view = f", or in a browser conjury view {file} --label {annotator}"
                console.print(f"\nStopped. The same command goes on{view * (queue.out == _out_of(file))}.")
                return
            try:
                if _take(queue, row, text, annotator):
                    break
            except InputError as error:
                console.print(f"  {error}")
            console.print(f"  {choices}")
        if len(queue.frame) > printed:
            printed = len(queue.frame)
            console.print("")
            for sentence in queue.result.settings["verdict"]:
                console.print(f"- {sentence}")


def _next_line() -> str:
    """A line of standard input; empty at its end, and where there is none."""
    try:
        return sys.stdin.readline()
    except (OSError, ValueError):  # it is closed
        return ""


def _take(queue: LabelQueue, row: int, text: str, annotator: str) -> bool:
    """Do what a line says; False where it says nothing."""
    if text.isdigit() and queue.population.classes and not queue.population.has_label(text):
        place = int(text)
        if not 1 <= place <= len(queue.population.classes):
            return False
        text = queue.population.classes[place - 1]
    if not text:
        return False
    if text in KEYS and not _is_label(queue, text):
        if text == LATER:
            queue.skip()
        elif text == NOBODY:
            queue.add(None, annotator, row)
        elif not queue.undo():
            console.print("  This batch has no label to take back.")
            return False
        return True
    queue.add(text, annotator, row)
    return True


def _is_label(queue: LabelQueue, text: str) -> bool:
    try:
        queue.population.number(text)
    except InputError:
        return False
    return True


def _choices(queue: LabelQueue) -> str:
    population = queue.population
    if population.classes:
        labels = ", ".join(
            f"{place} {one_line(name)}" for place, name in enumerate(population.classes, start=1)
        )
    else:
        labels = f"a number from {population.least:g} to {population.greatest:g}"
    return f"Label: {labels}; " + ", ".join(f"{key} {text}" for key, text in KEYS.items())


def _print_row(queue: LabelQueue, row: int) -> None:
    batch, labelled, size = queue.place
    console.print(f"\nBatch {batch}, row {labelled + 1} of {size}")
    for name, text in shown_fields(queue, row):
        console.print(f"  {one_line(name)}: {one_line(text)}")


def _next(queue: LabelQueue) -> str:
    """The command that analyses the labels."""
    plan = queue.plan
    judges, more = option_of(plan.judge), _read_alike(queue)
    if plan.system is not None:
        prompt = f" --id {plan.id}" if plan.id else ""
        return (
            f"conjury compare-systems {queue.out} --system {plan.system}{prompt} --judge {judges} --human "
            f"{plan.human}{more}"
        )
    return f"conjury judge {queue.out} --judge {plan.judge[0]} --human {plan.human}{more}"


def _read_alike(queue: LabelQueue) -> str:
    """Options by which the next command reads the judge's answers as this one did."""
    from conjury.inference.errors import as_argument

    relabel = [f"{text}={label}" for text, label in queue.reading.rules.relabel.items()]
    options = [f" --relabel {as_argument(pair)}" for pair in relabel]
    options += [f" --positive {as_argument(queue.plan.positive)}"] if queue.plan.positive else []
    return "".join(options)
