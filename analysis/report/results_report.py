"""What a document asks of a results folder: its opening, exhibits by kind, methods, notes and versions."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError

from ..figures import alt, draw, has_figure
from ..figures.note_labels import label_of, note_text
from ..frames.kinds import claims_of, kind_of
from ..frames.sentences import capitalised, together
from ..pipeline.manifest import FIT, RecordedResult, notes_of, rows_in_words
from ..results import Result
from .blocks import captioned, slug, table_blocks, table_references
from .document import RESULTS
from .exhibits import EXHIBITS, Drawn, Exhibit, ExhibitBuilder, Laid
from .exhibits.conjoint.conjoint_basis import outcome_of
from .exhibits.conjoint.effect_findings import LONGEST_TITLE, title_of
from .exhibits.conjoint.people_exhibit import drawing
from .exhibits.exhibit_registry import EVERY_STUDY, ended, settings_text
from .exhibits.figure_basis import basis_of, lines_in_words
from .finding import further_findings, headlines, key_results, limits, merged, method_paragraph, row_sentences
from .method_sentences import code, in_words, note_list, plain
from .page_drawings import DrawingFile, PageDrawing, picture, put_on_page
from .report_data import ReportData
from .table_format import any_table, starred
from .versions_section import versions_blocks

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

__all__ = ["Report", "load"]

ALL_PARTS, FIRST_PART, AFTER_FIRST = slice(None), slice(1), slice(1, None)  # of a table
MOST_TITLES = 3  # results that a note names
SIMULATED = (
    "**The data {but}are simulated.** They demonstrate the software; they are no evidence about the "
    "people and models named."
)
PROBABLE = (
    "**The outcome is the probability of being chosen**, computed from the log-probabilities of the answers; "
    "judges without log-probabilities are excluded."
)
FIRST = {  # commands that write results, of documents that are not about a fitted study
    "corrected": "conjury fit STUDY --data FILE --correct ppi --out {}",
    "checked": "conjury check WHAT --out {}",
    "published_numbers": "conjury check-table FILE --out {}",
    "tried": "conjury trial NAME --out {}",
}
REFERENCE = re.compile(r"\{(?P<what>figure|table)(?: (?P<verb>\w+)(?:\|(?P<plural>\w+))?)?\}")
NOTHING = {"figure": "The figure", "table": "the folder"}  # referred to where there is none
THEN = {"compared": "conjury compare", "diagnosed": "conjury check"}


class Report(ReportData):
    """A results folder as a document prints it.

    Methods that print are for cells with ``output: asis``. What cannot be shown becomes a sentence with the
    reason.

    Parameters
    ----------
    path : str or Path
        A folder written by ``conjury fit`` or by a command that adds to results.
    about : {"fit", "items", "corrected", "compared", "diagnosed", "checked", "published_numbers", "tried"}
        The run that the document is about; ``"items"`` are ratings and labels, ``"corrected"`` the estimates
        that models make more precise, ``"tried"`` simulation studies of estimators.

    Raises
    ------
    InputError
        For a folder without results, or without results of that run.

    Examples
    --------
    >>> load("../results/none").opening()[:46]
    'There are no results in `../results/none` yet;'
    """

    titled = ""  # the study whose title the document has

    def show(self, *kinds: str) -> None:
        """Print every result of some kinds; nothing, or why there is none, where there is no result."""
        for kind in kinds:
            spec = EXHIBITS.get(kind, GENERAL)
            if spec.of == EVERY_STUDY:
                records = [RecordedResult(kind, kind)]
            else:
                records = self.of_kind(spec.of or kind)[: 1 if spec.of else None]
            if not records and spec.absent is not None:
                self._print(partial(spec.absent, self))
            for record in records:
                self._exhibited_names.add(record.name)
                name = record.name if spec.of is None else kind
                with starred():
                    self._print(partial(self._shown, spec, record, name))

    def show_others(self) -> None:
        """Print the results of kinds with an exhibit that nothing above has shown."""
        records = [record for record in self.of_run if record.name not in self._exhibited_names]
        self.show(*dict.fromkeys(record.kind for record in records if record.kind in EXHIBITS))

    @cached_property
    def _exhibited_names(self) -> set[str]:
        """Names of results that were shown."""
        return set()

    def opening(self) -> str:
        """What was found, in a few sentences, and which data it rests on."""
        title = plain(self.manifest.get("title") or self.manifest.get("study") or "untitled study")
        rows = rows_in_words(self.run.get("data") or [])
        counted = f" from {rows}" if rows else ""
        when = f", computed {plain(str(self.run['created'])[:10])}" if self.run.get("created") else ""
        version = f" with conjury {plain(self.run['conjury'])}" if self.run.get("conjury") else ""
        study = "" if self.manifest.get("study") == self.titled else f"Study: **{title}**. "
        text = plain(self.manifest.get("question") or "")
        question = f"Judges were asked: “{text}”" if text else ""
        summary = f"{study}Results{counted}{when}{version}."
        probable = PROBABLE if outcome_of(self) != "the choice" else ""
        facts = " ".join(filter(None, [summary, probable]))
        lead = "\n\n".join(filter(None, [self._simulated(), question]))
        blocks = [("facts", lead), ("finding", "\n\n".join(headlines(self))), ("facts", facts)]
        return "\n\n".join(f"::: {{.{name}}}\n{text}\n:::" for name, text in blocks if text)

    def key(self) -> None:
        """Print the key figure and the key table, which `show` leaves out from then on."""
        keys = key_results(self.of_run)
        if keys is None:
            return
        self._print(partial(self._key, *keys))

    def _key(self, of_figure: RecordedResult, of_table: RecordedResult) -> str:
        figures, tables = self._built(of_figure).figures[:1], self._built(of_table).tables[:1]
        blocks = []
        for record, exhibit in ((of_figure, Exhibit(figures=figures)), (of_table, Exhibit(tables=tables))):
            title = ended(plain(record.title or record.name))
            blocks.append(self._blocks(exhibit, record.name, title, FIRST_PART))
        labels = [_joined(of_figure.name, figure.key) for figure in figures]
        blocks.append(self._files([of_table.name] * bool(tables), labels))
        self._in_key |= {f"fig-{_joined(of_figure.name, figure.key)}" for figure in figures}
        self._in_key |= {f"tbl-{_joined(of_table.name, table.key)}" for table in tables}
        return "\n\n".join(filter(None, [*blocks, row_sentences(self, of_table)]))

    def further_findings(self) -> str:
        """What else was found, and where it is shown, as a list in Markdown."""
        return further_findings(self, self._reference)

    def _reference(self, record: RecordedResult) -> tuple[str, str]:
        """A reference to the first table or figure of a result, and what its exhibit says."""
        if record.kind not in EXHIBITS:
            return "", ""
        try:
            exhibit = self._built(record)
        except ConjuryError:
            return "", ""
        for part in (exhibit, *exhibit.further):
            for laid in part.tables:
                names = table_references(_joined(record.name, laid.key), len(laid.tables))
                return together(names, len(names)), exhibit.reading
            for figure in part.figures:
                return f"@fig-{slug(_joined(record.name, figure.key))}", exhibit.reading
        return "", ""

    def limits(self) -> str:
        """What limits the finding, as a list in Markdown."""
        return limits(self)

    def design(self) -> str:
        """What the study asks, who judged, and how much each, in Markdown."""
        return plain(self.manifest.get("design") or "")

    def method_paragraph(self) -> str:
        """How the key results were computed, from which data and by which software, in Markdown."""
        return method_paragraph(self, self.method)

    def methods(self) -> str:
        """What was run, in Markdown: what several results share stands once."""
        parts = {ended(plain(record.title or record.name)): self.method(record) for record in self.of_run}
        return merged({title: text for title, text in parts.items() if text})

    def claims(self) -> str:
        """What results of each kind say and what does not follow, each once, in Markdown."""
        about: dict[str, str] = {}
        for record in self.of_run:
            statement = claims_of(record.kind, record.settings)
            if statement is not None and record.kind in EXHIBITS:
                about[ended(plain(record.title or record.name))] = str(statement)
        return merged(about)

    def notes(self) -> str:
        """All notes in Markdown, each once, with what it is about; empty without notes."""
        of_runs = [note_text(note, self.labels) for run in self.runs.values() for note in notes_of(run)]
        about: dict[str, dict[str, list[str]]] = {text: {} for text in of_runs}
        dimensions = set(self.manifest.get("labels", {}).get("levels", {}).get("dimension", {}).values())
        for record in self.of_run:
            for note in record.notes:
                text, who = note_text(note, self.labels), note.about(label_of(self.labels))
                whose, _, remainder = text.partition(": ")
                if remainder and whose in dimensions:  # notes that differ in their dimension are one
                    text, who = capitalised(remainder), ", ".join(filter(None, [whose, who]))
                titles = about.setdefault(text, {})
                if text not in of_runs:
                    titles.setdefault(record.title.rstrip("."), []).extend([who] if who else [])
        return note_list([_with_titles(text, titles) for text, titles in about.items()])

    def versions(self) -> None:
        """Print the tables of data files, software and commands."""
        print(*versions_blocks(self.manifest, list(self.runs.values())), sep="\n")

    @contextmanager
    def section(self, heading: str) -> Iterator[None]:
        """Print a heading, with its lead, before what is printed inside; nothing where that is nothing."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            yield
        if printed.getvalue().strip():
            print(f"\n{heading.strip()}\n\n{printed.getvalue()}")

    def figures(self, part: str = FIT) -> Iterator[tuple[str, Callable[[], Figure]]]:
        """Names of the figures of the results of a run, and functions that draw them."""
        for record in self.results:
            if record.part == part and record.kind in EXHIBITS:
                with suppress(InputError):
                    exhibit = self._build(record)
                    figures = [
                        part_figure for each in (exhibit, *exhibit.further) for part_figure in each.figures
                    ]
                    if record.kind == "people" and not figures:  # in the folder, though not on the page
                        alone = self._with_basis(Exhibit(figures=[drawing(record, self)]), record)
                        figures = list(alone.figures)
                    for figure in figures:
                        name = _joined(record.name, figure.key)
                        self._figures[name] = figure
                        yield name, partial(self._drawn, figure)

    def keep_drawing(self, name: str, figure: Figure) -> None:
        """Keep the drawing of one of the `figures`, so that reports do not draw it again."""
        self._file_of(name, self._figures[name]).write(PageDrawing.of(figure, slug(name)))

    @cached_property
    def _figures(self) -> dict[str, Drawn]:
        return {}

    def _file_of(self, name: str, figure: Drawn) -> DrawingFile:
        labels = {**self.labels, ("mark", ""): self.mark}
        return DrawingFile(self.path / "figures" / f"{name}.svg", figure, labels)

    def _drawn(self, figure: Drawn) -> Figure:
        heading = {"title": figure.title or None, "subtitle": figure.subtitle}
        options = {**figure.options, **heading}
        return draw(figure.result, labels=self.labels, part=figure.part, mark=self.mark, **options)

    def _simulated(self) -> str:
        """That data are simulated, and whose are not; empty where none are."""
        if not self.simulated:
            return ""
        real = " and ".join(plain(self.label("judges", name)) for name in self.real_judges)
        return SIMULATED.format(but=f"of all judges except {real} " if real else "")

    def method(self, record: RecordedResult) -> str:
        """How a result was computed, in Markdown."""
        builder = EXHIBITS.get(record.kind)
        if builder is not None and callable(builder.method):
            return in_words(builder.method(record, self), self.labels)
        text = kind_of(record.kind).method or (str(builder.method) if builder is not None else "")
        if builder is not None and not text:
            return ""
        return in_words(" ".join(filter(None, [text, settings_text(record.settings)])), self.labels)

    def _print(self, text: Callable[[], str]) -> None:
        """Print Markdown, or a sentence with the reason why there is none."""
        try:
            if markdown := text():
                print(markdown)
        except ConjuryError as error:
            print(f"\n*Not shown: {self._reason(error)}*\n")

    def _reason(self, error: ConjuryError) -> str:
        return plain(str(error).replace(str(self.path), "the results folder"))

    def _shown(self, spec: ExhibitBuilder, record: RecordedResult, name: str) -> str:
        title = ended(plain(record.title or record.name))
        if spec.of is None and record.kind in EXHIBITS:
            return self._blocks(self._built(record), name, title)
        result = Result(pd.DataFrame(), record.kind) if spec.of == EVERY_STUDY else self.read(record)
        return self._blocks(spec.build(result, record, self), name, title)

    @cached_property
    def _in_key(self) -> set[str]:
        """Figures and tables, by label, that are shown as the key ones; of tables the first part."""
        return set()

    @cached_property
    def _exhibits(self) -> dict[str, Exhibit]:
        return {}

    def _built(self, record: RecordedResult) -> Exhibit:
        """The exhibit of a result, built once."""
        if record.name not in self._exhibits:
            with starred():
                self._exhibits[record.name] = self._build(record)
        return self._exhibits[record.name]

    def _build(self, record: RecordedResult) -> Exhibit:
        """The exhibit of a result; its first figure has the finding as its heading, or else the question."""
        result, builder, title = self.read(record), EXHIBITS[record.kind], ""
        exhibit, headline = self._with_basis(builder.build(result, record, self), record), builder.headline
        is_first = self.of_kind(record.kind)[0].name == record.name  # whose finding opens the report
        if not is_first or not exhibit.figures or exhibit.figures[0].title or kind_of(record.kind).by_group:
            return exhibit
        with suppress(ConjuryError):
            title = title_of(headline(result, record, self)) if headline else ""
        if not 0 < len(title) <= LONGEST_TITLE:
            title = record.title if record.title.endswith("?") else ""
        if not title:
            return exhibit
        first = exhibit.figures[0]
        first = replace(first, title=title, subtitle=f"{first.subtitle} {lines_in_words(result)}".strip())
        return replace(exhibit, figures=[first, *exhibit.figures[1:]])

    def _with_basis(self, exhibit: Exhibit, record: RecordedResult) -> Exhibit:
        """An exhibit whose figures say what they rest on."""
        figures = [
            figure if figure.subtitle else replace(figure, subtitle=basis_of(figure, record, self))
            for figure in exhibit.figures
        ]
        further = [self._with_basis(part, record) for part in exhibit.further]
        return replace(exhibit, figures=figures, further=further)

    def _blocks(self, exhibit: Exhibit, name: str, title: str, parts: slice = ALL_PARTS) -> str:
        """An exhibit as Markdown: heading, lead, reading, figures, tables, and further exhibits."""
        figures, reasons = self._figure_blocks(exhibit.figures, name)
        tables = {_joined(name, laid.key): laid for laid in exhibit.tables}
        lead = exhibit.lead
        if reasons and not figures and "{figure" in lead:
            lead = " ".join([*reasons, *(["The numbers are in {table}."] if tables else [])])
        elif reasons:
            lead = "\n\n".join([lead, *(f"*The figure is not shown: {reason}*" for reason in reasons)])
        shown_tables = [table_references(label, len(laid.tables)) for label, laid in tables.items()]
        references = {
            "figure": [f"@fig-{slug(label)}" for label in figures],
            "table": [reference for references in shown_tables for reference in references],
        }
        texts = [REFERENCE.sub(partial(_refer, references), text) for text in (lead, exhibit.reading)]
        blocks = [
            table_blocks(
                label,
                _escape_part_names(laid.tables),
                laid.caption or title,
                AFTER_FIRST if f"tbl-{label}" in self._in_key else parts,
            )
            for label, laid in tables.items()
        ]
        further = [self._blocks(part, name, title) for part in exhibit.further]
        drawn_labels = [label for label, text in figures.items() if text]
        files = "" if parts is FIRST_PART else self._files([name] * any(blocks), drawn_labels)
        parts_of_exhibit = [exhibit.heading, *texts, *figures.values(), *blocks, files, *further]
        return "\n\n".join(filter(None, parts_of_exhibit))

    def _files(self, tables: Sequence[str], figures: Sequence[str]) -> str:
        """Links to files of the folder of results, on pages that know where it is."""
        if "QUARTO_DOCUMENT_FILE" in os.environ:
            return ""
        candidates = [f"tables/{name}.csv" for name in tables]
        candidates += [f"figures/{label}.{ending}" for label in figures for ending in ("svg", "pdf")]
        links = [
            f"[{name.rpartition('/')[2]}]({RESULTS}/{name})"
            for name in candidates
            if (self.path / name).is_file()
        ]
        text = f"::: {{.files}}\nFiles: {', '.join(links)}.\n:::"
        return f'::: {{.content-visible when-format="html"}}\n{text}\n:::' if links else ""

    def _figure_blocks(self, figures: Sequence[Drawn], name: str) -> tuple[dict[str, str], list[str]]:
        """Figures by label, and the reasons why any cannot be drawn."""
        blocks, reasons = {}, []
        for figure in figures:
            label = _joined(name, figure.key)
            if f"fig-{label}" in self._in_key:
                blocks[label] = ""
                continue
            try:
                text = figure.alt or alt(figure.result, self.labels, figure.part, **figure.options)
                markdown = picture(*self._drawing(label, figure), text)
                blocks[label] = captioned(f"fig-{slug(label)}", markdown, figure.caption)
            except InputError as error:
                reasons.append(self._reason(error))
        return blocks, reasons

    def _drawing(self, label: str, figure: Drawn) -> tuple[PageDrawing, Path]:
        """The drawing of a figure and its file for paper: those of the results, where they have it."""
        results = self._file_of(label, figure)
        drawing = results.read()
        if drawing is not None:
            return drawing, results.copied(label)
        return put_on_page(self._drawn(figure), label)


def _general(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """What is shown of a kind without an exhibit: its figure, if it has one, and its table as it is."""
    title = ended(plain(record.title or record.name))
    figures = [Drawn(result, title)] if has_figure(result) else []
    lead = "{figure} and {table} show the results." if figures else "The numbers are in {table}."
    return Exhibit(lead, figures, [Laid(any_table(result.frame, report.names))])


GENERAL = ExhibitBuilder(_general)


def _refer(references: Mapping[str, Sequence[str]], placeholder: re.Match[str]) -> str:
    """References to all figures or tables, with the verb of the placeholder in the number of the former."""
    names = references[placeholder["what"]] or [NOTHING[placeholder["what"]]]
    verb = placeholder["verb"] or ""
    if len(names) > 1:
        verb = placeholder["plural"] or verb.removesuffix("s")
    return f"{together(names, len(names))} {verb}".strip()


def _escape_part_names(tables: Mapping[str, GT] | Sequence[GT]) -> Mapping[str, GT] | Sequence[GT]:
    """Parts of a table, with their names as Markdown."""
    return {plain(name): table for name, table in tables.items()} if isinstance(tables, Mapping) else tables


def _joined(name: str, key: str) -> str:
    return f"{name}_{key}" if key else name


def _first_titles(titles: Sequence[str]) -> str:
    """The first of several titles, and how many more there are."""
    unique_titles = dict.fromkeys(titles if len(titles) <= MOST_TITLES + 1 else titles[:MOST_TITLES])
    more = f"; and {len(titles) - len(unique_titles)} more" if len(titles) > len(unique_titles) else ""
    return f"{'; '.join(unique_titles)}{more}"


def _with_titles(text: str, titles: Mapping[str, Sequence[str]]) -> str:
    """A note with the results that it is about, and whose answers in each."""
    about = [f"{title}: {_first_titles(whose)}" if whose else title for title, whose in titles.items()]
    return f"{text} ({_first_titles(about)})" if about else text


class MissingReport:
    """A report without results: it opens with the reason, and prints nothing else."""

    def __init__(self, why: str) -> None:
        self.why = why

    def opening(self) -> str:
        """Why there are no results and how to compute them."""
        return self.why

    def section(self, heading: str) -> AbstractContextManager[Any]:
        """Print nothing of a section."""
        return redirect_stdout(io.StringIO())

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *args, **kwargs: ""


def load(results: str, about: str = FIT, titled: str = "") -> Report | MissingReport:
    """Open the results of a document; without them, the page says how to compute them.

    Parameters
    ----------
    results : str
        The folder of results that the document names.
    about : {"fit", "items", "corrected", "compared", "diagnosed", "checked", "published_numbers", "tried"}
        The run that the document is about, as in `Report`.
    titled : str
        The study whose title the document has, so that its opening does not repeat it.

    Returns
    -------
    Report or MissingReport
        The latter only where Quarto renders a document by itself; ``conjury report`` opens results first.

    Examples
    --------
    >>> print(load("../results/none").methods())
    <BLANKLINE>
    """
    try:
        report = Report(results, about)
        report.titled = titled
        return report
    except InputError as error:
        return MissingReport(_how_to_compute(results, about, str(error)))


def _how_to_compute(results: str, about: str, error: str) -> str:
    document = os.environ.get("QUARTO_DOCUMENT_FILE") or "FILE.qmd"
    hint = f"To show other results, run {code(f'quarto render {document} -P results:FOLDER')}."
    if (Path(results).expanduser() / "manifest.json").is_file():
        return f"{plain(error.replace(str(Path(results).expanduser().resolve()), results))} {hint}"
    fit = FIRST.get(about, "conjury fit STUDY --data FILE --out {}").format(results)
    commands = [fit, *([f"{THEN[about]} STUDY --results {results}"] if about in THEN else [])]
    run = " and then ".join(code(command) for command in commands)
    return f"There are no results in {code(results)} yet; compute them with {run}. {hint}"
