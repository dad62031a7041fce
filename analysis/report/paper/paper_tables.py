"""Tables of results as papers print them: the tables of the reports, by name, with captions and notes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import ConjuryError, InputError
from conjury.inference.tables.frames import answer_wrong_calls

from ...figures.labels import LabelKey, resolve_labels, words
from ...figures.note_labels import note_text
from ...frames.kinds import kind_of
from ...frames.notes import note_of, rank_notes
from ...frames.sentences import capitalised
from ...pipeline.manifest import RecordedResult
from ...results import Result
from ..document import Watch, watched
from ..exhibited_results import GENERAL
from ..exhibits import EXHIBITS, Exhibit
from ..exhibits.exhibit_registry import EVERY_STUDY
from ..method_sentences import unmarked
from ..report_data import ReportData
from ..table_format import BOLD, starred

if TYPE_CHECKING:
    from great_tables import GT

    from conjury.inference.study.models import ItemStudy, Study

MOST_NOTES = 4  # notes of a result that its first table repeats


@dataclass(frozen=True)
class PaperTable:
    """A table to print.

    Parameters
    ----------
    name : str
        The name of its file, without ending.
    caption : str
        Plain text.
    gt : great_tables.GT
        The table, with its notes below.

    Examples
    --------
    >>> import great_tables
    >>> import pandas as pd
    >>> table = great_tables.GT(pd.DataFrame({"level": ["kind"], "estimate": [0.1]}))
    >>> "0.1" in PaperTable("effects", "Effects on choices.", table).html
    True
    """

    name: str
    caption: str
    gt: GT

    @cached_property
    def html(self) -> str:
        """The table as a part of a page."""
        markup = str(self.gt.with_id("gt-" + re.sub(r"[^a-z0-9-]+", "-", self.name.lower())).as_raw_html())
        return markup.replace(BOLD[0], "<strong>").replace(BOLD[1], "</strong>")


class _SingleResult(ReportData):
    """A single result as exhibits read a results folder that has no other."""

    def __init__(self, result: Result, record: RecordedResult, labels: Mapping[LabelKey, str]) -> None:
        self.path, self.about = Path(), record.part
        self.manifest = {}
        self._result, self._record, self._given = result, record, dict(labels)

    @cached_property
    def results(self) -> list[RecordedResult]:
        return [self._record]

    @cached_property
    def labels(self) -> dict[LabelKey, str]:
        return self._given

    def has(self, name: str) -> bool:
        return name == self._record.name

    def table(self, name: str) -> pd.DataFrame:
        if not self.has(name):
            raise InputError(f"There is no table {name!r}; the result stands alone.")
        return self._result.frame


@answer_wrong_calls
def tables_of_result(
    result: Result,
    *,
    labels: Mapping[LabelKey, str] | Study | ItemStudy | str | Path | None = None,
    title: str | None = None,
    stars: bool = False,
) -> list[PaperTable]:
    """Lay a result out as tables to print, with the numbers that reports print.

    Parameters
    ----------
    result : Result
        What an analysis gave.
    labels : mapping, Study, ItemStudy, str or Path, optional
        Labels of attributes, levels, judges and prompts, or the study that has them, as in
        `conjury.analysis.figures.draw`.
    title : str, optional
        The caption; by default that of the kind of result.
    stars : bool
        Whether p values are marked by stars, which a note then explains.

    Returns
    -------
    list of PaperTable
        One table, or several where series are many.

    Examples
    --------
    >>> import pandas as pd
    >>> from conjury.analysis.results import Result
    >>> frame = pd.DataFrame({
    ...     "feature": "reply", "level": ["no_reply", "agree"], "estimate": [0.0, 0.1],
    ...     "std_error": [None, 0.02], "p": [None, 0.001], "lower": [None, 0.05], "upper": [None, 0.15]})
    >>> [table.name for table in tables_of_result(Result(frame, "amce"))]
    ['amce']
    """
    named = title or kind_of(result.kind).quantity or words(result.kind)
    record = RecordedResult(
        result.kind,
        result.kind,
        named,
        dict(result.settings),
        tuple(result.settings.get("groups") or ()),
        tuple(map(note_of, result.notes)),
    )
    data = _SingleResult(result, record, resolve_labels(labels))
    with starred(stars):
        tables = list(_paper_tables(result, record, data))
    if title is not None:
        return tables
    return [replace(table, caption=capitalised(table.caption.removeprefix(f"{named}: "))) for table in tables]


def tables_of_folder(
    path: str | Path, *, stars: bool = False, watch: Watch | None = None
) -> list[PaperTable]:
    """Lay out every table that reports print of a results folder.

    Parameters
    ----------
    path : str or Path
        A folder that `conjury fit` or another command wrote.
    stars : bool
        Whether p values are marked by stars, which a note then explains.
    watch : callable, optional
        Is told how many results are done, and of how many.

    Returns
    -------
    list of PaperTable
        In the order of the results; names are unique.

    Raises
    ------
    InputError
        For a folder without results.

    Examples
    --------
    >>> from conjury.inference.tables.files import PUBLISHED
    >>> tables = tables_of_folder(PUBLISHED / "results")
    >>> tables[0].name, tables[0].caption
    ('published_numbers', 'Published numbers by file and verdict.')
    """
    data = ReportData(path)
    tables: list[PaperTable] = []
    with starred(stars):
        for record in watched(data.results, watch):
            with suppress(ConjuryError):  # reports print the reason
                tables += _paper_tables(data.read(record), record, data)
    return tables


def _paper_tables(result: Result, record: RecordedResult, data: ReportData) -> Iterator[PaperTable]:
    """The tables of the exhibit of a result; where it has none, the result as it is."""
    spec = EXHIBITS.get(record.kind, GENERAL)
    exhibit = None
    if spec.of != EVERY_STUDY:
        # an exhibit may ask for columns and tables that a single result need not have
        with suppress(ConjuryError, *((LookupError, ValueError) if isinstance(data, _SingleResult) else ())):
            exhibit = spec.build(result, record, data)
    tables = list(_tables_of_exhibit(exhibit, record)) if exhibit else []
    tables = tables or list(_tables_of_exhibit(GENERAL.build(result, record, data), record))
    for k, table in enumerate(tables):
        yield PaperTable(table.name, table.caption, table.gt if k else _add_notes(table.gt, record, data))


def _tables_of_exhibit(exhibit: Exhibit, record: RecordedResult) -> Iterator[PaperTable]:
    for section in (exhibit, *exhibit.further):
        for laid in section.tables:
            name = f"{record.name}_{laid.key}" if laid.key else record.name
            caption = unmarked(laid.caption or record.title or words(record.name))
            n = len(laid.tables)
            for k, (named, gt) in enumerate(laid.parts, 1):
                part = f" Part {k} of {n}{': ' if named else ''}{named}." if n > 1 else ""
                caption = caption if caption.endswith((".", "?")) else f"{caption}."
                yield PaperTable(f"{name}_{k}" if n > 1 else name, f"{caption}{part}", gt)


def _add_notes(gt: GT, record: RecordedResult, data: ReportData) -> GT:
    """A table with the notes of its result below, and whether its data are simulated."""
    from great_tables import html as markup

    simulated = ["The data are simulated."] if data.simulated else []
    notes = [note_text(note, data.labels) for note in rank_notes(record.notes)[:MOST_NOTES]]
    for text in [*simulated, *notes]:
        gt = gt.tab_source_note(markup(html.escape(text, quote=False)))
    more = len(record.notes) - MOST_NOTES
    return gt.tab_source_note(f"{more} more notes are in the record of the result.") if more > 0 else gt


def table_of(tables: list[PaperTable], part: int) -> Any:
    """The table of a number, from 1; raise InputError where there are fewer."""
    if not 1 <= part <= len(tables):
        raise InputError(
            f"There is no table {part}; the result has {len(tables)}, so give part=1 to {len(tables)}."
        )
    return tables[part - 1].gt
