"""Choices between two answers, one row each: results of RewardBench, and battles of Chatbot Arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...errors import InputError
from ...tables.reading.cell_rules import is_code, number_of
from ...tables.reading.json_rows import flat
from ..programs.record_shapes import SWAPS
from .judged_table import Judged

CHOICE, PREFERRED, WINNER = "choice", "preferred", "winner"
CHOSEN, REJECTED, TIE = "chosen", "rejected", "tie"
CHOICES = {1.0: CHOSEN, 0.0: REJECTED, 0.5: TIE}
TRUTHS = {"true": 1.0, "false": 0.0}
BATTLE_IDS = ("question_id", "conversation_id", "battle_id", "id")
ONE_HOT = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": TIE}
TIES = ("tie", "draw", "both", "equal", "same", "neither")  # how words for a tie begin
TEXTS = ("conversation_a", "conversation_b", "prompt", "response_a", "response_b")
NO_VERDICT = (
    "each battle has the vote of one person, and no column has the verdict of a judge; add one with model_a, "
    "model_b or tie in each row, and name it with --judge; where a column names who voted, give it with "
    "--rater-column, the column of votes with --rating-column, and those of a pair with --id"
)


def reward_bench(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per pair: ``choice`` of the judge, and what is ``preferred``, which is always the same."""
    rows, n_ties = [], 0
    for number, record in enumerate(records, 1):
        choice = _choice(record.get("results"), f"{source}: record {number}")
        n_ties += choice == TIE
        further = {name: value for name, value in record.items() if name != "results"}
        rows.append({**flat(further), CHOICE: choice, PREFERRED: CHOSEN})
    frame = pd.DataFrame(rows)
    notes = []
    if n_ties:
        notes.append(
            f"Results of 0.5 count as ties: {n_ties:,}; RewardBench also writes 0.5 for answers that it "
            "cannot read."
        )
    item = next((name for name in ("id", "prompt_id") if name in frame and frame[name].notna().all()), None)
    return Judged(frame, source, "results of RewardBench", CHOICE, PREFERRED, item, tuple(notes))


def llmbar(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per pair: the output that people preferred, and the judge's ``winner`` in each order."""
    rows = []
    for record in records:
        results = record.get("results")
        games = results[-1] if isinstance(results, list) and results else None
        winners = [
            game.get(WINNER) if isinstance(game, Mapping) else None for game in map((games or {}).get, SWAPS)
        ]
        further = {name: value for name, value in record.items() if name != "results"}
        rows.append({**flat(further), WINNER: _text(winners[0]), f"{WINNER}_swapped": _text(winners[1])})
    frame = pd.DataFrame(rows)
    frame["label"] = frame["label"].map(_text, na_action="ignore")
    return Judged(frame, source, "results of LLMBar", WINNER, "label")


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _choice(result: Any, where: str) -> str | None:
    """Which answer was chosen; None where there is no result."""
    while isinstance(result, list) and len(result) == 1:
        result = result[0]
    if result is None or str(result).strip() == "":
        return None
    text = str(result).strip().casefold()
    value = TRUTHS.get(text, number_of(text))
    if value not in CHOICES:
        raise InputError(f"{where}: the result is {result!r}; it is 1, 0 or 0.5 in RewardBench.")
    return CHOICES[value]


def battles(records: Sequence[Mapping[str, Any]], source: str) -> Judged:
    """A row per battle: ``winner`` is the vote of a person, and a column of winners that of a judge."""
    rows = [
        {
            **flat({name: value for name, value in record.items() if name not in (*TEXTS, *ONE_HOT)}),
            WINNER: _winner(record),
        }
        for record in records
    ]
    frame = pd.DataFrame(rows)
    verdicts = []
    for name in map(str, frame):
        winners = _winners_in(frame, name) if name not in (WINNER, "model_a", "model_b") else None
        if winners is not None:
            frame[name] = winners
            verdicts.append(name)
    item = next((name for name in BATTLE_IDS if name in frame and frame[name].notna().all()), None)
    judge = verdicts[0] if len(verdicts) == 1 else None
    remedy = "" if verdicts else NO_VERDICT
    return Judged(frame, source, "battles of Chatbot Arena", judge, WINNER, item, remedy=remedy)


def winner_of(winner: Any, first: Any, second: Any) -> str | None:
    """A winner as ``model_a``, ``model_b`` or a word for a tie, also where it is a letter or a name."""
    if winner is None or str(winner).strip() == "":
        return None
    text = str(winner).strip()
    names = {"a": "model_a", "b": "model_b", "model a": "model_a", "model b": "model_b"}
    if str(first) != str(second):
        names |= {str(first).casefold(): "model_a", str(second).casefold(): "model_b"}
    return names.get(text.casefold(), text)


def _winner(record: Mapping[str, Any]) -> Any:
    if WINNER in record:
        return winner_of(record[WINNER], record.get("model_a"), record.get("model_b"))
    labels = [label for name, label in ONE_HOT.items() if number_of(str(record.get(name))) == 1]
    return labels[0] if len(labels) == 1 else None


def is_tie(winner: str) -> bool:
    """Whether a word says that neither of two answers is better."""
    return winner.casefold().startswith(TIES)


def _winners_in(frame: pd.DataFrame, name: str) -> list[str | None] | None:
    """The cells of a column as winners; None where one is anything else, or none is a winner."""
    cells = frame[name].astype(object).where(frame[name].notna(), None)
    sides = (frame[side] for side in ("model_a", "model_b"))
    winners = [winner_of(cell, first, second) for cell, first, second in zip(cells, *sides, strict=True)]
    labels = {winner for winner in winners if winner is not None}
    stray = {label for label in labels - {"model_a", "model_b"} if not is_tie(label) and not is_code(label)}
    return winners if labels & {"model_a", "model_b"} and not stray else None
