"""Answers drawn from the truth table of a study: what an audit would find if its judges were known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..ledger.exchanges import Outcome, Request
from ..readers.choices import SIMULATED
from ..simulation.conjoint.simulate import simulate
from ..study.models import Study
from .base import Desk
from .compose import completion


class SimulatedBackend:
    """A judge of the study's truth table, answering as :func:`conjury.inference.simulation.conjoint.simulate.simulate` has it."""

    def __init__(self, study: Study, judge_id: str, drawn: dict[str, Any], samples: int) -> None:
        made = simulate(study, judges=[judge_id], samples=samples, truth=False, **drawn)
        first = made.choices[made.choices["position"] == "A"]
        sample = first["sample"] if "sample" in first else pd.Series(1, index=first.index)
        keys = zip(first["prompt_id"], first["pair_id"], sample, strict=True)
        self._chosen = dict(zip(keys, first["chosen"].astype(bool), strict=True))
        self._options = study.response.options if study.response.form == "choice" else ["A", "B"]
        self._seed = drawn["seed"]

    def settings(self) -> dict[str, Any]:
        """Tell the seed."""
        return {"backend": SIMULATED, "seed": self._seed}

    def run(self, requests: Iterator[Request], desk: Desk) -> None:
        """Look every answer up."""
        for request in requests:
            chosen = self._chosen.get((request.prompt_id, request.subject_id, request.sample))
            if chosen is None:
                error = "the truth table holds no such judge, prompt and task"
                desk.record(Outcome(request.key, kind="rejected", error=error))
                continue
            text = self._options[0 if chosen else 1]
            desk.record(Outcome(request.key, completion(request, text, model=SIMULATED, created=0)))
