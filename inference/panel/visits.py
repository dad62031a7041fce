"""Visits of people: arrive, see the page they are on, submit it; everything that the pages may ask.

There are no web types in here. One `Visits` serves one process and is safe to use from several threads;
several processes may share one database.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ..errors import InputError
from .clock import PanelClock
from .pages.browsers import Timing, device_of, is_large_enough, measured
from .pages.participation_course import Course
from .pages.reading_answers import Reason, read_answers
from .pages.steps import AttentionStep, ComprehensionStep, EndStep, Step, TaskStep, TextStep
from .panel_tables import PanelTables, tables_of
from .plan import PanelPlan, Slot
from .status import PanelFigures, figures_of
from .storage import researcher_token
from .storage import visiting as rows
from .storage.database_state import read_stored
from .storage.database_tables import LONGEST
from .storage.forgetting import forget_person
from .storage.opening import FILE, Database, checkpoint, open_database, open_existing
from .storage.visiting import VisitRow

SIMULATED = "simulated"


class UnknownVisit(InputError):
    """There is no visit with this id."""


class _NoSlot(Exception):
    """The last free slot was filled while somebody arrived."""


@dataclass(frozen=True)
class Refused:
    """Answers that were not stored.

    Parameters
    ----------
    fields : mapping of str to Reason
        Why each field was refused: "missing", "not_an_option", "not_a_number", "out_of_range" or "too_long".

    Examples
    --------
    >>> dict(Refused({"age": "not_a_number"}).fields)
    {'age': 'not_a_number'}
    """

    fields: Mapping[str, Reason] = field(default_factory=dict)


def utc_now() -> datetime:
    """Return the present time, in UTC."""
    return datetime.now(UTC)


class Visits:
    """Visits of one panel, stored in a database; `open` makes one.

    Parameters
    ----------
    plan : PanelPlan
        Who sees what.
    database : Database
        Where visits are stored.
    now : callable
        The clock, in UTC. Where it goes back, the time of the panel goes on by ``monotonic``.
    monotonic : callable
        A clock in seconds that does not go back.

    Examples
    --------
    >>> import tempfile
    >>> from conjury.inference.panel.plan import make_plan
    >>> visits = Visits.open(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
    >>> visit = visits.arrive({}, {}, "en")
    >>> visits.unfilled(), visits.language(visit)
    (2, 'en')
    >>> visits.close()
    """

    def __init__(
        self,
        plan: PanelPlan,
        database: Database,
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = plan
        self._database = database
        with database.read() as connection:
            self._now = PanelClock(now, rows.last_moment(connection), monotonic)
        self._course = Course(plan, database)

    @classmethod
    def open(
        cls,
        plan: PanelPlan,
        url: str | None = None,
        *,
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
        simulated: bool = False,
    ) -> Visits:
        """Open the database of a panel, or make it.

        Parameters
        ----------
        plan : PanelPlan
        url : str, optional
            ``postgresql+psycopg://...`` or ``sqlite:///FILE``; by default SQLite in WAL mode, in
            ``panel.sqlite`` of the folder of the run.
        now : callable
            The clock, in UTC. Where it goes back, the time of the panel goes on by ``monotonic``.
        monotonic : callable
            A clock in seconds that does not go back.
        simulated : bool
            Whether people are simulated, which marks all that they answer. Real and simulated people are not
            stored in one database.

        Raises
        ------
        InputError
            Where the database belongs to another plan, or cannot be opened.

        Examples
        --------
        >>> import tempfile
        >>> from conjury.inference.panel.plan import make_plan
        >>> visits = Visits.open(make_plan("moderation", people=2, out=tempfile.mkdtemp()))
        >>> visit = visits.arrive({}, {}, "en")
        >>> type(visits.step(visit)).__name__
        'TextStep'
        >>> visits.close()
        """
        plan_facts = {
            "study": plan.study.name,
            "origin": SIMULATED if simulated else "",
            "plan": plan.sha256(),
        }
        numbers = [slot.number for slot in plan.slots]
        return cls(plan, open_database(url, plan.folder, numbers, plan_facts), now, monotonic)

    @classmethod
    def begun(cls, plan: PanelPlan, url: str | None = None) -> Visits:
        """Open a panel that has begun, of real or of simulated people.

        Raises
        ------
        InputError
            Where there is none, or it belongs to another plan.
        """
        database = open_existing(url, None if url is not None else plan.folder / FILE)
        with database.read() as connection:
            simulated = rows.read_fact(connection, "origin") == SIMULATED
        database.close()
        return cls.open(plan, url, simulated=simulated)

    @property
    def place(self) -> str:
        """Where the database is, without a password."""
        return self._database.place

    def arrive(
        self,
        parameters: Mapping[str, str],
        device: Mapping[str, str],
        language: str,
        visit: str | None = None,
    ) -> str | EndStep:
        """Begin a visit, or go on with that of the same person of a platform.

        Parameters
        ----------
        parameters : mapping
            Parameters of the address; those that the study does not name are dropped.
        device : mapping
            ``device`` (``phone``, ``tablet``, ``computer``), ``width``, ``height`` of the window,
            ``screen_width``, ``screen_height`` (CSS pixels) and ``touch`` (``yes``, ``no``); all optional,
            others are dropped.
        language : str
            Language of the pages, one of the section's ``languages``; the first of them for any other.
        visit : str, optional
            Id of the visit, at most 64 characters, by default a random one. Arriving twice with the same is
            one visit.

        Returns
        -------
        str or EndStep
            Id of the visit; or the end, with number 0 of 0: ``full`` where no slot is left, ``no_person``
            where the study requires the parameter of the person and it is absent, ``small_screen`` where the
            screen is smaller than the study's smallest, or its size is unknown; nothing is stored.
        """
        recruiting = self.plan.section.recruiting
        values = {name: parameters.get(name, "").strip()[:LONGEST] for name in recruiting.parameters}
        named = {name: value for name, value in values.items() if value}
        person = named.get(recruiting.person)
        if person is None and recruiting.required:
            return EndStep(0, 0, "no_person")
        if person is not None:
            with self._database.read() as connection:
                visit_id = rows.visit_of_person(connection, person)
            if visit_id is not None:
                return visit_id
        smallest = self.plan.section.smallest_screen
        if smallest is not None and not is_large_enough(device, smallest.width, smallest.height):
            return self._course.pages.turned_away("small_screen")
        try:
            return self._begin(visit or secrets.token_urlsafe(16), named, device, self._language(language))
        except _NoSlot:
            return self._course.pages.turned_away("full")

    def step(self, visit: str) -> Step:
        """Return the page that a person is on.

        Raises
        ------
        UnknownVisit
        """
        with self._database.read() as connection:
            row = _require_visit(rows.find_visit(connection, visit))
        return self._course.step_of(row)

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
        with self._database.write() as connection:
            row = _require_visit(rows.find_visit(connection, visit, lock=True))
            step = self._course.step_of(row)
            if isinstance(step, EndStep):
                if row.ended is None:  # its slot was given to another
                    moment = max(self._now(), row.last)
                    rows.save_visit(connection, replace(row, ended="timed_out"), moment)
                return step
            if step.number != number:
                return step
            stored_answers, refused = read_answers(self.plan.study, step, answers)
            if refused:
                return Refused(refused)
            now = max(self._now(), row.last)  # another process may have stored a later time
            at = {"visit": row.number, "page": row.page, "slot": row.slot, "at": now}
            rows.add_answer(connection, stored_answers, **_page_fields(step), **measured(timing), **at)
            moved = self._course.next_row(connection, row, step, stored_answers, now)
            rows.save_visit(connection, moved, now)
            following = self._course.step_of(moved)
        if moved.ended == rows.WITHDRAWN:
            checkpoint(self._database)  # what was deleted is no longer in the log either
        return following

    def slot(self, visit: str) -> Slot | None:
        """Return the slot that a visit was given last; None where it has none yet.

        Raises
        ------
        UnknownVisit
        """
        with self._database.read() as connection:
            row = _require_visit(rows.find_visit(connection, visit))
        return None if row.slot is None else self.plan.by_number[row.slot]

    def language(self, visit: str) -> str:
        """Return the language of a visit.

        Raises
        ------
        UnknownVisit
        """
        with self._database.read() as connection:
            return _require_visit(rows.find_visit(connection, visit)).language

    def unfilled(self) -> int:
        """Count the slots that nobody has filled yet."""
        with self._database.read() as connection:
            return rows.count_unfilled_slots(connection)

    def figures(self) -> PanelFigures:
        """Count visits, times, checks, quotas and cost, and show balance, agreement and straight-lining."""
        return figures_of(self.plan, read_stored(self._database), self._now())

    def researcher_token(self, new: bool = False) -> str | None:
        """Make the researcher's token and return it; None where it has been made before, unless ``new``.

        A new token replaces the one before, and ends all sessions that began with it.
        """
        return researcher_token.make_token(self._database, replacing=new)

    def researcher_session(self) -> str:
        """Name what a session of the researcher has to know, from signing in until somebody signs out."""
        return researcher_token.session(self._database)

    def end_researcher_sessions(self) -> None:
        """Sign the researcher out, in all browsers."""
        researcher_token.end_sessions(self._database)

    def is_researcher(self, token: str) -> bool:
        """Whether a token is the researcher's, compared in constant time."""
        return researcher_token.has_token(self._database, token)

    def tables(self) -> PanelTables:
        """Return responses, judgments, choices and respondents."""
        with self._database.read() as connection:
            origin = rows.read_fact(connection, "origin")
        return tables_of(self.plan, read_stored(self._database), self._now(), origin or None)

    def forget(self, identifier: str, answers: bool = False) -> int:
        """Erase the identifiers of one person, and ``answers`` too; return the number of people erased."""
        return forget_person(self._database, identifier, answers)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # ---- inside a transaction ----

    def _begin(self, visit: str, named: Mapping[str, str], device: Mapping[str, str], language: str) -> str:
        """Add a visit, unless the person or the visit came at the same moment; `_NoSlot` changes nothing."""
        now, person = self._now(), self.plan.section.recruiting.person
        values = {"id": visit, "language": language, "started": now, "last": now, **device_of(device)}
        with self._database.write() as connection:
            self._database.alone(connection)
            visit_id = rows.visit_of_person(connection, named[person]) if person in named else None
            if visit_id is not None or rows.find_visit(connection, visit) is not None:
                return visit_id or visit
            if rows.free_slot(connection, now) is None:
                raise _NoSlot
            number = rows.add_visit(connection, values, named, person)
            if not self._course.pages.before:
                slot = self._course.take_slot(connection, number, now)
                if slot is None:  # its holder finished after the time limit, in another transaction
                    raise _NoSlot
                rows.save_visit(connection, VisitRow(number, visit, language, 1, slot, None, 0, 0), now)
        return visit

    def _language(self, language: str) -> str:
        codes = self.plan.section.languages
        return language if language in codes else codes[0]


def _require_visit(row: VisitRow | None) -> VisitRow:
    if row is None:
        raise UnknownVisit("There is no visit with this id; open the address of the study again.")
    return row


def _page_fields(step: Step) -> dict[str, Any]:
    """Kind and name of a page, and the order of a task."""
    if isinstance(step, TaskStep):
        kind = "practice" if step.practice else "task"
        return {"kind": kind, "name": step.task.name, "task": step.index or None}
    if isinstance(step, AttentionStep):
        return {"kind": "attention", "name": step.check.id, "task": None}
    if isinstance(step, ComprehensionStep):
        return {"kind": "comprehension", "name": None, "task": None}
    kind = step.kind if isinstance(step, TextStep) else "questions"
    return {"kind": kind, "name": None, "task": None}


__all__ = ["Refused", "Timing", "Visits"]
