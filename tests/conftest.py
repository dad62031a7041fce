"""Skips, with a reason, the tests whose partner is not here: R, cregg, Chromium, fonts, reference tables."""

from __future__ import annotations

import gc
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fakes.server import FakeServer
from shared_folder import AVAILABLE, SHARED

from conjury.inference.errors import OF_COMMAND

if TYPE_CHECKING:
    from conjury.inference.vignettes import Fonts


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference tables that is not part of the repository."""
    if not AVAILABLE:
        pytest.skip(why_no_shared() or "")
    return SHARED


@pytest.fixture(scope="session")
def running_server() -> Iterator[FakeServer]:
    """One fake server of a provider for all tests of a process."""
    with FakeServer() as server:
        yield server


@pytest.fixture
def server(running_server: FakeServer) -> FakeServer:
    """A server without faults that has seen nothing."""
    running_server.configure()
    return running_server


@pytest.fixture(scope="session")
def fonts() -> Fonts:
    """Fonts of pictures, with colour emoji and text from right to left."""
    from conjury.inference.errors import MissingDependency
    from conjury.inference.vignettes import Fonts

    try:
        found = Fonts.find()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    if not found.shaping:
        pytest.skip("libfribidi is not installed")
    if found.emoji is None:
        pytest.skip("no font with colour emoji")
    return found


def why_no_shared() -> str | None:
    return None if AVAILABLE else "no shared reference folder; CONJURY_SHARED may name it"


@cache
def why_no_r(package: str) -> str | None:
    if find_spec("rpy2") is None:
        return "rpy2 is not installed"
    if shutil.which("Rscript") is None:
        return "R is not installed"
    question = f'cat(nzchar(system.file(package = "{package}")))'
    answer = subprocess.run(
        ["Rscript", "-e", question], capture_output=True, text=True, timeout=60, check=False
    )
    return None if answer.stdout == "TRUE" else f"R's package {package} is not installed"


def why_no_bayes() -> str | None:
    missing = [name for name in ("pymc", "nutpie", "arviz") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed (the extra bayes)" if missing else None


def why_no_browser() -> str | None:
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not found" if missing else None


REASONS: dict[str, Callable[[], str | None]] = {
    "shared": why_no_shared,
    "r": lambda: why_no_r("survey"),
    "cregg": lambda: why_no_r("cregg"),
    "browser": why_no_browser,
    "bayes": why_no_bayes,
}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the collector of cycles the modules and items, which last until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    OF_COMMAND.set(True)  # tests expect sentences in the words of commands, by whoever they are raised


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, why_not in REASONS.items():
        if item.get_closest_marker(marker) is not None and (reason := why_not()):
            pytest.skip(reason)
