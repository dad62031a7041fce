from __future__ import annotations

import pytest

from conjury.inference.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    with Ledger.open(path) as opened:
        yield opened
