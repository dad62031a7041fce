"""Votes on pairs of answers, and judgments of models on them: MT-Bench and AlpacaEval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, as_argument, counted, listed, quoted
from ...readers.judged.pair_tables import is_tie, winner_of
from ...readers.model_names import like_models
from ...readers.programs.recognised_files import read_records
from ...tables.reading.cell_rules import number_of
from ...tables.reading.containers import FileContent
from ..annotation_records import Row, finish_records, judgment_row
from ..exclusion_rules import Rules
from ..imported_ratings import Imported
from ..rating_columns import Layout

Source = str | Path | FileContent
WINNER, SCORE, PREFERENCE = "winner", "score", "preference"
SWAPPED = {"model_a": "model_b", "model_b": "model_a"}
NUMBERED = {"model_1": "model_a", "model_2": "model_b"}
MODELS = (("model_a", "model_1"), ("model_b", "model_2"))
QUESTIONS = ("question_id", "prompt_id", "item_id", "id", "question", "prompt")
FAILED = "$ERROR$"  # text of an answer that never came
HALF = {1.0: "output_1", 2.0: "output_2", 1.5: "tie", 0.0: "tie"}


def read_mt_bench(path: Source, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    """Read votes of people and judgments of models on answers, or pairs of them, to MT-Bench's questions."""
    # The item of a pair does not depend on the order of its two models. Of the two games of a judge, which
    # show the pair in both orders, the winner of both wins, else it is a tie, as FastChat counts it.
    layout, rules = layout or Layout(), rules or Rules()
    records, source = read_records(path, rules.reading)
    rows: list[Row] = []
    n_differing, kinds = 0, {}
    verdicts: list[list[Any]] = []
    first_games: dict[tuple[str, str, str], int] = {}  # places of verdicts on a pair, by the order it had
    for number, record in enumerate(records, 1):
        where = f"{source}: record {number}"
        judge, kind = _judge_of(record, where)
        kinds[judge] = kind
        dimension, item, value, status = _verdict(record, where)
        order = str(record.get("model_a"))
        place = first_games.pop((judge, item, str(record.get("model_b"))), None)
        if place is not None and WINNER in record and order != str(record.get("model_b")):
            verdicts[place][-2:] = _of_both_games(verdicts[place][-2:], [value, status])
            continue
        first_games[judge, item, order] = len(verdicts)
        verdicts.append([number, judge, kind, dimension, item, value, status])
    for number, judge, kind, dimension, item, value, status in verdicts:
        n_differing += status == "differ"
        if not layout.dimensions or dimension in layout.dimensions:
            statuses = {"status": status} if status in ("error", "unparsed") else {}
            rows.append(judgment_row(judge, kind, item, dimension, value, number, **statuses))
    notes = _notes_on_kinds(kinds)
    if any(row["dimension"] == WINNER for row in rows):
        notes.append(
            "Of each pair, model_a is the first of its two models by name, whatever their order was."
        )
    if n_differing:
        notes.append(f"Judgments whose two games have different winners count as ties: {n_differing:,}.")
    return finish_records(rows, layout, rules, source, notes)


def _of_both_games(first: list[Any], second: list[Any]) -> list[Any]:
    """Value and status of a pair that was shown in both orders, one row each."""
    unread = [game for game in (first, second) if game[1] not in ("ok", "differ")]
    return unread[0] if unread else first if first[0] == second[0] else ["tie", "differ"]


def _judge_of(record: Mapping[str, Any], where: str) -> tuple[str, str]:
    """Who judged, and whether it is a model: its name with a prompt, or a name like that of a model."""
    judge = record.get("judge")
    if isinstance(judge, list) and judge:
        return str(judge[0]), "model"
    if not isinstance(judge, str) or not judge.strip():
        raise InputError(f"{where} does not name its judge; export it with field 'judge'.")
    return judge, "model" if like_models([judge]) else "human"


def _notes_on_kinds(kinds: Mapping[str, str]) -> list[str]:
    models = [judge for judge, kind in kinds.items() if kind == "model"]
    people = len(kinds) - len(models)
    return [f"Models by their names: {listed(models, 4) or 'none'}; people: {counted(people, 'judge')}."]


def _verdict(record: Mapping[str, Any], where: str) -> tuple[str, str, str | None, str]:
    """Dimension, item, value and status of a record; ``differ`` where the two games do."""
    question = next((record[name] for name in QUESTIONS if record.get(name) not in (None, "")), None)
    if question is None:
        raise InputError(f"{where} does not name its question; add it as field 'question_id'.")
    turn = record.get("turn")
    about = f"{question}/{turn}" if turn not in (None, "") else str(question)
    is_failed = any(isinstance(text, str) and FAILED in text for text in record.values())
    if "score" in record and "model" in record:
        score = None if record["score"] is None else number_of(str(record["score"]))
        status = "error" if is_failed else "unparsed" if score is None or score < 0 else "ok"
        return SCORE, f"{about}/{record['model']}", None if status != "ok" else f"{score:g}", status
    first, second = (str(record.get(name, record.get(number))) for name, number in MODELS)
    games = [record["winner"]] if "winner" in record else [record.get("g1_winner"), record.get("g2_winner")]
    winners = {winner_of(NUMBERED.get(str(game), game), first, second) for game in games}
    item = f"{about}/{' vs '.join(sorted((first, second)))}"
    if is_failed or winners & {None, "error", ""}:
        return WINNER, item, None, "error" if is_failed else "unparsed"
    if len(winners) > 1:
        return WINNER, item, "tie", "differ"
    winner = str(winners.pop())
    if winner not in SWAPPED and not is_tie(winner):
        raise InputError(
            f"{where}: the winner is {quoted(winner)}; write model_a, model_b or tie, or state --missing "
            f"{as_argument(winner)} if it is no verdict."
        )
    return WINNER, item, SWAPPED.get(winner, winner) if first > second else winner, "ok"


def read_alpaca_eval(path: Source, layout: Layout | None = None, rules: Rules | None = None) -> Imported:
    """Read preferences between two outputs, of annotators that AlpacaEval names, or of numbered people."""
    # 1, 2 and 1.5 (or 0) are choices and a tie; other numbers are probabilities, and stay numbers.
    layout, rules = layout or Layout(), rules or Rules()
    records, source = read_records(path, rules.reading)
    numbers = [number_of(str(record.get("preference"))) for record in records]
    are_choices = {number for number in numbers if number is not None} <= set(HALF)
    rows, kinds = [], {}
    for count, (record, number) in enumerate(zip(records, numbers, strict=True), 1):
        judge, kind = _annotator(record)
        kinds[judge] = kind
        value = None if number is None else HALF[number] if are_choices else f"{number!r}"
        rows.append(judgment_row(judge, kind, _key(record), PREFERENCE, value, count))
    notes = _notes_on_kinds(kinds)
    notes.append("Items are pairs of outputs; each is named by a hash of its texts.")
    return finish_records(rows, layout, rules, source, notes)


def _annotator(record: Mapping[str, Any]) -> tuple[str, str]:
    """The name of an annotator, and its kind: people are numbered, or called human."""
    name = record.get("annotator")
    if record.get("annotator_index") is not None:
        index = record["annotator_index"]
        return f"annotator_{int(index) if isinstance(index, float) else index}", "human"
    is_person = name is None or str(name).casefold().startswith(("human", "crowd", "annotator"))
    return str(name or "annotator"), "human" if is_person else "model"


def _key(record: Mapping[str, Any]) -> str:
    texts = [str(record.get(name)) for name in ("instruction", "output_1", "output_2")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
