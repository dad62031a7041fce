"""Answers about items, made up: ratings from a truth table, labels around the gold labels, a line of text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import InputError
from ..ledger.exchanges import Outcome, Request
from ..readers.choices import SIMULATED
from ..readers.item_columns import lines_of, with_texts
from ..readers.labels import read_labels
from ..study.asking import Label, LineLabels, Ratings, Response
from ..study.models import ItemStudy
from ..tables.files import read_table
from ..tables.streams import stream
from .base import Backend, Desk
from .compose import completion
from .simulated_ratings import SimulatedRatingsBackend

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
        """Tell the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], desk: Desk) -> None:
        """Answer one request after the other."""
        for request in requests:
            response = self._study.response_of(request.prompt_id)
            if isinstance(response, Ratings) and self._ratings is not None:
                self._ratings.run(iter([request]), desk)
                continue
            text = self._text(request, response)
            desk.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))

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
