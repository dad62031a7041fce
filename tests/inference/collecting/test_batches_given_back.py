"""Batches that were never sent do not hold back their requests."""

from __future__ import annotations

import pytest
from fakes.studies import collect, table, towns, write_study

from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger


def test_a_batch_that_could_not_be_sent_leaves_its_requests_to_others(tmp_path, server, monkeypatch):
    study = write_study(tmp_path / "towns", towns())
    run = tmp_path / "run"
    with pytest.raises(InputError):
        collect(study, run, prompts=["plain"], base_url="http://127.0.0.1:9/v1", batch=True)
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert [batch.state for batch in ledger.batches()] == ["planned"]
    assert collect(study, run, prompts=["plain"], base_url=server.url) == 0
    assert (table(run, "judgments")["status"] == "ok").all()
    assert len(table(run, "judgments")) == 44


def test_a_run_without_any_answer_fails(tmp_path, server):
    server.configure(faults={"wrong_schema": 1.0}, repeats=99)
    study = write_study(tmp_path / "towns", towns())
    assert collect(study, tmp_path / "run", prompts=["plain"], base_url=server.url, pairs=3) == 1
    assert set(table(tmp_path / "run", "judgments")["status"]) == {"error"}
