"""From raw ratings of any program to judgments: values, marks, repeats, people, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ..errors import InputError
from ..readers.exclusions import exclusion_reasons
from ..tables.columns import as_text, did_you_mean, listed
from ..tables.schema import JUDGE_KINDS, TABLES, validate
from .checks import Check, counted, failed_items, joined, marked, too_fast
from .scales import Scale, to_values

AGAIN = ("refuse", "sample", "exclude")
APART = "use --judge and --item to tell them apart"
PERSON = "_person"  # id by which a person is looked up elsewhere, until then
RATED_AGAIN = "rated again"
LEADING = (
    *("judge_id", "judge_kind", "item_id", "dimension", "value", "status", "sample", "excluded"),
    *("duration", "started", "ended", "panel"),
)
TAKEN = {*TABLES["judgments"], *LEADING, "probability", "expected"}


@dataclass(frozen=True)
class Rules:
    """What counts as an answer, and which answers are marked as left out.

    Attributes
    ----------
    scale : Scale
        Anchors and codes of skipped answers.
    checks, check_items : sequence of Check
        Columns and items with known right answers.
    min_seconds : float, optional
        Whoever took less is marked.
    again : str
        What becomes of a second rating of an item by the same judge: ``refuse``, ``sample`` (it gets the
        next number) or ``exclude`` (it gets the next number and is marked).
    ignore : sequence of str
        Reasons of the program that do not count, such as "unfinished".
    """

    scale: Scale = field(default_factory=Scale)
    checks: Sequence[Check] = ()
    check_items: Sequence[Check] = ()
    min_seconds: float | None = None
    again: str = "refuse"
    ignore: Sequence[str] = ()


@dataclass(frozen=True)
class Imported:
    """Judgments of an export, and what was found in reading it.

    Attributes
    ----------
    judgments : DataFrame
        The judgments contract with ``excluded`` (why a row is left out, missing where it is used), then
        ``duration`` (seconds), ``started``, ``ended`` where they are known, then further columns.
    notes : tuple of str
        What was assumed, marked or missing, with counts.
    """

    judgments: pd.DataFrame
    notes: tuple[str, ...]


def finish(
    long: pd.DataFrame, rules: Rules, source: str, notes: Sequence[str] = (), apart: str = APART
) -> Imported:
    """Turn raw ratings into judgments.

    Parameters
    ----------
    long : DataFrame of n rows
        ``judge_id, judge_kind, item_id, dimension``, ``raw`` (text), ``row`` and ``column`` of the export,
        and, where they are known, ``status`` (of what has no value for a known reason), ``excluded``,
        ``sample``, ``duration``, ``started``, ``ended``, ``panel`` and further columns.
    apart : how ratings of an item by the same judge can be told apart, for the error about them

    Raises
    ------
    InputError
        A value cannot be read, or a judge rates an item twice and ``rules.again`` refuses it.
    """
    if rules.again not in AGAIN:
        raise InputError(
            f"--again {rules.again}{did_you_mean(rules.again, AGAIN)} is unknown; use {listed(AGAIN)}."
        )
    long = long.reset_index(drop=True)
    values, told = to_values(long, rules.scale, source)
    status = long["status"] if "status" in long else pd.Series(pd.NA, index=long.index, dtype="string")
    frame = long.assign(
        value=values.mask(status.notna().to_numpy(dtype=bool)),
        status=status.fillna("missing").mask(values.notna() & status.isna(), "ok"),
    )
    frame, again = _numbered(frame, rules.again, source, apart)
    reasons = [exclusion_reasons(frame["excluded"])] if "excluded" in frame else []
    reasons += [failed_items(frame, rules.check_items, source), again]
    if rules.min_seconds is not None:
        if "duration" not in frame or frame["duration"].isna().all():
            raise InputError(
                f"{source}: nothing tells how long people took; name the column with --duration, or leave "
                "out --min-seconds."
            )
        reasons.append(too_fast(frame["duration"], rules.min_seconds))
    frame["excluded"] = joined(reasons, frame.index)
    rest = [name for name in frame if name not in (*LEADING, "raw", "row", "column")]
    valid = validate(frame[[name for name in LEADING if name in frame] + rest], "judgments", source)
    noun = "respondent" if (valid["judge_kind"] == JUDGE_KINDS[0]).all() else "judge"
    excluded = counted(valid["excluded"], valid["judge_id"], noun)
    return Imported(valid, (*notes, *told, *_gaps(valid), *excluded))


def anonymise(imported: Imported) -> Imported:
    """Replace the ids of people; InputError where another column holds them too."""
    frame = imported.judgments
    human = (frame["judge_kind"] == JUDGE_KINDS[0]).to_numpy(dtype=bool)
    for name in frame.columns.difference(list(LEADING), sort=False):
        same = (as_text(frame[name]) == frame["judge_id"]).fillna(False).to_numpy(dtype=bool)
        if human.any() and same[human].mean() > 0.5:
            raise InputError(f"Column '{name}' holds the ids of people; leave it out, or do not anonymise.")
    return replace(imported, judgments=frame.assign(judge_id=anonymous(frame).astype("string")))


def anonymous(frame: pd.DataFrame) -> pd.Series[str]:
    """Ids of people replaced by r001, r002, ... in order of appearance; models keep theirs.

    Examples
    --------
    >>> frame = pd.DataFrame({"judge_id": ["x@y.org", "gpt", "z@y.org"]})
    >>> frame["judge_kind"] = ["human", "model", "human"]
    >>> anonymous(frame).tolist()
    ['r001', 'gpt', 'r002']
    """
    human = (frame["judge_kind"] == JUDGE_KINDS[0]).to_numpy(dtype=bool)
    people = frame.loc[human, "judge_id"].unique()
    digits = max(3, len(str(len(people))))
    names = {person: f"r{place:0{digits}d}" for place, person in enumerate(people, start=1)}
    return frame["judge_id"].mask(human, frame["judge_id"].map(names))


def _numbered(
    frame: pd.DataFrame, again: str, source: str, apart: str
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Number repeated ratings in ``sample``, and mark them where asked."""
    sample = frame["sample"] if "sample" in frame else pd.Series(1, index=frame.index)
    key = frame[["judge_id", "item_id", "dimension"]].assign(sample=sample)
    repeated = key.duplicated()
    if repeated.any() and again == "refuse":
        at = int(repeated.to_numpy().argmax())
        row, first = frame.iloc[at], frame.iloc[int((key == key.iloc[at]).all(axis=1).to_numpy().argmax())]
        raise InputError(
            f"{source}: row {row['row']} of column '{row['column']}' (and {int(repeated.sum()) - 1} more "
            f"ratings) rates '{row['item_id']}' by '{row['judge_id']}' again, after row {first['row']} of "
            f"column '{first['column']}'; {apart}, or number such ratings with --again sample, or mark all "
            "but the first with --again exclude."
        )
    if repeated.any():
        sample = frame.groupby(["judge_id", "item_id", "dimension"], sort=False).cumcount() + 1
    numbered = frame.assign(sample=sample.astype("Int64"))
    return numbered, marked(repeated & (again == "exclude"), RATED_AGAIN)


def _gaps(judgments: pd.DataFrame) -> list[str]:
    status = judgments["status"].astype("string")
    counts = status[status != "ok"].value_counts()
    return [f"Judgments without a value (status {name}): {int(count):,}." for name, count in counts.items()]
