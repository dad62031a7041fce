"""Answers of a server that repeats the key it was sent, in many encodings and places."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any
from urllib.parse import quote

from .answers import completion


def _units(key: str) -> list[str]:
    """The units of UTF-16 of a key, in hexadecimal."""
    return [
        f"{unit:04x}"
        for unit in struct.unpack(f">{len(key.encode('utf-16-be')) // 2}H", key.encode("utf-16-be"))
    ]


FORMS = {
    "plain": lambda key: json.dumps(key, ensure_ascii=False)[1:-1],
    "json": lambda key: "".join(f"\\u{unit}" for unit in _units(key)),
    "JSON": lambda key: json.dumps(key[:-1])[1:-1] + f"\\u{ord(key[-1]):04X}",
    "twice": lambda key: "".join(f"\\\\u{unit}" for unit in _units(key)),
    "url": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "quoted": lambda key: quote(key, safe=""),
    "html": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "hex": lambda key: key.encode().hex(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "basic": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "bearer": lambda key: base64.urlsafe_b64encode(f"Bearer {key}".encode()).decode(),
}
PLACES = ("content", "refusal", "model", "logprobs", "parts", "split", "numbers", "error", "code", "cut")
PLACES += ("utf16",)
_HERE = "THE-KEY"


def echo(way: str, key: str, body: dict[str, Any]) -> tuple[int, bytes]:
    """Return status and content of an answer that repeats ``key``; ``way`` is a form and a place."""
    form, _, place = way.partition("@")
    answer = completion(body)
    choice = answer["choices"][0]
    choice["logprobs"] = None
    status, told = 200, answer
    if place == "content":
        choice["message"]["content"] = f"A {_HERE}"
    elif place == "refusal":
        choice["message"]["refusal"] = f"Not with {_HERE}."
    elif place == "model":
        answer["model"] = _HERE
    elif place == "logprobs":
        choice["logprobs"] = {"content": [{"token": _HERE, "logprob": -0.1, "top_logprobs": []}]}
    elif place == "split":
        pieces = [{"token": letter, "logprob": -0.1, "top_logprobs": []} for letter in f"B {key}!"]
        choice["logprobs"] = {"content": pieces}
    elif place == "parts":
        choice["message"]["content"] = [{"type": "text", "text": part} for part in (key[:5], key[5:])]
    elif place == "numbers":
        choice["logprobs"] = {"content": [{"token": "A", "logprob": -0.1, "bytes": list(key.encode())}]}
    elif place in ("error", "code"):
        error = {"message": "No.", "code": "invalid", place.replace("error", "message"): f"No {_HERE} here."}
        status, told = 422, {"error": error}
    content = json.dumps(told).replace(_HERE, FORMS[form](key)).encode()
    if place == "cut":
        content = json.dumps({"x": _HERE, **answer}).replace(_HERE, FORMS[form](key)).encode()
        content = content[: len(content) // 2]
    if place == "utf16":
        content = content.decode().replace('"Answer', f'"{key} Answer').encode("utf-16-le")
    return status, content
