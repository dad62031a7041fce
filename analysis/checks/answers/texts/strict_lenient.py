"""Answers that a strict and a lenient parsing rule read differently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.parsing.answer_rules import find_rule, read_answer, response_spec
from conjury.inference.parsing.spec import Answer
from conjury.inference.study.asking import LineLabels
from conjury.inference.study.models import ItemStudy, Study
from conjury.inference.tables.columns import as_text

from ....frames.notes import Note
from ....frames.rounding import percentage
from ...judge_shares import answers_of_models, evidence, graded, shares
from ...judged import NotApplicableError
from ...registry import Check, Question, check, highest, who

STRICT_LENIENT = Question(
    code="CJ310",
    name="strict_lenient",
    title="Strict and lenient parsing",
    text="Do a strict and a lenient parsing rule give the same values?",
    consequence="The share of missing answers, and every estimate from the other answers, depends on the "
    "rule.",
    remedy="Report results under both rules (`conjury run parse --parser strict`, then `--reading`); ask for "
    "answers in one form, for example by a JSON schema.",
    alarms="rule",
)
SOME, MANY = 0.02, 0.1  # shares of answers beyond which the verdict is a warning, or an error


@check(STRICT_LENIENT)
def strict_lenient(responses: pd.DataFrame, study: Study | ItemStudy) -> Check:
    """Parse every raw answer by both rules; count answers whose values differ."""
    answered = answers_of_models(responses)
    read = pd.DataFrame(list(_parse_by_both_rules(answered, study)), columns=["row", "strict", "lenient"])
    if read.empty:
        raise NotApplicableError("No answer has a form with a strict and a lenient rule.")
    rows = answered.iloc[read["row"].to_numpy()]
    strict, lenient = (as_text(read[name]).fillna("") for name in ("strict", "lenient"))
    differs = (strict != lenient).to_numpy(dtype=bool)
    unread = (strict.eq("") & lenient.ne("")).to_numpy(dtype=bool)
    table = shares(rows, differs)
    only_lenient = shares(rows, unread)["estimate"].to_numpy()
    table = table.assign(only_lenient=only_lenient)
    most = highest(table, table["estimate"])
    finding = Note.of(
        "{n:,} of {answers} differ between the rules; the most are {share} of {of:,} ({who}), "
        "of which the strict rule does not parse {only_lenient:.1f} percentage points.",
        n=int(differs.sum()),
        answers=counted(len(rows), "answer"),
        share=percentage(most["estimate"], 1),
        of=int(most["of"]),
        who=who(most),
        only_lenient=100 * most["only_lenient"],
    )
    verdict = graded(float(most["estimate"]), SOME, MANY)
    evidence_rows = rows.assign(strict=strict.to_numpy(), lenient=lenient.to_numpy())
    return STRICT_LENIENT.answer(
        table, verdict, finding, rows=evidence(evidence_rows, differs, ("strict", "lenient", "text"))
    )


def _parse_by_both_rules(responses: pd.DataFrame, study: Study | ItemStudy) -> Iterator[tuple[int, str, str]]:
    """Row, and what each rule reads of it, as text; labels of lines are excluded."""
    prompts = (
        as_text(responses["prompt_id"]).tolist() if "prompt_id" in responses else [None] * len(responses)
    )
    texts, ends = as_text(responses["text"]).tolist(), _column(responses, "finish_reason")
    arrangements = _column(responses, "arrangement")
    specs = {}
    for row, (prompt, text, end, put) in enumerate(zip(prompts, texts, ends, arrangements, strict=True)):
        prompt_id = None if pd.isna(prompt) else str(prompt)
        if prompt_id not in specs:
            response = study.response_of(prompt_id)
            specs[prompt_id] = (
                None if isinstance(response, LineLabels) else response_spec(response, study.collect.noun)
            )
        spec = specs[prompt_id]
        if spec is None or spec.form == "text":
            continue
        answer = Answer(text=str(text), finish_reason="" if pd.isna(end) else str(end))
        arrangement = json.loads(put) if isinstance(put, str) else {}
        values = [
            "; ".join(
                str(reading.value)
                for reading in read_answer(answer, spec, arrangement, name)
                if reading.value is not None
            )
            for name in (find_rule(spec.form, "strict").full_name, find_rule(spec.form, "lenient").full_name)
        ]
        yield row, values[0], values[1]


def _column(responses: pd.DataFrame, name: str) -> list[Any]:
    return responses[name].astype(object).tolist() if name in responses else [None] * len(responses)
