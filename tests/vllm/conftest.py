"""A real small language model, loaded once, and a tiny vision model with random weights."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = find_spec("vllm")  # this folder itself may be found by that name, as a package without files
    missing = found is None or found.origin is None
    here = str(Path(__file__).parent)  # as text: parents of paths of ten thousand tests take seconds
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.vllm)
            if missing:
                item.add_marker(pytest.mark.skip(reason="vLLM is not in this environment (make test-vllm)"))


@pytest.fixture(scope="session")
def weights() -> Path:
    prepared: Path = runpy.run_path(str(Path(__file__).with_name("model.py")))["prepare"]()
    return prepared
