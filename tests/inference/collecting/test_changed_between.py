"""What a run remembers of how it was asked, and what it refuses afterwards."""

from __future__ import annotations

import pytest
from fakes.server import FakeServer
from fakes.studies import change_study, collect, table

from conjury.cli.commands.runs import parse
from conjury.cli.commands.runs import retry as mark
from conjury.inference.collecting.options import engines
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.ledger import Ledger


def test_answers_are_not_read_by_a_study_that_has_changed(study, tmp_path):
    run = tmp_path / "run"
    assert collect(study, run, backend="simulated", prompts=["plain"]) == 0
    before = table(run, "choices")
    change_study(study, lambda content: content.update(response={"form": "choice", "options": ["B", "A"]}))
    for again in (
        lambda: parse(str(study), run, "default", None),
        lambda: mark(str(study), ["ok"], None, run),
    ):
        with pytest.raises(InputError, match="response"):
            again()
    assert table(run, "choices").equals(before)


def test_a_judge_that_was_never_asked_may_be_asked_otherwise(study, server, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(MissingDependency):
        collect(study, run, prompts=["plain"], backend="ray", answer="choice", pairs=3)
    change_study(study, lambda content: content["judges"][1]["ask"].update(settings={"temperature": 0.5}))
    assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=3) == 0
    change_study(study, lambda content: content["judges"][1]["ask"].update(settings={"temperature": 0.7}))
    with pytest.raises(InputError, match="temperature"):
        collect(study, run, prompts=["plain"], base_url=server.url, pairs=3)


def test_every_server_that_answered_is_remembered(study, tmp_path):
    run = tmp_path / "run"
    with FakeServer() as first, FakeServer() as second:
        for server, pairs in ((first, 2), (first, 3), (second, 4)):
            assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=pairs) == 0
        with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
            known = engines(ledger, "judge")
        assert [engine["settings"]["base_url"] for engine in known] == [first.url, second.url]
        assert known[0]["since"] <= known[1]["since"]


def test_money_spent_counts_all_rounds_each_by_its_interface(study, server, tmp_path, capsys):
    run = tmp_path / "run"
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "currency: EUR\nper: 1000\nmodels:\n"
        "  - {model: gpt-4o-mini, input: 10, output: 10, batch: 0.5, as_of: 2025-01-01}\n"
    )
    options = {"prompts": ["plain"], "base_url": server.url, "pairs": 3, "prices": prices}
    assert collect(study, run, **options) == 0
    once = float(table(run, "responses")["cost"].sum())
    mark(str(study), ["ok"], None, run)
    assert collect(study, run, **options) == 0
    capsys.readouterr()
    assert collect(study, run, batch=True, dry_run=True, **options) == 0
    assert f"spent so far {2 * once:,.2f}" in capsys.readouterr().out


@pytest.mark.long  # waits for the retries of a connection that is refused
def test_a_batch_that_could_not_be_sent_leaves_its_requests_to_others(study, tmp_path, server):
    run = tmp_path / "run"
    with pytest.raises(InputError):
        collect(study, run, prompts=["plain"], base_url="http://127.0.0.1:9/v1", batch=True)
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert [batch.state for batch in ledger.batches()] == ["planned"]
    assert collect(study, run, prompts=["plain"], base_url=server.url) == 0
    assert (table(run, "judgments")["status"] == "ok").all()
    assert len(table(run, "judgments")) == 44


def test_a_run_without_any_answer_fails(study, tmp_path, server):
    server.configure(faults={"wrong_schema": 1.0}, repeats=99)
    assert collect(study, tmp_path / "run", prompts=["plain"], base_url=server.url, pairs=3) == 1
    assert set(table(tmp_path / "run", "judgments")["status"]) == {"error"}
