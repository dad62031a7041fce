"""Probes of servers that break off or write other encodings, and of runs that have begun; what comes next."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.studies import towns, write_study

from conjury.inference.collecting import Asking, Running, collect, preview, probe
from conjury.inference.errors import InputError


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_answers_of_a_probe_are_read_in_every_encoding_of_json(encoding, server, tmp_path, monkeypatch):
    received = "conjury.inference.backends.openai.transport.mask_bytes"
    monkeypatch.setattr(received, lambda content, secrets: content.decode().encode(encoding))
    probed = probe("moderation", "gpt4o", out=tmp_path, asking=Asking(base_url=server.url))
    assert probed.findings["tokens"].verdict == "kept"


def test_a_probe_of_a_server_that_breaks_off_sends_one_request(server, tmp_path):
    server.configure(faults={"reset": 1.0})
    with pytest.raises(InputError, match=r"has not answered a request of the probe .*check the server"):
        probe("moderation", "gpt4o", out=tmp_path, asking=Asking(base_url=server.url))
    assert len(server.counts()["arrivals"]) == 1


def test_a_probe_ends_where_the_server_asks_for_minutes(server, tmp_path):
    server.configure(faults={"429_retry_after": 1.0}, retry_after=300)
    with pytest.raises(InputError, match=r"/v1 asks to wait for (300|299) s; probe again then"):
        probe("moderation", "gpt4o", out=tmp_path, asking=Asking(base_url=server.url))
    assert len(server.counts()["arrivals"]) == 1


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"gpt4o": []}', '{"gpt4o": {"judge": "gpt4o", "findings": {"seed": "kept"}}}']
)
def test_a_damaged_probe_is_asked_about_before_anything_is_sent(content, server, tmp_path):
    (tmp_path / "probe.json").write_text(content)
    call: dict[str, Any] = {"asking": Asking(base_url=server.url), "out": tmp_path}
    for door in (probe, preview, collect):
        with pytest.raises(InputError, match=r"probe\.json.*; remove it, and run `conjury probe` again"):
            door("moderation", "gpt4o", **call)
    assert not server.counts()["arrivals"]


@pytest.mark.long
def test_a_run_that_began_with_log_probabilities_says_that_what_a_probe_finds_needs_another_folder(
    server, tmp_path
):
    study = write_study(tmp_path / "towns", towns())
    refusal = [400, {}, {"error": {"message": "Unknown argument: logprobs"}}]
    server.configure(replies=[refusal])
    call: dict[str, Any] = {"asking": Asking(base_url=server.url, answer="token"), "out": tmp_path / "run"}
    first = collect(study, "judge", running=Running(pairs=2), **call)
    assert first.account is not None
    (missing,) = first.account["without_answer"]
    assert "shows which are refused) and collect into another folder with --out" in missing["remedy"]
    answer = {"choices": [{"index": 0, "message": {"content": "B"}, "finish_reason": "stop"}]}
    server.configure(replies=[[200, {}, answer]])
    probe(study, "judge", **call)
    (note,) = preview(study, "judge", running=Running(pairs=2), **call).notes
    assert "as it began; probe and collect into another folder with --out. Log-prob" in note
    elsewhere = {**call, "out": tmp_path / "other"}
    probe(study, "judge", **elsewhere)
    assert collect(study, "judge", running=Running(pairs=2), **elsewhere).tally.answered == 4
