"""Blind labelling of the rows of a table in a browser, one row at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ...errors import InputError
from ..web.page_templates import medium_address
from ..web.panel_app import text_of
from ..web.panel_server import SECRET_BYTES, open_socket, run_server
from ..web.security import (
    read_form,
)
from .guarded_app import HOSTS, TOKEN_BYTES, GuardedPages, guarded_app
from .transcript_pages import served_address, view_environment

LATER, UNDO, NOBODY, SAVE = "later", "undo", "nobody", "save"
ACTIONS = (LATER, UNDO, NOBODY, SAVE)


class RowsToLabel(Protocol):
    """What gives out rows and takes labels, such as the queue of `conjury label`."""

    @property
    def step(self) -> str:
        """Changes with every label, so that a form that was sent twice counts once."""

    @property
    def present(self) -> tuple[Sequence[tuple[str, str]], tuple[int, int, int]] | None:
        """Fields of the row to label, and batch, labels in it and its rows; None where it has stopped."""

    @property
    def choices(self) -> Sequence[str]:
        """Labels; none for ratings."""

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest rating."""

    @property
    def sentences(self) -> Sequence[str]:
        """What the labels say after the last complete batch."""

    def take(self, action: str, label: str) -> None:
        """Do one of ACTIONS; InputError for a label that is none."""


@dataclass
class RowPages(GuardedPages):
    """Requests of a browser, answered with the row to label."""

    rows: RowsToLabel
    secret: bytes
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._environment = view_environment(served_address, medium_address)

    def fill(self, template: str, **values: Any) -> str:
        """Fill a template."""
        return self._environment.get_template(template).render(title="Labelling", **values)

    async def page(self, request: Request) -> Response:
        """Show the row to label, or that labelling has stopped."""
        self.begin_session(request)
        return await run_in_threadpool(self._page, request, "")

    async def take(self, request: Request) -> Response:
        """Write a label, put a row off, or take the last label back."""
        form = await read_form(request, self.secret)
        action, label = text_of(form, "do") or SAVE, text_of(form, "label")
        return await run_in_threadpool(self._take, request, (action, label, text_of(form, "step")))

    def _take(self, request: Request, sent: tuple[str, str, str]) -> Response:
        action, label, step = sent
        if action not in ACTIONS:
            raise HTTPException(403)
        with self._lock:
            if step == self.rows.step:
                try:
                    self.rows.take(action, label)
                except InputError as error:
                    return self._page(request, str(error))
        return RedirectResponse("/", status_code=303)

    def _page(self, request: Request, problem: str) -> Response:
        present = self.rows.present
        low, high = self.rows.limits
        html = self.fill(
            "label_row.html.j2",
            token=self.token_of(request),
            step=self.rows.step,
            fields=present[0] if present else (),
            place=present[1] if present else None,
            choices=self.rows.choices,
            low=low,
            high=high,
            sentences=self.rows.sentences,
            problem=problem,
        )
        return HTMLResponse(html, status_code=422 if problem else 200, headers={"Cache-Control": "no-store"})


def make_row_app(rows: RowsToLabel, *, secret: bytes, port: int = 0, token: str | None = None) -> Starlette:
    """The web application; with a token nobody sees a page without it."""
    pages = RowPages(rows, secret)
    routes = [Route("/", pages.page, methods=["GET"]), Route("/", pages.take, methods=["POST"])]
    return guarded_app(pages, routes, port, token)


def serve_rows(rows: RowsToLabel, port: int = 0, say: Callable[[str], None] = print) -> None:
    """Serve the rows to label on 127.0.0.1 until Ctrl-C."""
    with open_socket(HOSTS[0], port) as listening:
        number, token = listening.getsockname()[1], secrets.token_urlsafe(TOKEN_BYTES)
        app = make_row_app(rows, secret=secrets.token_bytes(SECRET_BYTES), port=number, token=token)
        say(
            f"Rows are labelled at http://{HOSTS[0]}:{number}/?token={token}, on this machine, by whoever "
            "has this address. Ctrl-C stops it; nothing is lost."
        )
        run_server(app, listening)
