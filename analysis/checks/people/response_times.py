"""Response times of respondents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, counted

from ...frames.notes import Note
from ...frames.rounding import percentage
from ..judged import JudgedChoices, attempt, codes, people_of, tidy
from ..registry import SEVERITY, Check, Question, Verdict, check, exceeds, who

RESPONSE_TIMES = Question(
    code="CJ203",
    name="response_times",
    title="Response times",
    text="Do some respondents answer faster than reading allows, or far too slowly?",
    consequence="Answers given without reading attenuate all effects.",
    remedy="Report AMCEs without respondents who answered far too fast; check slow ones for breaks, and "
    "never choose the limit by its effect on the estimates.",
    alarms="rule",
)
NO_TIMES = "Response times of a model do not measure attention."
NO_TIME_COLUMN = "The choices have no column of response times (seconds)."
COLUMNS = ("seconds", "response_time", "duration")
FAST = 1 / 3  # of the panel's median
OUTLYING = 3.5  # robust standard deviations of log time
ENOUGH = 20  # respondents from which these are estimated
SOME_FAST, MANY_FAST = 0.02, 0.1  # shares that are significantly exceeded


@dataclass(frozen=True)
class Times:
    """Median time, robust z of its logarithm and flags of each respondent, all of shape (respondents,)."""

    median: np.ndarray
    z: np.ndarray
    fast: np.ndarray
    slow: np.ndarray


@check(RESPONSE_TIMES)
def response_times(judged: Sequence[JudgedChoices]) -> Check:
    """Flag respondents whose median time is an outlier, for every panel."""
    people = people_of(judged, NO_TIMES)
    column = next((name for name in COLUMNS if name in people[0].rows), None)
    if column is None:
        return RESPONSE_TIMES.not_applicable(NO_TIME_COLUMN)
    done, notes = attempt(people, lambda group: _time_rows(group, column))
    table = tidy(done)
    shares = table.groupby(["judge", "prompt"], sort=False)[["fast", "slow"]].mean().reset_index()
    counts = table.groupby(["judge", "prompt"], sort=False)[["fast", "slow"]].sum().reset_index()
    place = int(shares["fast"].to_numpy().argmax())
    worst = shares.iloc[place]
    panel = table[(table["judge"] == worst["judge"]) & (table["prompt"] == worst["prompt"])]
    finding = Note.of(
        "{fast} of {respondents} ({share}) are fast and {slow} slow ({who}; the median "
        "respondent takes {seconds:.1f} seconds per task; fast is below a third of "
        "it{further}).",
        fast=int(counts.iloc[place]["fast"]),
        respondents=counted(len(panel), "respondent"),
        share=percentage(worst["fast"], 1),
        slow=int(counts.iloc[place]["slow"]),
        who=who(worst),
        seconds=panel["seconds"].median(),
        further=_rule_for_fast(int(panel["seconds"].notna().sum())),
    )
    sizes = table.groupby(["judge", "prompt"], sort=False).size().to_numpy()
    verdicts = [
        _verdict(int(fast), int(slow), int(n))
        for fast, slow, n in zip(counts["fast"], counts["slow"], sizes, strict=True)
    ]
    verdict = max(verdicts, key=SEVERITY.index)
    return RESPONSE_TIMES.answer(table, verdict, finding, notes)


def _rule_for_fast(respondents: int) -> str:
    """The second rule for fast respondents, which a panel has to be large enough for."""
    return f" or {OUTLYING} robust standard deviations below it" if respondents >= ENOUGH else ""


def _verdict(fast: int, slow: int, n: int) -> Verdict:
    if exceeds(fast, n, MANY_FAST):
        return "error"
    return "warning" if exceeds(fast, n, SOME_FAST) or exceeds(slow, n, SOME_FAST) else "pass"


def outlying_times(seconds: np.ndarray, respondent: np.ndarray) -> Times:
    """Flag respondents by their median time."""
    usable = np.isfinite(seconds) & (seconds > 0)
    by_respondent = pd.Series(seconds[usable]).groupby(respondent[usable]).median()
    median = by_respondent.reindex(range(int(respondent.max()) + 1)).to_numpy()
    log = np.log(median)
    centre = float(np.nanmedian(log))
    scale = 1.4826 * float(np.nanmedian(np.abs(log - centre)))
    z = (log - centre) / scale if scale > 0 else np.zeros(len(log))
    if np.isfinite(log).sum() < ENOUGH:
        z = np.zeros(len(log))
    fast = (median < FAST * np.exp(centre)) | (z < -OUTLYING)
    return Times(median, z, fast, z > OUTLYING)


def _time_rows(group: JudgedChoices, column: str) -> pd.DataFrame:
    try:
        values = pd.to_numeric(group.rows[column]).to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {column!r} contains a value that is not a number; correct it.") from error
    seconds = values.reshape(-1, 2).max(axis=1)
    if not (np.isfinite(seconds) & (seconds > 0)).any():
        raise InputError(f"column {column!r} contains no positive time.")
    respondent = codes(group.rows["judge_id"]).reshape(-1, 2)[:, 0]
    times = outlying_times(seconds, respondent)
    names = group.rows["judge_id"].drop_duplicates().astype("string").to_numpy()
    return pd.DataFrame(
        {"respondent": names, "seconds": times.median, "z": times.z, "fast": times.fast, "slow": times.slow}
    )
