"""A replication: the exhibits of a paper with their numbers, as a page and a folder of files."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.study import load_any_study
from conjury.inference.study.models import AnyStudy, ItemStudy, Study
from conjury.inference.tables.html_page import page
from conjury.inference.tables.writing import write_text

from ...figures import draw
from ...figures.labels import LabelKey, resolve_labels
from ...frames.sentences import capitalised
from ...results import Result
from ..paper.document_writing import write_tables
from ..paper.paper_tables import PaperTable
from ..report_data import ReportData
from ..table_format import styled_table, whole
from .added_judges import COLUMNS as ADDED
from .added_judges import added_judges, summary_table
from .exhibit_figures import ExhibitFigure, exhibit_figures
from .exhibit_layouts import ExhibitLayout, PaperLayout, read_layout
from .exhibit_notes import attributes_table, examples_table, notes_of_results, prompts_html, steps_of
from .joined_numbers import VERDICTS, JoinedNumbers, check_published, join_numbers
from .replicated_tables import (
    COLUMNS,
    OURS,
    PUBLISHED,
    as_published,
    lay_grid,
    side_by_side_rows,
    simulation_sentence,
)

if TYPE_CHECKING:
    from great_tables import GT

FORMATS = ("html", "latex", "word", "markdown")
FIGURE_FORMATS = ("pdf", "svg")
ENDS = ("", "_published", "_compared", "_added")  # of names of files of an exhibit
STYLE = "figure { margin: 1rem 0; } figure img { max-width: 100%; background: #fff; }"


@dataclass(frozen=True)
class ReplicatedExhibit:
    """A table or figure of the paper, laid out: tables, figures, its numbers, and markup without numbers."""

    layout: ExhibitLayout
    tables: Sequence[PaperTable]
    figures: Sequence[ExhibitFigure]
    numbers: pd.DataFrame
    markup: str = ""
    added: pd.DataFrame | None = None  # judges that are not in the paper minus those that are

    @property
    def printed_tables(self) -> list[PaperTable]:
        """The tables that say most: published numbers and ours in one, where there are both."""
        name_of_both = f"{self.layout.name}_compared"
        has_both = any(table.name == name_of_both for table in self.tables)
        single_names = (self.layout.name, f"{self.layout.name}_published")
        return [table for table in self.tables if not (has_both and table.name in single_names)]


@dataclass(frozen=True)
class Replication:
    """The tables and figures of a paper.

    Parameters
    ----------
    layout : PaperLayout
        What the paper has.
    exhibits : sequence of ReplicatedExhibit
        Its tables and figures, laid out.
    simulated : str
        That our numbers are of simulated answers, and of whom not; empty where none are.
    has_results : bool
        Whether there are numbers of ours at all.

    Examples
    --------
    >>> made = replicate("harm_or_humor", only=["Table 2"])
    >>> made.parity["exhibit"].tolist(), int(made.parity["published"].iloc[0])
    (['Table 2'], 40)
    """

    layout: PaperLayout
    exhibits: Sequence[ReplicatedExhibit]
    simulated: str = ""
    has_results: bool = False

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """Every number of every exhibit: published, ours, corrected, difference, verdict and reason."""
        frames = [exhibit.numbers for exhibit in self.exhibits if len(exhibit.numbers)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)

    @cached_property
    def added(self) -> pd.DataFrame:
        """Numbers of judges that are not in the paper minus those of published judges."""
        frames = [exhibit.added for exhibit in self.exhibits if exhibit.added is not None]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=ADDED)

    @cached_property
    def parity(self) -> pd.DataFrame:
        """Numbers of each exhibit by verdict; ``explained`` counts those that differ with a reason."""
        rows = []
        for name, group in self.numbers.groupby("exhibit", sort=False):
            counts = group["verdict"].value_counts()
            different = group[group["verdict"] == VERDICTS[2]]
            rows.append(
                {
                    "exhibit": name,
                    "published": int(group["printed"].notna().sum()),
                    **{verdict: int(counts.get(verdict, 0)) for verdict in VERDICTS},
                    "explained": int((different["reason"] != "").sum()),
                }
            )
        return pd.DataFrame(rows, columns=["exhibit", "published", *VERDICTS, "explained"])

    def write(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[str]:
        """Write page, tables, figures and numbers; return why any of them could not be written."""
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        self._remove_former(out)
        notes = [*self._write_tables(out, formats), *self._write_figures(out)]
        self.numbers.to_csv(out / "numbers.csv", index=False)
        self.parity.to_csv(out / "parity.csv", index=False)
        if len(self.added):
            self.added.to_csv(out / "added_judges.csv", index=False)
        write_text(out / "index.html", self.page(out), durable=False)
        return notes

    def _remove_former(self, out: Path) -> None:
        """Remove files of these exhibits from a former run, of which this one may not have all."""
        stems = [f"{exhibit.layout.name}{end}" for exhibit in self.exhibits for end in ENDS]
        for place in ("tables", "figures"):
            for path in sorted((out / place).glob("*")):
                if path.stem in stems:
                    path.unlink()

    def _write_tables(self, out: Path, formats: Sequence[str]) -> list[str]:
        tables = [table for exhibit in self.exhibits for table in exhibit.tables]
        notes = []
        for name in formats if tables else ():
            try:
                write_tables(tables, name, out / "tables")
            except ConjuryError as error:
                notes.append(f"Tables as {name} were not written: {error}")
        return notes

    def _write_figures(self, out: Path) -> list[str]:
        from ...figures.theme import save

        notes = []
        for exhibit in self.exhibits:
            for figure in exhibit.figures:
                try:
                    save(figure.draw(), out / "figures" / figure.name, formats=FIGURE_FORMATS)
                except ConjuryError as error:
                    notes.append(f"{exhibit.layout.number} was not drawn: {error}")
        return notes

    def page(self, out: Path) -> str:
        """The page with all exhibits; figures are those of the folder that were drawn."""
        title = f"Tables and figures: {self.layout.paper}"
        parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(self.sources)}</p>"]
        if len(self.parity):
            parts.append(PaperTable("parity", "Numbers by verdict.", parity_table(self.parity)).html)
        for exhibit in self.exhibits:
            parts += _section(exhibit, out)
        parts += _list("Settings that differ from the paper", self.layout.settings)
        absent = [f"{number}: {reason}" for number, reason in self.layout.absent.items()]
        parts += _list("Not replicated", absent)
        return page(title, "\n".join(parts), STYLE)

    @property
    def sources(self) -> str:
        """What the numbers of the page are."""
        if not self.has_results:
            return "All numbers are those that were published."
        ours = self.simulated or "Ours are estimates from the answers that were given."
        return f"Each number is shown as published and as computed here, with the difference. {ours}"


def _section(exhibit: ReplicatedExhibit, out: Path) -> list[str]:
    layout = exhibit.layout
    parts = [f'<h2 id="{layout.name}">{html.escape(layout.number)}. {html.escape(layout.caption)}</h2>']
    for figure in exhibit.figures:
        if (out / "figures" / f"{figure.name}.svg").is_file():
            caption = html.escape(f"{layout.number}: {figure.source.lower()}")
            parts.append(
                f'<figure><img src="figures/{figure.name}.svg" alt="{caption}"><figcaption>{caption}'
                f"</figcaption></figure>"
            )
    parts += [f"<p>{html.escape(table.caption)}</p>\n{table.html}" for table in exhibit.tables]
    return [*parts, exhibit.markup] if exhibit.markup else parts


def _list(heading: str, sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    items = "\n".join(f"<li>{html.escape(text)}</li>" for text in sentences)
    return [f"<h2>{html.escape(heading)}</h2>\n<ul>\n{items}\n</ul>"]


def parity_table(parity: pd.DataFrame) -> GT:
    """Counts of numbers by verdict, as a table."""
    labels = {"exhibit": "Exhibit", "published": "Published", "explained": "Different with a reason"}
    rows = pd.DataFrame(
        {
            labels.get(name, capitalised(name)): parity[name]
            if name == "exhibit"
            else parity[name].map(whole)
            for name in parity.columns
        }
    )
    return styled_table(rows)


def replicate(
    study: str | Path,
    *,
    results: str | Path | None = None,
    published: str | Path | None = None,
    layout: str | Path | None = None,
    only: Sequence[str] = (),
) -> Replication:
    """Lay out the tables and figures of a paper, with published numbers and ours.

    Parameters
    ----------
    study : str or Path
        Name of a study that ships, or a study file.
    results : str or Path, optional
        A folder that `conjury fit` wrote; without it all numbers are published ones.
    published : str or Path, optional
        Folder of CSV files with published numbers, in place of those that ship.
    layout : str or Path, optional
        A layout in YAML; by default that of the study, which ships.
    only : sequence of str
        Numbers of tables and figures, such as "Table 3"; by default all.

    Returns
    -------
    Replication
        The exhibits, the numbers, and how many agree.

    Raises
    ------
    InputError
        For unknown exhibits, folders without published numbers, and results of another study.

    Examples
    --------
    >>> made = replicate("oogiri", only=["Table 1"])
    >>> made.exhibits[0].tables[0].name
    'table_1'
    """
    loaded_study = load_any_study(study)
    paper = read_layout(layout if layout is not None else loaded_study.name)
    folder = None if published is None else Path(published)
    check_published(paper, folder)
    report = None if results is None else ReportData(results)
    if report is not None and report.manifest.get("study") not in (None, loaded_study.name):
        raise InputError(
            f"{results} contains results of the study {report.manifest.get('study')!r}, but the paper is "
            f"about {loaded_study.name!r}; give results of this study by --results."
        )
    labels = resolve_labels(loaded_study)
    chosen = paper.select(list(only))
    needed = {exhibit.numbers for exhibit in chosen if exhibit.numbers}
    numbers = {
        name: join_numbers(source, folder, report, labels)
        for name, source in paper.numbers.items()
        if name in needed
    }
    exhibits = [_exhibit(layout, numbers, loaded_study, report, labels) for layout in chosen]
    return Replication(paper, exhibits, simulation_sentence(report), report is not None)


def _exhibit(
    layout: ExhibitLayout,
    numbers: Mapping[str, JoinedNumbers],
    study: AnyStudy,
    report: ReportData | None,
    labels: Mapping[LabelKey, str],
) -> ReplicatedExhibit:
    """Lay out one exhibit."""
    joined = None if layout.numbers is None else numbers[layout.numbers]
    if joined is None:
        figures = list(exhibit_figures(layout, None, report, labels))
        if layout.shows == "steps":
            steps = Result(steps_of(study, report), "study_flow")
            figures = [ExhibitFigure(layout.name, "Steps", partial(draw, steps))]
        elif layout.shows == "pictures" and isinstance(study, ItemStudy):
            from .example_pictures import draw_examples

            draw_items = partial(draw_examples, study, layout.where)
            figures = [ExhibitFigure(layout.name, "Items of the study that ships", draw_items)]
        tables, markup = _without_numbers(layout, study, report)
        return ReplicatedExhibit(layout, tables, figures, pd.DataFrame(columns=COLUMNS), markup)
    grid = lay_grid(layout, joined, labels, report)
    figures = list(exhibit_figures(layout, grid, report, labels))
    compared = grid.compared()
    sources = {PUBLISHED: bool(compared["printed"].notna().any()), OURS: bool(compared["ours"].notna().any())}
    notes = [layout.note]
    if sources[OURS] and report is not None:
        notes += [*notes_of_results(report, grid.results(), limits=grid.has_limits), grid.simulated]
    note = " ".join(filter(None, notes))
    caption = f"{layout.number}. {layout.caption}"
    tables = []
    for source in (OURS, PUBLISHED):
        if sources[source]:
            name = layout.name if source == OURS or not sources[OURS] else f"{layout.name}_published"
            own_name = grid.ours if source == OURS else source
            whose = f" ({own_name.lower()})" if all(sources.values()) else ""
            below = note if source == OURS else layout.note
            tables.append(PaperTable(name, f"{caption}{whose}", as_published(grid, source, below)))
    if all(sources.values()):
        gap = f"{note} Difference: {grid.ours.lower()} minus published.".strip()
        title = f"{caption} (published and {grid.ours.lower()})"
        tables.append(PaperTable(f"{layout.name}_compared", title, side_by_side_rows(grid, gap)))
    added = added_judges(grid, labels)
    if len(added):
        title = f"{caption} (judges that are not in the paper, beside those that are)"
        tables.append(PaperTable(f"{layout.name}_added", title, summary_table(added, grid.simulated)))
    return ReplicatedExhibit(layout, tables, figures, compared, _nothing(sources, layout), added)


def _nothing(sources: Mapping[str, bool], layout: ExhibitLayout) -> str:
    """A sentence in place of a table without numbers."""
    if any(sources.values()):
        return ""
    text = (
        "No numbers of it were published in a table; results of the study (--results, --data, --simulate) "
        "fill it."
    )
    return f"<p>{html.escape(f'{text} {layout.note}'.strip())}</p>"


def _without_numbers(
    layout: ExhibitLayout, study: AnyStudy, report: ReportData | None
) -> tuple[list[PaperTable], str]:
    """An exhibit that shows the study itself, or the command that makes it."""
    table = None
    if layout.shows == "attributes" and isinstance(study, Study):
        table = attributes_table(study)
    elif layout.shows == "examples" and isinstance(study, ItemStudy):
        table = examples_table(study, report)
    elif layout.shows == "steps":
        table = styled_table(steps_of(study, report).set_axis(["Step", "In the study"], axis=1), n_left=2)
    if table is not None:
        return [PaperTable(layout.name, f"{layout.number}. {layout.caption}", table)], ""
    markup = prompts_html(study) if layout.shows == "prompts" else ""
    if layout.command is not None:
        markup += f"<p>This command makes it: <code>{html.escape(layout.command)}</code></p>"
    return [], markup
