"""PostgreSQL's server for tests: its programs, the user that runs it, and databases in it."""

from __future__ import annotations

import os
import pwd
import shutil
from itertools import count
from pathlib import Path

import pytest

numbers = count()


def programs_of_postgres() -> Path | None:
    """The folder of the server's programs, the newest first."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    found = [folder for folder in folders if (folder / "initdb").is_file()]
    return found[0] if found else (Path(on_path).parent if on_path else None)


def unprivileged() -> list[str]:
    """How a command runs as a user that the server accepts: root is refused by it."""
    if os.geteuid():
        return []
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        if shutil.which("setpriv"):
            return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    pytest.skip("PostgreSQL's server refuses root, and there is no setpriv, or no user to run it as")


def new_database(server: str) -> str:
    import psycopg

    name = f"panel_{os.getpid()}_{next(numbers)}"
    admin = server.format(name="postgres").replace("+psycopg", "")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.format(name=name)
