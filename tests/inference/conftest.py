"""One fake server for all tests of inference."""

from __future__ import annotations

import pytest
from fakes.server import FakeServer


@pytest.fixture(scope="session")
def running_server():
    with FakeServer() as server:
        yield server


@pytest.fixture
def server(running_server):
    """A server without faults that has seen nothing."""
    running_server.configure()
    return running_server
