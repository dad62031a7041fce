"""Repeated tasks that are compared with no earlier answer are counted, and the reason is named."""

from __future__ import annotations

import pandas as pd
import pytest

from conjury.analysis.conjoint import reliability
from conjury.inference.errors import InputError


def task(pair: int, profiles: tuple[int, int], chosen: str, **columns: object) -> pd.DataFrame:
    """One forced choice: two profiles and the position that was chosen."""
    return pd.DataFrame(
        {
            "judge_id": "r1",
            "pair_id": pair,
            "position": ["A", "B"],
            "profile_id": profiles,
            "chosen": [int(chosen == side) for side in "AB"],
            **{"repeat": False, **columns},
        }
    )


FIRST = [task(1, (1, 2), "A"), task(2, (3, 3), "A"), task(3, (4, 5), "B"), task(4, (5, 4), "B")]
REPEATED = [task(11, (2, 1), "B", repeat=True), task(12, (3, 3), "B", repeat=True)]
AMBIGUOUS = task(13, (4, 5), "A", repeat=True)
STRANGE = task(14, (8, 9), "A", repeat=True)


def test_identical_ambiguous_and_unlinked_repeats_are_counted_and_named() -> None:
    found = reliability(
        pd.concat([*FIRST, *REPEATED, AMBIGUOUS, STRANGE], ignore_index=True), draws=20, seed=1
    )
    assert found.frame["n_repeats"].tolist() == [1]
    counts = found.position[["n_unmatched", "n_identical", "n_ambiguous"]]
    assert counts.values.tolist() == [[3, 1, 1]]
    (note,) = found.notes
    assert note.startswith("human: 1 repeated task shows two identical profiles and is excluded")
    assert "1 repeated task shows the profiles of several earlier tasks in different positions" in note
    assert "1 repeated task shows no earlier pair of profiles" in note


def test_further_answers_to_identical_profiles_are_excluded_as_well() -> None:
    again = [task(1, (1, 2), "A", sample=2), task(2, (3, 3), "B", sample=2)]
    first = [one.assign(sample=1) for one in FIRST]
    found = reliability(pd.concat([*first, *again], ignore_index=True), draws=20, seed=1)
    assert found.frame[["sides", "n_repeats", "agreement"]].values.tolist() == [["same", 1, 1.0]]
    assert found.position["n_identical"].tolist() == [1]


def test_repeats_that_all_show_identical_profiles_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="1 repeated task shows two identical profiles"):
        reliability(pd.concat([*FIRST, REPEATED[1]], ignore_index=True), draws=20, seed=1)


def test_without_excluded_repeats_there_is_no_note() -> None:
    found = reliability(pd.concat([*FIRST, REPEATED[0]], ignore_index=True), draws=20, seed=1)
    assert found.notes == ()
    assert found.position[["n_unmatched", "n_identical", "n_ambiguous"]].values.tolist() == [[0, 0, 0]]
