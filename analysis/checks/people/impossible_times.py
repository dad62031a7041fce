"""Times of people that cannot be, or in which nobody reads."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.preparation.similar_texts import words_of
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..item_texts import join_texts, texts_of
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check

IMPOSSIBLE_TIMES = Question(
    code="CJ206",
    name="impossible_times",
    title="Impossible times",
    text="Are there impossible times: negative, zero, faster than reading, overlapping, or always the same?",
    consequence="Either such answers were given without reading the item, or the times are not those of the "
    "tasks. Neither speed nor order is then a measure of effort.",
    remedy="Check how times were recorded. If they are correct, report results with and without these "
    "people.",
    alarms="rule",
)
NO_TIMES = "There are no times of people (columns seconds, response_time, duration, or started and ended)."
COLUMNS = ("seconds", "response_time", "duration")
REACTION = 0.2  # seconds in which nobody can answer
READING = 1000 / 60  # words per second that nobody reads
FEWEST = 5  # tasks of a person from which rates are judged
SHARE_FAST, SHARE_SAME, SHARE_OVERLAP = 0.2, 0.5, 0.05
FEWEST_UNITS = 10  # times of fewer units of their resolution are the same by chance
KINDS = ("negative", "zero", "too fast to read", "overlapping", "always the same", "same as another person")


@check(IMPOSSIBLE_TIMES)
def impossible_times(
    judgments: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    item_study: ItemStudy | None = None,
) -> Check:
    """Count impossible times by kind, of ratings and of choices of people."""
    tables = [tasks_of(table) for table in (judgments, choices) if table is not None]
    tasks = pd.concat([table for table in tables if len(table)] or [pd.DataFrame()], ignore_index=True)
    if tasks.empty or not tasks[["seconds", "started"]].notna().any(axis=None):
        raise NotApplicableError(NO_TIMES)
    tasks["words"] = tasks["subject"].map(_words(items, item_study))
    flags = flags_of(tasks)
    table = pd.DataFrame(
        {
            "judge": "",
            "prompt": "",
            "label": KINDS,
            "n": [int(flags[kind].sum()) for kind in KINDS],
            "people": [int(tasks.loc[flags[kind], "judge"].nunique()) for kind in KINDS],
        }
    ).assign(estimate=lambda frame: frame["n"] / len(tasks))
    wrong = flags.any(axis=1)
    if not wrong.any():
        people = counted(tasks["judge"].nunique(), "person", "people")
        possible = Note.of(
            "None of {times} of {people} is impossible.", times=counted(len(tasks), "time"), people=people
        )
        return IMPOSSIBLE_TIMES.answer(table, "pass", possible)
    parts = [
        f"{row['label']}: {int(row['n']):,} ({counted(int(row['people']), 'person', 'people')})"
        for _, row in table[table["n"] > 0].iterrows()
    ]
    finding = Note.of(
        "{times} of {n:,} ({share}) {verb} impossible. {kinds}.",
        times=counted(int(wrong.sum()), "time"),
        n=len(tasks),
        share=percentage(wrong.mean(), 1),
        verb="is" if wrong.sum() == 1 else "are",
        kinds="; ".join(parts),
    )
    verdict: Verdict = "error" if wrong.mean() > SHARE_OVERLAP else "warning"
    rows = tasks[wrong].assign(kind=flags[wrong].idxmax(axis=1))
    rows = rows.rename(columns={"judge": "judge_id"})[["judge_id", "subject", "seconds", "kind"]]
    return IMPOSSIBLE_TIMES.answer(table, verdict, finding, rows=rows.reset_index(drop=True))


def tasks_of(table: pd.DataFrame) -> pd.DataFrame:
    """One row per task of a person with a time: ``judge, subject, seconds, started, ended``."""
    people = table[(as_text(table["judge_kind"]) == "human").to_numpy(dtype=bool)]
    column = next((name for name in COLUMNS if name in people and people[name].notna().any()), None)
    timed = {"started", "ended"} <= set(people.columns)
    subjects = [name for name in ("item_id", "task_id", "pair_id") if name in people]
    if people.empty or not subjects or (column is None and not timed):
        return pd.DataFrame()
    subject = as_text(people[subjects[0]])
    for name in subjects[1:]:
        subject = subject.fillna(as_text(people[name]))
    nothing = pd.Series(pd.NaT, index=people.index, dtype="datetime64[us, UTC]")
    started, ended = (
        pd.to_datetime(people[name], utc=True, errors="coerce") if name in people else nothing
        for name in ("started", "ended")
    )
    seconds = (
        pd.to_numeric(people[column], errors="coerce") if column else (ended - started).dt.total_seconds()
    )
    frame = pd.DataFrame(
        {
            "judge": as_text(people["judge_id"]),
            "subject": subject,
            "sample": people.get("sample", 1),
            "repeat": people.get("repeat", False),
            "seconds": seconds.to_numpy(dtype=float, na_value=np.nan),
            "started": started,
            "ended": ended,
        }
    )
    frame = frame.drop_duplicates(["judge", "subject", "sample", "repeat"])
    frame = frame[frame["seconds"].notna() | frame["started"].notna()]
    by_person = frame.groupby("judge")["seconds"]
    several = by_person.size() > 1
    whole_session = several.any() and (by_person.nunique()[several] <= 1).mean() > 0.9
    return (
        frame.drop_duplicates("judge").assign(session=True) if whole_session else frame.assign(session=False)
    )


def _words(items: pd.DataFrame | None, study: ItemStudy | None) -> pd.Series:
    if items is None:
        return pd.Series(dtype=float)
    try:
        texts = join_texts(texts_of(items, study), " ")
    except NotApplicableError:
        return pd.Series(dtype=float)
    return pd.Series(
        [len(words_of(text)) for text in texts], index=as_text(items["item_id"]).to_numpy(), dtype=float
    )


def flags_of(tasks: pd.DataFrame) -> pd.DataFrame:
    """Whether the time of each task is impossible, a column for each kind."""
    seconds, person = tasks["seconds"], tasks["judge"]
    flags = pd.DataFrame(False, index=tasks.index, columns=list(KINDS))
    flags["negative"] = seconds.lt(0) | tasks["ended"].lt(tasks["started"])
    flags["zero"] = seconds.eq(0)
    least = np.fmax(REACTION, tasks["words"] / READING)  # which passes over numbers that are missing
    fast = seconds.gt(0) & seconds.lt(least)
    sizes = person.groupby(person).transform("size")
    often = fast.groupby(person).transform("mean").gt(SHARE_FAST) & sizes.ge(FEWEST)
    flags["too fast to read"] = fast & often
    each = ~tasks["session"]
    flags["overlapping"] = _overlapping(tasks) & each
    flags["always the same"] = _same(tasks) & each
    flags["same as another person"] = _copied(tasks) & each
    return flags


def _overlapping(tasks: pd.DataFrame) -> pd.Series[bool]:
    """Tasks that begin before an earlier one of the same person ends, of people with several such tasks."""
    order = tasks.sort_values(["judge", "started"], kind="stable")
    before = order.groupby("judge")["ended"].cummax().groupby(order["judge"]).shift()
    starts = order["started"]
    early = (starts.lt(before) & starts.notna() & before.notna()).reindex(tasks.index)
    return early & early.groupby(tasks["judge"]).transform("mean").gt(SHARE_OVERLAP)


def _same(tasks: pd.DataFrame) -> pd.Series[bool]:
    """Times that are one person's usual one in more than half of the tasks, to a fine resolution."""
    seconds = tasks["seconds"].round(6)
    unit = _resolution(seconds.dropna().to_numpy(dtype=float))
    person = tasks["judge"]
    key = [person, seconds]
    n, sizes = seconds.groupby(key).transform("size"), seconds.groupby(person).transform("count")
    often = n.gt(SHARE_SAME * sizes) & sizes.ge(2 * FEWEST)
    return (often & seconds.gt(FEWEST_UNITS * unit)).fillna(False)


def _copied(tasks: pd.DataFrame) -> pd.Series[bool]:
    """Times of people who have the same ones in the same order as somebody else."""
    seconds = tasks["seconds"].round(6)
    vectors = seconds.groupby(tasks["judge"], sort=False).agg(tuple)
    varied = vectors.map(lambda v: len(v) >= FEWEST and len(set(v)) >= FEWEST)
    copied = vectors.duplicated(keep=False) & varied
    return tasks["judge"].map(copied).astype(bool)


def _resolution(seconds: np.ndarray) -> float:
    """The coarsest of 1, 0.1, 0.01 and 0.001 seconds in which all times are whole numbers."""
    for unit in (1.0, 0.1, 0.01):
        if np.allclose(seconds / unit, np.rint(seconds / unit), atol=1e-4):
            return unit
    return 0.001
