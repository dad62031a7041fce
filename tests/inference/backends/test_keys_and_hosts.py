"""To which server the key in a variable goes, who decided that, and what else is sent there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cases import cases

pytest.importorskip("openai")

from fakes.loopback import BODY
from fakes.recorder import MemoryRecorder

from conjury.inference.backends.addresses import read_address
from conjury.inference.backends.batches.choosing import batch_backend
from conjury.inference.backends.endpoints import BY_FILE, EndpointChoice, find_destination, find_endpoint
from conjury.inference.backends.openai.live import OpenAIBackend, served_model
from conjury.inference.backends.providers import ACCOUNTS, HOSTS
from conjury.inference.backends.trusted import trust, trusted_address, trusted_hosts
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import Request
from conjury.inference.study.asking import Sampling

KEY = "sentinel-0123456789abcdef"
FOREIGN = "https://llm.example.org/v1"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of nobody, and a key in every variable that is known."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    for account in ACCOUNTS.values():
        monkeypatch.delenv(account.url_variable, raising=False)
    for name in (*HOSTS, "MY_KEY"):
        monkeypatch.setenv(name, KEY)


def one_request() -> Iterator[Request]:
    return iter([Request("0" * 64, "judge", "p", "1", 1, BODY)])


# --- who decides ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", [*HOSTS, "MY_KEY", "PATH"])
def test_a_study_file_sends_no_key_to_a_host_of_its_choosing(variable):
    if variable == "OPENAI_API_KEY":  # the default: sent to no other server, without a word
        assert find_endpoint(FOREIGN, variable, named=BY_FILE).key == ""
        return
    with pytest.raises(InputError, match=r"llm\.example\.org") as refused:
        find_endpoint(FOREIGN, variable, named=BY_FILE)
    assert variable in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("variable", sorted(set(HOSTS) - {"OPENAI_API_KEY"}))
def test_the_key_of_a_provider_goes_to_no_other_even_if_the_user_says_so(variable):
    with pytest.raises(InputError, match="another provider's key, which is never sent"):
        find_endpoint(FOREIGN, variable)
    with pytest.raises(InputError, match="another provider's key, which is never sent"):
        find_endpoint(None, variable)
    with pytest.raises(InputError, match="another provider's key, which is never sent"):
        trust(trusted_address(FOREIGN), (variable,))
    for host in HOSTS[variable]:
        assert find_endpoint(f"https://{host}/v1", variable, named=BY_FILE).key == KEY


@pytest.mark.parametrize(
    ("named", "remedy"),
    [
        ((False, False), f"add --base-url {FOREIGN} --key-variable MY_KEY, or run `conjury trust "),
        ((True, False), "add --key-variable MY_KEY, or run"),
        ((False, True), f"add --base-url {FOREIGN}, or run"),
    ],
)
def test_the_user_has_to_name_the_server_and_the_variable(named, remedy):
    with pytest.raises(InputError) as refused:
        find_endpoint(FOREIGN, "MY_KEY", named=EndpointChoice(*named))
    assert remedy in str(refused.value)
    assert find_endpoint(FOREIGN, "MY_KEY", named=EndpointChoice(True, True)).key == KEY
    with pytest.raises(InputError, match=r"not sent to https://api\.openai\.com.*add --key-variable MY_KEY"):
        find_endpoint(None, "MY_KEY", named=BY_FILE)
    assert find_endpoint(None, "MY_KEY", named=EndpointChoice(False, True)).key == KEY


def test_a_trusted_host_is_sent_its_variable_and_no_other_at_its_port_alone():
    trust(trusted_address("LLM.example.org.:8443"), ("MY_KEY",))
    assert trusted_hosts() == {"https://llm.example.org:8443": ("MY_KEY",)}
    assert find_endpoint("https://llm.example.org:8443/v1", "MY_KEY", named=BY_FILE).key == KEY
    usual = ("http://[::1]:80", "https://a.org:443", "http://127.0.0.1:443")
    assert [trusted_address(url).server for url in usual] == ["http://[::1]", "https://a.org", usual[2]]
    for url, variable in (
        ("https://llm.example.org:8443/v1", "HOME"),
        ("https://llm.example.org/v1", "MY_KEY"),
        ("http://llm.example.org:8443/v1", "MY_KEY"),
        ("https://llm.example.org.evil.net:8443/v1", "MY_KEY"),
        ("https://xllm.example.org:8443/v1", "MY_KEY"),
    ):
        with pytest.raises(InputError):
            find_endpoint(url, variable, named=BY_FILE)


@pytest.mark.parametrize("content", ["[]", "{", '{"hosts": 3}', '{"hosts": {"https://a": "MY_KEY"}}'])
def test_a_damaged_list_of_trusted_hosts_trusts_nobody(tmp_path, content):
    file = tmp_path / "settings" / "conjury" / "trusted_hosts.json"
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"trusted_hosts\.json"):
        find_endpoint(FOREIGN, "MY_KEY", named=BY_FILE)


def test_settings_are_not_read_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "settings")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    planted = tmp_path / "settings" / "conjury" / "trusted_hosts.json"
    planted.parent.mkdir(parents=True)
    planted.write_text(json.dumps({"hosts": {"https://llm.example.org": ["MY_KEY"]}}), encoding="utf-8")
    with pytest.raises(InputError, match="not by you"):
        find_endpoint(FOREIGN, "MY_KEY", named=BY_FILE)


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", cases(__file__, "unencrypted_addresses"))
def test_no_key_travels_unencrypted_to_another_machine(url):
    with pytest.raises(InputError, match=r"unencrypted.*https address, or reach it on this machine"):
        find_endpoint(url, "MY_KEY")
    with pytest.raises(InputError, match="unencrypted"):
        trust(trusted_address(url), ("MY_KEY",))
    assert find_endpoint(url, "OPENAI_API_KEY").key == ""


def test_the_address_of_the_provider_in_its_variable_is_no_exception(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example.org/v1")
    assert find_endpoint(None, "OPENAI_API_KEY", named=BY_FILE).key == KEY
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.example.org/v1")
    with pytest.raises(InputError, match="unencrypted"):
        find_endpoint(None, "OPENAI_API_KEY", named=BY_FILE)


@pytest.mark.parametrize("host", cases(__file__, "this_machine"))
def test_this_machine_is_asked_without_encryption_and_a_private_network_when_it_is_trusted(host):
    private = host[:3] in ("10.", "192", "[fd")
    url = f"http://{host}:8000/v1"
    if private:
        with pytest.raises(InputError, match="if you trust that network"):
            find_endpoint(url, "MY_KEY")
        trust(trusted_address(url), ("MY_KEY",))
    endpoint = find_endpoint(url, "MY_KEY", **({"named": BY_FILE} if private else {}))
    assert (endpoint.key, endpoint.direct) == (KEY, True)
    assert find_endpoint(url, "").direct is not private  # without a key a proxy may come between


@pytest.mark.parametrize("url", cases(__file__, "ambiguous_addresses"))
def test_an_address_that_can_be_read_in_two_ways_is_none(url):
    with pytest.raises(InputError, match=r"base_url .*(is not the address of a server|contains a key)"):
        find_endpoint(url, "OPENAI_API_KEY")


def test_an_address_has_one_form():
    assert read_address("HTTPS://API.OpenAI.com.:443/v1").url == "https://api.openai.com/v1"
    assert read_address("http://[0:0::1]:8000/v1").url == "http://[::1]:8000/v1"
    assert find_endpoint("HTTPS://API.OpenAI.com./v1", "OPENAI_API_KEY", named=BY_FILE).key == KEY
    homograph = read_address("https://xn--pi-7kc.openai.com/v1")  # with a Cyrillic a
    assert homograph.url == "https://xn--pi-7kc.openai.com/v1"
    assert find_destination(homograph.url, "OPENAI_API_KEY").key_variable == ""


# --- what is sent -----------------------------------------------------------------------------------


def ask_live(url: str, **options: Any) -> None:
    recorder = MemoryRecorder()
    OpenAIBackend("m", base_url=url, key_variable="MY_KEY", max_retries=0, **options).run(
        one_request(), recorder
    )


def ask_models(url: str) -> None:
    served_model(url, "MY_KEY")


def batches(provider: str) -> Callable[[str], None]:
    def ask(url: str) -> None:
        sampling = Sampling(model="m", backend=provider, base_url=url, key_variable="MY_KEY")  # type: ignore[arg-type]
        batch_backend("judge", sampling, Path("batches")).service.retrieve("b1")

    return ask


WAYS: dict[str, Callable[[str], None]] = {
    "live": ask_live,
    "models": ask_models,
    **{f"batches of {name}": batches(name) for name in ACCOUNTS},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_redirection_is_not_followed_neither_with_a_key_nor_without(way, listen):
    elsewhere = listen()
    first = listen(status=307, Location=elsewhere.root)
    with pytest.raises(InputError, match="redirect"):
        WAYS[way](f"{first.root}/v1")
    assert KEY in json.dumps(first.seen)
    assert elsewhere.seen == []


@pytest.mark.parametrize("way", WAYS)
def test_headers_of_the_environment_are_meant_for_openai_alone(way, listen, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-secret")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Gateway: gateway-secret\nAuthorization: Bearer other-secret"
    )
    server = listen(status=422)
    with suppress(InputError):
        WAYS[way](f"{server.root}/v1")
    assert server.seen
    assert "secret" not in json.dumps(server.seen)
    assert KEY in json.dumps(server.seen)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_on_this_machine_is_reached_without_a_proxy(way, listen, monkeypatch):
    server, proxy = listen(status=422), listen()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.root)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with suppress(InputError):
        WAYS[way](f"{server.root}/v1")
    assert proxy.seen == []
    assert KEY in json.dumps(server.seen)
