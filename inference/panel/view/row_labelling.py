"""Blind labelling of the rows of a table in a browser, one row at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from ...errors import InputError
from ..web.page_templates import STATIC as PANEL_STATIC
from ..web.page_templates import medium_address
from ..web.panel_app import KeptFiles, text_of
from ..web.panel_server import SECRET_BYTES, open_socket, run_server
from ..web.security import (
    BodyLimit,
    ProtectedPages,
    ServerLimits,
    disconnected,
    form_token,
    new_session,
    read_form,
)
from .admission import Admission
from .transcript_pages import STATIC, served_address, view_environment
from .view_app import COOKIE, HEADINGS, HOSTS, REASONS
from .view_server import TOKEN_BYTES

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
class RowPages:
    """Requests of a browser, answered with the row to label."""

    rows: RowsToLabel
    secret: bytes
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._environment = view_environment(served_address, medium_address)

    async def page(self, request: Request) -> Response:
        """Show the row to label, or that labelling has stopped."""
        if "id" not in request.session:
            request.session["id"] = new_session()
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
        html = self._environment.get_template("label_row.html.j2").render(
            title="Labelling",
            token=form_token(self.secret, str(request.session.get("id", ""))),
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

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Show an error as a page."""
        return self._problem(error.status_code if isinstance(error, HTTPException) else 500)

    async def failure(self, request: Request, error: Exception) -> Response:
        """Show a page without anything of the error; the terminal has it."""
        return self._problem(500)

    def not_admitted(self) -> Response:
        """The page for a browser that does not have the address that was printed."""
        return self._problem(403, "Open the whole address that was printed in the terminal, with its token.")

    def _problem(self, status: int, text: str = "") -> Response:
        template = self._environment.get_template("problem.html.j2")
        heading = HEADINGS.get(status, HEADINGS[400] if status < 500 else HEADINGS[500])
        text = text or REASONS.get(status, "Correct the address.")
        return HTMLResponse(template.render(title=heading, heading=heading, text=text), status_code=status)


def make_row_app(rows: RowsToLabel, *, secret: bytes, port: int = 0, token: str | None = None) -> Starlette:
    """The web application; with a token nobody sees a page without it."""
    pages = RowPages(rows, secret)
    routes = [
        Route("/", pages.page, methods=["GET"]),
        Route("/", pages.take, methods=["POST"]),
        Mount("/static", KeptFiles(directory=PANEL_STATIC)),
        Mount("/view", KeptFiles(directory=STATIC)),
    ]
    too_large: ASGIApp = PlainTextResponse(HEADINGS[413], status_code=413)
    cookie = COOKIE.format(port=port)
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False),
        Middleware(
            SessionMiddleware,
            secret_key=secret.hex(),
            session_cookie=cookie,
            max_age=None,
            same_site="strict",
        ),
        *([] if token is None else [Middleware(Admission, token=token, refuse=pages.not_admitted())]),
        Middleware(BodyLimit, most=ServerLimits().body, refuse=too_large),
    ]
    handlers = {HTTPException: pages.http_error, ClientDisconnect: disconnected, Exception: pages.failure}
    return ProtectedPages(routes=routes, middleware=middleware, exception_handlers=handlers)


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
