"""Repeated tasks: which answers were given to the same two profiles, and on which sides these stood.

A presentation is one forced choice as it was shown: two profiles, one in position A and one in B. It
repeats another one of the same judge and prompt if it shows the same two profiles. The sides tell two
kinds apart: ``swapped`` repeats show them the other way round, ``same`` repeats as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables import KEYS, POSITIONS, TABLES

from ...variables import listed, require_column

SWAPPED, SAME = "swapped", "same"
_ASKED = ["judge_id", "prompt_id", "pair_id", "repeat", "sample"]
_OURS = {"panel", "origin"}


@dataclass(frozen=True)
class Repeats:
    """Presentations of a table of choices, and which of them repeat an earlier one.

    Attributes
    ----------
    presentations : DataFrame
        One row a presentation: ``judge, prompt, judge_id, prompt_id, pair_id, repeat, sample,
        row_a, row_b`` (rows of the table of choices, from 0), ``key_a, key_b`` (profiles as
        numbers), ``answer`` (1 for A, 0 for B, missing without a choice) and ``unit`` (the
        respondent, or for a model the two profiles: what is drawn and clustered by).
    pairs : DataFrame
        One row a repeat with the presentation that it repeats: ``judge, prompt, judge_id,
        prompt_id, pair_id, unit, row_a, row_b`` of the earlier one, ``sides`` ("swapped" or
        "same"), ``first`` and ``again`` (1 for A, 0 for B), ``same`` (1 if both answers name one
        profile, missing if an answer is missing).
    unmatched : DataFrame
        Rows of ``presentations`` that are marked as repeats and show no earlier pair.
    """

    presentations: pd.DataFrame
    pairs: pd.DataFrame
    unmatched: pd.DataFrame


def find_repeats(
    choices: pd.DataFrame, *, outcome: str = "chosen", features: Sequence[str] | None = None
) -> Repeats:
    """Match every repeated presentation with the one it repeats.

    A row with ``repeat`` is matched within judge and prompt by the two profiles shown, preferring
    the same ``pair_id`` and ``sample``. A row with ``sample`` above the first of its judge, prompt
    and pair is a further answer to the same presentation, and is matched with the first.

    Parameters
    ----------
    choices : DataFrame
        One row a profile, in the columns of the contract.
    outcome : str
        Column with 1 for the chosen profile.
    features : sequence of str, optional
        Attributes that make a profile where ``profile_id`` is missing; by default every
        categorical column beyond the contract.

    Returns
    -------
    Repeats

    Raises
    ------
    InputError
        For missing columns, pairs without two positions, and tables without any repeat.

    Examples
    --------
    >>> shown = {"judge_id": ["r"] * 4, "pair_id": [1, 1, 2, 2], "position": list("ABAB"),
    ...          "profile_id": [7, 9, 9, 7], "chosen": [1, 0, 0, 1], "repeat": [False] * 2 + [True] * 2}
    >>> find_repeats(pd.DataFrame(shown)).pairs[["sides", "first", "again", "same"]].values.tolist()
    [['swapped', 1.0, 0.0, 1.0]]
    """
    shown = presentations(choices, outcome, features)
    later = shown[shown["repeat"]]
    further = _resampled(shown)
    if later.empty and further.empty:
        raise InputError(
            "The choices hold no repeated task, so reliability cannot be estimated; mark repeats in column "
            "'repeat' (or number further answers of a model in 'sample'), or give a known tau as correct=."
        )
    matched = _matched(later, shown[~shown["repeat"]])
    pairs = pd.concat([_paired(matched, shown), _paired(further, shown)], ignore_index=True)
    if pairs.empty:
        raise InputError(
            f"None of the {len(later)} repeated tasks shows the two profiles of an earlier task of the same "
            "judge and prompt; check profile_id, or name the attributes that make a profile as features=."
        )
    return Repeats(shown, pairs, later[~later.index.isin(matched["again"])])


def first_answers(choices: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of first answers: no repeated task, and of several samples the first."""
    kept: pd.DataFrame = choices[_is_first(choices)]
    return kept


def presentations(
    choices: pd.DataFrame, outcome: str = "chosen", features: Sequence[str] | None = None
) -> pd.DataFrame:
    """One row a presentation, as in `Repeats`."""
    for name in ("judge_id", "pair_id", "position", outcome):
        require_column(choices, name)
        if choices[name].isna().any() and name != outcome:
            row = int(choices[name].isna().to_numpy().argmax()) + 1
            raise InputError(
                f"Row {row} has no {name}, which repeats are matched by; fill it or drop the row."
            )
    rows = _asked(choices)
    rows["key"] = _profile_keys(choices, features)
    rows["row"] = np.arange(len(choices))
    rows["chosen"] = _known_choices(choices, outcome)
    position = choices["position"].astype("string").to_numpy(dtype=object)
    sides = [rows[position == side] for side in POSITIONS]
    number = rows.groupby(_ASKED, sort=False).ngroup().to_numpy()
    _check_sides(choices, number, position)
    order = [np.argsort(number[position == side], kind="stable") for side in POSITIONS]
    a, b = (side.iloc[place].reset_index(drop=True) for side, place in zip(sides, order, strict=True))
    answer = np.where(a["chosen"] + b["chosen"] == 1, a["chosen"], np.nan)
    shown: pd.DataFrame = a[[*_ASKED, "judge", "prompt", "is_human"]].assign(
        row_a=a["row"], row_b=b["row"], key_a=a["key"], key_b=b["key"], answer=answer
    )
    shown["low"], shown["high"] = shown[["key_a", "key_b"]].min(axis=1), shown[["key_a", "key_b"]].max(axis=1)
    person = shown.groupby(["judge_id"], sort=False).ngroup()
    pair = shown.groupby(["judge_id", "prompt_id", "low", "high"], sort=False).ngroup() + len(shown)
    shown["unit"] = np.where(shown["is_human"], person, pair)
    return shown


def _asked(choices: pd.DataFrame) -> pd.DataFrame:
    """Who was asked what, how often: string keys without missing values, shape (n, ...)."""
    from conjury.inference.prepare import judge_of

    if "judge_kind" not in choices:
        choices = choices.assign(judge_kind="human")
    prompt = choices["prompt_id"].astype("string").fillna("") if "prompt_id" in choices else ""
    return pd.DataFrame(
        {
            "judge_id": choices["judge_id"].astype("string").to_numpy(),
            "prompt_id": prompt if isinstance(prompt, str) else prompt.to_numpy(),
            "pair_id": choices["pair_id"].to_numpy(),
            "repeat": _flag(choices),
            "sample": _sample(choices),
            "judge": judge_of(choices).to_numpy(),
            "prompt": prompt if isinstance(prompt, str) else prompt.to_numpy(),
            "is_human": (choices["judge_kind"].astype("string") == "human").to_numpy(dtype=bool),
        }
    )


def _flag(choices: pd.DataFrame) -> np.ndarray:
    if "repeat" not in choices:
        return np.zeros(len(choices), dtype=bool)
    return choices["repeat"].astype("boolean").fillna(False).to_numpy(dtype=bool)


def _sample(choices: pd.DataFrame) -> np.ndarray:
    if "sample" not in choices:
        return np.zeros(len(choices), dtype=np.int64)
    return choices["sample"].astype("Int64").fillna(0).to_numpy(dtype=np.int64)


def _is_first(choices: pd.DataFrame) -> np.ndarray:
    is_first: np.ndarray = ~_flag(choices)
    if "sample" not in choices:
        return is_first
    named = [name for name in KEYS["choices"] if name in choices and name not in ("sample", "position")]
    sample = pd.Series(_sample(choices))
    keys = [choices[name].reset_index(drop=True) for name in named]
    lowest = sample.groupby(keys, dropna=False, observed=True).transform("min").to_numpy()
    is_first &= sample.to_numpy() == lowest
    return is_first


def _profile_keys(choices: pd.DataFrame, features: Sequence[str] | None) -> np.ndarray:
    """Number the profiles: by ``profile_id`` where it is there, else by their attributes; shape (n,)."""
    number = np.full(len(choices), -1, dtype=np.int64)
    known = np.zeros(len(choices), dtype=bool)
    if features is None and "profile_id" in choices:
        known = choices["profile_id"].notna().to_numpy(dtype=bool)
        number[known] = pd.factorize(choices.loc[known, "profile_id"])[0]
    if known.all():
        return number
    if features is None:
        features = [
            str(name)
            for name, kind in choices.dtypes.items()
            if isinstance(kind, pd.CategoricalDtype) and name not in {*TABLES["choices"], *_OURS}
        ]
    if not features:
        raise InputError(
            "Repeated tasks are found by the profiles that they show, and the choices have neither "
            "profile_id nor categorical attributes; name the attributes as features=, or add profile_id."
        )
    for name in features:
        require_column(choices, name)
    codes = choices.loc[~known, list(features)].groupby(list(features), dropna=False, observed=True).ngroup()
    number[~known] = codes.to_numpy() + number.max() + 1
    return number


def _known_choices(choices: pd.DataFrame, outcome: str) -> np.ndarray:
    """1, 0, or NaN where the answer is missing or its status says that there is none; shape (n,)."""
    chosen = choices[outcome].to_numpy(dtype=float, na_value=np.nan).copy()
    if "status" in choices:
        chosen[(choices["status"].astype("string") != "ok").fillna(True).to_numpy(dtype=bool)] = np.nan
    return chosen


def _check_sides(choices: pd.DataFrame, number: np.ndarray, position: np.ndarray) -> None:
    counts = [np.bincount(number[position == side], minlength=number.max() + 1) for side in POSITIONS]
    wrong = (counts[0] != 1) | (counts[1] != 1)
    if wrong.any():
        row = int(np.flatnonzero(wrong[number])[0])
        raise InputError(
            f"Pair '{choices['pair_id'].iloc[row]}' of judge '{choices['judge_id'].iloc[row]}' has not one "
            f"profile in each of {listed(POSITIONS)} (row {row + 1}); repeats need a pair_id, or a value of "
            "'repeat' or 'sample', of their own."
        )


def _matched(later: pd.DataFrame, earlier: pd.DataFrame) -> pd.DataFrame:
    """Numbers of presentations: ``first`` and the repeat ``again``."""
    keys = ["judge_id", "prompt_id", "low", "high"]
    later = later[later["low"] != later["high"]]
    wanted = later[[*keys, "pair_id", "sample"]].assign(again=later.index)
    known = earlier[[*keys, "pair_id", "sample"]].assign(first=earlier.index)
    both = wanted.merge(known, on=keys, suffixes=("", "_first"))
    both["far"] = 2 * (both["pair_id"] != both["pair_id_first"]) + (both["sample"] != both["sample_first"])
    nearest = both.sort_values(["again", "far", "sample_first", "first"]).drop_duplicates("again")
    return nearest[["first", "again"]]


def _resampled(shown: pd.DataFrame) -> pd.DataFrame:
    """Numbers of presentations: ``first`` and each further sample ``again``."""
    keys = ["judge_id", "prompt_id", "pair_id", "repeat"]
    ordered = shown.assign(number=shown.index).sort_values("sample", kind="stable")
    first = ordered.groupby(keys, sort=False)["number"].transform("first")
    further = pd.DataFrame({"first": first, "again": ordered["number"]})
    return further[further["first"] != further["again"]]


def _paired(numbers: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    first, again = shown.loc[numbers["first"]], shown.loc[numbers["again"]].reset_index(drop=True)
    pairs = first.reset_index(drop=True).rename(columns={"answer": "first"})
    alike = (pairs["key_a"] == again["key_a"]).to_numpy()
    named = np.where(alike, pairs["first"] == again["answer"], pairs["first"] != again["answer"])
    known = pairs["first"].notna() & again["answer"].notna()
    return pairs.assign(
        sides=np.where(alike, SAME, SWAPPED),
        again=again["answer"],
        same=np.where(known, named.astype(float), np.nan),
        row_a_again=again["row_a"],
        row_b_again=again["row_b"],
    ).drop(columns=["repeat", "key_a", "key_b", "low", "high"])
