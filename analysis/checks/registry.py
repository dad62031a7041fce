"""What a check asks and returns, the registry of checks, and how findings are put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import binom

from conjury.inference.entry_registry import Registry
from conjury.inference.errors import InputError, counted

from ..figures import has_figure
from ..figures.diagnostics.verdict_figures import with_kind_of_figure
from ..figures.labels import p_text
from ..frames.notes import Note, join_notes
from ..numerics.significance import adjust_p_values as holm_of
from ..results import Result
from .judged import NotApplicableError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["pass", "warning", "error", "not_applicable"]
SEVERITY: tuple[Verdict, ...] = ("not_applicable", "pass", "warning", "error")
ALARMING: tuple[Verdict, ...] = ("warning", "error")
Alarms = Literal["never", "test", "rule"]
KINDS = {"1": "design", "2": "people", "3": "answers", "4": "files", "5": "provenance"}  # by the first digit


@dataclass(frozen=True)
class Check:
    """The answer of one check of what was collected.

    Parameters
    ----------
    code : str
        Such as CJ102; the first digit is the kind: design, people, answers, files, provenance.
    name : str
        Identifier, also that of its table (``check_NAME``) and figure.
    title, question : str
        What it is called and what it asks.
    table : DataFrame
        Tidy numbers; the first two columns are ``judge`` and ``prompt``.
    verdict : {"pass", "warning", "error", "not_applicable"}
        "warning" where a reader should know of something, "error" where it can change conclusions.
    finding : str
        What was found, with the numbers: a `Note`, whose ids are put in words where it is printed.
    consequence : str
        What follows for the analysis; empty where the check passes.
    remedy : str
        What to do; empty where the check passes.
    figure : bool
        Whether ``figures.diagnostics.draw`` draws the table.
    alarms : {"never", "test", "rule"}
        How often it alarms on sound data: "never" where what it counts cannot occur in them (or where it
        states that data are too few, which is true of these data), "test" where its rate is controlled by a
        p value, "rule" where it was measured.
    p : float or None
        Of checks that test, the p value, adjusted over all tests that the check makes.
    rows : DataFrame or None
        The rows that are the evidence, with the columns that name them, such as ``judge_id`` and ``item_id``;
        a column ``row`` gives their places in the table that was read, counted from 1.
    suppressed : str
        The reason why the check is suppressed; empty where it is not.
    least : {"pass", "warning", "error"}
        Of checks that test, the verdict that counts and rules give without the test; it remains where the
        test does not survive adjustment over all checks.
    axis : str
        What ``estimate`` of the table is, for the axis of its figure; by default the title.
    percent : bool
        Whether ``estimate`` is a share, which is drawn in percent.
    reads : tuple of str
        The tables that the check reads, the one that its evidence is about first.
    real_judges : tuple of str, optional
        As in `conjury.analysis.results.Result`.

    Examples
    --------
    >>> found = "2 of 100 texts contain a replacement character."
    >>> check = Check("CJ404", "mangled_text", "Mangled text", "Are characters lost?", pd.DataFrame(),
    ...     "warning", found, "Judges saw other texts than people.", "Read the file in its encoding.",
    ...     figure=False, alarms="never")
    >>> check.kind, check.alarming
    ('files', True)
    """

    code: str
    name: str
    title: str
    question: str
    table: pd.DataFrame
    verdict: Verdict
    finding: str
    consequence: str
    remedy: str
    figure: bool
    alarms: Alarms
    p: float | None = None
    rows: pd.DataFrame | None = None
    suppressed: str = ""
    least: Verdict = "pass"
    axis: str = ""
    percent: bool = False
    reads: tuple[str, ...] = ()
    real_judges: tuple[str, ...] | None = None

    @property
    def kind(self) -> str:
        """Design, people, answers, files or provenance."""
        return KINDS[self.code[2]]

    @property
    def alarming(self) -> bool:
        """Whether the verdict is a warning or an error that is not suppressed."""
        return self.verdict in ALARMING and not self.suppressed

    def plot(self, **options: Any) -> Figure:
        """Draw the table of the check; options as in `conjury.analysis.figures.draw`.

        Raises
        ------
        InputError
            When the check has no figure.
        """
        if not self.figure:
            raise InputError(f"The check {self.code} ({self.title}) has no figure; print its table.")
        return to_draw(self).plot(**options)


def to_draw(check: Check) -> Result:
    """The table of a check as a result that has a figure."""
    settings = {name: getattr(check, name) for name in ("name", "title", "axis", "percent")}
    result = Result(check.table, "check", settings=settings, real_judges=check.real_judges)
    kind: Result = with_kind_of_figure(result)
    return kind


@dataclass(frozen=True)
class Question:
    """What a check asks, what follows from it, and what to do; it is answered by numbers."""

    # `alarms` states how often the check alarms on sound data, `axis` and `percent` how its table is drawn,
    # as in `Check`.

    code: str
    name: str
    title: str
    text: str
    consequence: str
    remedy: str
    alarms: Alarms
    axis: str = ""
    percent: bool = False

    @property
    def kind(self) -> str:
        """Design, people, answers, files or provenance."""
        return KINDS[self.code[2]]

    def answer(
        self,
        table: pd.DataFrame,
        verdict: Verdict,
        finding: str,
        notes: Sequence[str] = (),
        remedy: str | None = None,
        *,
        p: float | None = None,
        rows: pd.DataFrame | None = None,
        least: Verdict = "pass",
    ) -> Check:
        """Answer with a table, a verdict and a finding."""
        # `least` is the verdict without the test; p is missing where nothing could be tested; `rows` are the
        # evidence.
        alarm = verdict in ALARMING
        remedy = self.remedy if remedy is None else remedy
        return Check(
            self.code,
            self.name,
            self.title,
            self.text,
            table,
            verdict,
            join_notes([finding, *dict.fromkeys(notes)]),
            self.consequence if alarm else "",
            remedy if alarm else "",
            _can_be_drawn(self.name, table),
            self.alarms,
            None if p is None or np.isnan(p) else float(p),
            rows,
            least=least,
            axis=self.axis or self.title,
            percent=self.percent,
        )

    def not_applicable(self, reason: str) -> Check:
        """State why the check does not apply."""
        empty = pd.DataFrame({"judge": pd.array([], dtype="string"), "prompt": pd.array([], dtype="string")})
        return self.answer(empty, "not_applicable", reason)


def _can_be_drawn(name: str, table: pd.DataFrame) -> bool:
    """Whether a table has numbers for the figure of the check, or for that of all checks without one."""
    if not len(table) or "estimate" not in table:
        return len(table) > 0 and has_figure(Result(table, name))
    return has_figure(Result(table, name)) or bool(np.isfinite(table["estimate"].astype(float)).any())


Run = Callable[..., Check]
CHECKS: Registry[tuple[Question, Run]] = Registry(
    "conjury.checks", [f"{__package__}.{kind}" for kind in KINDS.values()]
)


def check(question: Question) -> Callable[[Run], Run]:
    """Register the function that answers a question."""
    # Its parameters name what it needs, see `ABSENT` in `check_runner.py`; what has a default is optional.

    def register(run: Run) -> Run:
        @wraps(run)
        def answered(*args: Any, **options: Any) -> Check:
            try:
                return run(*args, **options)
            except NotApplicableError as reason:
                return question.not_applicable(reason.args[0])

        for entry, _ in CHECKS.registered.values():
            if entry.code == question.code and entry.name != question.name:
                raise ValueError(f"{entry.name} and {question.name} have the same code, {question.code}.")
        CHECKS.registered[question.name] = (question, answered)
        return answered

    return register


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most severe verdict, "pass" where there is none."""
    return max(verdicts, key=SEVERITY.index, default="pass")


def adjusted(p: np.ndarray) -> np.ndarray:
    """Adjust p values, shape (m,), by Holm's step-down procedure; missing ones stay missing."""
    return holm_of(p, "holm")


def adjusted_by_feature(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Add ``p_adjusted``: p values of features, adjusted over all features of all designs' tables."""
    tests = [table.drop_duplicates("feature")[["feature", "p"]] for table in tables]
    values = adjusted(np.concatenate([each["p"].to_numpy() for each in tests]))
    parts = np.split(values, np.cumsum([len(each) for each in tests])[:-1])
    return [
        table.merge(each[["feature"]].assign(p_adjusted=part), on="feature")
        for table, each, part in zip(tables, tests, parts, strict=True)
    ]


def exceeds(count: int, of: int, share: float, level: float = 0.05) -> bool:
    """Whether ``count`` of ``of`` cases are significantly more than a share (exact binomial, one-sided)."""
    # A rule that compares a share with a limit in this way stays quiet in small data, where one case is a
    # large share.
    return count > 0 and float(binom.sf(count - 1, of, share)) < level


def show_p(p: float) -> str:
    """Write a p value."""
    return f"p {p_text(p)}"


def groups(n: int) -> str:
    """Count judges and prompts together."""
    return counted(n, "judge and prompt", "judges and prompts")


def who(row: pd.Series) -> Note:
    """The judge and prompt of a row of a table, as a part of a finding."""
    return Note("", judge=str(row["judge"]), prompt=str(row["prompt"]))


def level_of(row: pd.Series) -> tuple[str, str]:
    """The attribute and level of a row of a table, as a finding names levels."""
    return str(row["feature"]), str(row["level"])


def lowest(table: pd.DataFrame, by: pd.Series) -> pd.Series:
    """Return the row of a table where ``by`` is smallest, missing values aside."""
    return _extreme_row(table, by.to_numpy(dtype=float))


def highest(table: pd.DataFrame, by: pd.Series) -> pd.Series:
    """Return the row of a table where ``by`` is largest, missing values aside."""
    return _extreme_row(table, -by.to_numpy(dtype=float))


def _extreme_row(table: pd.DataFrame, values: np.ndarray) -> pd.Series:
    """Return the row of a table with the smallest value; without any value the check does not apply."""
    if np.isnan(values).all():
        raise NotApplicableError("Nothing can be tested: there are too few answers, or they do not vary.")
    return table.iloc[int(np.nanargmin(values))]
