"""Versions of models and servers, and dates of answers, within a run."""

from __future__ import annotations

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.study.models import AnyStudy
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ...frames.sentences import agreeing_with_part, out_of
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, worst
from .naming import MADE_HERE, model_responses

VERSIONS = Question(
    code="CJ505",
    name="versions",
    title="Versions and dates",
    text="Did a model or its server change while answers were collected?",
    consequence="Answers before and after a change come from different models, so differences between "
    "prompts or strata collected at different times may be due to the change.",
    remedy="Compare answers before and after the change (repeat some questions), report the versions, and "
    "collect all answers to be compared within one version.",
    alarms="rule",
)
NOTHING = "No response has a date or the fingerprint of a server."
GAP = 14  # days without an answer


@check(VERSIONS)
def versions(responses: pd.DataFrame, study: AnyStudy | None = None) -> Check:
    """Count fingerprints and names of models by judge, in the order of dates, and days between answers."""
    answered = model_responses(responses)
    if "model_returned" in answered:
        answered = answered[~as_text(answered["model_returned"]).str.casefold().isin(MADE_HERE).fillna(False)]
    columns = [n for n in ("system_fingerprint", "created") if n in answered and answered[n].notna().any()]
    if not columns or answered.empty:
        raise NotApplicableError(NOTHING)
    later = study is not None and study.instrument is not None  # anchors are asked again on purpose
    judges = answered.groupby(as_text(answered["judge_id"]), sort=False)
    parts = [_judge_row(str(judge), mine, later) for judge, mine in judges]
    table = pd.DataFrame([row for row, _, _ in parts])
    table = table.assign(estimate=table["largest_share"])
    verdict = worst(verdict for _, verdict, _ in parts)
    finding = join_notes(sentence for _, _, sentence in parts)
    if not finding:
        n_single = int((table["fingerprints"] == 1).sum())
        finding = Note.of(
            "{answers} of {models}: {single} {verb} one version{others}.",
            answers=counted(len(answered), "answer"),
            models=counted(len(parts), "model"),
            single=out_of(n_single, len(parts), "model"),
            verb=agreeing_with_part(n_single, len(parts), "has", "have"),
            others="" if n_single == len(parts) else ", the others state none",
        )
    return VERSIONS.answer(table, verdict, finding)


def _judge_row(judge: str, mine: pd.DataFrame, later: bool) -> tuple[dict[str, object], Verdict, str]:
    ordered = mine.sort_values("created", kind="stable") if "created" in mine else mine
    prints = (
        as_text(ordered["system_fingerprint"]).dropna()
        if "system_fingerprint" in ordered
        else pd.Series(dtype=str)
    )
    counts = prints.value_counts()
    dates = (
        pd.to_datetime(ordered["created"], utc=True).dropna()
        if "created" in ordered
        else pd.Series(dtype=object)
    )
    days = (dates.iloc[-1] - dates.iloc[0]).total_seconds() / 86_400 if len(dates) else float("nan")
    gap = float(dates.diff().dt.total_seconds().max()) / 86_400 if len(dates) > 1 else 0.0
    sentences: list[Note] = []
    if len(counts) > 1:
        prints_with_counts = [f"{name} ({n:,})" for name, n in counts.items()]
        changes = int((prints.to_numpy()[1:] != prints.to_numpy()[:-1]).sum())
        how = "in succession" if changes < len(counts) else f"with {changes:,} changes between them"
        sentences.append(
            Note.of(
                "Answers of {judge} have {n} fingerprints of servers, {how}: {fingerprints:4}.",
                judge=judge,
                n=len(counts),
                how=how,
                fingerprints=prints_with_counts,
            )
        )
    if gap > GAP and not later:
        sentences.append(
            Note.of(
                "Answers of {judge} pause for {gap:,.0f} days and span {days:,.0f} days.",
                judge=judge,
                gap=gap,
                days=days,
            )
        )
    row: dict[str, object] = {
        "judge": judge,
        "prompt": "",
        "n": len(mine),
        "fingerprints": len(counts),
        "largest_share": float(counts.iloc[0] / counts.sum()) if len(counts) else 1.0,
        "days": days,
        "longest_pause": gap,
    }
    return row, "warning" if sentences else "pass", join_notes(sentences)
