"""Results of a conjoint with made-up numbers, to read and to change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from made_up.results import write_results


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("made_up") / "results")


@pytest.fixture
def copy(results: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results, tmp_path / "copy"))
