"""A small study."""

from __future__ import annotations

import pytest
from fakes.studies import towns, write_study

from conjury.inference.ledger import Ledger


@pytest.fixture
def study(tmp_path):
    """The folder of a small conjoint study."""
    return write_study(tmp_path / "towns", towns())


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened
