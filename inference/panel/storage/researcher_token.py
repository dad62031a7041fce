"""The researcher's token, stored as a hash, and the name of the sessions that began with it."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from .opening import Database
from .visiting import change_fact, read_fact

TOKEN, SESSION = "researcher_token_sha256", "researcher_session"


def make_token(database: Database, *, replacing: bool) -> str | None:
    """Make a token, which ends all sessions; None where there is one and ``replacing`` is false."""
    token = secrets.token_urlsafe(32)
    with database.write() as connection:
        database.alone(connection)
        if read_fact(connection, TOKEN) is not None and not replacing:
            return None
        change_fact(connection, TOKEN, _sha256(token))
        change_fact(connection, SESSION, secrets.token_hex(8))
    return token


def has_token(database: Database, token: str) -> bool:
    """Whether a token is the researcher's, compared in constant time."""
    with database.read() as connection:
        expected = read_fact(connection, TOKEN)
    return hmac.compare_digest(_sha256(token), expected or "")


def session(database: Database) -> str:
    """Return the name of the sessions that are valid."""
    with database.read() as connection:
        name = read_fact(connection, SESSION)
    if name is None:  # of a database that was made before there were such names
        end_sessions(database)
        return session(database)
    return name


def end_sessions(database: Database) -> None:
    """Give sessions another name, which ends those that there are."""
    with database.write() as connection:
        change_fact(connection, SESSION, secrets.token_hex(8))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
