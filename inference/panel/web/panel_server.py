"""Pages served by uvicorn: the socket, the secret of the panel, and the addresses that are printed."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from ...errors import InputError
from ..visits import Visits
from .panel_app import make_app
from .security import ServerLimits

SECRET = "panel.secret"
SECRET_BYTES = 32  # 256 bits
WAITS = 10  # seconds for requests that are being answered when the server stops
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    visits: Visits,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    secure: bool = False,
    trusted_proxies: Sequence[str] = (),
    limits: ServerLimits | None = None,
    new_token: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the pages of a panel until it is stopped."""
    app = make_app(
        visits,
        secret=panel_secret(visits.plan.folder),
        secure=secure,
        trusted_proxies=trusted_proxies,
        limits=limits,
    )
    with open_socket(host, port) as listening:
        for line in addresses(visits, listening, host, secure, new_token):
            say(line)
        run_server(app, listening)


def run_server(app: Starlette, listening: socket.socket) -> None:
    """Serve an application on an open socket until it is stopped."""
    # Requests are not logged: their addresses name people.
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=WAITS,
    )
    with suppress(KeyboardInterrupt):  # uvicorn has ended all requests by then
        uvicorn.Server(config).run(sockets=[listening])


def addresses(
    visits: Visits, listening: socket.socket, host: str, secure: bool, new_token: bool = False
) -> list[str]:
    """Lines that are printed at the start; the token is in them only when it is made."""
    url_host = f"[{host}]" if ":" in host else host
    base = f"http://{url_host}:{listening.getsockname()[1]}/"
    recruiting = visits.plan.section.recruiting
    lines = [f"People take part at {base}"]
    if recruiting.required:
        lines.append(f"The address has to name the person: {base}?{recruiting.person}=...")
    lines.append(f"Figures for the researcher: {base}researcher")
    token = visits.researcher_token(new_token)
    if token is not None:
        lines.append(f"The researcher's token, which is printed this once: {token}")
    if host not in LOOPBACK and not secure:
        lines.append(
            "Answers and cookies travel without encryption; put a reverse proxy with HTTPS before it."
        )
    return [*lines, "Ctrl-C stops it; everybody goes on where they were when it is started again."]


def open_socket(host: str, port: int) -> socket.socket:
    """Open the socket on which pages are served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"--host {host} --port {port}: pages cannot be served there ({error.strerror or error}); name "
            "another port, or 0 for one that is free."
        ) from None


def panel_secret(folder: Path) -> bytes:
    """Return the secret that signs cookies, kept next to the database and readable by its owner alone."""
    path = folder / SECRET
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_secret(path)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(SECRET_BYTES))
    return _read_secret(path)


def _read_secret(path: Path) -> bytes:
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise InputError(
            f"{path}: this is no secret of {SECRET_BYTES} bytes; delete it, and people sign in again from "
            "their links."
        )
    return secret
