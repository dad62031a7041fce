"""Pages for whoever has the address that was printed: its token becomes a cookie of the browser."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl, urlencode

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

ADMITTED, TOKEN = "admitted", "token"


class Admission:
    """Refuses browsers that have not come by an address with the token."""

    def __init__(self, app: ASGIApp, token: str, refuse: ASGIApp) -> None:
        self.app, self.token, self.refuse = app, token, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the token leaves the address at once, so that no bookmark keeps it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        candidate = request.query_params.get(TOKEN)
        if candidate is not None and hmac.compare_digest(candidate.encode(), self.token.encode()):
            request.session[ADMITTED] = True
            answer = RedirectResponse(_without_token(scope), status_code=303)
            await answer(scope, receive, send)
        elif request.session.get(ADMITTED):
            await self.app(scope, receive, send)
        else:
            await self.refuse(scope, receive, send)


def _without_token(scope: Scope) -> str:
    """The address of a request without the token."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    remaining_query = urlencode([(name, value) for name, value in query if name != TOKEN])
    path = "/" + str(scope["path"]).lstrip("/")  # not //host
    return path + (f"?{remaining_query}" if remaining_query else "")
