"""The one module that knows the openai package: a client that observes every exchange, and its pace."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import time
import urllib.request
from collections import deque
from contextvars import ContextVar
from functools import cache
from typing import Any

from ...errors import MissingDependency
from ...ledger.exchanges import Attempt
from ...tables.safe_text import mask_bytes, redact
from ..endpoints import Endpoint
from .replies import BROKEN, Reply, read_reply
from .waits import LONGEST

try:
    import openai
except ImportError:
    raise MissingDependency("This backend needs the openai package: pip install 'conjury[openai]'.") from None

http: Any = importlib.import_module(
    openai.DefaultAsyncHttpxClient.__base__.__module__.partition(".")[0]
)  # httpx2; httpx before 3.0
VERSION = f"openai {openai.__version__}"
StatusError: Any = openai.APIStatusError
Unreachable: Any = openai.APIConnectionError
TimedOut: Any = openai.APITimeoutError  # one kind of Unreachable
NO_CONNECTION: Any = (http.ConnectError, http.ConnectTimeout)
NO_ANSWER = "no complete answer within"
NOT_SENT: Any = (*NO_CONNECTION, http.PoolTimeout, http.UnsupportedProtocol)
OWN_HEADERS = {"openai-organization", "openai-project"}  # from variables of the environment
NEEDED_HEADERS = {"host", "accept", "content-type", "content-length", "transfer-encoding", "authorization"}
NO_KEY = "none"  # the client insists on one; a server that needs none does not look at it
POOL = 12  # connections per pool
CONNECT = 10.0  # seconds within which a connection must be made

REPLY = "conjury"  # name under which a response keeps what was read in it

_attempts: ContextVar[list[Attempt]] = ContextVar("attempts")


class RepeatRefused(openai.OpenAIError):  # type: ignore[misc]  # which the client does not repeat
    """An exchange that may have been billed would be repeated although costs are limited."""


def open_client(
    endpoint: Endpoint, pace: Pace, *, model: str, timeout: float, max_retries: int, capped: bool = False
) -> Any:
    """Return an ``AsyncOpenAI`` whose exchanges keep ``pace`` and are noted; see ``observe``."""
    # Where costs are `capped` it repeats nothing that may have been billed.
    return openai.AsyncOpenAI(
        api_key=endpoint.key or NO_KEY,
        base_url=endpoint.base_url,
        timeout=http.Timeout(timeout, connect=min(timeout, CONNECT)),
        max_retries=max_retries,
        http_client=_ObservedClient(endpoint, pace, model, timeout, capped),
    )


def open_plain_client(endpoint: Endpoint, *, timeout: float, max_retries: int) -> Any:
    """Return an ``OpenAI`` that sends the key to the endpoint alone."""
    return openai.OpenAI(
        api_key=endpoint.key or NO_KEY,
        base_url=endpoint.base_url,
        timeout=timeout,
        max_retries=max_retries,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not endpoint.direct,
            event_hooks={"request": [lambda request: _keep_headers(endpoint, request)]},
        ),
    )


def _keep_headers(endpoint: Endpoint, request: Any) -> None:
    """Take the headers out that the package adds from the environment, which are meant for its own server."""
    if endpoint.own:
        return
    custom = os.environ.get("OPENAI_CUSTOM_HEADERS", "").lower().split("\n")
    for name in {*OWN_HEADERS, *(line.partition(":")[0].strip() for line in custom)} - NEEDED_HEADERS:
        request.headers.pop(name, None)
    request.headers["Authorization"] = f"Bearer {endpoint.key or NO_KEY}"


def collect_attempts() -> list[Attempt]:
    """Return the list that takes the failed exchanges of this asyncio task from now on."""
    attempts: list[Attempt] = []
    _attempts.set(attempts)
    return attempts


class _ObservedClient(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]
    def __init__(self, endpoint: Endpoint, pace: Pace, model: str, timeout: float, capped: bool) -> None:
        # the client itself finds its way through proxies
        proxied = bool(urllib.request.getproxies()) and not endpoint.direct
        super().__init__(
            limits=http.Limits(max_connections=pace.most, max_keepalive_connections=pace.most),
            transport=None if proxied else _Pools(1 + pace.most // POOL),
            trust_env=proxied,
            follow_redirects=False,
        )
        self._endpoint = endpoint
        self._pace = pace
        self._model = model
        self._seconds = timeout
        self._capped = capped

    async def send(self, request: Any, **options: Any) -> Any:
        """Send one request when its turn comes; whole answers must come within the time-out."""
        if self._capped and any(attempt.billed for attempt in _attempts.get()):
            raise RepeatRefused
        _keep_headers(self._endpoint, request)
        await self._pace.turn()
        began = time.monotonic()
        reply = Reply()
        try:
            async with asyncio.timeout(self._seconds):
                response = await super().send(request, **options)
            reply = self._read(response)
        except TimeoutError:
            self._note(0, f"{NO_ANSWER} {self._seconds:g} s", began, billed=True)
            raise http.ReadTimeout("the answer took too long", request=request) from None
        except http.HTTPError as error:
            sent = not isinstance(error, NOT_SENT)
            self._note(0, f"{type(error).__name__}: {error}", began, billed=sent)
            raise
        finally:
            self._pace.done(refused=reply.is_busy)
        if reply.wait:
            self._pace.hold(reply.wait)
        if reply.kind:
            self._note(response.status_code, reply.message, began, reply.billed)
            response.headers["x-should-retry"] = str(reply.is_worth_repeating).lower()
        if reply.body is None and reply.kind != BROKEN:
            response.status_code = reply.status  # an error inside a success is repeated like any other
        return response

    def _read(self, response: Any) -> Reply:
        """Read what came, and keep it with the response, in which keys are blanked out."""
        content = mask_bytes(response.content, self._endpoint.secrets)
        reply = read_reply(
            response.status_code, response.headers, content, self._endpoint.secrets, self._model
        )
        response.extensions[REPLY] = (reply, content)
        return reply

    def _note(self, status: int, error: str, began: float, billed: bool = False) -> None:
        message = redact(error, self._endpoint.secrets)
        _attempts.get().append(Attempt(status, message, time.monotonic() - began, billed))


@cache
def _certificates() -> Any:
    """The certificates that every client trusts; loading them takes a tenth of a second."""
    return http.create_ssl_context()


class _Pools(http.AsyncBaseTransport):  # type: ignore[misc]
    """Connections in small pools, since a request costs time in proportion to the size of its pool."""

    def __init__(self, n: int) -> None:
        trust = _certificates()
        unlimited = http.Limits(max_connections=None, max_keepalive_connections=None)
        self._pools = [http.AsyncHTTPTransport(verify=trust, limits=unlimited) for _ in range(n)]
        self._turns = itertools.cycle(self._pools)

    async def handle_async_request(self, request: Any) -> Any:
        return await next(self._turns).handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class CollectionStopped(Exception):
    """No further request may start."""


class Pace:
    """A gate before each exchange with a provider that adapts to what the provider bears."""

    # Once as many exchanges ended as the limit allows, the share s turned away makes it (1 - s / 2) * limit,
    # or one more where s = 0, as in Data Center TCP: a stray refusal costs little.

    def __init__(self, most: int, per_minute: float | None = None) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._opens = 0.0
        self._asked = 0.0
        self._ended = 0
        self._refused = 0
        self._closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Let exchanges of a new event loop in; what the provider bears, and its wait, stay as they are."""
        self.in_flight = 0
        self._closed = False
        self._waiting.clear()
        self._timer = None

    async def turn(self) -> None:
        """Wait until one more exchange may start; ``done`` must follow."""
        if self._closed:
            raise CollectionStopped
        if not self._waiting and self._free():
            self._start()
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._let_in()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._leave()
            raise

    def done(self, refused: bool) -> None:
        """Note the end of an exchange, and whether the provider refused it as too much."""
        self._ended += 1
        self._refused += refused
        if self._ended >= self.limit:
            self.limit = next_limit(self.limit, self._refused / self._ended, self.most)
            self._ended = self._refused = 0
        self._leave()

    def hold(self, seconds: float) -> None:
        """Start nothing for so long, as the provider asks."""
        self._asked = max(self._asked, time.monotonic() + min(seconds, LONGEST))
        self._opens = max(self._opens, self._asked)

    @property
    def wait(self) -> float:
        """Seconds of the wait that the provider asked for which are left."""
        return max(self._asked - time.monotonic(), 0.0)

    @property
    def waiting(self) -> bool:
        """Whether an exchange waits for its turn."""
        return any(not place.done() for place in self._waiting)

    def close(self) -> None:
        """Turn away all that wait and all that come."""
        self._closed = True
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(CollectionStopped())

    def _free(self) -> bool:
        return self.in_flight < int(self.limit) and time.monotonic() >= self._opens

    def _start(self) -> None:
        self.in_flight += 1
        if self._gap:
            self._opens = max(self._opens, time.monotonic()) + self._gap

    def _leave(self) -> None:
        self.in_flight -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._free():
            place = self._waiting.popleft()
            if not place.done():
                self._start()
                place.set_result(None)
        if self._waiting and self._timer is None and self.in_flight < int(self.limit):
            wait = max(self._opens - time.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(wait, self._reopen)

    def _reopen(self) -> None:
        self._timer = None
        self._let_in()


def next_limit(limit: float, refused: float, most: int) -> float:
    """Return the limit after one round in which the share ``refused`` was turned away."""
    return max(1.0, (1 - refused / 2) * limit) if refused else min(most, limit + 1)
