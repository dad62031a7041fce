"""The Responses API beside chat completions: requests, answers, and a run."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from fakes.studies import change_study, towns, write_study

from conjury.inference.backends.openai.replies import read_reply
from conjury.inference.backends.openai.responses import response_request
from conjury.inference.collecting import Asking, Running, collect
from conjury.inference.errors import InputError
from conjury.inference.parsing import ResponseSpec, read_answer, read_completion

TOKEN = {"token": "B", "logprob": -0.105, "top_logprobs": [{"token": "A", "logprob": -2.303}]}
REASONING = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm. A?"}]}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": list(parts)}
    usage = {"input_tokens": 9, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 4}}
    whole = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "usage": usage}
    return {**whole, "output": [REASONING, message], "error": None, **fields}


def read(content: dict[str, Any]) -> Any:
    reply = read_reply(200, {}, json.dumps(content).encode())
    assert reply.body is not None, reply.error
    stored = json.loads(reply.body)
    assert stored["original"] == content
    return read_completion(stored)


def test_a_response_is_read_as_a_chat_completion_with_tokens_reasoning_and_usage():
    answer = read(response({"type": "output_text", "text": "B", "logprobs": [TOKEN]}))
    assert (answer.text, answer.reasoning, answer.ending, answer.model) == ("B", "Hm. A?", "stop", "m")
    assert (answer.prompt_tokens, answer.completion_tokens) == (9, 7)
    reading = read_answer(answer, ResponseSpec("choice"), {})[0]
    assert reading.probability == pytest.approx(0.1, abs=1e-3)


def test_ends_refusals_and_errors_of_responses_have_their_status():
    cut = read(response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert read_answer(cut, ResponseSpec("choice"), {})[0].status == "truncated"
    filtered = read(response(status="incomplete", incomplete_details={"reason": "content_filter"}))
    assert read_answer(filtered, ResponseSpec("choice"), {})[0].status == "refused"
    refusal = read(response({"type": "refusal", "refusal": "No."}))
    assert read_answer(refusal, ResponseSpec("choice"), {})[0].status == "refused"
    error = {"code": "rate_limit_exceeded", "message": "Slow. Try again in 3s."}
    reply = read_reply(200, {}, json.dumps(response(status="failed", error=error)).encode())
    assert (reply.kind, reply.wait) == ("rate_limit", 3)


def test_a_body_becomes_a_request_for_a_response():
    schema = {"name": "answer", "strict": True, "schema": {"type": "object"}}
    url = "data:image/png;base64,AAAA"
    parts = [{"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {
        "model": "m",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": parts}],
        "max_tokens": 1,
        "seed": 3,
        "temperature": 0,
        "reasoning_effort": "low",
        "logprobs": True,
        "top_logprobs": 5,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    content = [{"type": "input_text", "text": "Which?"}, {"type": "input_image", "image_url": url}]
    assert response_request(body) == {
        "model": "m",
        "input": [{"role": "system", "content": "Judge."}, {"role": "user", "content": content}],
        "store": False,
        "max_output_tokens": 16,
        "temperature": 0,
        "top_logprobs": 5,
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
        "text": {"format": {"type": "json_schema", **schema}},
    }
    with pytest.raises(InputError, match="has no 'stop'; remove it"):
        response_request({**body, "stop": ["."]})
    with pytest.raises(InputError, match=r"takes: \[image\]"):
        response_request({**body, "messages": [{"role": "user", "content": [{"type": "video_url"}]}]})


@pytest.mark.long
def test_a_run_asks_by_responses_where_a_study_says_so(server, tmp_path):
    study = write_study(tmp_path / "towns", towns())
    asking = Asking(base_url=server.url, answer="free")
    error = {"error": {"message": "This model is only supported in v1/responses.", "code": None}}
    server.configure(status=404, error=error["error"])
    with pytest.raises(InputError, match="write 'api: responses' under 'ask'"):
        collect(study / "study.yaml", "judge", asking=asking, running=Running(pairs=2), out=tmp_path / "chat")
    change_study(study, lambda content: content["judges"][1]["ask"].update(api="responses"))
    text = {"type": "output_text", "text": "Answer: B"}
    server.configure(replies=[[200, {}, response(text)]], keep=True)
    run = collect(
        study / "study.yaml", "judge", asking=asking, running=Running(pairs=2), out=tmp_path / "run"
    )
    assert run.tally.answered > 0
    assert {"input", "store"} <= set(server.bodies()[0])
    judgments = pd.read_parquet(tmp_path / "run" / "judgments.parquet")
    assert set(judgments["value"]) == {"B"}
    with pytest.raises(InputError, match="'api: responses' of the judge applies to live requests"):
        collect(study / "study.yaml", "judge", asking=asking, running=Running(pairs=2, batch=True))
