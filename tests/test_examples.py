"""The examples in docstrings give what they print."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import tempfile
from pathlib import Path

import pytest

LAYERS = ("conjury.analysis", "conjury.inference", "conjury.cli")
MODULES = sorted(
    found.name
    for layer in LAYERS
    for found in pkgutil.walk_packages(importlib.import_module(layer).__path__, f"{layer}.")
    if not found.ispkg
)


SAMPLED = ("conjury.analysis.raters.models.", "conjury.analysis.conjoint.bayes.")


@pytest.mark.filterwarnings("ignore:No standard error")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.bayes if name.startswith(SAMPLED) else ()) for name in MODULES],
)
def test_examples_in_docstrings_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # pytest clears up what examples write
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_examples_are_found_in_both_layers() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    with_examples = [
        name
        for name in MODULES
        if any(found.examples for found in finder.find(importlib.import_module(name)))
    ]
    assert {"conjury.analysis.conjoint.verbs.amce", "conjury.inference.readers.tidy"} <= set(with_examples)
