"""What pages for browsers on this machine have in common: who is admitted, sessions, pages of errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from ..web.page_templates import STATIC as PANEL_STATIC
from ..web.panel_app import KeptFiles
from ..web.security import BodyLimit, ProtectedPages, ServerLimits, disconnected, form_token, new_session
from .admission import Admission
from .transcript_pages import STATIC

TOKEN_BYTES = 24  # 192 bits
HOSTS = ("127.0.0.1", "localhost")  # names under which the pages are reached; others are refused
COOKIE = "conjury_view_{port}"  # browsers share cookies between the ports of one host
HEADINGS = {
    400: "This address cannot be read",
    403: "This page is out of date",
    404: "There is no such page",
    405: "This page takes no such request",
    413: "What was sent is too large",
    415: "What was sent cannot be read",
    500: "Something went wrong",
}
AGAIN = "Nothing was changed. Open the page again, and repeat what you did."
REASONS = {
    403: AGAIN,
    405: "Nothing was changed. Begin from the first page.",
    413: "Nothing was changed. Send less.",
    415: AGAIN,
    500: "The terminal in which these pages were started shows the reason.",
}


class GuardedPages(ABC):
    """Pages of sessions, whose forms carry a token of the session, and pages of errors."""

    secret: bytes

    @abstractmethod
    def fill(self, template: str, **values: Any) -> str:
        """Fill a template."""

    def begin_session(self, request: Request) -> None:
        """Give a session its id."""
        if "id" not in request.session:
            request.session["id"] = new_session()

    def token_of(self, request: Request) -> str:
        """The token of the forms of a session."""
        return form_token(self.secret, str(request.session.get("id", "")))

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Show an error as a page."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = error.detail if isinstance(error, HTTPException) and " " in error.detail else ""
        text = REASONS.get(status) or (detail if detail.endswith(".") else "") or "Correct the address."
        return self._problem(status, text, error.headers if isinstance(error, HTTPException) else None)

    async def failure(self, request: Request, error: Exception) -> Response:
        """Show a page without anything of the error; the terminal has it."""
        return self._problem(500, REASONS[500])

    def not_admitted(self) -> Response:
        """The page for a browser that does not have the address that was printed."""
        return self._problem(403, "Open the whole address that was printed in the terminal, with its token.")

    def _problem(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
        heading = HEADINGS.get(status, HEADINGS[400] if status < 500 else HEADINGS[500])
        html = self.fill("problem.html.j2", heading=heading, text=text)
        return HTMLResponse(html, status_code=status, headers=headers)


def guarded_app(pages: GuardedPages, routes: Sequence[Route], port: int, token: str | None) -> Starlette:
    """The web application of pages; with a token, nobody sees one without it."""
    too_large: ASGIApp = PlainTextResponse(HEADINGS[413], status_code=413)
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False),
        Middleware(
            SessionMiddleware,
            secret_key=pages.secret.hex(),
            session_cookie=COOKIE.format(port=port),
            max_age=None,
            same_site="strict",
        ),
        *([] if token is None else [Middleware(Admission, token=token, refuse=pages.not_admitted())]),
        Middleware(BodyLimit, most=ServerLimits().body, refuse=too_large),
    ]
    files = [
        Mount("/static", KeptFiles(directory=PANEL_STATIC)),
        Mount("/view", KeptFiles(directory=STATIC)),
    ]
    handlers = {HTTPException: pages.http_error, ClientDisconnect: disconnected, Exception: pages.failure}
    return ProtectedPages(routes=[*routes, *files], middleware=middleware, exception_handlers=handlers)
