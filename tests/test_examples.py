"""The examples in docstrings give what they print."""

from __future__ import annotations

import doctest
import importlib
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from golden import REPOSITORY

ROOMS: dict[str, list[str]] = defaultdict(list)
for path in sorted(REPOSITORY.glob("[aic]*/**/*.py")):
    place = path.relative_to(REPOSITORY).with_suffix("")
    if place.parts[0] in ("analysis", "inference", "cli") and ">>>" in path.read_text(encoding="utf-8"):
        depth = 4 if place.parts[2:4] == ("engines", "bayes") else 3
        room = ".".join(place.parts[:depth][: len(place.parts) - 1])
        ROOMS[room].append(".".join(("conjury", *place.parts)))


LANES = {
    "analysis.conjoint.engines.bayes": pytest.mark.bayes,
    "analysis.conjoint.power": pytest.mark.long,  # effects among all posts of a shipped study
    "analysis.raters.models": pytest.mark.bayes,
    "inference.collecting": pytest.mark.long,  # runs of a shipped study
}


@pytest.mark.filterwarnings("ignore:No standard error")
@pytest.mark.parametrize("room", [pytest.param(room, marks=LANES.get(room, ())) for room in ROOMS])
def test_examples_in_docstrings_are_true(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # pytest clears up what examples write
    results = {
        name: doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
        for name in ROOMS[room]
    }
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > 0
