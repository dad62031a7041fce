"""What a missing answer counts as: a wrong answer, nothing at all, or what the study says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from conjury.inference.columns import did_you_mean, listed
from conjury.inference.errors import InputError

from .metrics import Codes

NO_ANSWER = -1  # predicted code of a unit without an answer
WRONG, MISSING, STUDY = "wrong", "missing", "study"
POLICIES = (WRONG, MISSING, STUDY)


def check_policy(policy: Mapping[str, str], classes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what the statuses of a study count as; InputError for what is no class."""
    known = [WRONG, MISSING, *dict.fromkeys(name for names in classes.values() for name in names)]
    for status, meaning in policy.items():
        if meaning not in known:
            raise InputError(
                f"policy: '{status}' counts as '{meaning}'{did_you_mean(meaning, known)}; use "
                f"{listed(known)}."
            )
    return dict(policy)


def check_policies(policies: Sequence[str]) -> tuple[str, ...]:
    """Return the policies that are asked for; InputError for one that does not exist."""
    asked = (policies,) if isinstance(policies, str) else tuple(policies)
    for name in asked:
        if name not in POLICIES:
            raise InputError(f"missing is '{name}'{did_you_mean(name, POLICIES)}; use {listed(POLICIES)}.")
    return asked


def outcome(
    predicted: Codes,
    status: NDArray[np.object_],
    classes: Sequence[str],
    policy: str,
    study: Mapping[str, str],
) -> tuple[Codes, NDArray[np.bool_]]:
    """Answers under a policy for missing ones, and which units it keeps.

    Parameters
    ----------
    predicted : ndarray, shape (n,)
        Codes of the answers; `NO_ANSWER` for none.
    status : ndarray, shape (n,)
        Why there is no answer.
    classes : sequence of str
    policy : "wrong", "missing" or "study"
    study : mapping of status to "wrong", "missing" or a class
        A status that is not named is "missing".

    Returns
    -------
    predicted : ndarray, shape (n,)
    kept : ndarray of bool, shape (n,)

    Examples
    --------
    >>> status = np.array(["ok", "refused", "empty"], dtype=object)
    >>> outcome(np.array([0, -1, -1]), status, ["safe", "harmful"], "study", {"refused": "harmful"})
    (array([ 0,  1, -1]), array([ True,  True, False]))
    """
    none = predicted == NO_ANSWER
    if policy == WRONG or not none.any():
        return predicted, np.ones(len(predicted), dtype=bool)
    if policy == MISSING:
        return predicted, ~none
    codes, names = pd.factorize(status)
    meaning = [study.get(str(name), MISSING) for name in names]
    place = {name: code for code, name in enumerate(classes)}
    instead = np.array([place.get(name, NO_ANSWER) for name in meaning], dtype=np.int64)[codes]
    left_out = np.array([name == MISSING for name in meaning])[codes]
    return np.where(none, instead, predicted), ~(none & left_out)
