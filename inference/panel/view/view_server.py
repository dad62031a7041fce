"""Pages served on this machine alone, until they are stopped."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import counted
from ..web.panel_server import SECRET_BYTES, open_socket, run_server
from .filters import Collection, Filter
from .guarded_app import HOSTS, TOKEN_BYTES
from .view_app import make_app


def serve(
    collection: Collection,
    port: int = 0,
    *,
    filters: Sequence[Filter] = (),
    label: str | None = None,
    seed: int = 1,
    say: Callable[[str], None] = print,
) -> None:
    """Serve transcripts on 127.0.0.1 until Ctrl-C."""
    with open_socket(HOSTS[0], port) as listening:
        number = listening.getsockname()[1]
        secret = secrets.token_bytes(SECRET_BYTES)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        options: dict[str, Any] = {"filters": filters, "label": label, "seed": seed, "token": token}
        app = make_app(collection, secret=secret, port=number, **options)
        say(f"{len(collection.answers):,} answers of {collection.sources.title}")
        if collection.checks:
            say(f"{counted(len(collection.checks), 'check')} with evidence can be chosen as a filter.")
        for note in collection.sources.notes:
            say(f"  Note: {note}")
        say(
            f"They are shown at http://{HOSTS[0]}:{number}/?token={token}, on this machine, to whoever has "
            "this address. Ctrl-C stops it."
        )
        try:
            run_server(app, listening)
        finally:
            app.state.pages.close()
