"""What protects the pages: headers, limits of size and rate, and tokens of forms."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "media", "connect")),
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send forms with the origin "null"
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STRICT_TRANSPORT = "max-age=31536000"
MOST_KEYS = 50_000  # sessions and addresses of which a rate is kept
FORM = "application/x-www-form-urlencoded"  # of all forms: no file is sent, and no other charset is read
FIELDS = 5_000  # of a form
COOKIE = "conjury_panel"
NETWORK = 64  # bits of an IPv6 address that one client shares with itself alone


@dataclass(frozen=True)
class RequestRate:
    """At most ``burst`` requests at once, and ``per_second`` in the long run."""

    per_second: float
    burst: int


@dataclass(frozen=True)
class ServerLimits:
    """Limits of size and rate."""

    # bytes of a form
    body: int = 256 * 1024
    # session, address: Requests of one session and of one address. The defaults let a laboratory of 400
    # people work behind one address.
    session: RequestRate = RequestRate(10, 120)
    address: RequestRate = RequestRate(400, 6000)
    # visits begun from one address
    arrivals: RequestRate = RequestRate(2, 400)
    # failed attempts from one address to sign in as the researcher
    sign_in: RequestRate = RequestRate(0.1, 10)


@dataclass
class Buckets:
    """Token buckets by key; the keys that were used least recently are dropped where there are too many."""

    clock: Callable[[], float] = time.monotonic
    most: int = MOST_KEYS
    _levels: OrderedDict[tuple[str, str], tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def allow(self, kind: str, key: str, rate: RequestRate) -> bool:
        """Whether one more request is within the rate; it counts if it is."""
        now = self.clock()
        with self._lock:
            level, at = self._levels.pop((kind, key), (float(rate.burst), now))
            level = min(float(rate.burst), level + (now - at) * rate.per_second)
            allowed = level >= 1
            self._levels[kind, key] = (level - allowed, now)
            while len(self._levels) > self.most:
                self._levels.popitem(last=False)
        return allowed


def address_of(scope: Scope) -> str:
    """Address of the client; of IPv6 the network of 64 bits, since one client has all its addresses."""
    client = scope.get("client")
    host = str(client[0]) if client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    ipv4 = address.ipv4_mapped
    return str(ipv4 or ipaddress.ip_network((int(address), NETWORK), strict=False))


def form_token(secret: bytes, session: str) -> str:
    """Token of the forms of one session, against forms that other sites send."""
    return hmac.new(secret, b"form:" + session.encode(), hashlib.sha256).hexdigest()


def is_form_token(secret: bytes, session: str, token: str) -> bool:
    """Whether a form has the token of its session, compared in constant time."""
    expected_token = form_token(secret, session).encode()
    return bool(session) and hmac.compare_digest(expected_token, token.encode())


async def read_form(request: Request, secret: bytes) -> FormData:
    """Read a form that has the token of its session; nothing of another request is parsed."""
    session = str(request.session.get("id", ""))
    crossed = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if crossed or not session:
        raise HTTPException(403)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(415)
    form = await run_in_threadpool(_parsed, await request.body())
    token = form.get("token", "")
    if not is_form_token(secret, session, str(token)):
        raise HTTPException(403)
    return form


def _parsed(body: bytes) -> FormData:
    try:
        fields = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS, errors="replace"
        )
    except ValueError:
        raise HTTPException(413) from None
    form: list[tuple[str, str | UploadFile]] = [*fields]
    return FormData(form)


async def disconnected(request: Request, error: Exception) -> Response:
    """Answer a connection that ended within a form, which phones cause all the time: nobody reads it."""
    return Response(status_code=400)


def visit_name(secret: bytes, session: str, person: str) -> str:
    """Id of the visit that a session begins: the same where its form is sent twice."""
    return hmac.new(secret, f"visit:{session}:{person}".encode(), hashlib.sha256).hexdigest()


def cookie_name(secret: bytes) -> str:
    """Name of the cookie of one panel: browsers send cookies to all ports of a host."""
    return f"{COOKIE}_{hmac.new(secret, b'cookie', hashlib.sha256).hexdigest()[:12]}"


def new_session() -> str:
    """Return the opaque name of a new session."""
    return secrets.token_urlsafe(16)


class ProtectedPages(Starlette):
    """An application all of whose responses have the headers: also the page of a failure."""

    def __init__(self, secure: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.secure = secure

    def build_middleware_stack(self) -> ASGIApp:
        """Put the headers around everything: the page of a failure comes from the outermost middleware."""
        return ProtectionHeaders(super().build_middleware_stack(), self.secure)


class ProtectionHeaders:
    """Adds the headers to each response; pages are not stored, other files as their responses say."""

    def __init__(self, app: ASGIApp, secure: bool = False) -> None:
        self.app = app
        self.headers = HEADERS | ({"Strict-Transport-Security": STRICT_TRANSPORT} if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Cache-Control", "no-store")
                for name, value in self.headers.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class BodyTooLarge(Exception):
    """A body is larger than allowed."""


class BodyLimit:
    """Refuses bodies that are too large, by the length that they state and by what arrives."""

    def __init__(self, app: ASGIApp, most: int, refuse: ASGIApp) -> None:
        self.app, self.most, self.refuse = app, most, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > self.most:
            await self.refuse(scope, receive, send)
            return
        arrived, begun = 0, False

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > self.most:
                raise BodyTooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except BodyTooLarge:
            if not begun:
                await self.refuse(scope, receive, send)


class RateLimit:
    """Refuses requests beyond the rates of their address and of their session."""

    def __init__(self, app: ASGIApp, limits: ServerLimits, buckets: Buckets, refuse: ASGIApp) -> None:
        self.app, self.limits, self.buckets, self.refuse = app, limits, buckets, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not self._allowed(scope):
            await self.refuse(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _allowed(self, scope: Scope) -> bool:
        if not self.buckets.allow("address", address_of(scope), self.limits.address):
            return False
        session = HTTPConnection(scope).session.get("id")
        return session is None or self.buckets.allow("session", session, self.limits.session)
