"""vLLM's server and its batch runner answer the same requests as the offline engine does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from fakes.studies import RATINGS, TEXTS, collect, items, table, towns, write_study

NAME = "smollm2"
OPTIONS = [
    *("--served-model-name", NAME, "--dtype", "float32", "--enforce-eager", "--max-model-len", "1024"),
    *("--max-num-batched-tokens", "1024", "--no-enable-chunked-prefill", "--block-size", "32"),
]
PATIENCE = 240


@pytest.fixture(scope="module")
def server(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(weights), *OPTIONS]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=file, stderr=file
        )
    try:
        began = time.monotonic()
        while not healthy(port):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() - began < PATIENCE, log.read_text()[-3000:]
            time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_server_is_asked_by_its_address_alone(server: str, tmp_path: Path) -> None:
    study = write_study(tmp_path / "towns", towns())
    options = {"prompts": ["plain"], "base_url": server, "answer": "choice", "pairs": 5}
    assert collect(study, tmp_path / "run", judge="any", **options) == 0
    choices = table(tmp_path / "run", "choices")
    assert (choices["status"] == "ok").all()
    sums = choices.groupby("pair_id")["probability"].sum()
    pd.testing.assert_series_equal(sums, pd.Series(1.0, index=sums.index, name="probability"))
    responses = table(tmp_path / "run", "responses")
    assert set(responses["model_returned"]) == {NAME}
    assert set(responses["text"]) <= {"A", "B"}


def test_one_token_comes_with_log_probabilities(server: str, tmp_path: Path) -> None:
    study = write_study(tmp_path / "towns", towns())
    options = {"prompts": ["plain"], "base_url": server, "answer": "token", "pairs": 4, "model": NAME}
    assert collect(study, tmp_path / "run", judge="any", **options) == 0
    judgments = table(tmp_path / "run", "judgments")
    responses = table(tmp_path / "run", "responses")
    assert len(judgments) == len(responses) >= 4
    for logprobs in responses["logprobs"]:
        (token,) = json.loads(logprobs)
        assert len(token["top_logprobs"]) == 20


def test_ratings_follow_the_json_schema(server: str, tmp_path: Path) -> None:
    study = write_study(tmp_path / "posts", items(RATINGS, model=NAME, settings={"max_tokens": 60}))
    assert collect(study, tmp_path / "run", base_url=server) == 0
    judgments = table(tmp_path / "run", "judgments")
    assert len(judgments) == 2 * len(TEXTS)
    assert set(judgments["status"]) <= {"ok", "truncated"}
    assert (judgments["status"] == "ok").any()


def test_exported_requests_are_answered_by_the_batch_runner(weights: Path, tmp_path: Path) -> None:
    study = write_study(tmp_path / "towns", towns())
    asked = {"prompts": ["plain"], "answer": "choice", "model": NAME, "pairs": 4}
    requests, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    assert collect(study, tmp_path / "run", judge="mine", export=requests, **asked) == 0
    lines = requests.read_text().splitlines()
    assert len(lines) >= 4
    command = [sys.executable, "-m", "vllm.entrypoints.openai.run_batch", "--model", str(weights)]
    done = subprocess.run(
        [*command, "-i", str(requests), "-o", str(results), *OPTIONS],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert collect(study, tmp_path / "run", judge="mine", batch_results=results, **asked) == 0
    choices = table(tmp_path / "run", "choices")
    assert len(choices) == 2 * len(lines)
    assert (choices["status"] == "ok").all()
