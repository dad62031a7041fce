"""Repeated tasks: which answers were given to the same two profiles, and on which sides these stood.

A presentation is one forced choice as it was shown: two profiles, one in position A and one in B. It is a
repeat if it is marked as one in ``repeat``, or is a further answer to the same pair (``sample``). Two
presentations that are not marked are never repeats of each other, even if they show the same two profiles.
There are two kinds: ``swapped`` repeats show the profiles in exchanged positions, ``same`` repeats as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted, listed
from conjury.inference.tables.columns import as_text
from conjury.inference.tables.frames import any_frame
from conjury.inference.tables.schema import KEYS, POSITIONS, SWAPPED_SUFFIX, TABLES

from ...frames.cells import is_repeat
from ...frames.notes import Note
from ...frames.variables import require_column

SWAPPED, SAME = "swapped", "same"
IDENTICAL, AMBIGUOUS, UNLINKED = "identical", "ambiguous", "unlinked"  # why a repeat is compared with none
SAME_CHOICE = "since both answers choose the same profile"
REASONS = {
    IDENTICAL: (
        f"repeated task shows two identical profiles and is excluded, {SAME_CHOICE}",
        f"repeated tasks show two identical profiles and are excluded, {SAME_CHOICE}",
    ),
    AMBIGUOUS: (
        "repeated task shows the profiles of several earlier tasks in different positions and is excluded; "
        "name the earlier task in repeat_of",
        "repeated tasks show the profiles of several earlier tasks in different positions and are excluded; "
        "name the earlier tasks in repeat_of",
    ),
    UNLINKED: (
        "repeated task shows no earlier pair of profiles and is excluded; check repeat_of and profile_id",
        "repeated tasks show no earlier pair of profiles and are excluded; check repeat_of and profile_id",
    ),
}
_JUDGE = ["judge_id", "prompt_id"]
_ASKED = [*_JUDGE, "pair_id", "repeat", "sample"]
_LINKS = ["pair", "repeat_of"]
_OURS = {"panel", "origin"}


@dataclass(frozen=True)
class Repeats:
    """Presentations of a table of choices, and which of them repeat an earlier one."""

    # one row per presentation: ``judge, prompt, judge_id, prompt_id, pair_id, repeat, sample, repeat_of,
    # row_a, row_b`` (rows of the table of choices, from 0), ``key_a, key_b`` (profiles as numbers),
    # ``answer`` (1 for A, 0 for B, missing without a choice) and ``unit`` (the respondent, or for a model
    # the two profiles: what is drawn and clustered by)
    presentations: pd.DataFrame
    # one row per repeat with the presentation that it repeats: ``judge, prompt, judge_id, prompt_id, pair_id,
    # unit, row_a, row_b`` of the earlier one, ``sides`` ("swapped" or "same"), ``first`` and ``again`` (1 for
    # A, 0 for B), ``same`` (1 if both answers name one profile, missing if an answer is missing)
    pairs: pd.DataFrame
    # rows of ``presentations`` that are repeats and compared with no earlier answer, with the ``reason``
    unmatched: pd.DataFrame


def find_repeats(
    choices: pd.DataFrame, *, outcome: str = "chosen", features: Sequence[str] | None = None
) -> Repeats:
    """Match every repeated presentation with the one it repeats."""
    # A repeat is linked by `repeat_of`, else by its `pair_id` (with "_swapped"), else by its two profiles
    # where these had one position only. Identical profiles are not compared.
    table = presentations(choices, outcome, features)
    later = table[table["repeat"]]
    further = _match_samples(table)
    if later.empty and further.empty:
        raise InputError(
            "The choices contain no repeated task, so reliability cannot be estimated; mark repeats in "
            "column 'repeat' (or number further answers of a model in 'sample'), or give a known swapping "
            "error, correct=."
        )
    matched, ambiguous = _match_repeats(later, table[~table["repeat"]])
    alike = table.index[table["key_a"] == table["key_b"]]
    repeats = further["again"]
    identical = table.loc[sorted({*repeats[repeats.isin(alike)], *later.index[later.index.isin(alike)]})]
    further = further[~repeats.isin(alike)]
    pairs = pd.concat([_pair_answers(matched, table), _pair_answers(further, table)], ignore_index=True)
    if pairs.empty and len(identical):
        raise InputError(
            f"{counted(len(identical), 'repeated task shows', 'repeated tasks show')} two identical "
            "profiles, and none shows the two profiles of an earlier task of the same judge and prompt; "
            "repeat tasks with different profiles, or name the attributes that make a profile as features=."
        )
    if pairs.empty:
        raise InputError(
            f"None of the {len(later)} repeated tasks shows the two profiles of an earlier task of the same "
            "judge and prompt; check repeat_of and profile_id, or name the attributes that make a profile as "
            "features=."
        )
    lone = later[~later.index.isin([*matched["again"], *identical.index])]
    reason = np.where(lone.index.isin(ambiguous), AMBIGUOUS, UNLINKED)
    unmatched = pd.concat([identical.assign(reason=IDENTICAL), lone.assign(reason=reason)]).sort_index()
    return Repeats(table, pairs, unmatched)


def unmatched_notes(unmatched: pd.DataFrame) -> list[str]:
    """State how many repeats of each judge are compared with no earlier answer, and why."""
    notes: list[str] = []
    for (judge, prompt), rows in unmatched.groupby(["judge", "prompt"], sort=False):
        counts = rows["reason"].value_counts()
        parts = [
            counted(int(counts[reason]), *words) for reason, words in REASONS.items() if reason in counts
        ]
        group = Note("", judge=str(judge), prompt=str(prompt))
        notes.append(Note.of("{group}: {parts}.", group=group, parts="; ".join(parts)))
    return notes


def first_answers(choices: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of first answers: no repeated task, and of several samples the first."""
    rows: pd.DataFrame = choices[_is_first(choices)]
    return rows


def presentations(
    choices: pd.DataFrame,
    outcome: str = "chosen",
    features: Sequence[str] | None = None,
    facets: Sequence[str] = (),
) -> pd.DataFrame:
    """One row per presentation, as in `Repeats`; presentations of a pair may differ by ``facets`` alone."""
    for name in ("judge_id", "pair_id", "position", outcome):
        require_column(choices, name)
        if choices[name].isna().any() and name != outcome:
            row = int(choices[name].isna().to_numpy().argmax()) + 1
            raise InputError(
                f"Row {row} has no {name}, which repeats are matched by; fill it or drop the row."
            )
    rows = _question_keys(choices)
    facets = [name for name in facets if name not in rows]
    keys = [*_ASKED, *facets]
    rows[facets] = choices[facets].astype("string").fillna("").to_numpy()
    rows["key"] = _profile_keys(choices, features)
    rows["row"] = np.arange(len(choices))
    rows["chosen"] = _known_choices(choices, outcome)
    position = choices["position"].astype("string").to_numpy(dtype=object)
    sides = [rows[position == side] for side in POSITIONS]
    number = rows.groupby(keys, sort=False).ngroup().to_numpy()
    _check_sides(choices, number, position)
    order = [np.argsort(number[position == side], kind="stable") for side in POSITIONS]
    a, b = (side.iloc[place].reset_index(drop=True) for side, place in zip(sides, order, strict=True))
    answer = np.where(a["chosen"] + b["chosen"] == 1, a["chosen"], np.nan)
    table: pd.DataFrame = a[[*keys, *_LINKS, "judge", "prompt", "is_human"]].assign(
        row_a=a["row"], row_b=b["row"], key_a=a["key"], key_b=b["key"], answer=answer
    )
    table["low"], table["high"] = table[["key_a", "key_b"]].min(axis=1), table[["key_a", "key_b"]].max(axis=1)
    person = table.groupby(["judge_id"], sort=False).ngroup()
    pair = table.groupby(["judge_id", "prompt_id", "low", "high"], sort=False).ngroup() + len(table)
    table["unit"] = np.where(table["is_human"], person, pair)
    return table


def _question_keys(choices: pd.DataFrame) -> pd.DataFrame:
    """Who was asked what, how often: string keys without missing values, shape (n, ...)."""
    from conjury.inference.readers.prepare import judge_of

    if "judge_kind" not in choices:
        choices = choices.assign(judge_kind="human")
    prompt = choices["prompt_id"].astype("string").fillna("") if "prompt_id" in choices else ""
    return pd.DataFrame(
        {
            "judge_id": choices["judge_id"].astype("string").to_numpy(),
            "prompt_id": prompt if isinstance(prompt, str) else prompt.to_numpy(),
            "pair_id": choices["pair_id"].to_numpy(),
            "pair": as_text(choices["pair_id"]).array,
            "repeat_of": _repeat_of(choices).array,
            "repeat": is_repeat(choices),
            "sample": _sample(choices),
            "judge": judge_of(choices).to_numpy(),
            "prompt": prompt if isinstance(prompt, str) else prompt.to_numpy(),
            "is_human": (choices["judge_kind"].astype("string") == "human").to_numpy(dtype=bool),
        }
    )


def _repeat_of(choices: pd.DataFrame) -> pd.Series[str]:
    if "repeat_of" not in choices:
        return pd.Series(pd.NA, index=choices.index, dtype="string")
    return as_text(choices["repeat_of"])


def _sample(choices: pd.DataFrame) -> np.ndarray:
    if "sample" not in choices:
        return np.zeros(len(choices), dtype=np.int64)
    return choices["sample"].astype("Int64").fillna(0).to_numpy(dtype=np.int64)


def _is_first(choices: pd.DataFrame) -> np.ndarray:
    is_first: np.ndarray = ~is_repeat(choices)
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
    has_id = np.zeros(len(choices), dtype=bool)
    if features is None and "profile_id" in choices:
        has_id = choices["profile_id"].notna().to_numpy(dtype=bool)
        number[has_id] = pd.factorize(choices.loc[has_id, "profile_id"])[0]
    if has_id.all():
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
    codes = choices.loc[~has_id, list(features)].groupby(list(features), dropna=False, observed=True).ngroup()
    number[~has_id] = codes.to_numpy() + number.max() + 1
    return number


def _known_choices(choices: pd.DataFrame, outcome: str) -> np.ndarray:
    """1, 0, or NaN where the answer is missing or its status states that there is none; shape (n,)."""
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
            f"profile in each of {listed(map(repr, POSITIONS))} (row {row + 1}); repeats need their own "
            "pair_id, or their own value of 'repeat' or 'sample'."
        )


def _match_repeats(later: pd.DataFrame, earlier: pd.DataFrame) -> tuple[pd.DataFrame, set[int]]:
    """Numbers of presentations, ``first`` and the repeat ``again``, and those of ambiguous repeats."""
    repeats, originals = later.assign(again=later.index), earlier.assign(first=earlier.index)
    link = _links(repeats, originals)
    linked = link.notna().to_numpy()
    named, suffixes = repeats[linked].assign(pair=link[linked]), ("", "_first")
    by_id = named.merge(originals, on=[*_JUDGE, "pair"], suffixes=suffixes)
    same = (by_id["low"] == by_id["low_first"]) & (by_id["high"] == by_id["high_first"])
    alone = repeats[~linked].merge(originals, on=[*_JUDGE, "low", "high"], suffixes=suffixes)
    ambiguous = alone.groupby("again")["key_a_first"].transform("nunique") > 1
    matches = pd.concat([by_id[same], alone[~ambiguous]])
    matches = matches[matches["key_a"] != matches["key_b"]]
    matches["other_sample"] = matches["sample"] != matches["sample_first"]
    nearest = matches.sort_values(["again", "other_sample", "sample_first", "first"]).drop_duplicates("again")
    return nearest[["first", "again"]], set(alone["again"][ambiguous])


def _links(later: pd.DataFrame, earlier: pd.DataFrame) -> pd.Series[str]:
    """The earlier ``pair`` that each repeat names: in ``repeat_of``, else by its own ``pair``."""
    originals = pd.MultiIndex.from_frame(earlier[[*_JUDGE, "pair"]].drop_duplicates())
    link: pd.Series[str] = later["repeat_of"]
    for named in (later["pair"], later["pair"].str.removesuffix(SWAPPED_SUFFIX)):
        is_match = pd.MultiIndex.from_frame(later[_JUDGE].assign(pair=named)).isin(originals)
        link = link.fillna(named.where(is_match))
    return link


def _match_samples(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of presentations: ``first`` and each further sample ``again``."""
    keys = ["judge_id", "prompt_id", "pair_id", "repeat"]
    ordered = table.assign(number=table.index).sort_values("sample", kind="stable")
    first = ordered.groupby(keys, sort=False)["number"].transform("first")
    further = pd.DataFrame({"first": first, "again": ordered["number"]})
    return further[further["first"] != further["again"]]


def _pair_answers(numbers: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    first, second = table.loc[numbers["first"]], table.loc[numbers["again"]].reset_index(drop=True)
    pairs = first.reset_index(drop=True).rename(columns={"answer": "first"})
    alike = (pairs["key_a"] == second["key_a"]).to_numpy()
    named = np.where(alike, pairs["first"] == second["answer"], pairs["first"] != second["answer"])
    is_compared = pairs["first"].notna() & second["answer"].notna()
    return pairs.assign(
        sides=np.where(alike, SAME, SWAPPED),
        again=second["answer"],
        same=np.where(is_compared, named.astype(float), np.nan),
        row_a_again=second["row_a"],
        row_b_again=second["row_b"],
    ).drop(columns=["repeat", *_LINKS, "key_a", "key_b", "low", "high"])


@any_frame
def include_repeats(
    choices: pd.DataFrame, *, outcome: str = "chosen", features: Sequence[str] | None = None
) -> pd.DataFrame:
    """Prepare choices so that answers to repeated pairs count in effects.

    A repeat gets the ``pair_id`` of the pair that it repeats, so that both lie in one cluster, and is no
    longer marked in ``repeat``; ``sample`` numbers it as a further answer. Repeats that cannot be linked to
    an earlier pair stay marked, and so excluded.

    Parameters
    ----------
    choices : DataFrame
        One row per profile, as in `reliability`.
    outcome : str
        Column with 1 for the chosen profile.
    features : sequence of str, optional
        As in `reliability`.

    Returns
    -------
    DataFrame
        The same rows in the same order.

    Raises
    ------
    InputError
        Without repeats, and for missing columns.

    Examples
    --------
    >>> from conjury.analysis.conjoint import amce
    >>> first = pd.DataFrame({"judge_id": "m", "pair_id": ["1", "1", "2", "2", "3", "3"],
    ...     "position": list("ABABAB"), "profile_id": range(6), "chosen": [1, 0, 1, 0, 0, 1],
    ...     "tone": ["rude", "kind"] * 3, "repeat": False})
    >>> again = first.iloc[[1, 0]].assign(pair_id="1_swapped", position=["A", "B"], repeat=True)
    >>> both = include_repeats(pd.concat([first, again], ignore_index=True))
    >>> amce(both, "chosen ~ tone", id="pair_id").provenance.n_clusters
    3
    """
    marked = is_repeat(choices)
    pairs = find_repeats(choices, outcome=outcome, features=features).pairs
    pairs = pairs[marked[pairs["row_a_again"]] & ~marked[pairs["row_a"]]]
    rows = pairs[["row_a_again", "row_b_again"]].to_numpy().T.ravel()
    pair_id, repeat = choices["pair_id"].copy(), marked.copy()
    pair_id.iloc[rows] = np.tile(pairs["pair_id"].to_numpy(), 2)
    repeat[rows] = False
    samples = choices["sample"] if "sample" in choices else pd.Series(pd.NA, index=choices.index)
    sample: Any = samples.astype("Int64").array.copy()
    highest = int(sample.fillna(0).max())
    later = pairs.groupby(["judge_id", "prompt_id", "pair_id"], sort=False).cumcount().to_numpy()
    sample[rows] = np.tile(highest + 1 + later, 2)
    return choices.assign(pair_id=pair_id, repeat=repeat, sample=sample)
