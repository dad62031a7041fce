"""Ratings drawn from the truth table of a study: what collecting finds if its judges are simulated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from ..errors import InputError
from ..ledger.exchanges import Outcome, Request
from ..readers.choices import SIMULATED
from ..readers.judgments import lines_of, read_labels, with_texts
from ..simulation.conjoint.simulate import simulate
from ..simulation.ratings.draws import read_items
from ..simulation.ratings.simulate import simulate_ratings
from ..study.asking import Label, LineLabels, Ratings, Response
from ..study.models import ItemStudy, Study
from ..tables.columns import stream
from ..tables.files import read_table
from .base import Backend, Recorder, completion


class SimulatedRatingsBackend:
    """A model of the truth table that rates as in `conjury.inference.simulation.ratings.simulate_ratings`."""

    def __init__(self, study: ItemStudy, judge_id: str, samples: int) -> None:
        self._seed = study.collect.seed
        made = simulate_ratings(
            study, self._seed, judges=[judge_id], samples=samples, items=read_items(study)
        ).judgments
        self._ratings: dict[tuple[str, int], dict[str, int]] = {}
        for item, sample, dimension, value in zip(
            made["item_id"], made["sample"], made["dimension"], made["value"], strict=True
        ):
            self._ratings.setdefault((str(item), int(sample)), {})[str(dimension)] = int(value)

    def settings(self) -> dict[str, Any]:
        """Return the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Look every answer up."""
        for request in requests:
            ratings = self._ratings.get((request.subject_id, request.sample))
            if ratings is None:
                recorder.record(
                    Outcome(request.key, kind="rejected", error="the simulation contains no such item")
                )
                continue
            text = json.dumps(ratings)
            recorder.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))


RIGHT = 0.6  # share of answers that give the gold label; all others are drawn from all labels alike

Answering = Callable[[Request], str]


class SimulatedItemsBackend:
    """A judge that answers every prompt in the form that it asks for."""

    def __init__(self, study: ItemStudy, judge_id: str, samples: int) -> None:
        self._study, self._seed = study, study.collect.seed
        self._ratings: Backend | None = None
        if any(isinstance(response, Ratings) for response in study.responses):
            if not isinstance(study.response, Ratings):
                raise InputError(
                    "--backend simulated rates by the study's own response; move the scales there, or use "
                    "another backend."
                )
            self._ratings = SimulatedRatingsBackend(study, judge_id, samples)
        self._gold: dict[tuple[str, str], str] = {}
        if study.gold is not None:
            labels = read_labels(study.folder / study.gold.file, study)
            names = zip(labels["item_id"], labels["label_set"], strict=True)
            self._gold = dict(zip(names, labels["label"], strict=True))
        items = with_texts(read_table(study.folder / study.items, "items"))
        self._lines = lines_of(study, items, study.items)

    def settings(self) -> dict[str, Any]:
        """Return the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Answer one request after the other."""
        for request in requests:
            response = self._study.response_of(request.prompt_id)
            if isinstance(response, Ratings) and self._ratings is not None:
                self._ratings.run(iter([request]), recorder)
                continue
            text = self._text(request, response)
            recorder.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))

    def _text(self, request: Request, response: Response) -> str:
        if not isinstance(response, Label | LineLabels):
            return f"Made up for {request.subject_id}, sample {request.sample}."
        if isinstance(response, Label):
            answer: Any = self._label(request, response, response.id)
        else:
            lines = self._lines[response.lines].get(request.subject_id, 0)
            answer = [self._label(request, response, f"line_{line}") for line in range(1, lines + 1)]
        reasoning = {} if response.reasoning is None else {response.reasoning: "Made up."}
        return json.dumps({response.json_key: answer, **reasoning}, ensure_ascii=False)

    def _label(self, request: Request, response: Label | LineLabels, dimension: str) -> str:
        names = (request.judge_id, request.prompt_id, request.subject_id, dimension, str(request.sample))
        rng = stream(self._seed, "labels", *names)
        gold = self._gold.get((request.subject_id, dimension))
        known = [label.id for label in response.labels]
        right = [name for name in known if gold in self._covered(name)]
        if right and rng.random() < RIGHT:
            return right[0]
        return known[int(rng.integers(len(known)))]

    def _covered(self, label: str) -> list[str]:
        covers = self._study.gold.covers if self._study.gold is not None else {}
        return covers.get(label, [label])


class SimulatedBackend:
    """A judge of the truth table that answers as in `conjury.inference.simulation.conjoint.simulate`."""

    def __init__(self, study: Study, judge_id: str, drawn: dict[str, Any], samples: int) -> None:
        made = simulate(study, judges=[judge_id], samples=samples, truth=False, **drawn)
        first = made.choices[made.choices["position"] == "A"]
        sample = first["sample"] if "sample" in first else pd.Series(1, index=first.index)
        keys = zip(first["prompt_id"], first["pair_id"], sample, strict=True)
        self._chosen = dict(zip(keys, first["chosen"].astype(bool), strict=True))
        self._options = study.response.options if study.response.form == "choice" else ["A", "B"]
        self._seed = drawn["seed"]

    def settings(self) -> dict[str, Any]:
        """Return the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Look every answer up."""
        for request in requests:
            chosen = self._chosen.get((request.prompt_id, request.subject_id, request.sample))
            if chosen is None:
                error = "the truth table contains no such judge, prompt and task"
                recorder.record(Outcome(request.key, kind="rejected", error=error))
                continue
            text = self._options[0 if chosen else 1]
            recorder.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))
