"""A server of OpenAI's protocol with an accent: it treats settings as a profile of data/servers.yaml says."""

from __future__ import annotations

import json
import re
from typing import Any

from .answers import completion

WORD = re.compile(r"single word (\w+)")
FIELDS = {"seed": ("seed",), "logprobs": ("logprobs", "top_logprobs"), "temperature": ("temperature",)}
FIELDS |= {"structured": ("response_format",), "n": ("n",)}


def accented(profile: dict[str, Any], body: dict[str, Any], turn: int) -> tuple[int, Any]:
    """Answer a request as the server of a profile does; return status and body."""
    for setting, names in FIELDS.items():
        name = next(
            (name for name in names if body.get(name) not in (None, False, 1 if name == "n" else None)), ""
        )
        if profile[setting] == "refused" and name:
            return refusal(profile, f"Unsupported parameter: '{name}' is not supported.")
    if profile["limit"] == "max_completion_tokens" and "max_tokens" in body:
        words = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return refusal(profile, f"Unsupported parameter: {words}")
    answer = completion(body)
    choice = answer["choices"][0]
    choice["message"]["content"] = _text(profile, body, turn)
    choice["logprobs"] = _logprobs(profile, body, choice["message"]["content"])
    choice["finish_reason"] = profile["ends"][0]
    if profile.get("reasoning") == "parts":
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm. A or B?"}]}
        text = {"type": "text", "text": choice["message"]["content"]}
        choice["message"]["content"] = [thought, text]
    elif profile.get("reasoning"):
        choice["message"][profile["reasoning"]] = "Hm. A or B?"
    if body.get("n", 1) > 1 and profile["n"] in ("kept", "model"):
        further = {**choice, "index": 1, "message": {**choice["message"], "content": f"{turn + 1}000"}}
        answer["choices"].append(further)
    answer["id"] = f"{answer['id']}-{turn}"
    return 200, answer


def limited(profile: dict[str, Any], seconds: float) -> tuple[dict[str, str], Any]:
    """Headers and body by which a server turns a request away, with the wait where it states one."""
    headers = {"retry-after": f"{seconds:g}"} if "header" in profile["wait"] else {}
    error: dict[str, Any] = {"message": "Too many requests.", "code": 429}
    if "body" in profile["wait"]:
        error["message"] += f" Please try again in {seconds:g}s."
    return headers, [{"error": error}] if "list" in profile["errors"] else {"error": error}


def refusal(profile: dict[str, Any], message: str) -> tuple[int, Any]:
    """Refuse a request in the form of the server."""
    content = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    if "list" in profile["errors"]:
        return 400, [content]
    if "success" in profile["errors"]:
        return 200, {"error": {"message": message, "code": 400}}
    return (422, {"detail": message}) if profile["id"] == "mistral" else (400, content)


def _text(profile: dict[str, Any], body: dict[str, Any], turn: int) -> str:
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema and profile["structured"] in ("kept", "model"):
        return json.dumps({name: part["enum"][0] for name, part in schema["properties"].items()})
    first = body["messages"][0]
    word = WORD.search(first["content"]) if first["role"] == "system" else None
    if word and profile["system"] in ("kept", "model"):
        return word[1]
    if "number" in body["messages"][-1]["content"]:
        kept = profile["seed"] in ("kept", "model") and body.get("seed") is not None
        return str(4_242 if kept else 1_000 + turn)
    return "B"


def _logprobs(profile: dict[str, Any], body: dict[str, Any], text: str) -> Any:
    most = profile["logprobs"]
    if not body.get("logprobs") or most in ("ignored", "refused"):
        return None
    n = {"chosen": 0, "model": 20}.get(most, most)
    names = [text, "A", "B", "C", "D", "E"][: min(n, body.get("top_logprobs") or 0)]
    top = [{"token": name, "logprob": -0.2 - 2.0 * place} for place, name in enumerate(names)]
    if profile.get("form") == "old":
        rivals = {"B": -0.2, "A": -1.7, "C": -5.0} if body["logprobs"] is not True else None
        return {"tokens": [text], "token_logprobs": [-0.2], "top_logprobs": rivals and [rivals]}
    return {"content": [{"token": text, "logprob": -0.2, "top_logprobs": top}]}
