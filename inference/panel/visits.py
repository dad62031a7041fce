"""Visits of people: arrive, see the page they are on, submit it; everything that the pages may ask.

There are no web types in here. One `Visits` serves one process and is safe to use from several threads; several
processes may share one database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from ..errors import InputError
from .plan import PanelPlan
from .status import PanelFigures
from .steps import EndStep, Step
from .tables import PanelTables

Reason = Literal["missing", "not_an_option", "not_a_number", "out_of_range", "too_long"]


class UnknownVisit(InputError):
    """There is no visit with this id."""


@dataclass(frozen=True)
class Timing:
    """What the browser measured on one page, by its monotonic clock.

    Attributes
    ----------
    response_ms : float or None
        From the moment the page was complete, pictures included, to the submission.
    focus_lost : int
        How often the page lost the focus.
    focus_lost_ms : float
        For how long in all.
    first_input_ms : float or None
        From complete to the first key or click.
    """

    response_ms: float | None = None
    focus_lost: int = 0
    focus_lost_ms: float = 0.0
    first_input_ms: float | None = None


@dataclass(frozen=True)
class Refused:
    """Answers that were not stored: the reason of each field, as the key of a sentence of the catalogue."""

    fields: Mapping[str, Reason] = field(default_factory=dict)


def utc_now() -> datetime:
    """Return the present time, in UTC."""
    return datetime.now(UTC)


class Visits:
    """Visits of one panel, stored in a database."""

    plan: PanelPlan

    @classmethod
    def open(
        cls, plan: PanelPlan, url: str | None = None, *, now: Callable[[], datetime] = utc_now
    ) -> Visits:
        """Open the database of a panel, or make it.

        Parameters
        ----------
        plan : PanelPlan
        url : str, optional
            ``postgresql+psycopg://...``; by default SQLite in WAL mode, in ``panel.sqlite`` of the folder of
            the run.
        now : callable
            The clock, in UTC.

        Raises
        ------
        InputError
            Where the database belongs to another plan, or cannot be opened.
        """
        raise NotImplementedError

    def arrive(
        self, parameters: Mapping[str, str], device: Mapping[str, str], language: str
    ) -> str | EndStep:
        """Begin a visit, or go on with that of the same person of a platform.

        Parameters
        ----------
        parameters : mapping
            Parameters of the address; those that the study does not name are dropped.
        device : mapping
            ``device`` (``phone``, ``tablet``, ``computer``), ``width``, ``height`` (CSS pixels) and ``touch``
            (``yes``, ``no``); all optional, others are dropped.
        language : str
            Language of the pages, one of the section's ``languages``; the first of them for any other.

        Returns
        -------
        str or EndStep
            Id of the visit; or the end, with number 0 of 0: ``full`` where no slot is left, ``no_person``
            where the study requires the parameter of the person and it is absent, ``closed``.
        """
        raise NotImplementedError

    def step(self, visit: str) -> Step:
        """Return the page that a person is on.

        Raises
        ------
        UnknownVisit
        """
        raise NotImplementedError

    def submit(
        self, visit: str, number: int, answers: Mapping[str, str], timing: Timing | None = None
    ) -> Step | Refused:
        """Store the answers of one page durably, and return the page that follows.

        ``number`` is that of the page that was answered. Where the person is on another page (double submit,
        second tab, back button) nothing changes and the page that they are on is returned.

        Raises
        ------
        UnknownVisit
        """
        raise NotImplementedError

    def language(self, visit: str) -> str:
        """Return the language of a visit.

        Raises
        ------
        UnknownVisit
        """
        raise NotImplementedError

    def note_device(self, visit: str, device: Mapping[str, str], language: str | None = None) -> None:
        """Add what is known of the device only once scripts run, and change the language of the pages.

        Raises
        ------
        UnknownVisit
        """
        raise NotImplementedError

    def figures(self) -> PanelFigures:
        """Count visits, times, checks, quotas and cost, and show balance, agreement and straight-lining."""
        raise NotImplementedError

    def researcher_token(self) -> str | None:
        """Make the researcher's token and return it; None where it has been made before."""
        raise NotImplementedError

    def is_researcher(self, token: str) -> bool:
        """Whether a token is the researcher's, compared in constant time."""
        raise NotImplementedError

    def tables(self) -> PanelTables:
        """Return responses, judgments, choices and respondents."""
        raise NotImplementedError

    def forget(self, identifier: str) -> int:
        """Erase the identifiers of one person; the answers stay. Returns the number of people erased."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        raise NotImplementedError


__all__ = ["Reason", "Refused", "Timing", "UnknownVisit", "Visits", "utc_now"]
