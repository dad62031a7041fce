from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, Request, request_key

SYSTEM = " ".join(
    f"Rule {number} of this platform says that posts must not break rule {number}." for number in range(18)
)


def make_large(n: int) -> Iterator[Request]:
    for number in range(n):
        images = [f"media:{request_key('', '', str(number), side, {}) * 2}" for side in (1, 2)]
        parts = [{"type": "image_url", "image_url": {"url": image}} for image in images]
        text = {"type": "text", "text": f"Which of the posts of task {number} should go?"}
        body = {
            "model": "m",
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [text, *parts]}],
        }
        yield Request(request_key("m", "p", f"t{number}", 1, body), "m", "p", f"t{number}", 1, body)


def compose(key: str) -> bytes:
    message = {"role": "assistant", "content": "A", "refusal": None}
    usage = {"prompt_tokens": 300, "completion_tokens": 1, "total_tokens": 301}
    return json.dumps({"id": key, "choices": [{"index": 0, "message": message}], "usage": usage}).encode()


def test_similar_bodies_take_little_room(path):
    requests = list(make_large(2000))
    size = sum(len(json.dumps(request.body)) for request in requests)
    with Ledger.open(path) as ledger:
        for request in ledger.pending(requests):
            ledger.record(Outcome(request.key, compose(request.key)))
    assert path.stat().st_size < size / 3


def test_memory_of_pending_does_not_grow_with_the_number_of_requests(ledger):
    peaks = []
    for n in (300, 1500):
        tracemalloc.start()
        for _ in ledger.pending(make_large(n), chunk=50):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
