"""All checks of what was collected, one after another, with one error rate for all that test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import Parameter, signature
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.readers.collected import CollectedData, read_collected
from conjury.inference.readers.prepare import load_choices
from conjury.inference.study.load import load_study
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.study.study_yaml import read_marked_yaml
from conjury.inference.tables.frames import answer_wrong_calls, any_frame, real_judges_of

from ..frames.notes import Note, join_notes
from ..numerics.intervals import check_alpha, check_draws
from .judged import JudgedChoices, split
from .registry import ALARMING, CHECKS, SEVERITY, Check, Question, Run, adjusted, show_p

ORDERED = sorted(CHECKS.values(), key=lambda registered: registered[0].code)
NAMES = tuple(question.name for question, _ in ORDERED)
ABSENT = {
    "study": "There is no study file.",
    "conjoint": "There is no study file of a conjoint.",
    "item_study": "There is no study file of items.",
    "judged": "There are no choices of a conjoint.",
    "choices": "There are no choices of a conjoint.",
    "judgments": "There are no judgments.",
    "responses": "There are no raw responses.",
    "requests": "There are no requests as they were sent.",
    "items": "There is no table of items.",
    "labels": "There are no gold labels.",
    "respondents": "There is no table of respondents.",
}
OF_CHOICES = ("judged", "choices")
OF_CONJOINTS = tuple(
    question.code for question, run in ORDERED if set(signature(run).parameters) & set(OF_CHOICES)
)


class CheckInputs:
    """What checks may ask for, by the names of their parameters; None where it is absent."""

    def __init__(
        self, collected: CollectedData, alpha: float, seed: int, filters: Sequence[str] | None
    ) -> None:
        self.collected, self.alpha, self.seed, self.filters = collected, alpha, seed, filters

    @property
    def conjoint(self) -> Study | None:
        """The study, if it is a conjoint."""
        return self.collected.study if isinstance(self.collected.study, Study) else None

    @property
    def item_study(self) -> ItemStudy | None:
        """The study, if it is one of items."""
        return self.collected.study if isinstance(self.collected.study, ItemStudy) else None

    @cached_property
    def judged(self) -> list[JudgedChoices] | None:
        """Choices by judge and prompt."""
        study, choices = self.conjoint, self.collected.choices
        return None if study is None or choices is None else split(study, choices)

    def get(self, name: str) -> Any:
        """Return what a parameter of a check names."""
        return getattr(self, name) if hasattr(type(self), name) or name in vars(self) else self._table(name)

    def _table(self, name: str) -> Any:
        return getattr(self.collected, name)


def ordered() -> list[tuple[Question, Run]]:
    """All checks that are registered, by their codes: those of the package and those of a user."""
    return sorted(CHECKS.values(), key=lambda registered: registered[0].code)


def load_checks(path: str | Path) -> tuple[str, ...]:
    """Run a Python file whose checks register themselves.

    Parameters
    ----------
    path : str or Path
        The file; its functions have the decorator ``@check(QUESTION)``.

    Returns
    -------
    tuple of str
        The codes of its checks, which `run_checks` runs from then on.

    Raises
    ------
    InputError
        The file is missing, it raises an error, or it registers no check.

    Examples
    --------
    >>> load_checks("mine.py")
    Traceback (most recent call last):
    conjury.inference.errors.InputError: mine.py cannot be read (No such file or directory); check the path.
    """
    before = dict(CHECKS)
    try:
        run_path(str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except Exception as error:
        raise InputError(f"{path}: {type(error).__name__}: {error}; correct the file.") from error
    codes = sorted(
        question.code
        for name, (question, run) in CHECKS.items()
        if name not in before or before[name][1] is not run
    )
    if not codes:
        raise InputError(f"{path}: no check is registered; write @check(QUESTION) above its function.")
    return tuple(codes)


def pick_codes(selectors: Sequence[str] | None, of: str = "checks") -> tuple[str, ...]:
    """Codes that selectors name: codes, beginnings of codes such as CJ3, or names of checks."""
    questions = [question for question, _ in ordered()]
    codes = tuple(question.code for question in questions)
    if selectors is None:
        return codes
    selection: list[str] = []
    for selector in selectors:
        text = selector.strip()
        begins = text if text[:2] in {code[:2] for code in codes} else "-"
        matches = [q.code for q in questions if q.name == text or q.code.startswith(begins)]
        if not matches:
            hint = did_you_mean(text, [*codes, *(question.name for question in questions)])
            raise InputError(f"{of}: there is no check {text!r}{hint}; codes are {codes[0]} to {codes[-1]}.")
        selection += matches
    return tuple(code for code in codes if code in selection)


def run_checks(
    collected: CollectedData,
    *,
    checks: Sequence[str] | None = None,
    ignore: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    filters: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Run all checks of what was collected, or some of them; those that test share one error rate.

    Parameters
    ----------
    collected : CollectedData
        What there is; checks that need something else do not apply.
    checks : sequence of str, optional
        Codes, beginnings of codes such as ``"CJ3"``, or names; by default all checks.
    ignore : mapping, optional
        Reasons by code of checks to suppress, beyond those of the study file. A suppressed check is run and
        reported with the reason.
    alpha : float
        The rate at which any check that tests alarms on sound data, in (0, 1): p values of a check are
        adjusted over its own tests, and then over all checks, by Holm's procedure.
    seed : int
        Seed of random designs and permutations, 0 or more.
    filters : sequence of str, optional
        Columns of attention checks, by default those whose names begin with attention or comprehension.
    progress : callable, optional
        Receives the title of each check before it is run.

    Returns
    -------
    list of Check
        In the order of their codes.

    Raises
    ------
    InputError
        For an unknown check, a level outside (0, 1), or tables that contradict the study.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics, 6(2), 65-70. https://www.jstor.org/stable/4615733

    Examples
    --------
    >>> from conjury.inference.simulation import simulate
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> choices = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=300, truth=False).choices
    >>> [found] = run_checks(CollectedData(study=study, choices=choices), checks=["CJ301"])
    >>> found.code, found.name, found.verdict
    ('CJ301', 'answers', 'pass')
    """
    check_alpha(alpha)
    check_draws(0, seed)
    codes = pick_codes(checks)
    reasons = {**suppression_reasons(collected.study), **(ignore or {})}
    content = CheckInputs(collected, alpha, seed, filters)
    answers, real_judges = [], real_judges_of(list(vars(collected).values()))
    for question, run in ordered():
        if question.code not in codes:
            continue
        if progress is not None:
            progress(question.title)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            answer = _answer(question, run, content)
        reads = tuple("choices" if n == "judged" else n for n in signature(run).parameters if n in ABSENT)
        because = reasons.get(question.code, "")
        answers.append(replace(answer, suppressed=because, reads=reads, real_judges=real_judges))
    return control_error_rate(answers, alpha)


def suppression_reasons(study: Study | ItemStudy | None) -> dict[str, str]:
    """Reasons by code of the checks that a study file suppresses; InputError for a code that is unknown."""
    if study is None:
        return {}
    codes = pick_codes(None)
    for place, part in enumerate(study.checks.ignore):
        if part.code not in codes:
            hint = did_you_mean(part.code, codes)
            problem = f"there is no check {part.code}{hint}; codes are {listed(codes, len(codes))}."
            raise read_marked_yaml(study._file).error(("checks", "ignore", place, "code"), problem)
    return {part.code: part.because for part in study.checks.ignore}


def _answer(question: Question, run: Run, content: CheckInputs) -> Check:
    """Run a check with what its parameters name, or state which of them is absent."""
    arguments: dict[str, Any] = {}
    for name, parameter in signature(run).parameters.items():
        arguments[name] = content.get(name)
        if arguments[name] is None and parameter.default is Parameter.empty:
            return question.not_applicable(ABSENT[name])
    return run(**arguments)


def control_error_rate(checks: Sequence[Check], alpha: float) -> list[Check]:
    """Adjust p values over all checks that test (Holm): on sound data any of them alarms at rate alpha."""
    p = np.array([np.nan if check.p is None else check.p for check in checks])
    overall = adjusted(p)
    return [_demote(check, float(over), alpha) for check, over in zip(checks, overall, strict=True)]


def _demote(check: Check, overall: float, alpha: float) -> Check:
    """The check with the verdict that remains where its test does not survive the adjustment."""
    if check.p is None or check.verdict not in ALARMING or not overall >= alpha:
        return check
    if SEVERITY.index(check.least) >= SEVERITY.index(check.verdict):
        return check
    note = Note.of("Adjusted over all checks, {p}, so the test passes.", p=show_p(overall))
    is_alarm = check.least in ALARMING
    return replace(
        check,
        verdict=check.least,
        finding=join_notes([check.finding, note]),
        consequence=check.consequence if is_alarm else "",
        remedy=check.remedy if is_alarm else "",
    )


@answer_wrong_calls
def check_collected(
    paths: str | Path | Sequence[str | Path],
    study: str | Path | Study | ItemStudy | None = None,
    **options: Any,
) -> list[Check]:
    """Read what was collected and run all checks on it.

    Parameters
    ----------
    paths : path or sequence of paths
        A study, the folder of a run, a results folder, or tables, as `read_collected` reads them.
    study : str, path or study, optional
        The study, where what is read does not name it.
    **options
        As in `run_checks`.

    Returns
    -------
    list of Check
        One check for each code, in the order of codes.

    Raises
    ------
    InputError
        For what cannot be read, and as in `run_checks`.

    Examples
    --------
    >>> checks = check_collected("moderation")  # a study without data: checks of data do not apply
    >>> {check.verdict for check in checks} <= {"pass", "not_applicable"}
    True
    """
    return run_checks(read_collected(paths, study), **options)


@any_frame
def diagnose(
    study: Study | str | Path,
    choices: pd.DataFrame | str | Path,
    *,
    alpha: float = 0.05,
    seed: int = 1,
    filters: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Check design, respondents and answers of a conjoint's choices: the checks that read choices.

    Parameters
    ----------
    study : Study, path or str
        A conjoint, the path of its file, or the name of one that ships.
    choices : DataFrame, path or str
        Its choices, as ``tables/schema.py`` describes them, or a file that `conjury fit` reads.
    alpha, seed, filters, progress
        As in `run_checks`.

    Returns
    -------
    list of Check
        One check for each code, in the order of codes.

    Raises
    ------
    InputError
        As in `run_checks`.

    Examples
    --------
    >>> from conjury.inference.simulation import simulate
    >>> from conjury.inference.study import load_study
    >>> study = load_study("moderation")
    >>> choices = simulate(study, 1, judges=["gpt4o"], prompts=["baseline"], pairs=100, truth=False).choices
    >>> {check.code: check.verdict for check in diagnose(study, choices)}["CJ301"]
    'pass'
    """
    loaded = load_study(study) if isinstance(study, str | Path) else study
    rows = load_choices(loaded, choices) if isinstance(choices, str | Path) else choices
    return run_checks(
        CollectedData(study=loaded, choices=rows),
        checks=OF_CONJOINTS,
        alpha=alpha,
        seed=seed,
        filters=filters,
        progress=progress,
    )
