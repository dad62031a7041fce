"""What a report shows of a kind of result: exhibits, registered by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conjury.inference.entry_registry import Registry

from ...figures.labels import level_of
from ...figures.raters.replacement_figures import SCORINGS
from ...results import Result
from ..method_sentences import code, plain
from ..report_data import ReportData

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

Sentence = Callable[[Result, "RecordedResult", ReportData], str]
EVERY_STUDY = ""  # the kind of result of exhibits that need none


@dataclass(frozen=True)
class Drawn:
    """A figure of an exhibit.

    Parameters
    ----------
    result : Result
        The result that is drawn.
    caption : str
        Caption of the figure.
    key : str
        What the name of the figure adds to that of the result.
    part : str, optional
        A further figure of the result, one of `conjury.analysis.figures.parts`.
    options : mapping
        Options of this kind of figure, as `conjury.analysis.figures.draw` takes them.
    alt : str, optional
        Describes the figure, where its own description is not used.
    title, subtitle : str
        What the figure shows, and what it rests on, above it.

    Examples
    --------
    >>> import pandas as pd
    >>> Drawn(Result(pd.DataFrame(), "amce"), "Effects on choices.").key
    ''
    """

    result: Result
    caption: str
    key: str = ""
    part: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    alt: str = ""
    title: str = ""
    subtitle: str = ""


@dataclass(frozen=True)
class Laid:
    """A table of an exhibit.

    Parameters
    ----------
    tables : sequence of GT, or mapping of str to GT
        The parts of the table, one unless it is wide, by name where they have names.
    caption : str
        Caption; without it the title of the table.
    key : str
        What the name of the table adds to that of the result.

    Examples
    --------
    >>> import pandas as pd
    >>> import great_tables
    >>> table = great_tables.GT(pd.DataFrame({"level": ["kind"], "estimate": [0.1]}))
    >>> len(Laid([table], "Effects on choices.").tables)
    1
    """

    tables: Mapping[str, GT] | Sequence[GT]
    caption: str = ""
    key: str = ""

    @property
    def parts(self) -> list[tuple[str, GT]]:
        """The tables with their names, which are empty where they have none."""
        if isinstance(self.tables, Mapping):
            return list(self.tables.items())
        return [("", table) for table in self.tables]


@dataclass(frozen=True)
class Exhibit:
    """What a report shows of a result.

    Parameters
    ----------
    lead : str
        What the figures and tables are; ``{figure}`` and ``{table}`` become references to them, and so do
        ``{figure shows}`` and ``{table has|have}``, where the verb agrees with their number.
    figures, tables : sequence
        They follow the text in this order.
    reading : str
        What was found, with numbers.
    further : sequence of Exhibit
        More of the same result, each with a lead.
    heading : str
        A heading above the lead, in Markdown.

    Examples
    --------
    >>> exhibit = Exhibit("Two of nine intervals exclude zero.", further=[Exhibit("By language.")])
    >>> [part.lead for part in exhibit.further]
    ['By language.']
    """

    lead: str = ""
    figures: Sequence[Drawn] = ()
    tables: Sequence[Laid] = ()
    reading: str = ""
    further: Sequence[Exhibit] = ()
    heading: str = ""


@dataclass(frozen=True)
class ExhibitBuilder:
    """An exhibit as it is registered: see `exhibit`.

    Parameters
    ----------
    build : callable
        From a result, its record and the report to the exhibit.
    method : str or callable
        How such results are computed, where the record of the kind has no text of it: a sentence, or a
        function of record and report.
    of : str, optional
        Another kind, the first result of which is shown once more.
    headline : callable, optional
        Gives the sentence of the report's opening.
    absent : callable, optional
        Gives the sentence of a report without such results.
    limit : callable, optional
        Gives a sentence on what limits the findings of a report, empty where nothing does.

    Examples
    --------
    >>> builder = ExhibitBuilder(lambda result, record, data: Exhibit("Effects."), method="Least squares.")
    >>> builder.method, builder.of
    ('Least squares.', None)
    """

    build: Callable[[Result, RecordedResult, ReportData], Exhibit]
    method: str | Callable[[RecordedResult, ReportData], str] = ""
    of: str | None = None
    headline: Sentence | None = None
    absent: Callable[[ReportData], str] | None = None
    limit: Callable[[ReportData], str] | None = None


EXHIBITS: Registry[ExhibitBuilder] = Registry("conjury.exhibits", [__package__])
ADJUSTMENTS = {"by": "Benjamini-Yekutieli", "bh": "Benjamini-Hochberg", "holm": "Holm"}
SETTINGS = (
    ("cluster", "clusters of items: {}"),
    ("unit", "resampled units: {}"),
    ("draws", "{} draws"),
    ("seed", "seed {}"),
    ("alpha", "alpha {}"),
    ("coefficient", "coefficient: {}"),
    ("epsilon", "epsilon {}"),
    ("q_fdr", "false discovery rate {}"),
    ("multiplicity", "adjustment: {}"),
    ("scoring", "scoring: {}"),
    ("link", "link: {}"),
    ("scale", "scale: {}"),
    ("simulations", "{} simulated studies per number"),
    ("chains", "{} chains"),
    ("tune", "{} draws of adaptation"),
    ("sampler", "sampler {}"),
)


def exhibit(*kinds: str, **options: Any) -> Callable[[Any], Any]:
    """Register a function from a result, its record and the report to an `Exhibit`, under some kinds.

    Parameters
    ----------
    *kinds : str
        Kinds of results that the function builds the exhibit of.
    **options : object
        ``method, headline, of, absent, limit`` of `ExhibitBuilder`.

    Returns
    -------
    callable
        A decorator of the function.

    Examples
    --------
    >>> @exhibit("my_kind", method="Counts of rows.")
    ... def my_exhibit(result, record, data):
    ...     return Exhibit(f"{len(result.frame)} rows.")
    >>> EXHIBITS.registered.pop("my_kind").method
    'Counts of rows.'
    """

    def register(build: Any) -> Any:
        for kind in kinds:
            EXHIBITS.registered[kind] = ExhibitBuilder(build, **options)
        return build

    return register


def ended(title: str) -> str:
    """Close a title with a full stop, unless it asks."""
    return title if title.endswith(("?", ".")) else f"{title}."


def level(source: Result | RecordedResult) -> str:
    """The level of the intervals of a result in percent."""
    return level_of(source.settings)


def settings_text(settings: Mapping[str, Any]) -> str:
    """The settings of a result as one sentence of its methods."""
    texts = [
        text.format(_setting(key, settings[key]))
        for key, text in SETTINGS
        if settings.get(key) not in (None, "", []) and (key, settings[key]) != ("cluster", "item_id")
    ]
    joined = ", ".join(texts)
    return f"{joined[0].upper()}{joined[1:]}." if joined else ""


def _setting(key: str, value: object) -> str:
    """A setting as text: columns as code, rules in words, counts with commas."""
    if key in ("cluster", "unit"):
        return code(value)
    if key == "draws" and isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(f"{entry:g}" if isinstance(entry, float) else plain(entry) for entry in value)
    return plain(SCORINGS.get(str(value), ADJUSTMENTS.get(str(value), str(value))))
