"""What a run changes by what a probe of its server found, and probes that break off or come late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.studies import towns, write_study

from conjury.inference.collecting import Asking, Running, collect, preview, probe
from conjury.inference.errors import InputError
from conjury.inference.study import AnyStudy, load_any_study

KEYS = ("verdict", "instead", "detail")
SETTINGS = [
    "system",
    "limit",
    "temperature",
    "seed",
    "logprobs",
    "structured",
    "several",
    "repeated",
    "tokens",
]
REASONS = {"limit": ("kept", 64)}
OTHER_LIMIT = {"limit": ("refused", "max_completion_tokens")}
NO_SCHEMA = {"structured": ("refused", None)}
TOGETHER = "https://api.together.xyz/v1"


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> AnyStudy:
    folder = tmp_path_factory.mktemp("study")
    return load_any_study(write_study(folder, towns()))


@pytest.mark.parametrize(
    ("asked", "treated", "changed"),
    [
        (
            {"answer": "token"},
            {"logprobs": ("refused", None), "system": ("ignored", None)},
            {"logprobs": False, "system": False},
        ),
        ({}, {"logprobs": ("refused", None), "structured": ("ignored", None), **OTHER_LIMIT}, {}),
        ({"answer": "token"}, {"logprobs": ("kept", 5)}, {"top_logprobs": 5}),
        ({"answer": "token", "base_url": TOGETHER}, {"logprobs": ("kept", 20)}, {"logprobs": 20}),
        ({"answer": "token"}, OTHER_LIMIT, {"settings": {"max_completion_tokens": 1}}),
        (
            {"settings": {"max_tokens": 9, "seed": 1, "top_k": 5, "stop": "."}},
            OTHER_LIMIT,
            {"settings": {"max_completion_tokens": 9, "seed": 1}},
        ),
        ({"answer": "token"}, REASONS, {"answer": "json"}),
        ({"answer": "token"}, {**REASONS, **NO_SCHEMA}, {"answer": "free"}),
        ({"answer": "token", "settings": {"max_tokens": 9}}, REASONS, {}),
        ({}, NO_SCHEMA, {"answer": "free"}),
    ],
)
def test_only_what_a_server_cannot_do_is_asked_for_in_another_way_and_each_change_is_said(
    asked: dict[str, Any], treated: dict[str, Any], changed: dict[str, Any], study: AnyStudy, tmp_path: Path
):
    judge = study.judges[1]
    usual = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "answer": "json", "settings": {}}
    assert judge.ask is not None
    ask = judge.ask.model_copy(update=usual | asked)
    kept = dict.fromkeys(SETTINGS, ("kept", None)) | treated
    parts = {name: dict(zip(KEYS, (*treatment, ""), strict=True)) for name, treatment in kept.items()}
    refused = [name for name in ("stop", "top_k") if name in ask.settings]
    probe = {"judge": judge.id, "model": "m", "address": ask.base_url, "findings": parts, "refused": refused}
    (tmp_path / "probe.json").write_text(json.dumps({judge.id: probe}))
    run = study.model_copy(update={"judges": [judge.model_copy(update={"ask": ask})]})
    planned = preview(run, judge.id, running=Running(pairs=1), out=tmp_path)
    assert planned.job.ask == ask.model_copy(update=changed)
    said = [note for note in planned.notes if "has no effect" not in note and "is not enforced" not in note]
    assert len(said) >= max(len(refused), len(changed))
    assert changed or not said or treated == REASONS


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
