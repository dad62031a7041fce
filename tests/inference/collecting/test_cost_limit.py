"""What a run may cost: `--max-cost` is kept to within one request, whatever the server does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from fakes.server import FakeServer
from fakes.studies import MODEL, change_study, collect, table, towns, write_study

from conjury.inference.collecting.prices import Budget, Price, Spending, most_tokens, stated_tokens
from conjury.inference.ledger import Ledger

PER_TOKEN = 0.05  # of what the price table below asks
LIMIT = 1000  # tokens of an answer


def prices(folder: Path) -> Path:
    path = folder / "prices.yaml"
    row = {"model": MODEL, "input": PER_TOKEN, "output": PER_TOKEN, "batch": 0.5, "as_of": "2025-01-01"}
    path.write_text(json.dumps({"currency": "EUR", "per": 1, "models": [row]}), encoding="utf-8")
    return path


@pytest.fixture
def long_answers(tmp_path):
    """A study of 150 pairs whose answers are guessed at 30 tokens, and may have 1,000."""

    def change(content: dict[str, Any]) -> None:
        content["design"]["pairs"] = 150
        content["judges"][1]["ask"].update(answer="json", settings={"max_tokens": LIMIT})

    folder = write_study(tmp_path / "towns", towns())
    change_study(folder, change)
    return folder


def billed(server: FakeServer) -> float:
    return PER_TOKEN * sum(server.counts()["billed"])


SERVERS: dict[str, dict[str, Any]] = {
    "dear": {},
    "truncated": {"faults": {"truncated_json": 1.0}, "repeats": 99},
    "silent": {"silent": 1.0},
    "mixed": {"faults": {"truncated_json": 0.3, "empty_choices": 0.1}, "silent": 0.3},
}


@pytest.mark.parametrize(
    "in_flight", [pytest.param(8, marks=pytest.mark.long), 64, pytest.param(512, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_limit_is_exceeded_by_one_request_at_most(long_answers, tmp_path, server, kind, in_flight):
    server.configure(latency=0.02, tokens=LIMIT, **SERVERS[kind])
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": in_flight}
    limit = 1500.0
    collect(long_answers, tmp_path / "run", max_cost=limit, **options)
    spent, n = billed(server), len(server.counts()["arrivals"])
    assert n > 5
    assert spent <= limit + spent / n
    if kind == "dear":
        assert spent > 0.9 * limit
    before = n
    collect(long_answers, tmp_path / "run", max_cost=limit, **options)
    assert len(server.counts()["arrivals"]) - before <= 1


@pytest.mark.parametrize("in_flight", [pytest.param(8, marks=pytest.mark.long), 512])
def test_a_server_that_bills_more_than_a_request_can_have_is_found_out_by_its_first_answer(
    long_answers, tmp_path, server, in_flight
):
    server.configure(prompt_tokens=100_000, faults={"truncated_json": 0.2}, seed=2)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": in_flight}
    collect(long_answers, tmp_path / "run", max_cost=20_000.0, **options)
    each = PER_TOKEN * 100_001
    assert 2.5 * each < billed(server) <= 20_000.0 + each
    collect(long_answers, tmp_path / "run", max_cost=20_000.0, **options)
    assert billed(server) <= 20_000.0 + each


def test_what_was_billed_without_a_word_is_said(long_answers, tmp_path, server, capsys):
    server.configure(silent=1.0)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 4}
    collect(long_answers, tmp_path / "run", max_cost=200.0, **options)
    told = capsys.readouterr().out
    n = len(server.counts()["arrivals"])
    assert f"of it is an upper bound: {n:,} exchange" in told
    assert "Stopped (--max-cost was reached):" in told
    assert "The same command with a larger --max-cost goes on from here" in told
    assert "spent so far" not in told
    collect(long_answers, tmp_path / "run", dry_run=True, max_cost=200.0, **options)
    assert "spent so far" in capsys.readouterr().out


def test_exchanges_that_broke_off_count_and_are_not_repeated_unasked(long_answers, tmp_path, server):
    server.configure(tokens=LIMIT, faults={"cut": 1.0}, repeats=99)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 16}
    collect(long_answers, tmp_path / "run", max_cost=600.0, **options)
    n = len(server.counts()["arrivals"])
    assert n > 2
    assert billed(server) <= 600.0 + billed(server) / n


def test_batches_reserve_the_most_that_they_can_cost(long_answers, tmp_path, server, capsys):
    server.configure(tokens=LIMIT, batches={"plans": [{"polls": 2}]})
    options = {"base_url": server.url, "prices": prices(tmp_path), "batch": True, "max_cost": 1500.0}
    run = tmp_path / "run"
    assert collect(long_answers, run, **options) == 0
    told = capsys.readouterr().out
    assert "The rest of --max-cost is reserved for the most that these can cost" in told
    sent = sum(server.counts()["answered"].values())
    assert 20 < sent < 70
    assert collect(long_answers, run, **options) == 0
    assert sum(server.counts()["answered"].values()) == sent
    for _ in range(6):
        collect(long_answers, run, **options)
    assert 0.6 * 1500 < billed(server) / 2 <= 1500.0


def test_without_a_limit_nothing_waits(long_answers, tmp_path, server):
    server.configure(latency=0.3)
    collect(long_answers, tmp_path / "run", base_url=server.url, prices=prices(tmp_path), pairs=60)
    assert server.counts()["peak"] >= 60
    assert table(tmp_path / "run", "responses")["text"].notna().all()


def test_a_ledger_of_an_earlier_version_is_read_and_goes_on(tmp_path):
    import sqlite3

    with Ledger.open(tmp_path / "ledger.sqlite"):
        pass
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        db.execute("ALTER TABLE attempts DROP COLUMN billed")
    db.close()
    with Ledger.open(tmp_path / "ledger.sqlite", write=False) as ledger:
        assert list(ledger.unstated("judge")) == []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert list(ledger.unstated("judge")) == []
        assert ledger.problems() == []


PRICE = Price(model="m", input=1.0, output=2.0, picture=100, longest=500, as_of="2025-01-01")


@pytest.mark.parametrize(
    ("usage", "stated"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
        ({"prompt_tokens": 3, "completion_tokens": 0}, (3, None)),
        ({"prompt_tokens": 0, "completion_tokens": 4}, (None, 4)),
        ({"prompt_tokens": -3, "completion_tokens": True}, (None, None)),
        ({"prompt_tokens": "3", "completion_tokens": 1e3}, (None, None)),
        ({"prompt_tokens": 10**30, "completion_tokens": math.inf}, (None, None)),
        ([], (None, None)),
        (None, (None, None)),
    ],
)
def test_only_counts_that_can_be_true_are_taken_as_stated(usage, stated):
    answer = {"choices": [{"message": {"content": "A"}}], "usage": usage}
    assert stated_tokens(answer) == stated


def test_the_most_that_a_request_can_cost_covers_any_script_pictures_and_several_answers():
    message = {"role": "user", "content": "日本" * 50}
    assert most_tokens({"messages": [message]}, PRICE).prompt >= 300
    assert most_tokens({"messages": [message]}, PRICE).completion == 500
    assert most_tokens({"messages": [message], "max_tokens": 3, "n": 4}, PRICE).completion == 12
    pictured = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "media:x"}}]}
    assert most_tokens({"messages": [pictured]}, PRICE).prompt >= 200
    budget = Budget(PRICE, per=1)
    assert budget.most({"messages": [], "max_tokens": 10}) >= 20
    said = {"usage": {"prompt_tokens": 5, "completion_tokens": 5}}
    assert budget.most({"messages": [], "max_tokens": 10}, said) == 0


def test_few_requests_are_in_flight_before_anything_is_measured():
    spending = Spending(Budget(PRICE, 1, max_cost=1e9), 0.0, 0.0, expected=1.0)
    assert [spending.admit(str(n), 5.0) for n in range(3)] == ["send", "wait", "wait"]
    spending.settle("0", 4.0, 0.0, 0, answered=True)
    assert [spending.admit(str(n), 5.0) for n in range(3)] == ["send", "send", "wait"]


def test_a_model_that_costs_nothing_is_asked_at_full_speed():
    spending = Spending(Budget(PRICE, 1, max_cost=1.0), 0.0, 0.0, expected=0.0)
    for n in range(20):
        assert spending.admit(f"a{n}", 0.0) == "send"
        spending.settle(f"a{n}", 0.0, 0.0, 0, answered=True)
    assert {spending.admit(f"b{n}", 0.0) for n in range(20)} == {"send"}


def test_a_cost_beyond_the_bound_scales_all_that_is_counted_at_the_most():
    spending = Spending(Budget(PRICE, 1, max_cost=100.0), 0.0, 0.0, expected=1.0)
    assert spending.admit("a", 5.0) == "send"
    spending.settle("a", 0.0, 5.0, 1, answered=False)
    assert spending.admit("b", 5.0) == "send"
    spending.settle("b", 50.0, 0.0, 0, answered=True)
    assert spending.spent == 100.0
    assert spending.admit("c", 5.0) == "stop"


def test_what_an_earlier_run_spent_and_found_out_is_kept():
    spending = Spending(Budget(PRICE, 1, max_cost=100.0), 60.0, 50.0, expected=1.0, excess=10.0)
    assert (spending.spent, spending.unstated) == (60.0, 50.0)
    assert spending.admit("a", 4.0) == "send"
    assert spending.admit("b", 4.0) == "wait"
    spending.settle("a", 0.0, 4.0, 1, answered=False)
    assert spending.spent == 100.0
    assert spending.admit("b", 4.0) == "stop"


def test_batches_are_filled_up_to_the_limit_and_none_is_sent_beyond():
    spending = Spending(Budget(PRICE, 1, batch=True, max_cost=10.0), 0.0, 0.0, expected=1.0)
    assert [spending.admit(str(n), 4.0) for n in range(3)] == ["send", "send", "wait"]
    for key in "01":
        spending.settle(key, 4.0, 0.0, 0, answered=True)
    assert spending.admit("2", 4.0) == "stop"
