"""Exhibits of the results of a folder: built once, drawn for the folder, and written as Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from conjury.inference.errors import ConjuryError, InputError

from ..figures import alt, draw, has_figure
from ..frames.kinds import kind_of
from ..frames.sentences import together
from ..pipeline.manifest import FIT, RecordedResult
from ..results import Result
from .blocks import captioned, slug, table_blocks, table_references
from .document import RESULTS
from .exhibits import EXHIBITS, Drawn, Exhibit, ExhibitBuilder, Laid
from .exhibits.conjoint.effect_findings import LONGEST_TITLE, title_of
from .exhibits.conjoint.people_exhibit import drawing
from .exhibits.exhibit_registry import ended
from .exhibits.figure_basis import basis_of, lines_in_words
from .method_sentences import plain
from .page_drawings import DrawingFile, PageDrawing, picture, put_on_page
from .report_data import ReportData
from .table_format import any_table, starred

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

ALL_PARTS, FIRST_PART, AFTER_FIRST = slice(None), slice(1), slice(1, None)  # of a table
REFERENCE = re.compile(r"\{(?P<what>figure|table)(?: (?P<verb>\w+)(?:\|(?P<plural>\w+))?)?\}")
NOTHING = {"figure": "The figure", "table": "the folder"}  # referred to where there is none


class ExhibitedResults(ReportData):
    """A results folder whose results are shown as figures and tables."""

    def figures(self, part: str = FIT) -> Iterator[tuple[str, Callable[[], Figure]]]:
        """Names of the figures of the results of a run, and functions that draw them."""
        for record in self.results:
            if record.part == part and record.kind in EXHIBITS:
                with suppress(InputError):
                    exhibit = self._build(record)
                    figures = [figure for each in (exhibit, *exhibit.further) for figure in each.figures]
                    if record.kind == "people" and not figures:  # in the folder, though not on the page
                        alone = self._with_basis(Exhibit(figures=[drawing(record, self)]), record)
                        figures = list(alone.figures)
                    for figure in figures:
                        name = label_in_folder(record.name, figure.key)
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

    def _reason(self, error: ConjuryError) -> str:
        return plain(str(error).replace(str(self.path), "the results folder"))

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
        tables = {label_in_folder(name, laid.key): laid for laid in exhibit.tables}
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
        return "\n\n".join(
            filter(None, [exhibit.heading, *texts, *figures.values(), *blocks, files, *further])
        )

    def _files(self, tables: Sequence[str], figures: Sequence[str]) -> str:
        """Links to files of the folder of results, on pages that know where it is."""
        if "QUARTO_DOCUMENT_FILE" in os.environ:
            return ""
        candidates = [f"tables/{name}.csv" for name in tables]
        candidates += [f"figures/{label}.{ending}" for label in figures for ending in ("svg", "pdf")]
        files = [name for name in candidates if (self.path / name).is_file()]
        links = [f"[{Path(name).name}]({RESULTS}/{name})" for name in files]
        text = f"::: {{.files}}\nFiles: {', '.join(links)}.\n:::"
        return f'::: {{.content-visible when-format="html"}}\n{text}\n:::' if links else ""

    def _figure_blocks(self, figures: Sequence[Drawn], name: str) -> tuple[dict[str, str], list[str]]:
        """Figures by label, and the reasons why any cannot be drawn."""
        blocks, reasons = {}, []
        for figure in figures:
            label = label_in_folder(name, figure.key)
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


def label_in_folder(name: str, key: str) -> str:
    """The label of a figure or table of a result."""
    return f"{name}_{key}" if key else name
