"""The offline engine of vLLM with a stand-in for the engine: what it is asked, and what becomes of it."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from cases import cases
from fakes.recorder import MemoryRecorder, made_up_requests

from conjury.inference.backends import vllm
from conjury.inference.backends.vllm import VLLMBackend, sampling_fields, token_of_each
from conjury.inference.errors import InputError

LETTERS = {"A": [7], "B": [8], "AB": [7, 8]}


class Engine:
    """Answers A with log-probabilities; posts named as unfit are refused with all that came with them."""

    chunks: ClassVar[list[int]]
    unfit: ClassVar[set[str]]

    def __init__(self, model: str, **_: Any) -> None:
        Engine.chunks = []

    def get_tokenizer(self) -> Any:
        return SimpleNamespace(encode=lambda text, add_special_tokens: LETTERS[text])

    def chat(self, messages: list[Any], sampling_params: list[Any], use_tqdm: bool) -> list[Any]:
        Engine.chunks.append(len(messages))
        if self.unfit & {message[0]["content"] for message in messages}:
            raise ValueError("too long\nby far")
        top = {
            7: SimpleNamespace(decoded_token="A", logprob=-0.1),
            8: SimpleNamespace(decoded_token="B", logprob=float("-inf")),
        }
        made = SimpleNamespace(text="A", token_ids=[7], finish_reason="length", logprobs=[top])
        return [SimpleNamespace(outputs=[made], prompt_token_ids=[1, 2, 3]) for _ in messages]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> VLLMBackend:
    names = {
        "vllm": {"LLM": Engine, "SamplingParams": dict},
        "vllm.exceptions": {"VLLMValidationError": KeyError},
    }
    for name, content in {**names, "vllm.sampling_params": {"StructuredOutputsParams": dict}}.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    Engine.unfit = set()
    return VLLMBackend("tiny")


@pytest.mark.parametrize(("settings", "fields"), cases(__file__, "sampling_fields"))
def test_a_choice_of_single_tokens_is_drawn_among_them_and_others_follow_a_grammar(settings, fields):
    tokenizer = SimpleNamespace(encode=lambda text, add_special_tokens: LETTERS[text])
    body = {"model": "m", "messages": [], **settings}
    assert sampling_fields(body, lambda options: token_of_each(tokenizer, options)) == fields


def test_a_setting_that_the_engine_does_not_accept_is_refused():
    with pytest.raises(InputError, match="name best_of"):
        sampling_fields({"model": "m", "messages": [], "best_of": 2}, lambda options: None)


def test_requests_are_answered_in_growing_chunks_with_their_log_probabilities(backend, monkeypatch):
    recorder = MemoryRecorder()
    requests = made_up_requests(200, structured_outputs={"choice": ["A", "B"]}, logprobs=True)
    for request in requests:
        del request.body["max_tokens"]
    backend.run(iter(requests), recorder)
    assert Engine.chunks == [64, 128, 8]
    assert [outcome.key for outcome in recorder.outcomes] == [request.key for request in requests]
    answer = json.loads(recorder.outcomes[0].body)
    assert answer["usage"]["prompt_tokens"] == 3
    (choice,) = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("A", "stop")
    (token,) = choice["logprobs"]["content"]
    assert {one["token"]: one["logprob"] for one in token["top_logprobs"]} == {"A": -0.1, "B": vllm.NEVER}


def test_a_request_that_the_engine_refuses_ends_alone(backend):
    requests = made_up_requests(3)
    Engine.unfit.add(requests[1].body["messages"][0]["content"])
    recorder = MemoryRecorder()
    backend.run(iter(requests), recorder)
    assert [outcome.kind for outcome in recorder.outcomes] == ["", "rejected", ""]
    assert recorder.outcomes[1].error == "too long"
    assert [(each.status, each.seconds) for each in recorder.outcomes[1].attempts] == [(0, 0.0)]
    assert json.loads(recorder.outcomes[0].body)["choices"][0]["finish_reason"] == "length"
