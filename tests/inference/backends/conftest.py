"""Servers on loopback for tests of where bytes and keys go."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.loopback import Endpoint


@pytest.fixture
def listen() -> Iterator[Callable[..., Endpoint]]:
    """Start servers."""
    servers: list[Endpoint] = []

    def start(certificate: Path | None = None, status: int = 200, **headers: str) -> Endpoint:
        server = Endpoint({name.replace("_", "-"): value for name, value in headers.items()}, status)
        if certificate is not None:
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            trust.load_cert_chain(certificate)
            server.socket = trust.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
