from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run that has not begun."""
    return tmp_path / "run"
