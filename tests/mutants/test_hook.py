"""A module is imported from another text, also by processes that a test starts; no file changes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from mutants import hook


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder on the path, while finders and environment go back to what they were."""
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(hook.MUTANT, "")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "made_up_level.py").write_text("LEVEL = 1\n", encoding="utf-8")
    (tmp_path / "traces").mkdir()
    return tmp_path


def test_a_module_is_replaced_here_and_in_child_processes(alone: Path) -> None:
    path = alone / "made_up_level.py"
    hook.install("made_up_level", path, "LEVEL = 2\n", alone / "traces")
    child = [sys.executable, "-c", "import made_up_level; print(made_up_level.LEVEL, made_up_level.__file__)"]
    shown = subprocess.run(child, capture_output=True, text=True, check=True, env={**os.environ}).stdout
    assert shown.split() == ["2", str(path)]
    assert (alone / "traces" / "imported").exists()
    try:
        assert importlib.import_module("made_up_level").LEVEL == 2
    finally:
        sys.modules.pop("made_up_level", None)
    assert path.read_text(encoding="utf-8") == "LEVEL = 1\n"


def test_a_module_that_cannot_be_imported_leaves_a_trace(alone: Path) -> None:
    hook.install("made_up_level", alone / "made_up_level.py", "1 / 0\n", alone / "traces")
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("made_up_level")
    assert {path.name for path in (alone / "traces").iterdir()} >= {"imported", "broken"}


def test_pytest_loads_no_module_of_the_package_in_its_own_way() -> None:
    """`alt_test.py` is named like a test; loaded by pytest its lines would not be recorded."""
    spec = importlib.util.find_spec("conjury.analysis.raters.replacement.alt_test")
    assert spec is not None
    assert type(spec.loader) is SourceFileLoader
