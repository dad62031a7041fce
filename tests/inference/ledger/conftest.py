from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Request, request_key

MakeRequests = Callable[..., list[Request]]


def make_request(number: int, judge: str = "m", prompt: str = "p") -> Request:
    body = {"model": judge, "messages": [{"role": "user", "content": f"Is post {number} fine? ÄÖ 笑"}]}
    subject = f"task_{number}"
    return Request(
        request_key(judge, prompt, subject, 1, body), judge, prompt, subject, 1, body, {"swap": True}
    )


@pytest.fixture
def make_requests():
    def make(n: int, judge: str = "m", prompt: str = "p") -> list[Request]:
        return [make_request(number, judge, prompt) for number in range(n)]

    return make


@pytest.fixture
def answer():
    def compose(content: str = "A", **more: Any) -> bytes:
        usage = {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 32}
        message = {"role": "assistant", "content": content}
        return json.dumps({"choices": [{"index": 0, "message": message}], "usage": usage, **more}).encode()

    return compose


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    with Ledger.open(path) as opened:
        yield opened
