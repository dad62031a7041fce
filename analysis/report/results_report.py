"""What a document asks of a results folder: its opening, exhibits by kind, methods, notes and versions."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError

from ..figures.note_labels import label_of, note_text
from ..frames.kinds import claims_of, kind_of
from ..frames.sentences import capitalised, together
from ..pipeline.manifest import FIT, RecordedResult, notes_of, rows_in_words
from ..results import Result
from .blocks import slug, table_references
from .exhibited_results import FIRST_PART, GENERAL, ExhibitedResults, label_in_folder
from .exhibits import EXHIBITS, Exhibit, ExhibitBuilder
from .exhibits.conjoint.conjoint_basis import outcome_of
from .exhibits.exhibit_registry import EVERY_STUDY, ended, settings_text
from .finding import further_findings, headlines, key_results, limits, merged, method_paragraph, row_sentences
from .method_sentences import code, describe_analysis, in_words, note_list, plain
from .table_format import starred
from .versions_section import versions_blocks

__all__ = ["Report", "load"]

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
THEN = {"compared": "conjury compare", "diagnosed": "conjury check"}


class Report(ExhibitedResults):
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
        labels = [label_in_folder(of_figure.name, figure.key) for figure in figures]
        blocks.append(self._files([of_table.name] * bool(tables), labels))
        self._in_key |= {f"fig-{label_in_folder(of_figure.name, figure.key)}" for figure in figures}
        self._in_key |= {f"tbl-{label_in_folder(of_table.name, table.key)}" for table in tables}
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
                names = table_references(label_in_folder(record.name, laid.key), len(laid.tables))
                return together(names, len(names)), exhibit.reading
            for figure in part.figures:
                return f"@fig-{slug(label_in_folder(record.name, figure.key))}", exhibit.reading
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
            of_formula = (
                describe_analysis(record.settings, record.kind) if record.settings.get("verb") else ""
            )
            return in_words(of_formula, self.labels)
        return in_words(" ".join(filter(None, [text, settings_text(record.settings)])), self.labels)

    def _print(self, text: Callable[[], str]) -> None:
        """Print Markdown, or a sentence with the reason why there is none."""
        try:
            if markdown := text():
                print(markdown)
        except ConjuryError as error:
            print(f"\n*Not shown: {self._reason(error)}*\n")

    def _shown(self, spec: ExhibitBuilder, record: RecordedResult, name: str) -> str:
        title = ended(plain(record.title or record.name))
        if spec.of is None and record.kind in EXHIBITS:
            return self._blocks(self._built(record), name, title)
        result = Result(pd.DataFrame(), record.kind) if spec.of == EVERY_STUDY else self.read(record)
        return self._blocks(spec.build(result, record, self), name, title)


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
