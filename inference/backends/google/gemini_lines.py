"""Requests and answers of the Gemini API, translated from and to chat completions.

References
----------
Batch mode, https://ai.google.dev/gemini-api/docs/batch-api
Structured output, https://ai.google.dev/gemini-api/docs/structured-output
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import InputError
from ...ledger.exchanges import TOKEN_LIMITS, Body, Outcome, Request, resolve
from ...ledger.usage import counted_tokens
from ...parsing.finish_reasons import usual_reason
from ..base import LogProbs, text_of, translated
from ..batches.shards import LineFormat, Media, failed, settled
from ..openai.failures import Failure, kind_of, read_failure

NAMES = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
}
BESIDE = ("safetySettings", "tools", "toolConfig", "cachedContent")  # settings outside generationConfig
STATUS = {
    3: 400,
    4: 504,
    5: 404,
    7: 403,
    8: 429,
    9: 400,
    11: 400,
    13: 500,
    14: 503,
    16: 401,
}  # by gRPC's
CANCELLED = 1  # of google.rpc.Code


def content_request(body: Body) -> dict[str, Any]:
    """Translate the body of a chat completion, media put in, into a request to generate content."""
    # Settings that both have are renamed, and others go into `generationConfig` as they are, such as
    # `thinkingConfig`, or stand beside it (`BESIDE`).
    settings = {name: value for name, value in body.items() if name not in ("model", "messages")}
    system = [part for part in body["messages"] if part["role"] == "system"]
    request: dict[str, Any] = {
        "contents": [
            {"role": "model" if part["role"] == "assistant" else "user", "parts": _parts(part["content"])}
            for part in body["messages"]
            if part["role"] != "system"
        ]
    }
    if system:
        request["systemInstruction"] = {
            "parts": [piece for part in system for piece in _parts(part["content"])]
        }
    request |= {name: settings.pop(name) for name in BESIDE if name in settings}
    limits = [settings.pop(name, None) for name in TOKEN_LIMITS]
    limit = next((limit for limit in limits if limit is not None), None)
    config: dict[str, Any] = {} if limit is None else {"maxOutputTokens": limit}
    if (stop := settings.pop("stop", None)) is not None:
        config["stopSequences"] = [stop] if isinstance(stop, str) else list(stop)
    if (form := settings.pop("response_format", None)) is not None:
        config |= {
            "responseMimeType": "application/json",
            "responseJsonSchema": form["json_schema"]["schema"],
        }
    if (options := settings.pop("structured_outputs", None)) is not None:
        schema = {"type": "STRING", "enum": list(options["choice"])}
        config |= {"responseMimeType": "text/x.enum", "responseSchema": schema}
    config |= {NAMES.get(name, name): value for name, value in settings.items()}
    return {**request, "generationConfig": config} if config else request


def content_completion(response: Any) -> bytes:
    """Translate generated content, whatever it contains, into the JSON of one chat completion."""
    fields = _mapping(response)
    candidates = fields.get("candidates")
    first = _mapping(candidates[0]) if isinstance(candidates, list) and candidates else None
    blocked = _mapping(fields.get("promptFeedback")).get("blockReason")
    choices: list[tuple[str | None, str]] = []
    if first is not None:
        reason = text_of(first.get("finishReason"))
        choices = [(_candidate_text(first), usual_reason(reason.lower()))]
    elif isinstance(blocked, str):
        choices = [(None, "content_filter")]
    return translated(
        response,
        name=text_of(fields.get("responseId")),
        model=text_of(fields.get("modelVersion")),
        choices=choices,
        tokens=[] if first is None else _tokens(_mapping(first.get("logprobsResult"))),
        usage=_usage(_mapping(fields.get("usageMetadata"))),
        sound=_audio_tokens(_mapping(fields.get("usageMetadata"))),
    )


def _candidate_text(candidate: dict[str, Any]) -> str:
    """Return the text of a candidate without its thoughts."""
    parts = [_mapping(part) for part in _list(_mapping(candidate.get("content")).get("parts"))]
    return "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))


def _tokens(result: dict[str, Any]) -> list[tuple[str, float, LogProbs]]:
    """Return tokens with the log-probabilities of their rivals; none where a number is missing."""
    chosen = [_token(candidate) for candidate in _list(result.get("chosenCandidates"))]
    tops = _list(result.get("topCandidates"))
    rivals: list[LogProbs] = [
        dict(filter(None, map(_token, _list(_mapping(top).get("candidates"))))) for top in tops
    ]
    rivals += [{}] * (len(chosen) - len(rivals))
    tokens = [(*token, top) for token, top in zip(chosen, rivals, strict=False) if token is not None]
    return tokens if len(tokens) == len(chosen) else []


def _token(value: Any) -> tuple[str, float] | None:
    fields = _mapping(value)
    token, number = fields.get("token"), fields.get("logProbability", 0.0)  # zeros are left out of JSON
    if not isinstance(token, str) or not isinstance(number, int | float):
        return None
    return token, float(number)


def _usage(usage: dict[str, Any]) -> tuple[int, int] | None:
    """Return the tokens in and out, thoughts included; None where they are not stated."""
    into, out = counted_tokens({"usageMetadata": usage})
    return None if into is None else (into, out or 0)


def _audio_tokens(usage: dict[str, Any]) -> int:
    """Return the tokens of the prompt that are sound."""
    details = map(_mapping, _list(usage.get("promptTokensDetails")))
    return sum(_count(detail.get("tokenCount")) for detail in details if detail.get("modality") == "AUDIO")


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else [_part(part) for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part["type"]
    if kind == "text":
        return {"text": part["text"]}
    if kind == "input_audio":
        sound = part[kind]
        return {"inlineData": {"mimeType": f"audio/{sound['format']}", "data": sound["data"]}}
    url = part[kind]["url"]
    if not url.startswith("data:"):
        raise InputError(
            f"{url.split('?')[0]}: pictures and clips are sent to Google inside requests, not by address; "
            "show files (--stimuli images)."
        )
    mime, _, data = url.removeprefix("data:").partition(";base64,")
    return {"inlineData": {"mimeType": mime, "data": data}}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _line(request: Request, media: Media) -> dict[str, Any]:
    return {"key": request.key, "request": content_request(resolve(request.body, media))}


def _key(line: dict[str, Any]) -> object:
    return line.get("key")


def _outcome(key: str, line: dict[str, Any], shard: str) -> Outcome:
    error = line.get("error")
    if error is None and isinstance(line.get("response"), dict):
        return settled(key, 200, content_completion(line["response"]), shard)
    cause = read_failure(0, error if isinstance(error, dict) else {"error": error or "no reason given"})
    error_code = _mapping(error).get("code")
    code = error_code if isinstance(error_code, int) else 0
    if code == CANCELLED:
        return failed(key, cause, "cancelled", shard)
    status = STATUS.get(code, code if code >= 400 else 500)
    failure = Failure(status, cause.code, cause.message)
    return failed(key, failure, kind_of(failure), shard)


LINES = LineFormat("key", _line, _key, _outcome)
