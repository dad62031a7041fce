"""Effects of respondents who passed attention checks, and of those who failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...conjoint.comparisons.effects_by_group import group_effects
from ...frames.notes import Note, join_notes
from ...frames.rounding import percentage
from ..group_effects import difference_frame, judge_differences
from ..judged import JudgedChoices, attempt, codes, people_of, tidy
from ..registry import SEVERITY, Check, Question, Verdict, check, exceeds, highest

ATTENTION_FILTERS = Question(
    code="CJ201",
    name="attention_filters",
    title="Attention and comprehension",
    text="How many respondents fail the attention checks, and are AMCEs the same with and without them?",
    consequence="Answers of inattentive respondents attenuate all effects.",
    remedy="Report AMCEs with and without those who failed; choose the main analysis by the registered "
    "plan, not by the result.",
    alarms="test",
)
NO_FILTERS = "Models are not asked attention questions."
NO_FILTER_COLUMN = (
    "The choices have no column of an attention or comprehension check (a column whose name starts with "
    "attention or comprehension, or one that is named)."
)
PREFIXES = ("attention", "comprehension")
MANY_FAILED = 0.2  # share that is significantly exceeded where many failed


@check(ATTENTION_FILTERS)
def attention_filters(
    judged: Sequence[JudgedChoices], alpha: float, filters: Sequence[str] | None = None
) -> Check:
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
    applies = check.verdict != "not_applicable"
    table = check.table if applies else tidy(done)
    worst = highest(table, table["share_failed"])
    n, n_failed = int(worst["respondents"]), int(worst["failed"])
    share = percentage(worst["share_failed"], 1)
    failed = Note.of(
        "{n_failed:,} of {n:,} respondents ({share}) failed {column}.",
        n_failed=n_failed,
        n=n,
        share=share,
        column=worst["filter"],
    )
    least: Verdict = "warning" if exceeds(n_failed, n, MANY_FAILED, alpha) else "pass"
    verdict = max(check.verdict if applies else "pass", least, key=SEVERITY.index)
    return ATTENTION_FILTERS.answer(
        table, verdict, join_notes([failed, check.finding]), p=check.p, least=least
    )


def filter_flags(column: pd.Series, name: str) -> np.ndarray:
    """Whether a filter was passed, shape (n,): 1, 0, or NaN; from booleans, 0 and 1, or pass and fail."""
    text = column.astype("string").str.lower().str.removesuffix(".0")
    values = {"true": 1.0, "1": 1.0, "pass": 1.0, "passed": 1.0, "yes": 1.0}
    values |= {"false": 0.0, "0": 0.0, "fail": 0.0, "failed": 0.0, "no": 0.0}
    strange = text.notna() & ~text.isin(list(values))
    if strange.any():
        raise InputError(
            f"Column {name!r} contains {text[strange].iloc[0]!r}; a filter is true or false, 1 or 0, "
            "pass or fail."
        )
    return text.map(values).to_numpy(dtype=float, na_value=np.nan)


def _filter_rows(group: JudgedChoices, names: Sequence[str], alpha: float) -> pd.DataFrame:
    return pd.concat([_filter_differences(group, name, alpha) for name in names], ignore_index=True)


def _filter_differences(group: JudgedChoices, name: str, alpha: float) -> pd.DataFrame:
    flags = filter_flags(group.rows[name], name)
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
        effects = group_effects(rows, group.formula, "answer", group.unit)
    except InputError:
        keys = pd.DataFrame(list(everyone.index), columns=["feature", "level"])
        nothing = np.full(len(keys), np.nan)
        frame = difference_frame(
            keys.assign(all=everyone.to_numpy()), nothing, np.full((len(keys),) * 2, 0.0), 0, alpha
        )
    else:
        failures, passes = effects.estimate
        total = everyone.reindex(pd.MultiIndex.from_frame(effects.keys)).to_numpy()
        keys = effects.keys.assign(all=total, passed=passes, failed_only=failures)
        frame = difference_frame(keys, *effects.contrast(np.array([-1.0, 1.0])), effects.clusters, alpha)
    return frame.assign(**head)[[*head, *frame.columns]]
