"""A server on loopback that speaks OpenAI's protocol in a process of its own, with faults on order.

``python -m fakes.server '{"latency": 0.1}'`` prints its port and lives until its standard input ends.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from .state import Settings, State

TESTS = Path(__file__).resolve().parents[1]


class FakeServer:
    """Start the server; a context manager.

    Examples
    --------
    >>> with FakeServer(faults={"500": 0.1}) as server:  # doctest: +SKIP
    ...     run(server.url)
    ...     server.counts()["answered"]
    """

    def __init__(self, **settings: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fakes.server", json.dumps(asdict(Settings(**settings)))],
            cwd=TESTS,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.root = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.url = f"{self.root}/v1"

    def counts(self) -> dict[str, Any]:
        """Tell what the server has seen since it was last configured; see ``State.counts``."""
        return dict(self._call("/counts"))

    def bodies(self) -> list[dict[str, Any]]:
        """Return the requests in order of arrival, where ``keep`` was set."""
        return list(self._call("/bodies"))

    def configure(self, **settings: Any) -> None:
        """Behave by these settings from now on, and count from nothing."""
        self._call("/configure", json.dumps(asdict(Settings(**settings))).encode())

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, path: str, data: bytes | None = None) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.root}{path}", data=data, timeout=30) as response:
            return json.load(response)


async def _serve(settings: Settings) -> None:
    from aiohttp import web

    from . import chat

    state = State(settings)
    app = web.Application(client_max_size=512 * 2**20)
    chat.add_routes(app, state)
    for name in ("fakes.batches", "fakes.messages", "fakes.gemini"):
        if importlib.util.find_spec(name):
            importlib.import_module(name).add_routes(app, state)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_serve(Settings(**json.loads(sys.argv[1]))))
