"""What a report shows of a kind of result: exhibits, registered by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...results import Result
from ..data import ReportData

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import Recorded

Sentence = Callable[[Result, "Recorded", ReportData], str]
EVERY_STUDY = ""  # the kind of result of exhibits that need none


@dataclass(frozen=True)
class Drawn:
    """A figure: the result that it draws, its caption, and what its name adds to that of the result."""

    result: Result
    caption: str
    key: str = ""
    part: str | None = None


@dataclass(frozen=True)
class Laid:
    """A table, in parts where it is wide: its caption, else the title, and what its name adds."""

    tables: Sequence[GT]
    caption: str = ""
    key: str = ""


@dataclass(frozen=True)
class Exhibit:
    """What a report shows of a result.

    Attributes
    ----------
    lead : str
        What the figures and tables are; ``{figure}`` and ``{table}`` become references to them.
    figures, tables : sequence
        They follow the text in this order.
    reading : str
        What was found, with numbers.
    further : sequence of Exhibit
        More of the same result, each with a lead.
    heading : str
        A heading above the lead, in Markdown.
    """

    lead: str = ""
    figures: Sequence[Drawn] = ()
    tables: Sequence[Laid] = ()
    reading: str = ""
    further: Sequence[Exhibit] = ()
    heading: str = ""


@dataclass(frozen=True)
class Kind:
    """An exhibit as it is registered: see `exhibit`."""

    build: Callable[[Result, Recorded, ReportData], Exhibit]
    method: str | Callable[[Recorded, ReportData], str] = ""
    of: str | None = None
    headline: Sentence | None = None
    absent: Callable[[ReportData], str] | None = None


KINDS: dict[str, Kind] = {}


def exhibit(*kinds: str, **options: Any) -> Callable[[Any], Any]:
    """Register a function from a result, its record and the report to an `Exhibit`, under some kinds.

    Options: ``method`` says how such results are computed (a sentence, or a function of record and report);
    ``headline`` gives the sentence of the report's opening; ``of`` names another kind whose first result is
    shown once more; ``absent`` gives the sentence of a report without such results.
    """

    def register(build: Any) -> Any:
        for kind in kinds:
            KINDS[kind] = Kind(build, **options)
        return build

    return register


def ended(title: str) -> str:
    """Close a title with a full stop, unless it asks."""
    return title if title.endswith(("?", ".")) else f"{title}."


def level_of(settings: Mapping[str, Any]) -> str:
    """The level of intervals in percent."""
    return f"{100 * (1 - float(settings.get('alpha') or 0.05)):g}%"
