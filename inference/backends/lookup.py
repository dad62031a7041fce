"""Backends that ask no model: answers drawn from the truth table of a study, or recorded earlier."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ..design.factorial import FactorialCell, asked_cells
from ..design.run_design import DrawnDesign
from ..errors import InputError, listed
from ..ledger.exchanges import Outcome, Request
from ..readers.judged.gold_labels import read_labels
from ..readers.judgments import lines_of, with_texts
from ..simulation.conjoint.conjoint_simulation import answers_to_design
from ..simulation.conjoint.faceted_answers import FacetedJudge, faceted_judges
from ..simulation.labels.label_simulation import simulate_answers
from ..simulation.ratings.rating_draws import read_items
from ..simulation.ratings.rating_simulation import simulate_ratings
from ..study.asking import Label, LineLabels, Ratings
from ..study.checks_instrument import PUT
from ..study.models import ItemStudy, Study
from ..tables.columns import rows_of, split_occasion, stream
from ..tables.files import RECORDED, read_table
from ..tables.frames import SIMULATED
from ..tables.schema import OPTION_ORDERS, STATUSES
from .base import Recorder, completion


class _SimulatedJudge(ABC):
    """A judge with a text for each request, None where the simulation has none."""

    _seed: int
    _missing = ""

    def settings(self) -> dict[str, Any]:
        """Return the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer one request after the other."""
        for request in requests:
            text = self._text(request)
            if text is None:
                recorder.record(Outcome(request.key, kind="rejected", error=self._missing))
            else:
                recorder.record(
                    Outcome(request.key, completion(request.key, text, model=SIMULATED, created=0))
                )

    @abstractmethod
    def _text(self, request: Request) -> str | None:
        """The answer to a request, None where the simulation has none."""


class SimulatedRatingsBackend(_SimulatedJudge):
    """A model of the truth table that rates as in `conjury.inference.simulation.ratings.simulate_ratings`."""

    _missing = "the simulation contains no such item"

    def __init__(self, study: ItemStudy, judge_id: str, samples: int) -> None:
        self._seed = study.collect.seed
        self._cells: list[FactorialCell] = []
        if study.instrument is not None:
            self._cells = asked_cells(study, samples)
            samples = len(self._cells)
        ratings = simulate_ratings(
            study, self._seed, judges=[judge_id], samples=samples, items=read_items(study)
        ).judgments
        self._ratings: dict[tuple[str, int], dict[str, int]] = {}
        for item, sample, dimension, value in rows_of(ratings[["item_id", "sample", "dimension", "value"]]):
            self._ratings.setdefault((str(item), int(sample)), {})[str(dimension)] = int(value)

    def _text(self, request: Request) -> str | None:
        subject, sample = split_occasion(request.subject_id)[0], request.sample
        if self._cells:
            order, labels, direction = (request.arrangement.get(name, "") for name in PUT)
            sample = 1 + self._cells.index(FactorialCell(request.prompt_id, order, labels, direction, sample))
        ratings = self._ratings.get((subject, sample))
        return None if ratings is None else json.dumps(ratings)


class SimulatedReaderBackend(_SimulatedJudge):
    """A second reader that takes the option named last in an answer, and the last option where none is."""

    _seed = 0

    def _text(self, request: Request) -> str:
        """Read the answer of a request for a verdict, whose options are those of its schema."""
        schema = request.body["response_format"]["json_schema"]["schema"]
        options = schema["properties"]["verdict"]["enum"]
        answer = str(json.loads(request.body["messages"][-1]["content"])["answer"])
        places = {
            option: [match.start() for match in re.finditer(rf"(?<!\w){re.escape(option)}(?!\w)", answer)]
            for option in options
        }
        verdict = max(options, key=lambda option: (max(places[option], default=-1), option == options[-1]))
        return json.dumps({"verdict": verdict}, ensure_ascii=False)


RIGHT = 0.6  # without a truth table: share of gold labels; all other answers are drawn from all labels alike
OK = STATUSES[0]
WITHOUT_A_LABEL = {"refused": "I cannot help with that.", "unparsed": "It depends."}  # texts by status


class SimulatedItemsBackend(_SimulatedJudge):
    """A judge that answers every prompt in the form that it asks for, by the truth table if that names it."""

    _missing = SimulatedRatingsBackend._missing

    def __init__(self, study: ItemStudy, judge_id: str, samples: int) -> None:
        self._study, self._seed = study, study.collect.seed
        self._ratings: SimulatedRatingsBackend | None = None
        if any(isinstance(response, Ratings) for response in study.responses):
            if not isinstance(study.response, Ratings):
                raise InputError(
                    "--backend simulated rates on the scales of the study's response only; move the scales "
                    "there, or use another backend."
                )
            self._ratings = SimulatedRatingsBackend(study, judge_id, samples)
        self._gold: dict[tuple[str, str], str] = {}
        self._drawn: dict[tuple[str, str, str, int], tuple[Any, str]] = {}
        items = with_texts(read_table(study.file(study.items), "items"))
        self._lines = lines_of(study, items, study.items)
        if study.gold is not None:
            labels = read_labels(study.file(study.gold.file), study)
            names = zip(labels["item_id"], labels["label_set"], strict=True)
            self._gold = dict(zip(names, labels["label"], strict=True))
            table = None
            if study.instrument is None:
                table = simulate_answers(study, self._seed, items, labels, judge_id, samples)
            if table is not None:
                keys = rows_of(table[["prompt_id", "item_id", "dimension", "sample"]])
                self._drawn = dict(zip(keys, rows_of(table[["value", "status"]]), strict=True))

    def _text(self, request: Request) -> str | None:
        response = self._study.response_of(request.prompt_id)
        if isinstance(response, Ratings) and self._ratings is not None:
            return self._ratings._text(request)
        if not isinstance(response, Label | LineLabels):
            return f"Made up for {request.subject_id}, sample {request.sample}."
        dimension = response.id if isinstance(response, Label) else "line_1"
        draw = self._drawn.get((request.prompt_id, request.subject_id, dimension, request.sample))
        if draw is not None and draw[1] != OK:
            return WITHOUT_A_LABEL.get(draw[1], "")
        if isinstance(response, Label):
            answer: Any = self._label(request, response, response.id)
        else:
            lines = self._lines[response.lines].get(split_occasion(request.subject_id)[0], 0)
            answer = [self._label(request, response, f"line_{line}") for line in range(1, lines + 1)]
        reasoning = {} if response.reasoning is None else {response.reasoning: "Made up."}
        return json.dumps({response.json_key: answer, **reasoning}, ensure_ascii=False)

    def _label(self, request: Request, response: Label | LineLabels, dimension: str) -> str:
        draw = self._drawn.get((request.prompt_id, request.subject_id, dimension, request.sample))
        if draw is not None:
            return str(draw[0])
        names = [request.judge_id, request.prompt_id, request.subject_id, dimension, str(request.sample)]
        if request.arrangement.get("option_order") == OPTION_ORDERS[1]:
            names.append(OPTION_ORDERS[1])
        rng = stream(self._seed, "labels", *names)
        gold = self._gold.get((split_occasion(request.subject_id)[0], dimension))
        label_ids = [label.id for label in response.labels]
        right = [name for name in label_ids if gold in self._covered(name)]
        if right and rng.random() < RIGHT:
            return right[0]
        return label_ids[int(rng.integers(len(label_ids)))]

    def _covered(self, label: str) -> list[str]:
        covers = self._study.gold.covers if self._study.gold is not None else {}
        return covers.get(label, [label])


class SimulatedBackend(_SimulatedJudge):
    """A judge of the truth table that answers as `simulate_conjoint` does."""

    _missing = "the truth table contains no such judge, prompt and task"

    def __init__(self, study: Study, judge_id: str, design: DrawnDesign, samples: int) -> None:
        self._faceted = None if study.instrument is None else faceted_judges(study, judge_id, design)
        self._options = study.response.options if study.response.form == "choice" else ["A", "B"]
        self._seed = int(design.drawn["seed"])
        if self._faceted is None:
            tasks, self._answers = answers_to_design(study, judge_id, design, samples)
            self._places = {task: place for place, task in enumerate(tasks)}

    def _text(self, request: Request) -> str | None:
        if self._faceted is not None:
            return self._answer(request, self._faceted.get(request.prompt_id))
        answers, place = self._answers.get(request.prompt_id), self._places.get(request.subject_id)
        if answers is None or place is None:
            return None
        return str(self._options[0 if answers[request.sample - 1, place] else 1])

    @staticmethod
    def _answer(request: Request, judge: FacetedJudge | None) -> str | None:
        subject, occasion = split_occasion(request.subject_id)
        if judge is None or subject not in judge.places:
            return None
        put = request.arrangement
        first, wordy = judge.answer(subject, put["option_labels"], occasion, request.sample)
        option = put["options"][0 if first else 1]
        return f"My answer: {option}" if wordy else str(option)


COLUMNS = (
    *("text", "finish_reason", "logprobs", "refusal", "model_returned"),
    *("prompt_tokens", "completion_tokens", "created"),
)


def shipped_recording(study: str, judge_id: str) -> Path:
    """The recorded answers of a judge to a study that ship with the package."""
    path = RECORDED / f"{study}_{judge_id}.parquet"
    if not path.is_file():
        shipped = sorted(file.stem.removeprefix(f"{study}_") for file in RECORDED.glob(f"{study}_*.parquet"))
        which = f" (those of {listed(shipped)} do)" if shipped else ""
        raise InputError(
            f"--backend replay: no recorded responses of judge '{judge_id}' to {study} ship with "
            f"conjury{which}; name a table of recorded responses with --recorded."
        )
    return path


class ReplayBackend:
    """A recorded ``responses`` table; a request is answered where its key is on record."""

    def __init__(self, recorded: Path, judge_id: str) -> None:
        table = read_table(recorded, "responses")
        table = table[(table["judge_id"] == judge_id).to_numpy() & table["text"].notna().to_numpy()]
        if table.empty:
            raise InputError(
                f"{recorded}: the file contains no answers of judge '{judge_id}'; give another --judge."
            )
        self._path = recorded
        self._rows = {key: row for row, key in enumerate(table["request_key"].tolist())}
        subjects = table.filter(["task_id", "item_id"]).bfill(axis=1).iloc[:, 0]
        self._asked = set(rows_of(table[["prompt_id", "sample"]].assign(subject=subjects)))
        self._columns = {name: table[name].tolist() for name in COLUMNS if name in table}

    def settings(self) -> dict[str, Any]:
        """Return the file."""
        return {"backend": "replay", "recorded": self._path.name}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Look every answer up by the key of its request."""
        for request in requests:
            row = self._rows.get(request.key)
            if row is not None:
                recorder.record(Outcome(request.key, self._compose(request, row)))
            elif (request.prompt_id, request.sample, request.subject_id) in self._asked:
                raise InputError(
                    f"{self._path}: the recorded answer on {request.subject_id} under prompt "
                    f"{request.prompt_id} was given to another request (prompts, texts or settings have "
                    "changed since); restore them or ask the model anew."
                )
            else:
                recorder.record(Outcome(request.key, kind="rejected", error="not on record"))

    def _compose(self, request: Request, row: int) -> bytes:
        recorded = {name: column[row] for name, column in self._columns.items() if not pd.isna(column[row])}
        tokens = []
        for token in json.loads(recorded.get("logprobs", "[]")):
            rivals = {rival["token"]: rival["logprob"] for rival in token.get("top_logprobs", ())}
            tokens.append((token["token"], token["logprob"], rivals))
        usage = None
        if "prompt_tokens" in recorded:
            usage = (int(recorded["prompt_tokens"]), int(recorded.get("completion_tokens", 0)))
        return completion(
            request.key,
            recorded["text"],
            model=recorded.get("model_returned", ""),
            finish_reason=recorded.get("finish_reason", "stop"),
            tokens=tokens,
            refusal=recorded.get("refusal"),
            usage=usage,
            created=int(recorded["created"].timestamp()) if "created" in recorded else None,
            engine={"recorded": self._path.name},
        )
