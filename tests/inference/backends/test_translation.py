"""Chat completions translated to and from the interfaces of Anthropic and Google."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import cases

pytest.importorskip("openai")

from fakes.messages import LIMITS, UNSUPPORTED, fault_of
from hypothesis import given, settings
from hypothesis import strategies as st

from conjury.inference.backends.anthropic.anthropic_lines import LINES as ANTHROPIC
from conjury.inference.backends.anthropic.anthropic_lines import (
    listed_schema,
    message_completion,
    message_params,
)
from conjury.inference.backends.batches.shards import LineTally, outcomes_of
from conjury.inference.backends.google.gemini_lines import LINES as GOOGLE
from conjury.inference.backends.google.gemini_lines import content_completion, content_request
from conjury.inference.backends.openai.replies import read_reply
from conjury.inference.collecting.prices import stated_tokens
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import FINAL, TRANSIENT, Request, request_key
from conjury.inference.parsing import read_completion
from conjury.inference.requests.building import answer_schema
from conjury.inference.study.asking import MAX_TOKENS, Choice, Ratings, Scale

SCHEMA = answer_schema(
    Ratings(form="ratings", scales=[Scale(id="hate", label="Hate", minimum=1, maximum=3)]), ["hate"]
)
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(("provider", "body", "expected"), cases(__file__, "bodies"))
def test_a_body_becomes_parameters_of_a_message_or_a_request_to_generate_content(provider, body, expected):
    before = json.dumps(body)
    assert {"anthropic": message_params, "google": content_request}[provider](body) == expected
    assert json.dumps(body) == before


def test_what_a_provider_cannot_be_shown_or_asked_is_refused_with_the_remedy():
    def asked(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": list(parts)}], **more}

    clip = {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AA"}}
    sound = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
    link = {"type": "image_url", "image_url": {"url": "https://a.example/x.png?token=1"}}
    for part in (clip, sound):
        with pytest.raises(InputError, match=r"takes: \[image\]"):
            message_params(asked(part))
    with pytest.raises(InputError, match="no log-probabilities; set 'answer: json'"):
        message_params(asked(logprobs=True, top_logprobs=5))
    with pytest.raises(InputError, match=r"^https://a\.example/x\.png: .*--stimuli images"):
        content_request(asked(link))
    assert content_request(asked(clip, sound))["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "video/mp4", "data": "AA"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AA"}},
    ]


TEXTS = st.text(max_size=20)
CONTENT = TEXTS | st.lists(
    st.just(IMAGE) | TEXTS.map(lambda text: {"type": "text", "text": text}), min_size=1
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 1),
        "top_p": st.floats(0, 1),
        "max_tokens": st.integers(1, 100),
        "max_completion_tokens": st.integers(1, 100),
        "stop": TEXTS | st.lists(TEXTS, max_size=3),
        "seed": st.integers(0, 2**31 - 1),
        "response_format": st.just(FORM),
    },
)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    system = draw(st.lists(TEXTS, max_size=1))
    messages = [{"role": "system", "content": text} for text in system]
    messages.append({"role": "user", "content": draw(CONTENT)})
    return {"model": "m", "messages": messages, **draw(SETTINGS)}


def texts_of(value: Any) -> list[str]:
    """All texts and data of messages in their order."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list) else [value[name] for name in value]
    return [text for part in parts for text in texts_of(part)]


def no_media(name: str) -> tuple[str, bytes]:
    raise KeyError(name)


@settings(max_examples=40, deadline=None)
@given(bodies())
def test_every_text_and_setting_arrives_and_nothing_that_is_not_accepted(body):
    params, request = message_params(body), content_request(body)
    assert fault_of({"requests": [{"custom_id": "a", "params": params}]}) == ""
    assert not UNSUPPORTED & set(params)
    assert not any(f'"{limit}"' in json.dumps(params.get("output_config", {})) for limit in LIMITS)
    for message in body["messages"]:
        content = message["content"]
        shown = [content] if isinstance(content, str) else [part.get("text", "AAAA") for part in content]
        found = params["system"] if message["role"] == "system" else params["messages"][0]["content"]
        google = request["systemInstruction" if message["role"] == "system" else "contents"]
        assert [text for text in texts_of(found) if text in shown or text == "AAAA"] != []
        assert [text for text in texts_of(google) if text in shown][-len(shown) :] == shown
    config = request.get("generationConfig", {})
    for name, named in (("temperature", "temperature"), ("top_p", "topP"), ("seed", "seed")):
        assert config.get(named) == body.get(name)
    assert params.get("temperature") == body.get("temperature")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    assert config.get("maxOutputTokens") == limit
    assert params["max_tokens"] == (MAX_TOKENS["anthropic"] if limit is None else limit)


@settings(max_examples=40, deadline=None)
@given(bodies())
def test_a_line_names_its_request_and_no_other(body):
    request = Request(request_key("j", "p", "s", 1, body), "j", "p", "s", 1, body)
    for form in (ANTHROPIC, GOOGLE):
        line = json.loads(form.write(request, no_media))
        assert line[form.id_field] == request.key
        assert form.write(request, no_media).count(b"\n") == 1
        assert form.write(request, no_media).startswith(
            b'{"%s":"%s",' % (form.id_field.encode(), request.key.encode())
        )
    assert ANTHROPIC.key({"custom_id": f"{request.key}-0123456789abcdef"}) == request.key


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
MESSAGE_FIELDS = ("id", "model", "content", "stop_reason", "stop_details", "usage")
GENERATED_FIELDS = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId")


def shaped(*names: str) -> st.SearchStrategy[Any]:
    return ANYTHING | st.fixed_dictionaries({}, optional=dict.fromkeys(names, ANYTHING))


CANDIDATE = shaped("content", "finishReason", "logprobsResult")
HOSTILE = {
    "anthropic": (message_completion, shaped(*MESSAGE_FIELDS)),
    "google": (
        content_completion,
        shaped(*GENERATED_FIELDS) | st.fixed_dictionaries({"candidates": st.lists(CANDIDATE, min_size=1)}),
    ),
}


@pytest.mark.parametrize("provider", HOSTILE)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_comes_is_kept_whole_and_read_without_an_error(provider, data):
    translate, answers = HOSTILE[provider]
    original = data.draw(answers)
    content = translate(original)
    answer = json.loads(content)
    assert answer["original"] == original
    read = read_completion(answer)
    assert isinstance(read.text, str)
    reply = read_reply(200, {}, content)
    assert reply.error == read.error
    assert (reply.body == content) == (reply.kind == "")
    stated_tokens(answer)


@settings(max_examples=40, deadline=None)
@given(st.lists(shaped("custom_id", "key", "result", "response", "error"), max_size=4))
def test_hostile_lines_end_no_more_than_the_requests_that_they_name(lines):
    written = [json.dumps(line).encode() for line in lines]
    for form in (ANTHROPIC, GOOGLE):
        ends = list(outcomes_of(written, {"a"}, LineTally(), form, "shard"))
        assert len(ends) <= 1


MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "model": "claude-x",
    "content": [{"type": "thinking", "thinking": "Hm. B"}, {"type": "text", "text": "A"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 4},
}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        *(("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length")),
        *(("model_context_window_exceeded", "length"), ("refusal", "content_filter"), ("novel", "novel")),
    ],
)
def test_a_message_is_read_without_its_thoughts(reason, finish):
    answer = read_completion(json.loads(message_completion({**MESSAGE, "stop_reason": reason})))
    assert (answer.text, answer.finish_reason, answer.model) == ("A", finish, "claude-x")
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 4)
    assert (answer.ending == "content_filter") == (reason == "refusal")


BLOCKED = ("SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION", "IMAGE_SAFETY")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), *((reason, "content_filter") for reason in BLOCKED)],
)
def test_an_answer_of_google_ends_for_the_reason_that_is_stated(reason, finish):
    candidate = {"content": {"parts": [{"text": "A"}]}, "finishReason": reason}
    answer = read_completion(json.loads(content_completion({"candidates": [candidate]})))
    assert answer.ending == finish


@pytest.mark.parametrize("code", [[1], {}, None, "3", True, 3.0, 10**9, -1])
def test_an_error_of_any_code_ends_its_request(code):
    line = {"key": "a", "error": {"code": code, "message": ["odd"]}, "result": {"type": code, "error": code}}
    for form in (GOOGLE, ANTHROPIC):
        assert form.outcome("a", line, "shard").kind in (*TRANSIENT, *FINAL)


STATUS = dict(cases(__file__, "status of codes"))


@pytest.mark.parametrize("code", STATUS)
def test_codes_of_google_become_the_status_of_http(code):
    outcome = GOOGLE.outcome("a", {"key": "a", "error": {"code": code, "message": "No."}}, "shard")
    assert [attempt.status for attempt in outcome.attempts] == [STATUS[code]]


def test_tokens_that_are_not_stated_are_missing():
    silent = {name: value for name, value in MESSAGE.items() if name != "usage"}
    assert stated_tokens(json.loads(message_completion(silent))) == (None, None)
    assert stated_tokens(json.loads(content_completion({"candidates": [{}]}))) == (None, None)


def test_log_probabilities_of_google_are_those_of_the_first_token():
    top = [{"token": "B", "logProbability": -0.5}, {"token": "A", "logProbability": -1.0}]
    result = {"chosenCandidates": top[:1], "topCandidates": [{"candidates": top}]}
    candidate = {"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP", "logprobsResult": result}
    answer = read_completion(json.loads(content_completion({"candidates": [candidate]})))
    assert answer.tokens == [
        {
            "token": "B",
            "logprob": -0.5,
            "top_logprobs": [{"token": "B", "logprob": -0.5}, {"token": "A", "logprob": -1.0}],
        }
    ]
    certain = {**result, "chosenCandidates": [{"token": "B"}]}  # zero is left out of JSON
    (token,) = read_completion(
        json.loads(content_completion({"candidates": [{**candidate, "logprobsResult": certain}]}))
    ).tokens
    assert token["logprob"] == 0.0


def test_limits_of_a_schema_are_listed_where_they_are_few():
    def number(low: int, high: int) -> dict[str, Any]:
        return {"type": "integer", "minimum": low, "maximum": high}

    assert listed_schema(number(-1, 1)) == {"type": "integer", "enum": [-1, 0, 1]}
    assert listed_schema(number(0, 1000)) == {"type": "integer"}
    listed = listed_schema({"type": "array", "minItems": 2, "items": number(1, 2)})
    assert listed == {"type": "array", "items": {"type": "integer", "enum": [1, 2]}}
    choice = answer_schema(Choice(form="choice"), ["B", "A"])
    assert listed_schema(choice) == choice


@pytest.mark.parametrize("code", ["billing_error", "permission_error", "authentication_error"])
def test_a_fault_of_the_account_does_not_end_a_request_for_good(code):
    error = {"type": "error", "error": {"type": code, "message": "Your credit balance is too low."}}
    line = {"custom_id": "k-a", "result": {"type": "errored", "error": error}}
    outcome = ANTHROPIC.outcome("k", line, "s")
    assert outcome.kind in TRANSIENT
    assert "credit balance" in outcome.error


def test_tokens_of_sound_are_kept_in_the_usage():
    details = [{"modality": "TEXT", "tokenCount": 7}, {"modality": "AUDIO", "tokenCount": 40}]
    usage = {"promptTokenCount": 47, "candidatesTokenCount": 1, "promptTokensDetails": details}
    answer = json.loads(content_completion({"candidates": [], "usageMetadata": usage}))
    assert answer["usage"]["prompt_tokens_details"] == {"audio_tokens": 40}
    assert (
        "prompt_tokens_details"
        not in json.loads(content_completion({"usageMetadata": {"promptTokenCount": 1}}))["usage"]
    )
