"""A process that asks a share of a run's requests: ``python -m conjury.inference.backends.openai.worker``.

It is told by frames on its standard input what to ask, and writes outcomes as frames to its standard output.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import IO

from ...errors import ConjuryError
from ...ledger.exchanges import Outcome, Request
from ...tables.safe_text import redact
from .live import OpenAIBackend
from .processes import read_frame, write_frame, write_outcome


class RequestShare:
    """Requests of this process, an iterator that may have none now and one later, and their recorder."""

    def __init__(self, source: IO[bytes], sink: IO[bytes], capped: bool) -> None:
        self._taken, self._given, self.capped = source, sink, capped
        self._waiting: deque[Request] = deque()
        self._ended = self._stopped = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while frame := read_frame(self._taken):
            header, parts = frame
            self._stopped |= "stop" in header
            self._ended |= bool({"stop", "end"} & set(header))
            if "key" in header:
                self._waiting.append(Request(header["key"], "", "", "", 1, json.loads(parts[0])))
        os._exit(1)  # the process that this one works for has ended

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def full(self) -> bool:
        """Whether nothing can be asked now, and more may come."""
        return not self._waiting and not self._ended

    def stopping(self) -> bool:
        """Whether to send no further requests."""
        return self._stopped

    def media(self, sha256: str) -> tuple[str, bytes]:
        """Refuse: bodies come with their pictures in them."""
        raise KeyError(sha256)

    def record(self, outcome: Outcome) -> None:
        """Send the end of a request back."""
        write_outcome(self._given, outcome)


def main() -> None:
    """Ask what comes until it ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing but frames is written to the output
    first = read_frame(source)
    if first is None:
        return
    header, _ = first
    share = RequestShare(source, sink, header["capped"])
    backend = OpenAIBackend(**header["backend"])
    try:
        backend.run(share, share)
    except ConjuryError as error:
        write_frame(sink, {"refusal": str(error)})
    except Exception as error:
        failure = redact(f"{type(error).__name__}: {error}", backend.endpoint.secrets)
        write_frame(sink, {"failure": failure})
    write_frame(sink, {"ended": True})
    os._exit(0)  # the listening thread would wait for its input


if __name__ == "__main__":
    main()
