"""From raw ratings of any program to judgments: values, marks, repeats, people, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ..errors import InputError, and_more, did_you_mean, listed
from ..readers.aliases import exclusion_reasons
from ..tables.columns import as_text
from ..tables.reading.account import ReadingAccount
from ..tables.row_numbers import row_words
from ..tables.schema import JUDGE_KINDS, TABLES, validate
from .exclusion_rules import (
    Rules,
    counts,
    excluded_notes,
    failed_items,
    join_reasons,
    reason_where,
    to_values,
    too_fast,
)
from .rating_columns import Layout, rename_ids
from .text_tables import to_utc

AGAIN = ("refuse", "sample", "exclude")
DISTINCT = "use --judge and --item to distinguish them"
PERSON = "_person"  # id of a person in another program, until demographics are joined by it
RATED_AGAIN = "rated again"
LEADING = (
    *("judge_id", "judge_kind", "item_id", "dimension", "value", "status", "sample", "excluded"),
    *("duration", "started", "ended", "panel"),
)
TAKEN = {*TABLES["judgments"], *LEADING, "probability", "expected"}


@dataclass(frozen=True)
class Imported:
    """Judgments of an export, and what was assumed in reading it.

    Parameters
    ----------
    judgments : DataFrame
        The judgments contract with ``excluded`` (why a row is excluded, missing where it is used), then
        ``duration`` (seconds), ``started``, ``ended`` where they are known, then further columns.
    notes : tuple of str
        What was assumed, marked or missing, with counts.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge_id": ["x@y.org"], "judge_kind": "human", "item_id": "j1", "value": 4})
    >>> anonymise(Imported(frame, ("One rating was read.",))).judgments["judge_id"].tolist()
    ['r001']
    """

    judgments: pd.DataFrame
    notes: tuple[str, ...]


def finish_import(
    long: pd.DataFrame, rules: Rules, source: str, notes: Sequence[str] = (), distinct: str = DISTINCT
) -> Imported:
    """Turn raw ratings into judgments; InputError for unreadable values and refused repeats."""
    # `raw` is text, `row` and `column` are those of the export; `distinct` states in an error how two ratings
    # of an item by one judge can be distinguished.
    if rules.again not in AGAIN:
        raise InputError(
            f"--again {rules.again}{did_you_mean(rules.again, AGAIN)} is unknown; use {listed(AGAIN)}."
        )
    frame, value_notes = _with_values_and_reasons(long.reset_index(drop=True), rules, source, distinct)
    further_columns = [name for name in frame if name not in (*LEADING, "raw", "row", "column")]
    valid = validate(
        frame[[name for name in LEADING if name in frame] + further_columns], "judgments", source
    )
    noun = "respondent" if (valid["judge_kind"] == JUDGE_KINDS[0]).all() else "judge"
    excluded = excluded_notes(valid["excluded"], valid["judge_id"], noun)
    statuses = valid["status"][valid["status"] != "ok"].astype("string").value_counts()
    gaps = counts({f"Judgments without a value (status {name})": n for name, n in statuses.items()})
    return Imported(valid, (*notes, *value_notes, *gaps, *excluded))


def _with_values_and_reasons(
    long: pd.DataFrame, rules: Rules, source: str, distinct: str
) -> tuple[pd.DataFrame, list[str]]:
    """Ratings with their value, status, sample and why they are excluded, and notes on the values."""
    values, entries = to_values(long, rules.scale, source, rules.reading)
    value_notes = ReadingAccount(strict=rules.reading.strict).adding(entries).notes()
    status = long["status"] if "status" in long else pd.Series(pd.NA, index=long.index, dtype="string")
    frame = long.assign(
        value=values.mask(status.notna().to_numpy(dtype=bool)),
        status=status.fillna("missing").mask(values.notna() & status.isna(), "ok"),
    )
    frame, repeat_reason = _number_repeats(frame, rules.again, source, distinct)
    reasons = [exclusion_reasons(frame["excluded"])] if "excluded" in frame else []
    reasons += [failed_items(frame, rules.check_items, source), repeat_reason]
    unknown = pd.Series(pd.NA, index=frame.index, dtype="Float64")
    reasons.append(too_fast(frame.get("duration", unknown), rules, source))
    frame["excluded"] = join_reasons(reasons, frame.index)
    return frame, value_notes


def finish_log_import(
    long: pd.DataFrame,
    layout: Layout,
    rules: Rules | None,
    source: str,
    notes: Sequence[str],
    distinct: str = DISTINCT,
) -> Imported:
    """Turn rows of a program's log into judgments as `finish_import` does; times are texts in UTC."""
    texts = [name for name in ("raw", "status", "started", "ended") if name in long]
    long = long.astype({**dict.fromkeys(texts, "string"), "duration": "Float64"})
    times = {name: to_utc(long[name], "UTC") for name in texts[2:]}
    return finish_import(
        rename_ids(long.assign(**times), layout, source), rules or Rules(), source, notes, distinct
    )


def anonymise(imported: Imported) -> Imported:
    """Replace the ids of people by r001, r002, ... in order of appearance; models keep theirs.

    Parameters
    ----------
    imported : Imported
        Judgments by people and models.

    Returns
    -------
    Imported
        The same judgments with the new ids.

    Raises
    ------
    InputError
        Another column contains the ids of people, too.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge_id": ["x@y.org", "gpt", "z@y.org"]})
    >>> frame["judge_kind"] = ["human", "model", "human"]
    >>> anonymise(Imported(frame, ())).judgments["judge_id"].tolist()
    ['r001', 'gpt', 'r002']
    """
    frame = imported.judgments
    human = (frame["judge_kind"] == JUDGE_KINDS[0]).to_numpy(dtype=bool)
    for name in frame.columns.difference(list(LEADING), sort=False):
        same = (as_text(frame[name]) == frame["judge_id"]).fillna(False).to_numpy(dtype=bool)
        if human.any() and same[human].mean() > 0.5:
            raise InputError(
                f"Column '{name}' contains the ids of people; drop that column, or do not anonymise."
            )
    people = frame.loc[human, "judge_id"].unique()
    digits = max(3, len(str(len(people))))
    names = {person: f"r{place:0{digits}d}" for place, person in enumerate(people, start=1)}
    anonymous = frame["judge_id"].mask(human, frame["judge_id"].map(names)).astype("string")
    return replace(imported, judgments=frame.assign(judge_id=anonymous))


def _number_repeats(
    frame: pd.DataFrame, policy: str, source: str, distinct: str
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Number repeated ratings in ``sample``, and mark them where asked."""
    sample = frame["sample"] if "sample" in frame else pd.Series(1, index=frame.index)
    key = frame[["judge_id", "item_id", "dimension"]].assign(sample=sample)
    repeated = key.duplicated()
    if repeated.any() and policy == "refuse":
        at = int(repeated.to_numpy().argmax())
        row, first = frame.iloc[at], frame.iloc[int((key == key.iloc[at]).all(axis=1).to_numpy().argmax())]
        raise InputError(
            f"{source}: row {row_words(source, row['row'] - 1)} of column "
            f"'{row['column']}'{and_more(int(repeated.sum()) - 1)} rates '{row['item_id']}' by "
            f"'{row['judge_id']}' again, after row {row_words(source, first['row'] - 1)} of column "
            f"'{first['column']}'; {distinct}, or number such ratings with --again sample, or mark all but "
            "the first with --again exclude."
        )
    if repeated.any():
        sample = frame.groupby(["judge_id", "item_id", "dimension"], sort=False).cumcount() + 1
    numbered = frame.assign(sample=sample.astype("Int64"))
    return numbered, reason_where(repeated & (policy == "exclude"), RATED_AGAIN)
