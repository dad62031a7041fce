"""Exchanges with a server of OpenAI's protocol that cost little computing: the one module that knows aiohttp.

The openai package spends about 2 ms of computing on an answer, this a tenth of it; batches use that package.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import platform
import random
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from ...errors import InputError, MissingDependency
from ...ledger.exchanges import Attempt
from ...tables.safe_text import mask_bytes, redact
from ..endpoints import NO_KEY, ORGANIZATION, Endpoint, custom_headers
from .pace import Pace
from .replies import BROKEN, Reply, read_reply
from .waits import CONNECT, stated_allowances

try:
    import aiohttp
except ImportError:
    raise MissingDependency("This backend needs aiohttp: pip install 'conjury[openai]'.") from None

CLIENT = f"aiohttp {aiohttp.__version__}"
NO_ANSWER = "no complete answer within"
KEEP = 4.0  # seconds that an idle connection is kept: less than servers do, which close it then
HEADER_BYTES = 2**16  # of one header: policies and cookies of gateways exceed the usual 8 KB
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0  # seconds before an exchange is repeated; they double each time
NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)
PROXIES = ("http://", "https://")
_EXCEPTION = re.compile(r"(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?")  # an entry of NO_PROXY, IPv6 in brackets

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a server sent, whatever its status, without keys, and how the gate reads it."""

    status: int
    content: bytes
    seconds: float
    reply: Reply
    # whether the same request may be answered soon
    is_passing: bool


class NoServerAnswer(Exception):
    """An exchange ended without an answer."""

    # `sent`: whether the server may have received the request, and charged for it; `kind` as in an outcome:
    # what cannot be read, or comes too late, is paid for, and is not asked for again at once

    def __init__(self, reason: str, sent: bool, kind: str) -> None:
        super().__init__(reason)
        self.sent, self.kind = sent, kind


class Transport:
    """Connections to one server, an asynchronous context manager: they are kept, exchanges are repeated."""

    # The key is sent to the server of the endpoint alone: no redirection is followed, no cookie is kept, and
    # no .netrc is read. Where costs are `capped`, nothing is repeated that may have been billed.

    def __init__(
        self,
        endpoint: Endpoint,
        pace: Pace,
        *,
        timeout: float,
        max_retries: int,
        model: str = "",
        capped: bool = False,
    ) -> None:
        self._endpoint, self._pace, self._model = endpoint, pace, model
        self._seconds, self._max_retries, self._capped = timeout, max_retries, capped
        self._root = endpoint.base_url.rstrip("/")
        self._headers = request_headers(endpoint)
        self._proxy = None if endpoint.direct else find_proxy(endpoint.base_url)

    async def __aenter__(self) -> Self:
        addresses = (self._root.lower(), (self._proxy or "").lower())
        trust = trusted_certificates() if any(each.startswith("https:") for each in addresses) else True
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trust, keepalive_timeout=KEEP, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._seconds, sock_connect=min(self._seconds, CONNECT)),
            trust_env=False,
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, path: str, body: dict[str, Any], attempts: list[Attempt]) -> ServerAnswer:
        """Send ``body`` as JSON and return the answer; failed exchanges are added to ``attempts``."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return await self.request("POST", path, attempts, content)

    async def request(
        self, method: str, path: str, attempts: list[Attempt], content: bytes | None = None
    ) -> ServerAnswer:
        """Exchange until there is an answer that a repetition would not change; NoServerAnswer for none."""
        for repeat in range(self._max_retries + 1):
            is_last = repeat == self._max_retries
            try:
                answer = await self._exchange(method, path, attempts, content)
            except NoServerAnswer as failure:
                if is_last or (failure.sent and (self._capped or failure.kind != "connection")):
                    raise
                wait = 0.0
            else:
                if is_last or not answer.is_passing or (self._capped and answer.reply.billed):
                    return answer
                wait = answer.reply.wait
            if not wait:  # else the pace makes it wait
                pause = min(FIRST_PAUSE * 2**repeat, LONGEST_PAUSE)
                await asyncio.sleep(pause * random.uniform(0.75, 1.0))
        raise AssertionError

    async def _exchange(
        self, method: str, path: str, attempts: list[Attempt], content: bytes | None
    ) -> ServerAnswer:
        """Send one request when its turn comes and read the answer."""
        number = await self._pace.turn()
        began = time.monotonic()
        reply, secrets = Reply(), self._endpoint.secrets
        try:
            async with self._session.request(
                method, f"{self._root}{path}", data=content, allow_redirects=False, proxy=self._proxy
            ) as response:
                received = mask_bytes(await response.read(), secrets)
            reply = read_reply(response.status, response.headers, received, secrets, self._model)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._failure(error, attempts, began) from None
        finally:
            self._pace.done(refused=reply.is_busy)
        seconds = time.monotonic() - began
        if reply.wait:
            self._pace.hold(reply.wait)
        if reply.kind:
            message = redact(reply.message, secrets)
            attempts.append(Attempt(response.status, message, seconds, reply.billed))
        else:
            self._pace.spread(stated_allowances(response.headers), received, number)
        is_final = reply.kind == BROKEN or response.headers.get("x-should-retry", "").lower() == "false"
        is_passing = reply.is_worth_repeating and not is_final
        return ServerAnswer(response.status, received, seconds, reply, is_passing)

    def _failure(self, error: Exception, attempts: list[Attempt], began: float) -> NoServerAnswer:
        """Note that no answer came, without anything of the error but its text."""
        sent = not isinstance(error, NOT_SENT)
        late = isinstance(error, TimeoutError)
        text = f"{NO_ANSWER} {self._seconds:g} s" if late and sent else describe_error(error)
        reason = redact(text, self._endpoint.secrets)
        attempts.append(Attempt(0, reason, time.monotonic() - began, billed=sent))
        is_form = isinstance(error, aiohttp.ClientResponseError) or "content-encoding" in str(error)
        kind = BROKEN if sent and is_form else "timeout" if late else "connection"
        return NoServerAnswer(reason, sent, kind)


def describe_error(error: Exception) -> str:
    """Say why an exchange failed, as the operating system does where it knows."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    if not isinstance(error, aiohttp.ClientConnectorError):
        return f"{type(error).__name__}: {error}"
    cause = error.os_error
    number = cause.errno or 0  # that of a name that is not found is negative
    reason = os.strerror(number) if number > 0 else cause.strerror or str(cause)
    place = (
        f"the proxy {error.host}:{error.port}: "
        if isinstance(error, aiohttp.ClientProxyConnectionError)
        else ""
    )
    return f"{place}{reason}"


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of each request; those of the environment go to the account's own server alone."""
    headers = {"User-Agent": f"conjury {CLIENT}", "Accept": "application/json"}
    if endpoint.own:
        headers |= {name: value for name, value in _environment_headers().items() if value}
    return headers | {"Content-Type": "application/json", "Authorization": f"Bearer {endpoint.key or NO_KEY}"}


def _environment_headers() -> dict[str, str]:
    headers = {name: os.environ.get(variable, "").strip() for variable, name in ORGANIZATION.items()}
    needed = ("authorization", "content-type", "host", "content-length")
    return headers | {name: value for name, value in custom_headers().items() if name.lower() not in needed}


def find_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a server; None for none."""
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    host = parts.hostname or ""
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not proxy or urllib.request.proxy_bypass(host) or is_excepted(host, port, proxies.get("no", "")):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.lower().startswith(PROXIES):
        raise InputError(
            f"The proxy {redact(proxy)} of the environment is none of HTTP; name one that begins with "
            f"http:// in {parts.scheme.upper()}_PROXY, or exclude {host} by NO_PROXY."
        )
    return proxy


def is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Whether NO_PROXY excludes a host: by name, domain, address or network, perhaps with a port."""
    for entry in exceptions.lower().replace(",", " ").split():
        parts = _EXCEPTION.fullmatch(entry)
        name = entry if parts is None else parts[1].strip("[]")
        if parts is not None and parts[2] and int(parts[2]) != port:
            continue
        domain = name.removeprefix("*").removeprefix(".")
        is_part = bool(domain) and f".{host}".endswith(f".{domain}")
        if name == "*" or is_part or _is_within(host, name):
            return True
    return False


def _is_within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def trusted_certificates() -> ssl.SSLContext:
    """Return the trusted certificates: those that the environment names, else those of the system."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    try:
        if file or folder:
            return ssl.create_default_context(cafile=file or None, capath=None if file else folder)
        if platform.system() in ("Darwin", "Windows") and find_spec("truststore"):
            import truststore

            system: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            return system
        trust = ssl.create_default_context()
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"The certificates in {file or folder} (SSL_CERT_FILE or SSL_CERT_DIR) cannot be read "
            f"({error}); name a file of certificates in PEM format."
        ) from None
    paths = ssl.get_default_verify_paths()
    is_bare = not paths.cafile and not (paths.capath and os.listdir(paths.capath))
    if is_bare and platform.system() != "Windows" and find_spec("certifi"):
        import certifi

        trust.load_verify_locations(certifi.where())
    return trust


def get(endpoint: Endpoint, path: str, *, timeout: float, max_retries: int = 0) -> ServerAnswer:
    """Ask once, outside a run, and wait for the answer; NoServerAnswer for none."""

    async def ask() -> ServerAnswer:
        async with Transport(endpoint, Pace(1), timeout=timeout, max_retries=max_retries) as transport:
            return await transport.request("GET", path, [])

    return run_to_end(ask())


def run_to_end(work: Coroutine[Any, Any, T], interrupt: Callable[[], None] = lambda: None) -> T:
    """Run asynchronous work, in a thread of its own where this one runs an event loop (notebooks)."""
    if not _is_loop_running():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(copy_context().run, asyncio.run, work)
        try:
            return ended.result()
        except KeyboardInterrupt:
            interrupt()
            raise


def _is_loop_running() -> bool:
    """Whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
