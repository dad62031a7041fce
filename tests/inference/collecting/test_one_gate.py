"""The same answer means the same by every door: live, results of a batch runner, recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import towns, write_study

from conjury.inference.collecting import Asking, Running, collect

ENDS = {  # what a server sends, and the status by every door; None for a request without an answer
    "SAFETY": "refused",
    "MAX_TOKENS": "truncated",
    "network_error": None,
    "error": None,
}


def body(reason: str, text: str = "") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return {"id": "x", "model": "m", "choices": [choice], "usage": {}}


def statuses(run: Path) -> dict[str, int]:
    status = pd.read_parquet(run / "judgments.parquet")["status"].astype(str)
    return {str(name): int(n) for name, n in status.value_counts().items()}


def ask(study: Path, out: Path, running: Running, **asking: Any) -> Any:
    options = Asking(answer="free", **asking)
    return collect(study / "study.yaml", "judge", prompts=["plain"], out=out, asking=options, running=running)


@pytest.mark.long
@pytest.mark.parametrize("reason", ENDS)
def test_an_end_in_a_providers_words_means_the_same_by_every_door(reason, server, tmp_path, monkeypatch):
    monkeypatch.setattr("conjury.inference.collecting.recorder.PASSES", 1)
    monkeypatch.setattr("conjury.inference.backends.openai.transport.FIRST_PAUSE", 0.01)
    study = write_study(tmp_path / "towns", towns())
    status = ENDS[reason]
    server.configure(replies=[[200, {}, body(reason)]])
    live = ask(study, tmp_path / "live", Running(pairs=3), base_url=server.url)
    requests = tmp_path / "requests.jsonl"
    ask(study, tmp_path / "file", Running(pairs=3, export=requests), base_url=server.url)
    keys = [json.loads(line)["custom_id"] for line in requests.read_text(encoding="utf-8").splitlines()]
    lines = [{"custom_id": key, "response": {"status_code": 200, "body": body(reason)}} for key in keys]
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ask(study, tmp_path / "file", Running(pairs=3, batch_results=results), base_url=server.url)
    expected = {status or "error": len(keys)}
    assert statuses(tmp_path / "live") == statuses(tmp_path / "file") == expected
    assert live.tally.answered == (0 if status is None else len(keys))

    responses = pd.read_parquet(tmp_path / "live" / "responses.parquet")
    recorded = responses.assign(text="", finish_reason=reason, error=None, error_kind=None)
    recorded.to_parquet(tmp_path / "recorded.parquet")
    running = Running(pairs=3, recorded=tmp_path / "recorded.parquet")
    ask(study, tmp_path / "replayed", running, backend="replay")
    assert statuses(tmp_path / "replayed") == expected
    if status is None:
        assert pd.read_parquet(tmp_path / "replayed" / "responses.parquet")["error_kind"].eq("server").all()
