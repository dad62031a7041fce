"""The examples in docstrings give what they print."""

from __future__ import annotations

import doctest
import importlib
import inspect
import tempfile
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
from shared_folder import REPOSITORY

ROOMS: dict[str, list[str]] = defaultdict(list)
for path in sorted(REPOSITORY.glob("[aic]*/**/*.py")):
    place = path.relative_to(REPOSITORY).with_suffix("")
    if place.parts[0] in ("analysis", "inference", "cli") and ">>>" in path.read_text(encoding="utf-8"):
        depth = 4 if place.parts[2:4] == ("engines", "bayes") else 3
        room = ".".join(place.parts[:depth][: len(place.parts) - 1])
        ROOMS[room].append(".".join(("conjury", *place.parts)))


LANES = {
    "analysis.audit.published": pytest.mark.slow,  # every number of a published table
    "analysis.checks": pytest.mark.long,
    "analysis.conjoint.engines.bayes": pytest.mark.bayes,
    "analysis.conjoint.power": pytest.mark.slow,  # effects among all posts of a shipped study
    "analysis.raters.models": pytest.mark.bayes,
    "inference.collecting": pytest.mark.slow,  # runs of a shipped study
    "inference.collecting.answering": pytest.mark.slow,
    "inference.panel": pytest.mark.slow,  # panels of a shipped study
    "inference.panel.elsewhere": pytest.mark.slow,  # panels of a shipped study
    "inference.panel.web": pytest.mark.slow,
    "inference.vignettes.jobs": pytest.mark.long,
}


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too."""

    def _from_module(self, module: ModuleType | None, object: object) -> bool:
        return super()._from_module(module, inspect.unwrap(object) if callable(object) else object)


def failed_and_tried(name: str) -> tuple[int, int]:
    """Count the examples of a module that fail, and all of them."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in Finder(exclude_empty=True).find(module, name):
        runner.run(test)
    return runner.failures, runner.tries


@pytest.mark.filterwarnings("ignore:No standard error")
@pytest.mark.parametrize("room", [pytest.param(room, marks=LANES.get(room, ())) for room in ROOMS])
def test_examples_in_docstrings_are_true(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # pytest clears up what examples write
    results = {name: failed_and_tried(name) for name in ROOMS[room]}
    assert {name: failed for name, (failed, _) in results.items() if failed} == {}
    for name, (_, tried) in results.items():
        source = Path(str(importlib.import_module(name).__file__)).read_text(encoding="utf-8")
        run = source.count("\n    >>> ") - source.count("# doctest: +SKIP")
        assert tried >= run / 2, f"examples of {name} were not found"
