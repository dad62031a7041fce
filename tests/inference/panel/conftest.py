"""Databases of panels: SQLite, and a PostgreSQL server of our own on a socket."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up.panels import Clock, plan_of
from postgres import new_database, programs_of_postgres, unprivileged

from conjury.inference.panel.visits import Visits


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Address of a server that this session started on a socket, without the name of a database."""
    programs = programs_of_postgres()
    if programs is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: postgresql)")
    prefix = unprivileged()
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        folder.chmod(0o777)
        data = folder / "data"

        def run(program: str, *arguments: str) -> None:
            command = [*prefix, str(programs / program), *arguments]
            log = folder / f"{program}.txt"
            with log.open("w") as file:  # a pipe would stay open as long as the server runs
                done = subprocess.run(command, stdout=file, stderr=file, timeout=120, cwd=folder, check=False)
            assert not done.returncode, log.read_text()

        run("initdb", "-D", str(data), "-U", "conjury", "-A", "trust", "-N", "--no-instructions")
        quick = f"-c listen_addresses= -c fsync=off -c max_connections=60 -k {folder}"
        run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", quick, "start")
        try:
            yield f"postgresql+psycopg://conjury@/{{name}}?host={folder}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.long])])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty database, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'people.sqlite'}"
    return new_database(request.getfixturevalue("postgres_server"))


@pytest.fixture
def opened(tmp_path: Path, database: str, clock: Clock):
    """Open visits of the small study, in a database of either kind."""
    made: list[Visits] = []

    def run(people: int = 3, **panel: Any) -> Visits:
        made.append(Visits.open(plan_of(tmp_path, people, panel), database, now=clock))
        return made[-1]

    yield run
    for visits in made:
        visits.close()


@pytest.fixture
def alone(tmp_path: Path, clock: Clock):
    """Open visits of the small study in the file of its run."""
    made: list[Visits] = []

    def run(people: int = 3, panel: dict[str, Any] | None = None) -> Visits:
        made.append(Visits.open(plan_of(tmp_path, people, panel), now=clock))
        return made[-1]

    yield run
    for visits in made:
        visits.close()
