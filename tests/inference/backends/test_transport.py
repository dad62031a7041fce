"""Where bytes go: certificates, proxies, headers, cookies and .netrc; limits that a provider states."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cases import cases

pytest.importorskip("aiohttp")

from fakes.loopback import BODY, Endpoint
from fakes.recorder import MemoryRecorder

from conjury.inference.backends.endpoints import find_endpoint
from conjury.inference.backends.openai.live import OpenAIBackend
from conjury.inference.backends.openai.transport import (
    NoServerAnswer,
    Transport,
    find_proxy,
    is_excepted,
    trusted_certificates,
)
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import Outcome, Request

KEY = "sentinel-0123456789abcdef"
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, no proxy, and credentials in .netrc."""
    monkeypatch.setenv("MY_KEY", KEY)
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password netrc-secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost that no authority knows, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    file = tmp_path_factory.mktemp("certificate") / "server.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"),
            *("-keyout", str(file.with_suffix(".key")), "-out", str(file)),
        ],
        check=True,
        capture_output=True,
    )
    file.write_text(file.with_suffix(".key").read_text() + file.read_text())
    return file


def test_pauses_before_a_repetition_double_up_to_eight_seconds(monkeypatch):
    pauses: list[float] = []

    async def pause(seconds: float = 0.0) -> None:
        pauses.append(seconds)

    async def ask_a_closed_port() -> None:
        pace = SimpleNamespace(turn=pause, done=lambda refused: None)
        endpoint = find_endpoint("http://127.0.0.1:9/v1", "")
        async with Transport(endpoint, pace, timeout=5.0, max_retries=6) as transport:
            await transport.request("GET", "/models", [])

    monkeypatch.setattr("asyncio.sleep", pause)
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    with pytest.raises(NoServerAnswer, match="Connection refused"):
        asyncio.run(ask_a_closed_port())
    assert [seconds / 0.75 for seconds in pauses if seconds] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def requests(n: int) -> Iterator[Request]:
    return (Request(f"{number:032x}", "judge", "p", str(number), 1, BODY) for number in range(n))


def ask(url: str, n: int = 1, **options: Any) -> list[Outcome]:
    recorder = MemoryRecorder()
    settings = {"key_variable": "MY_KEY", "max_retries": 0, "concurrency": 2, **options}
    OpenAIBackend("m", base_url=url, **settings).run(requests(n), recorder)
    return recorder.outcomes


def address(server: Endpoint, scheme: str = "http", host: str = "127.0.0.1") -> str:
    return f"{scheme}://{host}:{server.server_port}"


# --- certificates -----------------------------------------------------------------------------------


def test_a_certificate_is_verified_against_those_that_the_environment_names(
    listen, certificate, tmp_path, monkeypatch
):
    server = listen(certificate)
    url = f"{address(server, 'https', 'localhost')}/v1"
    with pytest.raises(InputError, match=r"cannot be reached .*certificate verify failed"):
        ask(url)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert [outcome.kind for outcome in ask(url)] == [""]
    with pytest.raises(InputError, match=r"cannot be reached .*127\.0\.0\.1"):
        ask(f"{address(server, 'https')}/v1")  # the certificate is of another name
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(InputError, match=r"absent\.pem \(SSL_CERT_FILE .* cannot be read .*PEM"):
        ask(url)
    assert len(server.seen) == 1
    assert server.seen[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("file", [None, "system.pem"])
def test_certificates_of_certifi_are_trusted_where_the_system_has_none(file, monkeypatch):
    certifi = pytest.importorskip("certifi")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    paths = SimpleNamespace(cafile=file, capath=None)
    monkeypatch.setattr("ssl.get_default_verify_paths", lambda: paths)
    monkeypatch.setattr("ssl.create_default_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    n = 0 if file else Path(certifi.where()).read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
    assert trusted_certificates().cert_store_stats()["x509"] == n


# --- proxies ----------------------------------------------------------------------------------------


def test_a_proxy_passes_encrypted_bytes_on_and_does_not_see_the_key(listen, certificate, monkeypatch):
    server, proxy = listen(certificate), listen()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.server_port}")
    assert [outcome.kind for outcome in ask(f"{address(server, 'https', 'localhost')}/v1")] == [""]
    assert proxy.lines == [f"CONNECT localhost:{server.server_port} HTTP/1.1"]
    assert proxy.seen[0]["proxy-authorization"] == f"Basic {base64.b64encode(b'me:word').decode()}"
    assert KEY not in json.dumps(proxy.seen)
    assert "proxy-authorization" not in server.seen[0]
    monkeypatch.setenv("NO_PROXY", "example.org, localhost")
    ask(f"{address(server, 'https', 'localhost')}/v1")
    assert len(proxy.lines) == 1
    assert len(server.seen) == 2


def test_a_proxy_that_refuses_is_named_without_its_password(listen, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass-word@127.0.0.1:9")
    with pytest.raises(InputError, match=r"llm\.example\.org/v1 cannot be reached .*127\.0\.0\.1") as refused:
        ask("https://llm.example.org/v1")
    assert "pass-word" not in str(refused.value)
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:pass-word@127.0.0.1:9")
    with pytest.raises(InputError, match="is none of HTTP; name one that begins with http") as refused:
        ask("https://llm.example.org/v1")
    assert "pass-word" not in str(refused.value)


@pytest.mark.parametrize(("exceptions", "host", "port", "excepted"), cases(__file__, "no_proxies"))
def test_no_proxy_names_domains_addresses_networks_and_ports(exceptions, host, port, excepted):
    assert is_excepted(host, port, exceptions) is excepted


def test_the_proxy_of_the_scheme_comes_before_that_of_all(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "http://all:1")
    assert find_proxy("https://example.org/v1") == "http://all:1"
    monkeypatch.setenv("HTTPS_PROXY", "secure:2")
    assert find_proxy("https://example.org/v1") == "http://secure:2"
    monkeypatch.setenv("NO_PROXY", "example.org:443")
    assert find_proxy("https://example.org/v1") is None


# --- what else is sent --------------------------------------------------------------------------------


def test_neither_cookies_nor_netrc_are_used_and_connections_are_kept(listen):
    server = listen(Set_Cookie="session=cookie-secret; Path=/")
    ask(f"{address(server)}/v1", n=6, concurrency=1)
    assert len(server.seen) == 6
    assert "secret" not in json.dumps(server.seen)
    assert {each["authorization"] for each in server.seen} == {f"Bearer {KEY}"}


def test_headers_of_the_environment_go_to_openai_and_cannot_replace_the_key(monkeypatch, listen):
    server = listen()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address(server)}/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: on\nAuthorization: Bearer other\nno colon")
    OpenAIBackend("m", max_retries=0, concurrency=1).run(requests(1), MemoryRecorder())
    (headers,) = server.seen
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (headers["openai-organization"], headers["x-gateway"]) == ("org-1", "on")


def test_an_answer_is_not_asked_for_again_where_the_server_advises_against_it(listen):
    server = listen(status=500, x_should_retry="false")
    (outcome,) = ask(f"{address(server)}/v1", max_retries=3)
    assert outcome.kind == "server"
    assert len(server.seen) == 1


@pytest.mark.long
def test_limits_of_headers_slow_a_run_down(listen):
    server = listen(x_ratelimit_remaining_requests="20", x_ratelimit_reset_requests="1s")
    moments: list[float] = []

    async def timed() -> None:
        loop = asyncio.get_running_loop()
        backend = OpenAIBackend("m", base_url=f"{address(server)}/v1", max_retries=0, concurrency=1)
        began = loop.time()
        await asyncio.to_thread(backend.run, requests(8), MemoryRecorder())
        moments.append(loop.time() - began)

    asyncio.run(timed())
    assert 0.25 < moments[0] < 2  # six gaps of a twentieth of a second after the first answer


def test_an_answer_that_cannot_be_unpacked_is_not_paid_for_again_at_once(listen):
    server = listen(Content_Encoding="gzip")
    (outcome,) = ask(f"{address(server)}/v1", max_retries=3)
    assert (outcome.kind, outcome.attempts[0].billed) == ("invalid_response", True)
    assert len(server.seen) == 1


def test_long_headers_of_a_gateway_are_read_and_endless_ones_are_not_paid_for_again(listen):
    assert [each.kind for each in ask(f"{address(listen(X_Policy='a' * 30_000))}/v1")] == [""]
    server = listen(X_Policy="a" * 100_000)
    assert [each.kind for each in ask(f"{address(server)}/v1", max_retries=3)] == ["invalid_response"]
    assert len(server.seen) == 1


def test_a_redirection_ends_a_run_at_once(listen):
    server = listen(status=302, Location="http://127.0.0.1:9/")
    with pytest.raises(InputError, match="redirects to another address"):
        ask(f"{address(server)}/v1", max_retries=3)
    assert len(server.seen) == 1


def test_keys_in_headers_of_the_environment_are_blanked_out_as_well(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: research-one\nX-Gateway-Key: Bearer gateway-12345")
    assert find_endpoint(None, "OPENAI_API_KEY").secrets == (KEY, "gateway-12345")
    assert find_endpoint("https://llm.example.org/v1", "MY_KEY").secrets == (KEY,)
