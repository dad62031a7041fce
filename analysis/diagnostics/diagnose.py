"""Every check of a study's choices, one after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..numerics.intervals import check_alpha
from .check import CHECKS, Check
from .judged import split

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

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
        Told what starts next.

    Returns
    -------
    list of Check
        In the order of ``NAMES``. A check that does not apply says why.

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
