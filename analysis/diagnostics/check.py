"""What a check asks and returns, the registry of checks, and all checks of a study one after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted

from ..figures.labels import true_minus
from ..numerics.intervals import check_alpha
from ..numerics.significance import adjusted as holm_of
from .judged import NotApplicableError, split

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

Verdict = Literal["pass", "look", "fail", "not_applicable"]
SEVERITY: tuple[Verdict, ...] = ("not_applicable", "pass", "look", "fail")


@dataclass(frozen=True)
class Check:
    """One diagnostic of a study's choices, over all judges and prompts.

    Attributes
    ----------
    name : str
        Identifier, also that of its table (``check_NAME``) and figure.
    title, question : str
        What it is called and what it asks.
    table : DataFrame
        Tidy numbers; the first two columns are ``judge`` and ``prompt``.
    verdict : {"pass", "look", "fail", "not_applicable"}
        "look" where something is there that a reader should know, "fail" where it can change conclusions.
    finding : str
        What was found, with the numbers.
    remedy : str
        What to do; empty where the check passes.
    figure : bool
        Whether ``figures.diagnostics.draw`` draws the table.
    """

    name: str
    title: str
    question: str
    table: pd.DataFrame
    verdict: Verdict
    finding: str
    remedy: str
    figure: bool


@dataclass(frozen=True)
class Question:
    """Name, title and question of a check, its remedy, and its place in the report; answered by numbers."""

    place: int
    name: str
    title: str
    text: str
    remedy: str

    def answer(
        self,
        table: pd.DataFrame,
        verdict: Verdict,
        finding: str,
        notes: Sequence[str] = (),
        remedy: str | None = None,
    ) -> Check:
        """Answer with a table, a verdict and a finding.

        Notes say what was excluded; ``remedy`` stands in for the question's own where what was found
        calls for another.
        """
        remedy = (self.remedy if remedy is None else remedy) if verdict in ("look", "fail") else ""
        said = true_minus(" ".join([finding, *dict.fromkeys(notes)]))
        return Check(self.name, self.title, self.text, table, verdict, said, remedy, len(table) > 0)

    def not_applicable(self, reason: str) -> Check:
        """State why the check does not apply."""
        empty = pd.DataFrame({"judge": pd.array([], dtype="string"), "prompt": pd.array([], dtype="string")})
        return Check(self.name, self.title, self.text, empty, "not_applicable", reason, "", False)


Run = Callable[..., Check]
CHECKS: dict[str, tuple[Question, Run]] = {}


def check(question: Question) -> Callable[[Run], Run]:
    """Register the function that answers a question.

    Its parameters name what it needs: ``study, judged, alpha, seed, filters``, any of them.
    """

    def register(run: Run) -> Run:
        @wraps(run)
        def answered(*args: Any, **options: Any) -> Check:
            try:
                return run(*args, **options)
            except NotApplicableError as reason:
                return question.not_applicable(str(reason))

        CHECKS[question.name] = (question, answered)
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


def said_p(p: float) -> str:
    """Write a p value."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def groups(n: int) -> str:
    """Count judges and prompts together."""
    return counted(n, "judge and prompt", "judges and prompts")


def who(row: pd.Series) -> str:
    """Name the judge and prompt of a row of a table."""
    return " ".join(filter(None, (str(row["judge"]), str(row["prompt"]))))


def lowest(table: pd.DataFrame, by: pd.Series) -> pd.Series:
    """Return the row of a table where ``by`` is smallest, missing values aside."""
    return table.iloc[int(np.nanargmin(by.to_numpy(dtype=float)))]


def highest(table: pd.DataFrame, by: pd.Series) -> pd.Series:
    """Return the row of a table where ``by`` is largest, missing values aside."""
    return table.iloc[int(np.nanargmax(by.to_numpy(dtype=float)))]


for _module in iter_modules([str(Path(__file__).parent)], f"{__package__}."):
    import_module(_module.name)  # checks register themselves

ORDERED = sorted(CHECKS.values(), key=lambda registered: registered[0].place)
NAMES = tuple(question.name for question, _ in ORDERED)


def diagnose(
    study: Study,
    choices: pd.DataFrame,
    *,
    alpha: float = 0.05,
    seed: int = 1,
    filters: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Check design, respondents and answers of a study's choices, over all judges and prompts.

    Parameters
    ----------
    study : Study
    choices : DataFrame
        As from :func:`conjury.inference.readers.prepare.load_choices`.
    alpha : float
        Level of the tests, whose p values are adjusted (Holm) over all that a check makes, and one
        minus the confidence level of intervals.
    seed : int
        Of the designs and permutations drawn at random.
    filters : sequence of str, optional
        Columns that say who passed an attention or comprehension check; by default those whose
        names begin with attention or comprehension.
    progress : callable, optional
        Called with what starts next.

    Returns
    -------
    list of Check
        In the order of ``NAMES``. A check that does not apply states why.

    Raises
    ------
    InputError
        For choices without the study's columns, or an alpha or seed out of range.

    References
    ----------
    Hainmueller, J., Hopkins, D. J., & Yamamoto, T. (2014). Causal inference in conjoint analysis:
    Understanding multidimensional choices via stated preference experiments. Political Analysis
    22(1), 1-30. doi:10.1093/pan/mpt024

    Examples
    --------
    >>> from conjury.inference.simulation import simulate
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> made = simulate(study, seed=1, judges=["gpt4o"], prompts=["baseline"], pairs=500)
    >>> {check.name: check.verdict for check in diagnose(study, made.choices)}["straight_lining"]
    'not_applicable'
    """
    check_alpha(alpha)
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number of 0 or more.")
    given = {
        "study": study,
        "judged": split(study, choices),
        "alpha": alpha,
        "seed": seed,
        "filters": filters,
    }
    found = []
    for question, run in ORDERED:
        if progress is not None:
            progress(question.title)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found.append(run(**{name: given[name] for name in signature(run).parameters}))
    return found
