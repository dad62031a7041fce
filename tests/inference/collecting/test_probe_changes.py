"""What a run changes in how a judge is asked, by what a probe of its server found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.studies import towns, write_study

from conjury.inference.collecting import Running, preview
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
