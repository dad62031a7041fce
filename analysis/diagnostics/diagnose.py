"""Every check of a study's choices, one after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from conjury.inference.errors import InputError

from ..numerics.intervals import check_alpha
from . import (
    answers,
    attention_filters,
    attribute_independence,
    carry_over,
    clusters,
    design_card,
    design_probabilities,
    impossible_profiles,
    missing_choices,
    position_balance,
    position_share,
    profile_order,
    repeat_agreement,
    respondent_balance,
    response_times,
    stimuli,
    straight_lining,
    task_order,
)
from .check import Check
from .judged import Judged, split

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

ORDER = (
    design_card,
    position_balance,
    respondent_balance,
    design_probabilities,
    attribute_independence,
    impossible_profiles,
    position_share,
    profile_order,
    task_order,
    carry_over,
    attention_filters,
    repeat_agreement,
    straight_lining,
    response_times,
    answers,
    missing_choices,
    stimuli,
    clusters,
)
NAMES = tuple(module.QUESTION.name for module in ORDER)


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
    judged = split(study, choices)
    found = []
    for name, check in _checks(study, judged, alpha, seed, filters).items():
        if progress is not None:
            progress(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found.append(check())
    return found


def _checks(
    study: Study, judged: list[Judged], alpha: float, seed: int, filters: Sequence[str] | None
) -> dict[str, Callable[[], Check]]:
    """What to run, by title, in order."""
    calls: dict[str, Callable[[], Check]] = {
        "design_card": lambda: design_card.design_card(study, judged),
        "position_balance": lambda: position_balance.position_balance(judged, alpha),
        "respondent_balance": lambda: respondent_balance.respondent_balance(judged, alpha),
        "design_probabilities": lambda: design_probabilities.design_probabilities(study, judged, alpha, seed),
        "attribute_independence": lambda: attribute_independence.attribute_independence(
            study, judged, alpha, seed
        ),
        "impossible_profiles": lambda: impossible_profiles.impossible_profiles(study, judged, alpha),
        "position_share": lambda: position_share.position_share(judged, alpha),
        "profile_order": lambda: profile_order.profile_order(judged, alpha),
        "task_order": lambda: task_order.task_order(judged, alpha),
        "carry_over": lambda: carry_over.carry_over(judged, alpha),
        "attention_filters": lambda: attention_filters.attention_filters(judged, alpha, filters),
        "repeat_agreement": lambda: repeat_agreement.repeat_agreement(judged, alpha),
        "straight_lining": lambda: straight_lining.straight_lining(judged, alpha),
        "response_times": lambda: response_times.response_times(judged),
        "answers": lambda: answers.answers(judged),
        "missing_choices": lambda: missing_choices.missing_choices(judged, alpha, seed),
        "stimuli": lambda: stimuli.stimuli(study, judged),
        "clusters": lambda: clusters.clusters(judged),
    }
    return {module.QUESTION.title: calls[module.QUESTION.name] for module in ORDER}
