"""Effort of respondents: attention checks, agreement on repeated pairs, response times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, listed

from ...conjoint.reliability.agreement import swapping_of, verdict
from ...conjoint.reliability.repeats import SWAPPED, find_repeats
from ...figures.labels import level_at
from ..effects import difference_frame, group_effects, judge_differences
from ..judged import Judged, attempt, codes, people_of, tidy
from ..registry import SEVERITY, Check, Question, Verdict, check, groups, highest, lowest, who

ATTENTION_FILTERS = Question(
    "CJ201",
    "attention_filters",
    "Attention and comprehension",
    "How many respondents fail the attention checks, and are AMCEs the same with and without them?",
    "Answers of inattentive people pull all effects towards zero.",
    "Report AMCEs with and without those who failed; decide which is the main analysis by the plan that was "
    "registered, not by the result.",
    "test",
)
NO_FILTERS = "Models are not asked attention questions."
NO_FILTER_COLUMN = (
    "The choices have no column of an attention or comprehension check (a column whose name starts with "
    "attention or comprehension, or one that is named)."
)
PREFIXES = ("attention", "comprehension")
MANY_FAILED = 0.2


@check(ATTENTION_FILTERS)
def attention_filters(judged: Sequence[Judged], alpha: float, filters: Sequence[str] | None = None) -> Check:
    """Compare AMCEs of those who passed with those of all, for every filter and panel."""
    people = people_of(judged, NO_FILTERS)
    columns = people[0].rows.columns
    stray = next((name for name in filters or () if name not in columns), None)
    if stray is not None:
        raise InputError(f"The choices have no column {stray!r} to filter by; correct the name.")
    named = [str(n) for n in columns if str(n).startswith(PREFIXES)] if filters is None else list(filters)
    if not named:
        return ATTENTION_FILTERS.not_applicable(NO_FILTER_COLUMN)
    done, notes = attempt(people, lambda group: _filter_rows(group, named, alpha))
    check = judge_differences(
        ATTENTION_FILTERS, done, notes, alpha, "effects of those who failed that differ", "filter"
    )
    worst = highest(check.table, check.table["share_failed"])
    failed = (
        f"{int(worst['failed']):,} of {int(worst['respondents']):,} respondents "
        f"({100 * worst['share_failed']:.1f}%) failed {worst['filter']}."
    )
    many = worst["share_failed"] > MANY_FAILED and SEVERITY.index(check.verdict) < SEVERITY.index("warning")
    return ATTENTION_FILTERS.answer(
        check.table, "warning" if many else check.verdict, f"{failed} {check.finding}"
    )


def passed(column: pd.Series, name: str) -> np.ndarray:
    """Whether a filter was passed, shape (n,): 1, 0, or NaN; from booleans, 0 and 1, or pass and fail."""
    text = column.astype("string").str.lower().str.removesuffix(".0")
    known = {"true": 1.0, "1": 1.0, "pass": 1.0, "passed": 1.0, "yes": 1.0}
    known |= {"false": 0.0, "0": 0.0, "error": 0.0, "failed": 0.0, "no": 0.0}
    strange = text.notna() & ~text.isin(list(known))
    if strange.any():
        raise InputError(
            f"Column {name!r} contains {text[strange].iloc[0]!r}; a filter is true or false, 1 or 0, "
            "pass or fail."
        )
    return text.map(known).to_numpy(dtype=float, na_value=np.nan)


def _filter_rows(group: Judged, names: Sequence[str], alpha: float) -> pd.DataFrame:
    return pd.concat([_of_filter(group, name, alpha) for name in names], ignore_index=True)


def _of_filter(group: Judged, name: str, alpha: float) -> pd.DataFrame:
    flags = passed(group.rows[name], name)
    by_respondent = pd.Series(flags).groupby(codes(group.rows["judge_id"])).min().dropna()
    failed = int((by_respondent == 0).sum())
    everyone = group.effects.frame.set_index(["feature", "level"])["estimate"]
    everyone.index = pd.MultiIndex.from_tuples([(str(a), str(b)) for a, b in everyone.index])
    head: dict[str, Any] = {
        "filter": name,
        "respondents": len(by_respondent),
        "failed": failed,
        "share_failed": failed / max(len(by_respondent), 1),
    }
    answer = pd.Categorical.from_codes(
        np.nan_to_num(flags, nan=-1).astype(int), pd.Index(["failed", "passed"])
    )
    rows = group.rows.assign(answer=answer)
    rows = rows[rows["answer"].notna() & rows[group.outcome].notna()]
    try:
        found = group_effects(rows, group.formula, "answer", group.unit)
    except InputError:
        keys = pd.DataFrame(list(everyone.index), columns=["feature", "level"])
        nothing = np.full(len(keys), np.nan)
        frame = difference_frame(
            keys.assign(all=everyone.to_numpy()), nothing, np.full((len(keys),) * 2, 0.0), 0, alpha
        )
    else:
        failures, passes = found.estimate
        total = everyone.reindex(pd.MultiIndex.from_frame(found.keys)).to_numpy()
        keys = found.keys.assign(all=total, passed=passes, failed_only=failures)
        frame = difference_frame(keys, *found.contrast(np.array([-1.0, 1.0])), found.clusters, alpha)
    return frame.assign(**head)[[*head, *frame.columns]]


REPEAT_AGREEMENT = Question(
    "CJ202",
    "repeat_agreement",
    "Agreement on repeated pairs",
    "Is the same profile chosen when a pair is shown again?",
    "Unreliable answers pull all effects towards zero.",
    "Correct AMCEs for measurement error by this reliability, and report them with the uncorrected "
    "ones; look at respondents who disagree with themselves and at the wording of the task.",
    "rule",
)
NOT_CORRECTABLE = (
    "Do not correct the AMCEs of {judges} for measurement error: repeated answers agree no better than "
    "chance, so there is no stable preference to recover. Look at the preference for a position, at the "
    "wording of the task and at respondents who disagree with themselves."
)
NO_REPEAT = "No pair was shown a second time, so noise and inattention cannot be separated from preferences."
LOW = 0.75


@check(REPEAT_AGREEMENT)
def repeat_agreement(judged: Sequence[Judged], alpha: float) -> Check:
    """Share of repeated pairs with the same choice, and the most inattention it allows."""
    repeated = [group for group in judged if len(group.repeats) or len(group.shown) < len(group.rows)]
    if not repeated:
        return REPEAT_AGREEMENT.not_applicable(NO_REPEAT)
    done, notes = attempt(repeated, lambda group: _repeat_rows(group, alpha))
    table = tidy(done)
    least = lowest(table, table["estimate"])
    without = len(judged) - len(repeated)
    meaning = (
        "this is below chance, as where choices follow the position of a profile."
        if least["upper"] < 0.5
        else f"this would be consistent with {100 * least['random_share']:.1f}% random answers."
    )
    finding = (
        f"The least agreement is {100 * least['estimate']:.1f}% of {int(least['repeats']):,} repeated pairs "
        f"({who(least)}; {level_at(alpha)} interval {100 * least['lower']:.1f} to "
        f"{100 * least['upper']:.1f}); {meaning}"
    )
    if without:
        finding += f" There is no repeated pair for {groups(without)}."
    chance = (table["lower"] <= 0.5).any()
    severity: Verdict = "error" if chance else "warning" if (table["estimate"] < LOW).any() else "pass"
    return REPEAT_AGREEMENT.answer(table, severity, finding, notes, _remedy(table))


def _remedy(table: pd.DataFrame) -> str:
    """Advise a correction only for judges whose effects can be corrected."""
    low = table[(table["estimate"] < LOW) | (table["lower"] <= 0.5)]
    lost = listed(who(row) for _, row in low[~low["correctable"]].iterrows())
    parts = [NOT_CORRECTABLE.format(judges=lost)] if lost else []
    if low["correctable"].any():
        parts.append(f"For the other judges: {REPEAT_AGREEMENT.remedy}" if lost else REPEAT_AGREEMENT.remedy)
    return " ".join(parts)


def _repeat_rows(group: Judged, alpha: float) -> pd.DataFrame:
    both = pd.concat([group.rows, group.repeats])
    identified = both["profile_id"].notna().all()
    content = None if identified else [*group.attributes, *group.stimuli]
    found = find_repeats(both, outcome=group.outcome, features=content)
    error = swapping_of(found.pairs, alpha=alpha)
    if not error.n_compared:
        raise InputError("no repeated pair has a first presentation with an answer to both.")
    known = found.pairs[found.pairs["same"].notna()]
    share = error.agreement
    return pd.DataFrame(
        {
            "repeats": [error.n_compared],
            "unmatched": [len(found.unmatched)],
            "swapped": [int((known["sides"] == SWAPPED).sum())],
            "agreed": [int(known["same"].sum())],
            "estimate": [share.estimate],
            "lower": [share.lower],
            "upper": [share.upper],
            "random_share": [min(2 * (1 - share.estimate), 1.0)],
            "correctable": [verdict(swapping_of(found.pairs), len(found.pairs)).correctable],
        }
    )


RESPONSE_TIMES = Question(
    "CJ203",
    "response_times",
    "Response times",
    "Do some respondents answer too fast to have read the profiles, or far too slowly?",
    "Answers that were given without reading pull all effects towards zero.",
    "Report AMCEs without respondents who answered far too fast; look at slow ones for breaks, and never "
    "choose the limit by its effect on the estimates.",
    "rule",
)
NO_TIMES = "Response times of a model do not measure attention."
NO_TIME_COLUMN = "The choices have no column of response times (seconds)."
COLUMNS = ("seconds", "response_time", "duration")
FAST = 1 / 3  # of the panel's median
OUTLYING = 3.5  # robust standard deviations of log time
SOME_FAST, MANY_FAST = 0.02, 0.1


@dataclass(frozen=True)
class Times:
    """Median time, robust z of its logarithm and flags of each respondent, all of shape (respondents,)."""

    median: np.ndarray
    z: np.ndarray
    fast: np.ndarray
    slow: np.ndarray


@check(RESPONSE_TIMES)
def response_times(judged: Sequence[Judged]) -> Check:
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
    finding = (
        f"{int(counts.iloc[place]['fast'])} of {len(panel):,} respondents ({100 * worst['fast']:.1f}%) "
        f"are fast and {int(counts.iloc[place]['slow'])} slow ({who(worst)}; the median respondent takes "
        f"{panel['seconds'].median():.1f} seconds per task; fast is below a third of it or {OUTLYING} robust "
        "standard deviations below it)."
    )
    fast, slow = float(worst["fast"]), float(shares["slow"].max())
    verdict: Verdict = (
        "error" if fast > MANY_FAST else "warning" if fast > SOME_FAST or slow > SOME_FAST else "pass"
    )
    return RESPONSE_TIMES.answer(table, verdict, finding, notes)


def outlying_times(seconds: np.ndarray, respondent: np.ndarray) -> Times:
    """Flag respondents by their median time."""
    usable = np.isfinite(seconds) & (seconds > 0)
    by_respondent = pd.Series(seconds[usable]).groupby(respondent[usable]).median()
    median = by_respondent.reindex(range(int(respondent.max()) + 1)).to_numpy()
    log = np.log(median)
    centre = float(np.nanmedian(log))
    scale = 1.4826 * float(np.nanmedian(np.abs(log - centre)))
    z = (log - centre) / scale if scale > 0 else np.zeros(len(log))
    fast = (median < FAST * np.exp(centre)) | (z < -OUTLYING)
    return Times(median, z, fast, z > OUTLYING)


def _time_rows(group: Judged, column: str) -> pd.DataFrame:
    try:
        values = pd.to_numeric(group.rows[column]).to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {column!r} contains a value that is not a number; correct it.") from error
    seconds = values.reshape(-1, 2).max(axis=1)
    if not (np.isfinite(seconds) & (seconds > 0)).any():
        raise InputError(f"column {column!r} contains no positive time.")
    respondent = codes(group.rows["judge_id"]).reshape(-1, 2)[:, 0]
    found = outlying_times(seconds, respondent)
    names = group.rows["judge_id"].drop_duplicates().astype("string").to_numpy()
    return pd.DataFrame(
        {"respondent": names, "seconds": found.median, "z": found.z, "fast": found.fast, "slow": found.slow}
    )
