"""A server on loopback that notes what it was sent, or a proxy."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .answers import completion

BODY = {"model": "m", "messages": [{"role": "user", "content": "Text"}]}


class Endpoint(ThreadingHTTPServer):
    """A server on loopback that answers chat completions and notes what it was sent; also a proxy."""

    daemon_threads = True

    def __init__(self, headers: dict[str, str], status: int = 200) -> None:
        self.headers, self.status = headers, status
        self.lines: list[str] = []
        self.seen: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Chat completions, and CONNECT to whatever is asked for."""

    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self._note()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = json.dumps(completion(BODY)).encode()
        self.send_response(self.server.status)
        for name, value in {**self.server.headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_CONNECT(self) -> None:
        self._note()
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            backward = threading.Thread(target=pump, args=(there, self.connection), daemon=True)
            backward.start()
            pump(self.connection, there)
            backward.join(5)

    def _note(self) -> None:
        self.server.lines.append(self.requestline)
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})

    def log_message(self, *_: Any) -> None:
        pass


def pump(source: Any, sink: Any) -> None:
    """Copy bytes from one socket to another."""
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(1)
