"""Labels outside their scheme, and ratings outside their scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.readers.judgments import scales_of
from conjury.inference.study.models import ItemStudy
from conjury.inference.tables.columns import as_text

from ....frames.notes import Note
from ....frames.rounding import percentage
from ...judge_shares import evidence, shares
from ...judged import NotApplicableError
from ...labelled import NO_GOLD, answers_of, canonical, gold_spellings, spellings_of
from ...registry import Check, Question, check, highest, who

UNKNOWN_LABELS = Question(
    code="CJ312",
    name="unknown_labels",
    title="Values outside the scheme",
    text="Is every label one of the scheme, and every rating a point of its scale?",
    consequence="Such values form separate classes, or shift means.",
    remedy="Parse the answers again by the study's rule; add labels that are meant as aliases; correct the "
    "table.",
    alarms="never",
)


@check(UNKNOWN_LABELS)
def unknown_labels(
    item_study: ItemStudy, judgments: pd.DataFrame, labels: pd.DataFrame | None = None
) -> Check:
    """Count values that the study file does not allow, by judge and task, and in the gold labels."""
    answers = answers_of(judgments)
    if labels is not None:
        gold = pd.DataFrame(
            {
                "judge": "gold",
                "kind": "gold",
                "prompt": "",
                "task": as_text(labels["label_set"]),
                "value": as_text(labels["label"]),
            }
        ).assign(item_id=as_text(labels["item_id"]), sample=1)
        blank = gold["value"].fillna("").str.strip().str.casefold().isin(NO_GOLD)
        answers = pd.concat([gold[~blank], answers], ignore_index=True)
    answers = answers.dropna(subset=["value"])
    scales = scales_of(item_study)
    flags, mask = np.zeros(len(answers), dtype=bool), np.zeros(len(answers), dtype=bool)
    for task, rows in answers.groupby("task", sort=False).indices.items():
        values = answers["value"].iloc[rows]
        allowed = {*spellings_of(item_study, str(task))}
        if str(task) in scales:
            number = pd.to_numeric(values, errors="coerce")
            flags[rows] = ~number.isin([float(v) for v in scales[str(task)]]).to_numpy(dtype=bool)
        elif allowed:
            finer = gold_spellings(item_study)
            names = canonical(values, item_study, str(task))
            people = answers["kind"].iloc[rows].ne("model").to_numpy(dtype=bool)
            of_people = names.isin(allowed | {*finer}).to_numpy(dtype=bool)
            flags[rows] = ~np.where(people, of_people, names.isin(allowed).to_numpy(dtype=bool))
        else:
            continue
        mask[rows] = True
    if not mask.any():
        raise NotApplicableError("The study file has no labels or scales for these dimensions.")
    named = answers.rename(columns={"judge": "judge_id", "prompt": "prompt_id", "task": "dimension"})[mask]
    table = shares(named, flags[mask], {"panel": named["dimension"]})
    most = highest(table, table["estimate"])
    if not flags.any():
        return UNKNOWN_LABELS.answer(
            table, "pass", Note.of("All {n:,} values are labels or ratings of the study.", n=int(mask.sum()))
        )
    commonest = named.loc[flags[mask], "value"].value_counts()
    finding = Note.of(
        "{n:,} of {of:,} values are outside the scheme, at most {share} ({who}, {dimension}); "
        "the most frequent is {value!r} ({times:,} times).",
        n=int(flags.sum()),
        of=int(mask.sum()),
        share=percentage(most["estimate"], 1),
        who=who(most),
        dimension=most["panel"],
        value=str(commonest.index[0])[:40],
        times=int(commonest.iloc[0]),
    )
    return UNKNOWN_LABELS.answer(table, "error", finding, rows=evidence(named, flags[mask]))
