"""Answers of people that look like those of a model."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import as_text

from ...frames.vocabulary import HUMAN
from ..judged import NotApplicableError
from ..registry import Check, Question, Verdict, check, highest
from ..shares import evidence

MODEL_LIKE_PEOPLE = Question(
    "CJ207",
    "model_like_people",
    "People's answers that look like a model's",
    "Are texts of people their own, and not a model's or each other's?",
    "Agreement between models and such people is agreement between models.",
    "Read these texts; ask the people, or report results without them; forbid pasting in the survey.",
    "rule",
)
PHRASES = re.compile(
    r"\bas an? (?:ai|large language model|language model)\b|\bi(?:'m| am) (?:just )?an? ai\b|\bi "
    r"(?:cannot|can't) (?:assist|help) with that\b"
    r"|\bhere(?:'s| is) (?:a|the|my) "
    r"(?:revised|rewritten|summary|breakdown|explanation)\b|^(?:certainly|sure|of course)[!,] here\b"
    r"|\bi hope this helps\b|\blet me know if you(?:'d| would) like\b|\bknowledge cutoff\b|\bregenerate "
    r"response\b",
    re.IGNORECASE | re.MULTILINE,
)
MARKUP = re.compile(r"^#{1,4} \S|^\s*[-*] \*\*[^*\n]+\*\*|\*\*[^*\n]{3,60}:\*\*", re.MULTILINE)
LONG = 60  # characters from which two people do not write the same by chance


@check(MODEL_LIKE_PEOPLE)
def model_like_people(responses: pd.DataFrame) -> Check:
    """Count texts with phrases or markup of models, and long texts that others gave word for word."""
    people = responses[
        as_text(responses["judge_kind"]).eq(HUMAN).to_numpy() & as_text(responses["text"]).notna().to_numpy()
    ]
    text = as_text(people["text"]).str.strip()
    if people.empty or text.str.len().max() < LONG:
        raise NotApplicableError("No person wrote a long text.")
    others = responses[as_text(responses["judge_kind"]).ne(HUMAN).to_numpy()]
    by_models = set(as_text(others["text"]).dropna().str.strip()) if len(others) else set()
    long = text.str.len().ge(LONG).to_numpy(dtype=bool)
    writers = text.groupby(text).transform("size").to_numpy() if len(text) else np.array([])
    per_judge = pd.DataFrame(
        {"text": text.to_numpy(), "judge": as_text(people["judge_id"]).to_numpy()}
    ).drop_duplicates()
    shared = per_judge["text"].value_counts()
    kinds = {
        "phrase of a model": text.map(lambda one: PHRASES.search(one) is not None).to_numpy(dtype=bool),
        "markup of a model": long & text.map(lambda one: MARKUP.search(one) is not None).to_numpy(dtype=bool),
        "text of a model": long & text.isin(by_models).to_numpy(dtype=bool),
        "text of another person": long & (text.map(shared).to_numpy() > 1) & (writers > 1),
    }
    table = pd.DataFrame(
        [
            ("people", "", label, int(flag.sum()), len(people), float(flag.mean()))
            for label, flag in kinds.items()
        ],
        columns=["judge", "prompt", "label", "n", "of", "estimate"],
    )
    flag = np.logical_or.reduce(list(kinds.values()))
    if not flag.any():
        return MODEL_LIKE_PEOPLE.answer(
            table, "pass", f"None of {len(people):,} texts of people looks like a model's."
        )
    most = highest(table, table["n"])
    certain = kinds["phrase of a model"] | kinds["text of a model"]
    verdict: Verdict = "error" if certain.any() else "warning"
    finding = (
        f"{int(flag.sum()):,} of {len(people):,} texts of people look like a model's; the commonest sign is "
        f"a {most['label']} ({int(most['n']):,})."
    )
    return MODEL_LIKE_PEOPLE.answer(table, verdict, finding, rows=evidence(people, flag, ("text",)))
