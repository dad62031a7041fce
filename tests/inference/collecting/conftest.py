"""The small studies of tests of collecting."""

from __future__ import annotations

import pytest
from fakes.studies import towns, write_study


@pytest.fixture
def study(tmp_path):
    """The folder of a small conjoint study."""
    return write_study(tmp_path / "towns", towns())
