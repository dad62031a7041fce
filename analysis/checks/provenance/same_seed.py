"""Samples of one question that share a seed."""

from __future__ import annotations

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ...frames.notes import Note, join_notes
from ...frames.rounding import percentage
from ..judge_shares import judge_and_prompt
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check

SAME_SEED = Question(
    code="CJ503",
    name="same_seed",
    title="Seeds of samples",
    text="Do the samples of one question have different seeds?",
    consequence="Samples with one seed are copies of one answer, so reliability is overestimated, standard "
    "errors that count them as repetitions are too small, and pass@k equals pass@1.",
    remedy="Collect the samples again, each with its own seed or without one; until then use one sample per "
    "question.",
    alarms="never",
)
NO_SEEDS = "No request has a seed."
ONE_SAMPLE = "No question was asked more than once with a seed at a temperature above 0."


@check(SAME_SEED)
def same_seed(requests: pd.DataFrame, responses: pd.DataFrame | None = None) -> Check:
    """Count questions with several samples of one seed, and how many of these samples have one answer."""
    if "seed" not in requests or requests["seed"].isna().all():
        raise NotApplicableError(NO_SEEDS)
    frame = judge_and_prompt(requests).assign(
        subject=_subject(requests), text=_message(requests), seed=requests["seed"], sample=requests["sample"]
    )
    warm = requests["temperature"].ne(0).fillna(True) if "temperature" in requests else True
    frame = frame[frame["seed"].notna() & warm]
    question = ["judge", "prompt", "subject", "text"]
    samples = frame.groupby(question)["sample"].transform("nunique")
    frame = frame[samples > 1]
    if frame.empty:
        raise NotApplicableError(ONE_SAMPLE)
    frame = frame.assign(shared=frame.groupby([*question, "seed"])["sample"].transform("nunique") > 1)
    if responses is not None and "request_key" in requests and "request_key" in responses:
        answers = responses.drop_duplicates("request_key").set_index("request_key")["text"]
        frame["answer"] = as_text(requests["request_key"]).reindex(frame.index).map(answers)
    by_judge = frame.groupby(["judge", "prompt"], sort=False)
    table = by_judge.agg(
        n=("shared", "size"), n_shared=("shared", "sum"), n_seeds=("seed", "nunique")
    ).reset_index()
    table["estimate"] = table["n_shared"] / table["n"]
    shared = frame[frame["shared"]]
    if shared.empty:
        finding = Note.of(
            "The samples of one question have different seeds in all {requests}.",
            requests=counted(len(frame), "request"),
        )
        return SAME_SEED.answer(table, "pass", finding)
    finding = Note.of(
        "{requests} of {n:,} ({share}) share their seed with another sample of the same question.",
        requests=counted(len(shared), "request"),
        n=len(frame),
        share=percentage(len(shared) / len(frame), 1),
    )
    verdict: Verdict = "warning"
    if "answer" in frame:
        distinct = shared.dropna(subset="answer").groupby([*question, "seed"])["answer"].nunique()
        same = int((distinct == 1).sum())
        finding = join_notes(
            [
                finding,
                Note.of(
                    "In {same:,} of {questions} all such samples have the same answer.",
                    same=same,
                    questions=counted(len(distinct), "question"),
                ),
            ]
        )
        verdict = "error" if len(distinct) and same > len(distinct) / 2 else "warning"
    names = [
        name for name in ("judge_id", "prompt_id", "item_id", "task_id", "sample", "seed") if name in requests
    ]
    return SAME_SEED.answer(
        table, verdict, finding, rows=requests.loc[shared.index, names].reset_index(drop=True)
    )


def _subject(requests: pd.DataFrame) -> pd.Series[str]:
    names = [as_text(requests[n]) for n in ("item_id", "task_id") if n in requests]
    subject = names[0] if len(names) == 1 else names[0].fillna(names[1])
    return subject.fillna("")


def _message(requests: pd.DataFrame) -> pd.Series[str]:
    """The messages of each request: levels of facets are different questions."""
    parts = [requests[n].astype("string").fillna("") for n in ("system", "user") if n in requests]
    return parts[0] + "\x1f" + parts[1] if len(parts) == 2 else pd.Series("", requests.index, dtype="string")
