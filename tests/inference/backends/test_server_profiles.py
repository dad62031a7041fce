"""Profiles of servers: the page that lists them, and a probe of a server that imitates each."""

from __future__ import annotations

import json
import os

import pytest

from conjury.inference.backends.openai.replies import read_reply
from conjury.inference.backends.openai.server_profiles import find_profile, profile_rows, read_servers
from conjury.inference.collecting import Asking, probe
from conjury.inference.parsing import read_completion
from conjury.inference.parsing.finish_reasons import WORDS, usual_reason
from conjury.inference.tables.files import ROOT

PAGE = ROOT / "docs" / "reference" / "servers.md"
BEGIN = "<!-- servers: written by tests/inference/backends/test_server_profiles.py -->\n"
END = "<!-- end of servers -->"
SERVERS = read_servers().servers
of_each = pytest.mark.parametrize("profile", SERVERS, ids=[profile.id for profile in SERVERS])
VERDICT = {"kept": "kept", "model": "kept", "ignored": "ignored", "refused": "refused"}


def table() -> str:
    """The table of all servers in Markdown."""
    rows = profile_rows()
    lines = [
        " | ".join(rows[0]),
        "|".join("---" for _ in rows[0]),
        *(" | ".join(row.values()) for row in rows),
    ]
    return "\n".join([f"| {lines[0]} |", f"|{lines[1]}|", *(f"| {line} |" for line in lines[2:])]) + "\n"


def test_the_page_lists_all_servers():
    text = PAGE.read_text(encoding="utf-8")
    before, _, remainder = text.partition(BEGIN)
    written, _, after = remainder.partition(END)
    if os.environ.get("CONJURY_SNAPSHOTS") == "write":
        PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}", encoding="utf-8")
        return
    assert written == table(), "Run this test with CONJURY_SNAPSHOTS=write."
    assert read_servers().as_of in before


@of_each
def test_every_word_for_an_end_has_a_meaning(profile):
    assert {usual_reason(word) for word in profile.ends} <= {*WORDS, "tool_calls"}


@of_each
def test_a_server_is_found_by_its_host_or_its_port_on_this_machine(profile):
    urls = [f"https://{host.replace('*', 'mine')}/v1" for host in profile.hosts]
    urls += [f"http://127.0.0.1:{port}/v1" for port in profile.ports]
    for url in urls:
        assert find_profile(url) == profile
    for port in profile.ports:
        assert find_profile(f"http://other.example:{port}/v1") is None


@of_each
def test_a_probe_finds_what_the_profile_says(profile, server, tmp_path):
    server.configure(profile=profile.model_dump(), keep=True)
    found = probe("moderation", "gpt4o", out=tmp_path, asking=Asking(base_url=server.url))
    assert len(server.bodies()) == 5 + len(found.refused)
    verdicts = {name: finding.verdict for name, finding in found.findings.items()}
    assert verdicts["seed"] == VERDICT[profile.seed]
    assert verdicts["several"] == VERDICT[profile.n]
    assert verdicts["structured"] == VERDICT[profile.structured]
    assert verdicts["system"] == VERDICT[profile.system]
    assert verdicts["temperature"] == VERDICT[profile.temperature]
    logprobs = {"chosen": "partly", "ignored": "ignored", "refused": "refused"}
    assert verdicts["logprobs"] == logprobs.get(str(profile.logprobs), "kept")
    assert verdicts["repeated"] == "kept"


@of_each
def test_answers_of_each_server_are_read_as_those_of_openai(profile):
    from fakes.accents import accented

    body = {"model": "m", "messages": [{"role": "user", "content": "Which?"}]}
    status, content = accented(profile.model_dump(), body, 0)
    read = read_completion(json.loads(json.dumps(content)))
    assert (status, read.text, read.ending, read.error) == (200, "B", "stop", "")


@of_each
def test_a_limit_of_each_server_is_one_with_the_wait_that_it_states(profile):
    from fakes.accents import limited

    headers, content = limited(profile.model_dump(), 7)
    for status in (429, 200) if "success" in profile.errors else (429,):
        reply = read_reply(status, headers, json.dumps(content).encode())
        assert (reply.kind, reply.is_busy, reply.is_worth_repeating) == ("rate_limit", True, True)
        assert reply.wait == (0 if "none" in profile.wait else 7)


def test_a_server_that_wants_the_other_name_of_the_limit_gets_it(server, tmp_path):
    profile = SERVERS[0].model_dump() | {"limit": "max_completion_tokens", "temperature": "refused"}
    server.configure(profile=profile, keep=True)
    found = probe("moderation", "gpt4o", out=tmp_path, asking=Asking(base_url=server.url))
    assert found.findings["limit"].verdict == "refused"
    assert found.findings["temperature"].verdict == "refused"
    assert any("sent as max_completion_tokens" in sentence for sentence in found.changes)
    assert any("`temperature: 0` is left out" in sentence for sentence in found.changes)
    bodies = server.bodies()
    assert "max_completion_tokens" in bodies[-1]
    assert "temperature" not in bodies[-1]


def test_no_key_gets_into_a_probe(server, tmp_path, monkeypatch):
    secret = "sentinel-0123456789abcdef"
    monkeypatch.setenv("MY_KEY", secret)
    refused = [400, {}, {"error": {"message": f"'logprobs' refused for {secret}"}}]
    choice = {"index": 0, "message": {"content": f"Your key is {secret}"}, "finish_reason": "stop"}
    server.configure(replies=[refused, [200, {}, {"id": "1", "model": "m", "choices": [choice]}]])
    asking = Asking(base_url=server.url, key_variable="MY_KEY")
    found = probe("moderation", "gpt4o", out=tmp_path, asking=asking)
    assert secret not in repr(found) + (tmp_path / "probe.json").read_text(encoding="utf-8")
