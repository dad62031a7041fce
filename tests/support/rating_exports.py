"""The same invented answers as annotation and evaluation programs write them, by program and kind of file."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

N = 30
PEOPLE, MODEL = ("ann", "bob"), "bot-mini"
LABELS, VOTES = ("fine", "rude"), ("model_a", "model_b", "tie")
Rows = pd.DataFrame
Files = Mapping[str, bytes]  # by their path in the folder that is read, or one file


def answers(classes: Sequence[str], seed: int = 4, gaps: int = 2) -> Rows:
    """Answers of two people and a model to N items; the model has no answer to the first ``gaps``."""
    draws = random.Random(seed)
    truth = [classes[row % len(classes)] for row in range(N)]
    table = {"item": [f"t{row:02d}" for row in range(N)]}
    for name in (*PEOPLE, MODEL):
        table[name] = [label if draws.random() < 0.75 else draws.choice(classes) for label in truth]
    frame = pd.DataFrame(table, dtype=object)
    frame.loc[: gaps - 1, MODEL] = None
    return frame


def lines(records: Sequence[Any]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(records: Sequence[Mapping[str, Any]], delimiter: str = ",") -> bytes:
    """A table of text, with JSON in cells that are lists or objects."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(out, names, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in record.items()})
    return out.getvalue().encode()


def parquet(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Parquet, with lists as lists."""
    out = io.BytesIO()
    pd.DataFrame(records).to_parquet(out)
    return out.getvalue()


def of_rows(rows: Rows) -> list[dict[str, Any]]:
    """Rows as objects, gaps as None."""
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in rows.to_dict("records")]


def label_studio(rows: Rows) -> list[Any]:
    """Tasks with annotations and a prediction of the model."""

    def result(label: str) -> list[Any]:
        return [{"from_name": "harm", "type": "choices", "value": {"choices": [label]}}]

    return [
        {
            "id": number,
            "data": {"text": row["item"]},
            "annotations": [
                {
                    "id": 10 * number + k,
                    "completed_by": {"id": k, "email": f"{name}@a.org"},
                    "result": result(row[name]),
                }
                for k, name in enumerate(PEOPLE, 1)
            ],
            "predictions": [{"model_version": MODEL, "result": result(row[MODEL])}] if row[MODEL] else [],
        }
        for number, row in enumerate(of_rows(rows), 1)
    ]


def label_studio_min(rows: Rows) -> list[Any]:
    """JSON-MIN: one object per annotation."""
    return [
        {
            "id": number,
            "text": row["item"],
            "harm": row[name],
            "annotator": k,
            "annotation_id": 10 * number + k,
            "created_at": "2026-01-01T10:00:00Z",
            "updated_at": "2026-01-01T10:00:00Z",
            "lead_time": 4.5,
        }
        for number, row in enumerate(of_rows(rows), 1)
        for k, name in enumerate(PEOPLE, 1)
    ]


def argilla(rows: Rows) -> list[Any]:
    """Records of version 2, flat."""
    return [
        {
            "id": row["item"],
            "status": "completed",
            "text": f"text {row['item']}",
            "label.responses": [row[name] for name in PEOPLE],
            "label.responses.users": list(PEOPLE),
            "label.responses.status": ["submitted"] * len(PEOPLE),
            "label.suggestion": row[MODEL],
            "label.suggestion.agent": MODEL if row[MODEL] else None,
        }
        for row in of_rows(rows)
    ]


def argilla_1(rows: Rows) -> list[Any]:
    """Records of version 1: lists of responses."""
    return [
        {
            "id": row["item"],
            "text": f"text {row['item']}",
            "label": [{"user_id": name, "value": row[name], "status": "submitted"} for name in PEOPLE],
            "label-suggestion": row[MODEL],
            "label-suggestion-metadata": {"type": None, "score": None, "agent": MODEL},
        }
        for row in of_rows(rows)
    ]


def doccano(rows: Rows, name: str) -> list[Any]:
    """Examples with the labels of one person."""
    return [
        {
            "id": number,
            "text": f"text {row['item']}",
            "label": [row[name]] if row[name] else [],
            "Comments": [],
        }
        for number, row in enumerate(of_rows(rows), 1)
    ]


def doccano_users(rows: Rows) -> list[Any]:
    """Examples with annotations of several people, as earlier versions write them."""
    return [
        {
            "id": number,
            "text": f"text {row['item']}",
            "annotations": [
                {
                    "id": 9 * number + k,
                    "label": LABELS.index(row[name]) + 1,
                    "label_name": row[name],
                    "user": k,
                }
                | {"user_name": name}
                for k, name in enumerate(PEOPLE)
            ],
            "annotation_approver": None,
        }
        for number, row in enumerate(of_rows(rows), 1)
    ]


def potato(rows: Rows, name: str) -> list[Any]:
    """Instances of one person, who is named by the folder."""
    return [
        {
            "id": row["item"],
            "displayed_text": f"text {row['item']}",
            "label_annotations": {"harm": {row[name]: "true"}, "why": {"text_box": "because"}}
            if row[name]
            else {},
            "span_annotations": {},
            "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "},
        }
        for row in of_rows(rows)
    ]


def potato_table(rows: Rows) -> list[Any]:
    """Instances of all people in a table with a column per label."""
    return [
        {"user": name, "instance_id": row["item"], "displayed_text": "x"}
        | {f"harm:::{label}": "true" if row[name] == label else "" for label in LABELS}
        for row in of_rows(rows)
        for name in PEOPLE
    ]


def potato_state(rows: Rows, name: str) -> bytes:
    """The state of one person, whose labels are pairs of a label and its value."""
    labels = {
        row["item"]: [[{"schema": "harm", "name": row[name]}, "true"]] if row[name] else []
        for row in of_rows(rows)
    }
    state = {"user_id": name, "instance_id_ordering": list(labels), "instance_id_to_label_to_value": labels}
    return json.dumps(state, indent=1).encode()


def mt_bench_votes(rows: Rows) -> list[Any]:
    """Votes of people and a model in long form; every second pair in the other order."""
    swap = {"model_a": "model_b", "model_b": "model_a"}
    judges = {PEOPLE[0]: "expert_1", PEOPLE[1]: "author_2", MODEL: "gpt4_pair"}
    records = []
    for number, row in enumerate(of_rows(rows)):
        for k, (name, judge) in enumerate(judges.items()):
            first, second = ("alpha", "beta") if (number + k) % 2 else ("beta", "alpha")
            vote = row[name] or "error"
            records.append(
                {
                    "question_id": number // 2,
                    "turn": 1 + number % 2,
                    "model_a": first,
                    "model_b": second,
                    "winner": vote if first == "alpha" else swap.get(vote, vote),
                    "judge": judge,
                    "conversation_a": [{"role": "user", "content": "Say it."}],
                    "conversation_b": [{"role": "user", "content": "Say it."}],
                }
            )
    return records


def mt_bench_scores(rows: Rows) -> list[Any]:
    """Judgments of single answers by three judges, -1 where the score could not be read."""
    return [
        {
            "question_id": number,
            "model": "alpha",
            "judge": [name, "single-v1"],
            "user_prompt": "...",
            "judgment": "Rating: [[?]]",
            "score": -1 if row[name] is None else row[name],
            "turn": 1,
            "tstamp": 1700000000.0 + number,
        }
        for number, row in enumerate(of_rows(rows))
        for name in (*PEOPLE, MODEL)
    ]


def mt_bench_games(rows: Rows) -> list[Any]:
    """Judgments of pairs in two games, which differ for the last pair."""
    names = {"model_a": "model_1", "model_b": "model_2"}
    records = []
    for number, row in enumerate(of_rows(rows)):
        for name in (*PEOPLE, MODEL):
            vote = names.get(row[name], row[name] or "error")
            records.append(
                {
                    "question_id": number,
                    "model_1": "alpha",
                    "model_2": "beta",
                    "g1_winner": vote,
                    "g2_winner": vote,
                    "judge": [name, "pair-v2"],
                    "g1_judgment": "[[A]]" if row[name] else "$ERROR$",
                    "turn": 1,
                }
            )
    return records


def arena(rows: Rows) -> list[Any]:
    """Battles with a person's vote and a column of a judge's verdicts."""
    return [
        {
            "question_id": row["item"],
            "model_a": "alpha",
            "model_b": "beta",
            "winner": row[PEOPLE[0]],
            "judge_verdict": row[MODEL],
            "turn": 1,
            "anony": True,
            "language": "English",
        }
        for row in of_rows(rows)
    ]


def arena_one_hot(rows: Rows) -> list[Any]:
    """Battles with the winner in three columns."""
    return [
        {"id": row["item"], "model_a": "alpha", "model_b": "beta", "prompt": "Say it.", "response_a": "a"}
        | {f"winner_{name}": int(row[PEOPLE[0]] == name) for name in VOTES}
        | {"judge_verdict": row[MODEL]}
        for row in of_rows(rows)
    ]


def alpaca_eval(rows: Rows) -> list[Any]:
    """Preferences of annotators between two outputs; null where an annotator failed."""
    numbers = {"model_a": 1.0, "model_b": 2.0, "tie": 1.5, None: None}
    return [
        {
            "instruction": f"Do {row['item']}.",
            "output_1": "one",
            "generator_1": "alpha",
            "output_2": "two",
            "generator_2": "beta",
            "dataset": "invented",
            "preference": numbers[row[name]],
            "raw_completion": None,
            **({"annotator": "bot_mini_fn"} if name == MODEL else {"annotator_index": PEOPLE.index(name)}),
        }
        for row in of_rows(rows)
        for name in (*PEOPLE, MODEL)
    ]


def reward_bench(rows: Rows) -> dict[str, Any]:
    """Columns of results: whether the chosen answer won, with a failed call as null."""
    results = [None if row[MODEL] is None else int(row[MODEL] == row[PEOPLE[0]]) for row in of_rows(rows)]
    return {
        "model": "bot-mini",
        "id": list(range(N)),
        "subset": ["chat"] * N,
        "text_chosen": ["a"] * N,
        "text_rejected": ["b"] * N,
        "results": results,
    }


def deepeval(rows: Rows, is_snake: bool = False) -> dict[str, Any]:
    """Test cases with one metric, and a person's verdict in the metadata; a failed metric has an error."""
    cases = []
    for row in of_rows(rows):
        failed = row[MODEL] is None
        metric = {
            "name": "Correctness [GEval]",
            "threshold": 0.5,
            "success": False if failed else row[MODEL] == "pass",
            "score": None if failed else float(row[MODEL] == "pass"),
            "error": "Timeout" if failed else None,
        }
        names = ("metrics_data", "actual_output", "additional_metadata")
        if not is_snake:
            names = ("metricsData", "actualOutput", "additionalMetadata")
        fields = dict(zip(names, ([metric], "y", {"human": row[PEOPLE[0]]}), strict=True))
        cases.append({"name": row["item"], "success": metric["success"], "input": "x", **fields})
    return (
        {"test_results": cases, "confident_link": None} if is_snake else {"testCases": cases, "testPassed": 3}
    )


def promptfoo(rows: Rows) -> dict[str, Any]:
    """Results with a grade by a model and a rating by a person; failed calls are failing grades."""
    results = []
    for number, row in enumerate(of_rows(rows)):
        parts = [{"pass": row[PEOPLE[0]] == "pass", "score": 1, "assertion": {"type": "human"}}]
        if row[MODEL] is not None:
            parts.append({"pass": row[MODEL] == "pass", "score": 1, "assertion": {"type": "llm-rubric"}})
        results.append(
            {
                "testIdx": number,
                "promptIdx": 0,
                "provider": {"id": "openai:x"},
                "vars": {"q": row["item"]},
                "success": row[PEOPLE[0]] == "pass",
                "error": None if row[MODEL] else "429 Too many requests",
                "failureReason": 0 if row[MODEL] else 2,
                "gradingResult": {"pass": row[PEOPLE[0]] == "pass", "componentResults": parts},
            }
        )
    return {"evalId": "e", "results": {"version": 3, "results": results, "stats": {}}, "config": {}}


def lm_eval(rows: Rows) -> list[Any]:
    """Samples with a target and a filtered response."""
    return [
        {
            "doc_id": number,
            "doc": {"text": row["item"]},
            "target": row[PEOPLE[0]],
            "resps": [[row[MODEL] or ""]],
            "filtered_resps": [row[MODEL] or ""],
            "filter": "none",
        }
        for number, row in enumerate(of_rows(rows))
    ]


def mturk(rows: Rows) -> list[Any]:
    """Assignments of workers."""
    return [
        {
            "HITId": f"H{number}",
            "AssignmentId": f"{number}{name}",
            "WorkerId": name,
            "AssignmentStatus": "Approved",
            "WorkTimeInSeconds": 30,
            "Input.text_id": row["item"],
            "Answer.harm": row[name],
        }
        for number, row in enumerate(of_rows(rows))
        for name in PEOPLE
    ]


@dataclass(frozen=True)
class RatingExport:
    """One export: its files, the classes of its answers, and what the judges are called in it."""

    name: str
    files: Callable[[Rows], Files]
    classes: Sequence[str] = LABELS
    path: str = ""  # the file or folder that is named; by default the only file
    people: Sequence[str] = PEOPLE
    model: str | None = MODEL  # None where only people answer
    is_named: bool = False  # whether `judge` needs the name of the judge


def one(name: str, content: Callable[[Rows], bytes]) -> Callable[[Rows], Files]:
    """An export of one file."""
    return lambda rows: {name: content(rows)}


def document(content: Any) -> bytes:
    """One document of JSON."""
    return json.dumps(content).encode()


def of_each(place: str, content: Callable[[Rows, str], bytes]) -> Callable[[Rows], Files]:
    """An export of one file per person, in whose path the person is named."""
    return lambda rows: {place.format(name): content(rows, name) for name in PEOPLE}


PASSES = ("pass", "fail")
SCORES = tuple("123456789")
NUMBERED = {"people": ("1", "2")}
VOTED = {"classes": VOTES, "people": ("expert_1", "author_2"), "model": "gpt4_pair"}
BATTLES = {"classes": VOTES, "people": ("winner",), "model": "judge_verdict"}
METRIC = {"classes": PASSES, "people": ("metadata.human",), "model": "Correctness [GEval]"}
ANNOTATED = {"classes": VOTES, "people": ("annotator_0", "annotator_1"), "model": "bot_mini_fn"}
GRADED = {"classes": PASSES, "people": ("human",), "model": "llm-rubric"}
ANSWERED = {"people": ("target",), "model": "answer"}
ALONE = {"model": None}
ONE_FILE: tuple[tuple[str, str, Callable[[Any], bytes], Callable[[Rows], Any], dict[str, Any]], ...] = (
    ("Label Studio", "tasks.json", document, label_studio, NUMBERED),
    ("JSON-MIN", "min.json", document, label_studio_min, NUMBERED | ALONE),
    ("CSV of Label Studio", "min.csv", table, label_studio_min, NUMBERED | ALONE),
    ("Argilla", "records.json", document, argilla, {}),
    ("Argilla in Parquet", "records.parquet", parquet, argilla, {}),
    ("Argilla in CSV", "records.csv", table, argilla, {}),
    ("Argilla 1", "records.jsonl", lines, argilla_1, {}),
    ("Argilla 1 in Parquet", "old.parquet", parquet, argilla_1, {}),
    ("Doccano with users", "all.jsonl", lines, doccano_users, ALONE),
    ("Potato in TSV", "annotated.tsv", partial(table, delimiter="\t"), potato_table, ALONE),
    ("MT-Bench votes", "human.jsonl", lines, mt_bench_votes, VOTED),
    ("MT-Bench votes in Parquet", "human.parquet", parquet, mt_bench_votes, VOTED),
    ("MT-Bench votes in CSV", "human.csv", table, mt_bench_votes, VOTED),
    ("MT-Bench scores", "gpt-4_single.jsonl", lines, mt_bench_scores, {"classes": SCORES, "is_named": True}),
    ("MT-Bench pairs", "gpt-4_pair.jsonl", lines, mt_bench_games, {"classes": VOTES, "is_named": True}),
    ("AlpacaEval", "annotations.json", document, alpaca_eval, ANNOTATED),
    ("Arena", "battles.json", document, arena, BATTLES),
    ("Arena in CSV", "battles.csv", table, arena, BATTLES),
    ("Arena, one column per winner", "train.csv", table, arena_one_hot, BATTLES),
    ("deepeval", "run.json", document, deepeval, METRIC),
    ("deepeval in Python", "run2.json", document, partial(deepeval, is_snake=True), METRIC),
    ("promptfoo", "output.json", document, promptfoo, GRADED),
    ("lm-eval", "samples_x.jsonl", lines, lm_eval, ANSWERED),
    ("MTurk", "batch.csv", table, mturk, ALONE),
)
EXPORTS = (
    *(
        RatingExport(name, one(file, lambda rows, write=write, rows_of=rows_of: write(rows_of(rows))), **how)
        for name, file, write, rows_of, how in ONE_FILE
    ),
    *(
        RatingExport(name, of_each(place, content), path=place.partition("/")[0], model=None)
        for name, place, content in (
            ("Doccano", "d/{}.jsonl", lambda rows, name: lines(doccano(rows, name))),
            ("Potato", "out/{}/annotated_instances.jsonl", lambda rows, name: lines(potato(rows, name))),
            ("States of Potato", "states/{}/user_state.json", potato_state),
        )
    ),
)
