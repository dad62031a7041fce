"""The offline engine answers a study's requests: choices, labels, ratings, seeds, resuming, settings."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.recorder import MemoryRecorder

from conjury.inference.backends.vllm import VLLMBackend
from conjury.inference.ledger.exchanges import Request, request_key

NAME = "smollm2"
ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 1024,
    "max_num_batched_tokens": 1024,
    "enable_chunked_prefill": False,
    "block_size": 32,
}
CHOICE = {"structured_outputs": {"choice": ["A", "B"]}, "logprobs": True, "top_logprobs": 20}


@pytest.fixture(scope="module")
def backend(weights: Path) -> VLLMBackend:
    return VLLMBackend(NAME, str(weights), ENGINE)


def ask(text: str, sample: int = 1, **settings: Any) -> Request:
    messages = [{"role": "system", "content": "Answer in one word."}, {"role": "user", "content": text}]
    body = {"model": NAME, "messages": messages, "temperature": 0, **settings}
    return Request(request_key(NAME, "p", text, sample, body), NAME, "p", text, sample, body)


def answers(backend: VLLMBackend, requests: Sequence[Request]) -> list[dict[str, Any]]:
    recorder = MemoryRecorder()
    backend.run(iter(requests), recorder)
    bodies = {outcome.key: json.loads(outcome.body or b"{}") for outcome in recorder.outcomes}
    assert len(recorder.outcomes) == len(requests)
    return [bodies[request.key] for request in requests]


def said(body: dict[str, Any]) -> str:
    return str(body["choices"][0]["message"]["content"])


def test_a_choice_is_an_option_with_raw_log_probabilities_of_both(backend: VLLMBackend) -> None:
    requests = [ask(f"Which letter comes first, A or B? Case {n}.", **CHOICE) for n in range(5)]
    for body in answers(backend, requests):
        assert said(body) in ("A", "B")
        assert body["choices"][0]["finish_reason"] == "stop"
        assert body["usage"]["completion_tokens"] == 1
        (token,) = body["choices"][0]["logprobs"]["content"]
        masses = {rival["token"]: math.exp(rival["logprob"]) for rival in token["top_logprobs"]}
        assert set(masses) == {"A", "B"}
        assert 0 < sum(masses.values()) < 1 - 1e-6  # not renormalised over the options
        assert max(masses, key=lambda name: masses[name]) == said(body) == token["token"]


def test_options_of_several_tokens_are_chosen_by_a_grammar(backend: VLLMBackend) -> None:
    labels = {"structured_outputs": {"choice": ["hateful speech", "ordinary speech"]}}
    (body,) = answers(backend, [ask("What kind of speech is a weather report?", **labels)])
    assert said(body) in ("hateful speech", "ordinary speech")


def test_json_follows_its_schema(backend: VLLMBackend) -> None:
    scale = {"type": "integer", "minimum": 0, "maximum": 4}
    schema = {"type": "object", "properties": {"funny": scale}, "required": ["funny"]}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    (body,) = answers(backend, [ask("How funny is a spoon? Answer in JSON.", response_format=form)])
    assert json.loads(said(body))["funny"] in range(5)


def test_seeds_decide_sampled_answers(backend: VLLMBackend) -> None:
    def texts(first: int) -> list[str]:
        settings = {"temperature": 1.0, "max_tokens": 12}
        return [
            said(body)
            for body in answers(
                backend, [ask("Tell a story.", n, seed=first + n, **settings) for n in range(1, 5)]
            )
        ]

    assert texts(10) == texts(10)
    assert len(set(texts(10) + texts(20))) > 1


def test_a_prompt_that_is_too_long_ends_alone(backend: VLLMBackend) -> None:
    recorder = MemoryRecorder()
    long, short = ask("word " * 3000, **CHOICE), ask("A or B?", **CHOICE)
    backend.run(iter([long, short]), recorder)
    ends = {outcome.key: outcome for outcome in recorder.outcomes}
    assert ends[long.key].kind == "rejected"
    assert "1024" in ends[long.key].error
    assert ends[short.key].body is not None


def test_settings_tell_versions_and_what_the_engine_uses(backend: VLLMBackend) -> None:
    told = backend.settings()
    assert told["dtype"] == "float32"
    assert told["prefix_caching"] is True
    assert told["tensor_parallel_size"] == 1
    assert told["batch_invariant"] is False
    assert (told["pipeline_parallel_size"], told["data_parallel_size"]) == (1, 1)
    assert told["max_num_seqs"] > 0
    assert told["max_num_batched_tokens"] > 0
    assert all(told[name] for name in ("vllm", "torch", "transformers", "device"))
    json.dumps(told)


def test_a_study_is_collected_and_goes_on_where_it_was(backend: VLLMBackend, tmp_path: Path) -> None:
    from conjury.inference.collecting.jobs import Job, plan
    from conjury.inference.collecting.prices import Budget
    from conjury.inference.collecting.recorder import ask as collect
    from conjury.inference.collecting.run_folder import RunFolder
    from conjury.inference.collecting.run_tables import run_tables
    from conjury.inference.ledger import Ledger
    from conjury.inference.study import load_study

    study = load_study("moderation")
    judge = next(judge for judge in study.judges if judge.id == "smollm2_135m")
    assert judge.ask is not None
    folder = RunFolder(tmp_path)
    folder.draw(study, 6, 0.5, 1)
    content = folder.content(study)
    order = Job(
        study, judge.id, judge.ask, study.prompts[:2], content.subjects, content.count, lambda name: name
    )
    with Ledger.open(folder.ledger) as ledger:
        for expected in (18, 0):
            planned = plan(order, ledger, Budget())
            tally = collect(order, ledger, backend, Budget(), planned, lambda tally: None)
            assert tally.answered == expected
        tables = run_tables(study, ledger.answers(), tasks=content.tasks, profiles=content.profiles)
    choices = tables.choices
    assert choices is not None
    assert (choices["status"] == "ok").all()
    sums = choices.groupby(["prompt_id", "pair_id"], observed=True)["probability"].sum()
    assert len(sums) == 18
    pd.testing.assert_series_equal(sums, pd.Series(1.0, index=sums.index, name="probability"))
