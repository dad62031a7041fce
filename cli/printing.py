"""What the commands print: sentences, tables, notes, progress; and figures of what they computed."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from conjury.inference.errors import ConjuryError, InputError, counted
from conjury.inference.tables.reading.account import MOST_LINES
from conjury.inference.tables.safe_text import printable

from .automation import record
from .wishes import details, is_quiet, leaves_out, leaves_out_details

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from conjury.analysis.frames.word_table import WordTable
    from conjury.inference.tables.reading.account import ReadingAccount


HANGING = re.compile(r" *(?:[-*•] |\S+ {2,}|Note: )?")
COMMAND = re.compile(r"\s*(?:\w+: )?conjury [a-z]")  # whoever copies a command gets it in one line


class WrappingConsole(Console):
    """A console that breaks lines between words at the width of a terminal; files take any line."""

    def __init__(self, breaks: bool = False, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, **settings)
        self.breaks = breaks or self.is_terminal

    def on_broken_pipe(self) -> None:
        """Go on in silence where the reader, such as `head`, has ended: files are still written."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; the lines of a text that are too long go on below their first words."""
        if leaves_out():
            return
        if len(objects) == 1 and isinstance(objects[0], str) and self.breaks:
            objects = ("\n".join(_broken(line, self.width) for line in objects[0].split("\n")),)
        super().print(*objects, **{"soft_wrap": True} | options)


def wide_console() -> WrappingConsole:
    """A console as wide as the window now, or as the environment says, also where nobody looks at it."""
    return WrappingConsole(breaks="COLUMNS" in os.environ)


def _broken(line: str, width: int) -> str:
    """A line broken between words; the further lines are as indented as the text or value that it begins."""
    if COMMAND.match(line):
        return line
    begin = HANGING.match(line)
    hang = min(begin.end() if begin else 0, width // 2)
    return textwrap.fill(
        line, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


console = WrappingConsole()
NOTES = 20  # that are printed; the manifest has the rest
LONGEST = 4_000  # characters of a message
MOST = 60  # rows of a table that are printed
WIDE = 95  # columns of a terminal that take all columns of a table
WORD = re.compile(r"^ *\S+|\S+")  # the first of a line with its indentation
GAP = 2  # characters between two columns


def warn(text: str) -> None:
    """Print a warning to the error stream."""
    WrappingConsole(stderr=True).print(text)


def warn_if_quiet(text: str) -> None:
    """Print why a command ends with exit code 1 where it prints nothing else."""
    if is_quiet():
        warn(text)


def one_line(text: str) -> str:
    """A message as one line that a terminal shows as it is, whatever a file contains."""
    text = " ".join(text.split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    return printable(text)


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_facts(facts: Mapping[str, object]) -> None:
    """Print values by name, each in a line."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        console.print(f"  {name:<{width}}  {value}")


def print_notes(notes: Sequence[str], out: Path) -> None:
    """Print notes, doubts and exclusions first; the rest is in the manifest."""
    from conjury.analysis.frames.notes import FIRST_NOTES, for_command, rank_notes

    record(notes=list(map(for_command, notes)))
    ranked_notes = list(map(for_command, rank_notes(notes)))
    for note in ranked_notes[:FIRST_NOTES]:
        console.print(f"  Note: {note}")
    with details():
        for note in ranked_notes[FIRST_NOTES:NOTES]:
            console.print(f"  Note: {note}")
    most = FIRST_NOTES if leaves_out_details() else NOTES
    if len(notes) > most:
        console.print(f"  {counted(len(notes) - most, 'more note')} in {out / 'manifest.json'}")


def print_account(account: ReadingAccount) -> None:
    """Print how a table was read, of a long account the beginning."""
    lines = account.lines(len(account.entries))
    for line in lines[:MOST_LINES]:
        console.print(line)
    with details():
        for line in lines[MOST_LINES:]:
            console.print(line)


def print_place(out: Path, before: str) -> None:
    """Print where results are, and which they replaced; ``before`` is the origin of these."""
    record(results=out, replaced=before)
    console.print(f"Results in {out}" + (f", in place of those {before}" if before else ""))


def finding_sentences(folder: Path) -> list[str]:
    """What a run found, in the sentences with which its report opens."""
    from conjury.analysis.report import Report
    from conjury.analysis.report.finding import finding_blocks

    return [block for block in finding_blocks(Report(folder)) if isinstance(block, str)]


def print_finding(folder: Path) -> None:
    """Print what a run found, as its report says it."""
    from conjury.analysis.report import Report
    from conjury.analysis.report.finding import finding_blocks, sentence_beside_effects

    report = Report(folder)
    blocks = finding_blocks(report)
    sentences = [block for block in blocks if isinstance(block, str)]
    record(finding=sentences)
    if not blocks:
        return
    console.print()
    tables = [block for block in blocks if not isinstance(block, str)]
    main = sentence_beside_effects(report, sentences) if tables else ""
    mark = f" ({report.mark}.)" if report.mark else ""
    for sentence in sentences:
        is_last = sentence == main if tables else sentence is sentences[-1]
        with nullcontext() if sentence == main or not tables else details():
            console.print(f"{sentence}{mark if is_last else ''}")
    print_blocks(tables)


def print_written(tables: Sequence[tuple[pd.DataFrame, Path, str]]) -> None:
    """Write tables to their files and print how many rows of what each has."""
    from conjury.inference.tables.files import write_table

    for table, path, what in tables:
        write_table(table, path)
        record(rows={str(path): len(table)})
        console.print(f"{len(table):,} {what} in {path}")


def print_blocks(blocks: Iterable[str | WordTable]) -> None:
    """Print sentences and tables in turn."""
    for block in blocks:
        if isinstance(block, str):
            console.print(block)
        else:
            print_table(block)


def print_table(table: WordTable) -> None:
    """Print a table with its title and note; only words take several lines, at the width of the terminal."""
    if leaves_out():
        return
    terminal = wide_console()
    if table.title:
        terminal.print(table.title, style="bold")
    if table.rows:
        columns = [k for k in range(len(table.head)) if k != table.optional or terminal.width >= WIDE]
        grid, least, most = _grid(table, columns)
        width = max(terminal.width, least) if terminal.breaks else most
        Console(highlight=False, markup=False, width=width).print(grid)
    if table.note:
        terminal.print(table.note)


def _grid(table: WordTable, columns: Sequence[int]) -> tuple[Table, int, int]:
    """A table as rich draws it, with its least width, at which no word is cut, and that of whole lines."""
    grid, least, most = Table(box=None, header_style="bold", pad_edge=False), -GAP, -GAP
    indent = "  " if table.has_groups else ""
    rows = [row if table.is_heading(row) else (f"{indent}{row[0]}", *row[1:]) for row in table.rows]
    for k in columns:
        is_words = k in table.words
        lines = [line for row in (table.head, *rows) if k < len(row) for line in row[k].split("\n")]
        parts = [part for line in lines for part in (WORD.findall(line) if is_words else [line])]
        size = max(map(cell_len, parts), default=0)
        justify: Literal["left", "right"] = "left" if is_words else "right"
        grid.add_column(table.head[k], justify=justify, no_wrap=not is_words, min_width=size)
        least, most = least + size + GAP, most + max(map(cell_len, lines)) + GAP
    for row in rows:
        grid.add_row(*(row[k] for k in columns if k < len(row)))
    return grid, least, most


def print_frame(frame: pd.DataFrame) -> None:
    """Print a table of text and numbers, without its empty columns."""
    from pandas.api.types import is_numeric_dtype

    from conjury.analysis.frames.word_table import WordTable

    filled = frame.dropna(axis=1, how="all")
    filled = filled.loc[:, [not (filled[name].astype("string") == "").all() for name in filled]]
    words = [at for at, name in enumerate(filled) if not is_numeric_dtype(filled[name])]
    head = [str(name).replace("_", " " if at in words else "\n") for at, name in enumerate(filled)]
    rows = list(zip(*(filled[name].map(_cell) for name in filled), strict=True))
    print_table(WordTable("", head, rows, words=words).first(MOST, "in the results folder"))


def _cell(value: Any) -> str:
    import pandas as pd

    if isinstance(value, float):
        return "" if value != value else f"{value:.3f}"
    return "" if pd.isna(value) else str(value)


@contextmanager
def _bar(columns: Sequence[Any], total: int | None) -> Iterator[Callable[..., None]]:
    """Show a bar on a terminal; the function that is handed out updates it."""
    terminal = Console(stderr=True)
    with Progress(
        *columns, console=terminal, transient=True, disable=is_quiet() or not terminal.is_terminal
    ) as bar:
        yield partial(bar.update, bar.add_task("", total=total))


def _times() -> tuple[Any, Any]:
    """The time that passed, and the time left."""
    from rich.progress import TimeRemainingColumn

    return TimeElapsedColumn(), TimeRemainingColumn()


@contextmanager
def show_steps(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar of steps; the function that is handed out takes the name of the step that begins."""
    description = TextColumn("{task.description}", markup=False)
    with _bar((description, BarColumn(), MofNCompleteColumn(), *_times()), total) as update:
        yield lambda name: update(description=name, advance=1)


@contextmanager
def show_count(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar of a count; the function that is handed out takes the number done, and a new total."""
    with _bar((TextColumn(what), BarColumn(), MofNCompleteColumn(), *_times()), total) as update:
        yield lambda done, of=total: update(completed=done, total=of)


@contextmanager
def show_requests(total: int) -> Iterator[Callable[[int, str], None]]:
    """Show a bar of requests; the function that is handed out takes the number done and a description."""
    description = TextColumn("{task.description}", markup=False)
    columns = (TextColumn("Asking"), BarColumn(), MofNCompleteColumn(), description, TimeElapsedColumn())
    with _bar(columns, total) as update:
        yield lambda done, description: update(completed=done, description=description)


# PNG and PDF take two thirds of the time of drawing; `conjury tables` writes PDF to the size of a paper.
FORMATS: tuple[str, ...] = ("svg",)


def figure_formats(text: str | None) -> tuple[str, ...]:
    """Formats of figures by the text of ``--figures``; empty for none."""
    from conjury.analysis.figures.theme import FORMATS as KNOWN

    if text is None:
        return FORMATS
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    if names == ("none",):
        return ()
    if not names or not set(names) <= set(KNOWN):
        raise InputError(f"--figures '{text}': give {', '.join(KNOWN)}, several as svg,pdf, or none.")
    return names


def draw_figures(
    folder: Path, part: str, quiet: bool = False, formats: tuple[str, ...] | None = None
) -> list[str]:
    """Draw every result of a run that has a figure; return why any could not be drawn."""
    from conjury.analysis.report import Report

    formats = FORMATS if formats is None else formats
    report = Report(folder)
    return save_figures(folder, report.figures(part), quiet, formats, report.keep_drawing) if formats else []


def save_figures(
    folder: Path,
    drawings: Iterable[tuple[str, Callable[[], Figure]]],
    quiet: bool = False,
    formats: tuple[str, ...] | None = None,
    keep: Callable[[str, Figure], None] | None = None,
) -> list[str]:
    """Draw and save figures by name, ``keep`` those that reports show; return why any could not be drawn."""
    from conjury.analysis.figures.theme import save

    notes: list[str] = []
    formats = FORMATS if formats is None else formats
    named = list(drawings) if formats else []
    with show_steps(len(named)) as step:
        for name, draw in named:
            step(f"Figure: {name}")
            try:
                save(figure := draw(), folder / "figures" / name, formats=formats)
                if keep is not None:
                    keep(name, figure)
            except ConjuryError as error:
                reason = str(error).replace(str(folder.resolve()), "the results")
                notes.append(f"Figure {name} was not drawn: {reason}")
    if named and not quiet:
        console.print(f"  {counted(len(named) - len(notes), 'figure')} as {_names(formats)}")
    return notes


def _names(formats: tuple[str, ...]) -> str:
    *first, last = [name.upper() for name in formats]
    return f"{', '.join(first)} and {last}" if first else last
