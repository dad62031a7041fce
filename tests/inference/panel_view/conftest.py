"""One run of a conjoint and one of pictures for all tests that only read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from made_up.runs import client_of, collection_of, picture_run, town_run
from starlette.testclient import TestClient

from conjury.inference.panel.view.filters import Collection


@pytest.fixture(scope="session")
def town_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return town_run(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="session")
def other_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same study with another design, in which tasks have the same names."""
    return town_run(tmp_path_factory.mktemp("other"), pairs=8)


@pytest.fixture(scope="session")
def picture_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return picture_run(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="session")
def town_collection(town_files: tuple[Path, Path]) -> Collection:
    return collection_of(*town_files)


@pytest.fixture(scope="session")
def picture_collection(picture_files: tuple[Path, Path]) -> Collection:
    return collection_of(*picture_files)


@pytest.fixture(scope="session")
def town_client(town_collection: Collection) -> TestClient:
    return client_of(town_collection)


@pytest.fixture(scope="session")
def picture_client(picture_collection: Collection) -> TestClient:
    return client_of(picture_collection)


@pytest.fixture
def run(town_files: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """The study and a copy of its run that can be written to."""
    return town_files[0], Path(shutil.copytree(town_files[1], tmp_path / "run"))
