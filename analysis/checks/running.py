"""All checks of what was collected, one after another, with one error rate for all that test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.collected import Collected
from conjury.inference.study.models import ItemStudy, Study

from ..numerics.intervals import check_alpha
from .judged import Judged, split
from .registry import CHECKS, Check, Question, Run, adjusted, said_p

for _module in walk_packages([str(Path(__file__).parent)], f"{__package__}."):
    if _module.name != __name__:
        import_module(_module.name)  # checks register themselves

ORDERED = sorted(CHECKS.values(), key=lambda registered: registered[0].code)
NAMES = tuple(question.name for question, _ in ORDERED)
CODES = tuple(question.code for question, _ in ORDERED)
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


class Content:
    """What checks may ask for, by the names of their parameters; None where it is absent."""

    def __init__(self, collected: Collected, alpha: float, seed: int, filters: Sequence[str] | None) -> None:
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
    def judged(self) -> list[Judged] | None:
        """Choices by judge and prompt."""
        study, choices = self.conjoint, self.collected.choices
        return None if study is None or choices is None else split(study, choices)

    def get(self, name: str) -> Any:
        """Return what a parameter of a check names."""
        return getattr(self, name) if hasattr(self, name) else getattr(self.collected, name)


def run_checks(
    collected: Collected,
    *,
    checks: Sequence[str] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    filters: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Run all checks, or those of some codes or names; those that test share one error rate."""
    check_alpha(alpha)
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number of 0 or more.")
    content = Content(collected, alpha, seed, filters)
    found = []
    for question, run in ORDERED:
        if checks is not None and question.code not in checks and question.name not in checks:
            continue
        if progress is not None:
            progress(question.title)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found.append(_answer(question, run, content))
    return controlled(found, alpha)


def _answer(question: Question, run: Run, content: Content) -> Check:
    """Run a check with what its parameters name, or state which of them is absent."""
    given: dict[str, Any] = {}
    for name, parameter in signature(run).parameters.items():
        given[name] = content.get(name)
        if given[name] is None and parameter.default is Parameter.empty:
            return question.not_applicable(ABSENT[name])
    return run(**given)


def controlled(checks: Sequence[Check], alpha: float) -> list[Check]:
    """Adjust p values over all checks that test (Holm): on sound data any of them alarms at rate alpha."""
    p = np.array([np.nan if check.p is None else check.p for check in checks])
    overall = adjusted(p)
    return [_demoted(check, float(over), alpha) for check, over in zip(checks, overall, strict=True)]


def _demoted(check: Check, overall: float, alpha: float) -> Check:
    if check.p is None or check.verdict not in ("warning", "error") or not overall >= alpha:
        return check
    note = f" Adjusted over all checks, {said_p(overall)}, so this passes."
    return replace(check, verdict="pass", finding=check.finding + note, consequence="", remedy="")


def diagnose(
    study: Study,
    choices: pd.DataFrame,
    *,
    alpha: float = 0.05,
    seed: int = 1,
    filters: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Check design, respondents and answers of a conjoint's choices: `run_checks` on choices alone."""
    return run_checks(
        Collected(study=study, choices=choices), alpha=alpha, seed=seed, filters=filters, progress=progress
    )


__all__ = ["CODES", "NAMES", "Content", "diagnose", "run_checks"]
