"""Runs, samples and judges whose answers are copies of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note
from ...frames.rounding import percentage
from ...frames.sentences import agreeing_with_part, capitalised, out_of
from ..judge_shares import MOST, evidence, judge_and_prompt
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest, who

COPIED_RUNS = Question(
    code="CJ308",
    name="copied_runs",
    title="Runs that are copies of each other",
    text="Are long answers of several samples, or of several judges, identical?",
    consequence="Copies are not independent evidence: intervals over samples are too narrow, and pass@k and "
    "agreement between judges are overestimated.",
    remedy="Analyse one of the copies; collect answers again at a temperature above 0, with another seed "
    "for each sample, and without a cache.",
    alarms="rule",
)
LONG = 60  # characters from which two independent answers are hardly ever the same
FEWEST = 10  # pairs of long answers to the same prompt and item
SOME, MANY = 0.25, 0.9  # identical long answers: beyond the first share a warning, beyond the second an error


@check(COPIED_RUNS)
def copied_runs(responses: pd.DataFrame, asked: Mapping[str, Mapping[str, Any]]) -> Check:
    """Count identical long answers to the same prompt and item, between samples and between judges."""
    long = _long_answers(responses)
    if long.empty:
        raise NotApplicableError(
            Note.of(
                "No answer has {long} characters or more, so answers may be identical by chance.", long=LONG
            )
        )
    table = pd.concat([_compare_samples(long), _compare_judges(long)], ignore_index=True)
    if table.empty:
        raise NotApplicableError(
            Note.of("No two samples or judges have {fewest} long answers to the same items.", fewest=FEWEST)
        )
    fixed = table["judge"].map(lambda judge: _is_deterministic(asked, judge)).to_numpy(dtype=bool)
    fixed &= (table["kind"] == "samples").to_numpy()
    suspect = table[~fixed]
    worst = highest(table, table["estimate"].where(~fixed, table["estimate"] - 1))
    share = float(suspect["estimate"].max()) if len(suspect) else 0.0
    verdict: Verdict = "error" if share > MANY else "warning" if share > SOME else "pass"
    copies, most = int((suspect["estimate"] > SOME).sum()), int((suspect["estimate"] > MANY).sum())
    finding = Note.of(
        "{pairs} of samples or judges {verb} identical answers in over {some} of long "
        "answers, {most} of them in over {many}; the most is {largest} of {of} ({who}, "
        "{partner}).",
        pairs=capitalised(out_of(copies, len(suspect), "pair")),
        verb=agreeing_with_part(copies, len(suspect), "has", "have"),
        some=percentage(SOME, 0),
        most=most,
        many=percentage(MANY, 0),
        largest=percentage(worst["estimate"], 1),
        of=int(worst["of"]),
        who=who(worst),
        partner=worst["partner"],
    )
    if suspect.empty:
        pairs = counted(len(table), "pair")
        finding = Note.of("The only answers to compare are {pairs} of samples at temperature 0.", pairs=pairs)
    notes = []
    if fixed.any() and (table.loc[fixed, "estimate"] > SOME).any():
        notes.append(
            "Samples at temperature 0 are identical by design; they are not independent evidence either."
        )
    repeated = long.duplicated(["judge", "prompt", "subject", "text"], keep=False).to_numpy()
    rows = evidence(long, repeated, ("text",)) if verdict != "pass" else None
    return COPIED_RUNS.answer(table.drop(columns=["kind", "partner"]), verdict, finding, notes, rows=rows)


def _long_answers(responses: pd.DataFrame) -> pd.DataFrame:
    """Answers of models with at least 60 characters; ``subject`` is the item or task."""
    subject = pd.Series(pd.NA, index=responses.index, dtype="string")
    for name in ("item_id", "task_id"):
        if name in responses:
            subject = subject.fillna(as_text(responses[name]))
    text = as_text(responses["text"]).str.strip()
    frame = responses.assign(**judge_and_prompt(responses), subject=subject, text=text)
    mask = text.str.len().ge(LONG) & as_text(responses["judge_kind"]).ne("human")
    long = frame[mask.fillna(False).to_numpy(dtype=bool)]
    return long.assign(code=pd.factorize(long["text"])[0])


def _is_deterministic(judge_settings: Mapping[str, Mapping[str, Any]], judge: str) -> bool:
    settings = dict(judge_settings.get(judge) or {})
    return settings.get("temperature", (settings.get("settings") or {}).get("temperature")) == 0


def _compare_samples(long: pd.DataFrame) -> pd.DataFrame:
    """Identical answers of each two samples of a judge under a prompt."""
    rows = []
    for (judge, prompt), answers in long.groupby(["judge", "prompt"], sort=False):
        wide = answers.pivot_table(index="subject", columns="sample", values="code", aggfunc="first")
        for first, second, same, of in _compare_columns(wide):
            partner = Note.of("samples {first} and {second}", first=first, second=second)
            rows.append((judge, prompt, str(partner), same, of, same / of, "samples", partner))
    return _table(rows)


def _compare_judges(long: pd.DataFrame) -> pd.DataFrame:
    """Identical answers of each two judges under a prompt, in their first samples."""
    first = long.sort_values("sample", kind="stable").drop_duplicates(["judge", "prompt", "subject"])
    rows = []
    for prompt, answers in first.groupby("prompt", sort=False):
        wide = answers.pivot(index="subject", columns="judge", values="code")
        for judge, partner, same, of in _compare_columns(wide.iloc[:, :MOST]):
            label = Note.of("and {judge}", judge=partner)
            rows.append((judge, prompt, str(label), same, of, same / of, "judges", label))
    return _table(rows)


def _compare_columns(wide: pd.DataFrame) -> Iterator[tuple[Any, Any, int, int]]:
    """Each two columns of codes that share enough subjects: their names, identical codes, shared subjects."""
    codes = wide.to_numpy(np.float64)
    is_finite = np.isfinite(codes)
    for i, j in combinations(range(codes.shape[1]), 2):
        mask = is_finite[:, i] & is_finite[:, j]
        if mask.sum() >= FEWEST:
            same = codes[mask, i] == codes[mask, j]
            yield wide.columns[i], wide.columns[j], int(same.sum()), int(mask.sum())


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = ["judge", "prompt", "label", "n", "of", "estimate", "kind", "partner"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"judge": "string", "prompt": "string", "estimate": np.float64})
