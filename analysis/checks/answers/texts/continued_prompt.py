"""Answers that continue the prompt in place of answering it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from conjury.inference.errors import counted
from conjury.inference.tables.columns import as_text

from ....frames.notes import Note
from ....frames.rounding import percentage
from ...judge_shares import answers_of_models, evidence, graded, shares
from ...registry import Check, Question, check, highest, who

CONTINUED_PROMPT = Question(
    code="CJ316",
    name="continued_prompt",
    title="Answers that continue the prompt",
    text="Do answers continue the prompt with further questions, turns of a conversation, or the prompt "
    "itself?",
    consequence="The judge completes text, so the parsed answer may be one to a question that the judge "
    "generated.",
    remedy="Use the model's chat template, or end answers at a stop sequence; parse only the text before the "
    "first new turn.",
    alarms="rule",
)
TURN = re.compile(
    r"^\s*(?:\#{2,}\s*)?(?:={2,}\s*)?(?:user|human|assistant|question|prompt|instruction|input|usuario|pregunta|nutzer|frage)"
    r"\s*(?:\d+\s*)?(?::|={2,})|<\|(?:im_start|im_end|user|assistant|eot_id|endoftext)\|?>|\[/?INST\]",
    re.IGNORECASE | re.MULTILINE,
)
REPEATED = 80  # characters of the prompt's end that an answer repeats
SOME, MANY = 0.01, 0.1  # shares of answers beyond which the verdict is a warning, or an error


@check(CONTINUED_PROMPT)
def continued_prompt(responses: pd.DataFrame, requests: pd.DataFrame | None = None) -> Check:
    """Count answers that begin a new turn, or repeat the end of their prompt."""
    answered = answers_of_models(responses)
    text = as_text(answered["text"]).fillna("")
    # At the very beginning such a word is a label of the answer; later it begins a turn.
    turn = text.map(
        lambda answer: any(match.start() > 0 for match in TURN.finditer(answer.strip()))
    ).to_numpy(dtype=bool)
    repeat = np.zeros(len(answered), dtype=bool)
    if requests is not None and "user" in requests:
        ends = as_text(requests.set_index("request_key")["user"]).str.strip().str.slice(-REPEATED)
        prompt_ends = as_text(answered["request_key"]).map(ends.to_dict()).fillna("")
        repeat = np.array(
            [len(end) >= REPEATED and end in answer for end, answer in zip(prompt_ends, text, strict=True)],
            dtype=bool,
        )
    flag = turn | repeat
    table = shares(answered, flag)
    most = highest(table, table["estimate"])
    finding = Note.of(
        "{n:,} of {answers} continue the prompt ({turns:,} begin a new turn, {repeats:,} repeat its "
        "end), at most {share} of {of:,} ({who}).",
        n=int(flag.sum()),
        answers=counted(len(answered), "answer"),
        turns=int(turn.sum()),
        repeats=int(repeat.sum()),
        share=percentage(most["estimate"], 1),
        of=int(most["of"]),
        who=who(most),
    )
    return CONTINUED_PROMPT.answer(
        table, graded(float(most["estimate"]), SOME, MANY), finding, rows=evidence(answered, flag, ("text",))
    )
