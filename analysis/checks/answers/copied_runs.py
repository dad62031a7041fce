"""Runs, samples and judges whose answers are copies of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ...frames.rounding import percentage
from ...frames.sentences import agreeing_with_part, out_of
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest, who
from ..shares import MOST, evidence, judge_and_prompt

COPIED_RUNS = Question(
    "CJ308",
    "copied_runs",
    "Runs that are copies of each other",
    "Are long answers of several samples, or of several judges, identical?",
    "Copies are not independent evidence: intervals over samples are too narrow, and pass@k and agreement "
    "between judges are overestimated.",
    "Analyse one of the copies; collect answers again at a temperature above 0, with another seed for each "
    "sample, and without a cache.",
    "rule",
)
LONG = 60  # characters from which two independent answers are hardly ever the same
FEWEST = 10  # pairs of long answers to the same prompt and item
SOME, MANY = 0.25, 0.9


@check(COPIED_RUNS)
def copied_runs(responses: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]]) -> Check:
    """Count identical long answers to the same prompt and item, between samples and between judges."""
    long = _long_answers(responses)
    if long.empty:
        raise NotApplicableError(
            f"No answer has {LONG} characters or more, so answers may be identical by chance."
        )
    table = pd.concat([_samples(long), _judges(long)], ignore_index=True)
    if table.empty:
        raise NotApplicableError(f"No two samples or judges have {FEWEST} long answers to the same items.")
    fixed = table["judge"].map(lambda judge: _is_deterministic(asked, judge)).to_numpy(dtype=bool)
    fixed &= (table["kind"] == "samples").to_numpy()
    suspect = table[~fixed]
    worst = highest(table, table["estimate"].where(~fixed, table["estimate"] - 1))
    share = float(suspect["estimate"].max()) if len(suspect) else 0.0
    verdict: Verdict = "error" if share > MANY else "warning" if share > SOME else "pass"
    copies, most = int((suspect["estimate"] > SOME).sum()), int((suspect["estimate"] > MANY).sum())
    finding = (
        f"{out_of(copies, len(suspect), 'pair')} of samples or judges "
        f"{agreeing_with_part(copies, len(suspect), 'has', 'have')} "
        "identical answers in over "
        f"{percentage(SOME, 0)} of long answers, {most} of them in over {percentage(MANY, 0)}; the most is "
        f"{percentage(worst['estimate'], 1)} of {int(worst['of'])} ({who(worst)}, {worst['label']})."
    )
    if suspect.empty:
        pairs = counted(len(table), "pair")
        finding = f"The only answers to compare are {pairs} of samples at temperature 0."
    notes = []
    if fixed.any() and (table.loc[fixed, "estimate"] > SOME).any():
        notes.append(
            "Samples at temperature 0 are identical by design; they are not independent evidence either."
        )
    repeated = long.duplicated(["judge", "prompt", "subject", "text"], keep=False).to_numpy()
    rows = evidence(long, repeated, ("text",)) if verdict != "pass" else None
    return COPIED_RUNS.answer(table.drop(columns="kind"), verdict, finding, notes, rows=rows)


def _long_answers(responses: pd.DataFrame) -> pd.DataFrame:
    """Answers of models with at least 60 characters; ``subject`` is the item or task."""
    subject = pd.Series(pd.NA, index=responses.index, dtype="string")
    for name in ("item_id", "task_id"):
        if name in responses:
            subject = subject.fillna(as_text(responses[name]))
    text = as_text(responses["text"]).str.strip()
    frame = responses.assign(**judge_and_prompt(responses), subject=subject, text=text)
    kept = text.str.len().ge(LONG) & as_text(responses["judge_kind"]).ne("human")
    long = frame[kept.fillna(False).to_numpy(dtype=bool)]
    return long.assign(code=pd.factorize(long["text"])[0])


def _is_deterministic(asked: Mapping[str, Mapping[str, Any]], judge: str) -> bool:
    settings = dict(asked.get(judge) or {})
    return settings.get("temperature", (settings.get("settings") or {}).get("temperature")) == 0


def _samples(long: pd.DataFrame) -> pd.DataFrame:
    """Identical answers of each two samples of a judge under a prompt."""
    rows = []
    for (judge, prompt), own in long.groupby(["judge", "prompt"], sort=False):
        wide = own.pivot_table(index="subject", columns="sample", values="code", aggfunc="first")
        for first, second, same, of in _identical(wide):
            label = f"samples {first} and {second}"
            rows.append((judge, prompt, label, same, of, same / of, "samples"))
    return _table(rows)


def _judges(long: pd.DataFrame) -> pd.DataFrame:
    """Identical answers of each two judges under a prompt, in their first samples."""
    first = long.sort_values("sample", kind="stable").drop_duplicates(["judge", "prompt", "subject"])
    rows = []
    for prompt, own in first.groupby("prompt", sort=False):
        wide = own.pivot(index="subject", columns="judge", values="code")
        for one, other, same, of in _identical(wide.iloc[:, :MOST]):
            rows.append((one, prompt, f"and {other}", same, of, same / of, "judges"))
    return _table(rows)


def _identical(wide: pd.DataFrame) -> Iterator[tuple[Any, Any, int, int]]:
    """Each two columns of codes that share enough subjects: their names, identical codes, shared subjects."""
    codes = wide.to_numpy(np.float64)
    there = np.isfinite(codes)
    for one, other in combinations(range(codes.shape[1]), 2):
        both = there[:, one] & there[:, other]
        if both.sum() >= FEWEST:
            same = codes[both, one] == codes[both, other]
            yield wide.columns[one], wide.columns[other], int(same.sum()), int(both.sum())


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = ["judge", "prompt", "label", "n", "of", "estimate", "kind"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"judge": "string", "prompt": "string", "estimate": np.float64})
