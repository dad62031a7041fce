"""Ratings drawn from the truth table of a study: what collecting finds if its judges are simulated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..ledger.exchanges import Outcome, Request
from ..readers.choices import SIMULATED
from ..simulation.ratings.items import read_items
from ..simulation.ratings.simulate import simulate_ratings
from ..study.models import ItemStudy
from .base import Desk
from .compose import completion


class SimulatedRatingsBackend:
    """A model of the truth table, rating as :func:`conjury.inference.simulation.ratings.simulate_ratings` has it."""

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
        """Tell the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], desk: Desk) -> None:
        """Look every answer up."""
        for request in requests:
            ratings = self._ratings.get((request.subject_id, request.sample))
            if ratings is None:
                desk.record(Outcome(request.key, kind="rejected", error="the simulation holds no such item"))
                continue
            text = json.dumps(ratings)
            desk.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))
