"""One fake server for all tests of inference, and a small study."""

from __future__ import annotations

import pytest
from fakes.server import FakeServer
from fakes.studies import towns, write_study

from conjury.inference.ledger import Ledger


@pytest.fixture(scope="session")
def running_server():
    with FakeServer() as server:
        yield server


@pytest.fixture
def server(running_server):
    """A server without faults that has seen nothing."""
    running_server.configure()
    return running_server


@pytest.fixture
def study(tmp_path):
    """The folder of a small conjoint study."""
    return write_study(tmp_path / "towns", towns())


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened
