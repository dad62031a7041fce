"""Keys that study files ask for: who is sent them, what is said before, and ``conjury trust``."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from fakes.server import FakeServer
from fakes.studies import change_study, towns, write_study

KEY = "quince-SENTINEL-0123456789abcdef"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    for name in ("AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, KEY)
    return tmp_path / "settings" / "conjury" / "trusted_hosts.json"


def strangers_study(folder: Path, server: str, variable: str) -> Path:
    """A study file that names a server and the variable of a key."""
    study = write_study(folder / "towns", towns())

    def change(content: dict[str, Any]) -> None:
        content["judges"][1]["ask"] |= {"base_url": server, "key_variable": variable}

    change_study(study, change)
    return study


@pytest.mark.parametrize(
    "variable",
    [
        *("AWS_SECRET_ACCESS_KEY", "MY_KEY"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("ANTHROPIC_API_KEY", "HOME")),
    ],
)
def test_no_key_goes_to_a_server_that_a_study_file_alone_names(
    variable: str, tmp_path: Path, server: FakeServer, here: Callable[..., Any]
) -> None:
    study = strangers_study(tmp_path, server.url, variable)
    for further in ("--dry-run", "", "--batch"):
        words = f"collect {study} --judge judge --pairs 3 --concurrency 4 --out run {further}"
        code, out, err = here(words)
        assert code == 2
        assert server.root in err
        assert variable in err
        assert f"Sent to   {server.url}; the key in {variable} may not be sent there" in out
    assert server.counts()["arrivals"] == []
    code, out, err = here("validate", study)
    final = variable in ("AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY")
    assert code == (2 if final else 0)
    assert server.root in out + err
    assert variable in out + err
    assert KEY not in out + err


@pytest.mark.long
def test_the_user_may_send_it_there_by_naming_both_or_by_trust_in_the_host(
    tmp_path: Path, server: FakeServer, ran: Callable[..., str], refused: Callable[..., str], settings: Path
) -> None:
    study = strangers_study(tmp_path, server.url, "MY_KEY")
    ask = f"collect {study} --judge judge --prompt plain --out run --pairs"
    question = refused(f"{ask} 1", prints=True, writes=True)
    assert f"`conjury trust {server.root} --key-variable MY_KEY` once" in question
    refused(f"{ask} 1 --base-url {server.url}", prints=True, writes=True)
    refused(f"{ask} 1 --key-variable MY_KEY", prints=True, writes=True)
    assert server.counts()["arrivals"] == []
    assert f"{server.url}, with the key in MY_KEY" in ran(
        f"{ask} 1 --base-url {server.url} --key-variable MY_KEY"
    )
    assert f"{server.root}: the key in MY_KEY" in ran(f"trust {server.root} --key-variable MY_KEY")
    ran(f"{ask} 2")
    assert server.counts()["keys"] == [KEY]
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert server.root in ran("trust")
    assert "No hosts are trusted" in ran(f"trust {server.root} --remove")
    refused(f"{ask} 3", prints=True, writes=True)
    assert "is not trusted" in refused(f"trust {server.root} --remove")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("trust llm.example.org", "--key-variable MY_API_KEY"),
        (f"trust llm.example.org --key-variable {KEY}", "--key-variable MY_API_KEY"),
        ("trust llm.example.org --key-variable OPENAI_API_KEY", "another provider's key"),
        ("trust http://llm.example.org --key-variable MY_KEY", "unencrypted"),
        ("trust me@llm.example.org --key-variable MY_KEY", "is not the address of a server"),
        ("trust --remove", "apply to a host"),
        ("trust llm.example.org --remove", "is not trusted"),
        ("trust llm.example.org --remove --key-variable MY_KEY", "omit --key-variable"),
    ],
)
def test_a_host_is_trusted_with_a_variable_over_https(
    words: str, sentence: str, refused: Callable[..., str]
) -> None:
    message = refused(words)
    assert sentence in message
    assert KEY not in message


def test_the_document_of_a_run_names_server_and_variable(
    tmp_path: Path, server: FakeServer, here: Callable[..., Any]
) -> None:
    study = strangers_study(tmp_path, server.url, "UNSET_KEY")
    code, out, _ = here(f"collect {study} --judge judge --pairs 3 --out run --dry-run --json")
    assert code == 0
    assert json.loads(out)["sent_to"] == {"address": server.url, "key_variable": "UNSET_KEY"}


@pytest.mark.long
def test_what_stays_on_this_machine_names_no_server(tmp_path: Path, ran: Callable[..., str]) -> None:
    study = strangers_study(tmp_path, "https://llm.example.org/v1", "MY_KEY")
    for further in ("--backend simulated", "--export requests.jsonl"):
        assert "Sent to" not in ran(f"collect {study} --judge judge --pairs 3 --out {further[2:5]} {further}")


@pytest.mark.long
@pytest.mark.parametrize("backend", ["vllm", "ray"])
@pytest.mark.parametrize("engine", cases(__file__, "engines"))
def test_an_engine_of_a_study_file_runs_no_code_unless_the_user_allows_it(
    backend: str,
    engine: dict[str, Any],
    tmp_path: Path,
    here: Callable[..., Any],
    refused: Callable[..., str],
) -> None:
    study = write_study(tmp_path / "towns", towns())
    question = {"backend": backend, "engine": engine, "answer": "json"}
    change_study(study, lambda content: content["judges"][1]["ask"].update(question))
    words = f"collect {study} --judge judge --pairs 2 --out run --dry-run"
    assert "add --engine-code if you trust" in refused(words)
    assert here(f"{words} --engine-code").code == 0
    assert "Runs code" in here("validate", study).out
    off = {"backend": backend, "engine": {"trust_remote_code": False, "max_model_len": 4096}}
    change_study(study, lambda content: content["judges"][1]["ask"].update(off))
    assert here(words).code == 0


def test_a_study_that_ships_needs_no_consent(ran: Callable[..., str]) -> None:
    ran("collect harm_or_humor --judge jais_13b_chat --prompt text --pairs 1 --out run --dry-run")
