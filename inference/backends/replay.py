"""Answers that were recorded earlier, given again to the same requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError
from ..ledger.exchanges import Outcome, Request
from ..tables.files import read_table
from .base import Recorder, completion

COLUMNS = (
    "text",
    "finish_reason",
    "logprobs",
    "refusal",
    "model_returned",
    "prompt_tokens",
    "completion_tokens",
    "created",
)


class ReplayBackend:
    """A recorded ``responses`` table; a request is answered where its key is on record."""

    def __init__(self, recorded: Path, judge_id: str) -> None:
        table = read_table(recorded, "responses")
        table = table[(table["judge_id"] == judge_id).to_numpy() & table["text"].notna().to_numpy()]
        if table.empty:
            raise InputError(f"{recorded}: nothing of judge '{judge_id}' is on record; name another --judge.")
        self._path = recorded
        self._rows = dict(zip(table["request_key"], range(len(table)), strict=True))
        subjects = table.filter(["task_id", "item_id"]).bfill(axis=1).iloc[:, 0]
        self._asked = set(zip(table["prompt_id"], subjects, table["sample"], strict=True))
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
            elif (request.prompt_id, request.subject_id, request.sample) in self._asked:
                raise InputError(
                    f"{self._path}: the recorded answer on {request.subject_id} under prompt "
                    f"{request.prompt_id} was given to another request (prompts, texts or settings have "
                    "changed since); restore them or ask the model anew."
                )
            else:
                recorder.record(Outcome(request.key, kind="rejected", error="not on record"))

    def _compose(self, request: Request, row: int) -> bytes:
        recorded = {name: column[row] for name, column in self._columns.items() if not pd.isna(column[row])}
        tokens = [
            (
                token["token"],
                token["logprob"],
                {rival["token"]: rival["logprob"] for rival in token.get("top_logprobs", ())},
            )
            for token in json.loads(recorded.get("logprobs", "[]"))
        ]
        usage = None
        if "prompt_tokens" in recorded:
            usage = (int(recorded["prompt_tokens"]), int(recorded.get("completion_tokens", 0)))
        return completion(
            request,
            recorded["text"],
            model=recorded.get("model_returned", ""),
            finish_reason=recorded.get("finish_reason", "stop"),
            tokens=tokens,
            refusal=recorded.get("refusal"),
            usage=usage,
            created=int(recorded["created"].timestamp()) if "created" in recorded else None,
            engine={"recorded": self._path.name},
        )
