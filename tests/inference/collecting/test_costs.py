"""Costs of runs: limits that are not exceeded, what counts, and costs of all rounds."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fakes.server import FakeServer
from fakes.studies import MODEL, change_study, collect, table

from conjury.cli.commands.collecting.runs import parse, retry
from conjury.inference.collecting import Running, preview
from conjury.inference.errors import InputError

pytestmark = pytest.mark.long

PER_TOKEN = 0.05  # of what the price table below asks
LIMIT = 1000  # tokens of an answer


def prices(folder: Path, each: float = PER_TOKEN, per: int = 1) -> Path:
    path = folder / "prices.yaml"
    row = {"model": MODEL, "input": each, "output": each, "batch": 0.5, "as_of": "2025-01-01"}
    path.write_text(json.dumps({"currency": "EUR", "per": per, "models": [row]}), encoding="utf-8")
    return path


@pytest.fixture
def long_answers(study):
    """A study of 60 pairs whose answers are guessed at 30 tokens, and may have 1,000."""

    def change(content: dict[str, Any]) -> None:
        content["design"]["pairs"] = 60
        content["judges"][1]["ask"].update(answer="json", settings={"max_tokens": LIMIT})

    change_study(study, change)
    return study


def billed(server: FakeServer) -> float:
    return PER_TOKEN * sum(server.counts()["billed"])


SERVERS: dict[str, dict[str, Any]] = {
    "dear": {},
    "truncated": {"faults": {"truncated_json": 1.0}, "repeats": 99},
    "silent": {"silent": 1.0},
    "mixed": {"faults": {"truncated_json": 0.3, "empty_choices": 0.1}, "silent": 0.3},
}


SLOW = [*product(SERVERS, (8, 512)), *((kind, 64) for kind in ("truncated", "silent"))]


@pytest.mark.parametrize(
    ("kind", "in_flight"),
    [
        ("dear", 64),
        pytest.param("mixed", 64, marks=pytest.mark.long),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in SLOW),
    ],
)
def test_a_limit_is_exceeded_by_one_request_at_most(long_answers, run, tmp_path, server, kind, in_flight):
    server.configure(latency=0.02, tokens=LIMIT, **SERVERS[kind])
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": in_flight, "max_cost": 1500}
    collect(long_answers, run, **options)
    spent, n = billed(server), len(server.counts()["arrivals"])
    assert n > 5
    assert spent <= 1500 + spent / n
    if kind == "dear":
        assert spent > 0.9 * 1500
    collect(long_answers, run, **options)
    assert len(server.counts()["arrivals"]) - n <= 1


def test_a_server_that_bills_more_than_a_request_can_have_is_found_out_by_its_first_answer(
    long_answers, run, tmp_path, server
):
    server.configure(prompt_tokens=100_000, faults={"truncated_json": 0.2}, seed=2)
    each = PER_TOKEN * 100_001
    for least in (2.5 * each, 0):
        options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 512}
        collect(long_answers, run, max_cost=20_000.0, **options)
        assert least < billed(server) <= 20_000.0 + each


@pytest.mark.parametrize(
    ("growth", "in_flight"),
    [(2, 512), *(pytest.param(*some, marks=pytest.mark.slow) for some in ((2, 32), (1.3, 64)))],
)
def test_a_limit_is_kept_to_within_one_request_where_each_answer_is_dearer_than_the_one_before(
    long_answers, run, tmp_path, server, growth, in_flight
):
    server.configure(latency=0.02, growth=growth)
    options = {"base_url": server.url, "prices": prices(tmp_path, 1e-4), "concurrency": in_flight}
    for max_cost in (20.0, 50.0):
        collect(long_answers, run, max_cost=max_cost, **options)
        seen = server.counts()
        assert max_cost / 3 < 1e-4 * sum(seen["billed"]) <= max_cost + 1e-4 * seen["dearest"]


def test_thoughts_that_are_not_in_the_completion_count(long_answers, run, tmp_path, server):
    server.configure(usage={"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 400_101})
    options = {"base_url": server.url, "prices": prices(tmp_path, 1e-5), "concurrency": 8, "max_cost": 13.0}
    collect(long_answers, run, **options)
    rows = table(run, "responses")
    assert rows["completion_tokens"].unique().tolist() == [400_001]
    assert len(rows) == 3  # of 4.00 each
    collect(long_answers, run, **options)
    assert len(server.counts()["arrivals"]) == 3


def test_exchanges_without_stated_tokens_are_an_upper_bound(long_answers, run, tmp_path, server, capsys):
    server.configure(silent=1.0)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 4, "max_cost": 200.0}
    collect(long_answers, run, **options)
    told = capsys.readouterr().out
    assert f"of it is an upper bound: {len(server.counts()['arrivals']):,} exchange" in told
    assert "Stopped (--max-cost was reached):" in told
    assert "The same command with a larger --max-cost resumes the run" in told
    assert "spent so far" not in told
    collect(long_answers, run, dry_run=True, **options)
    assert "spent so far" in capsys.readouterr().out


def test_exchanges_that_broke_off_count_and_are_not_repeated_unasked(long_answers, run, tmp_path, server):
    server.configure(tokens=LIMIT, faults={"cut": 1.0}, repeats=99)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 16}
    collect(long_answers, run, max_cost=600.0, **options)
    n = len(server.counts()["arrivals"])
    assert n > 2
    assert billed(server) <= 600.0 + billed(server) / n


@pytest.mark.slow
def test_batches_reserve_the_most_that_they_can_cost(long_answers, run, tmp_path, server, capsys):
    server.configure(tokens=LIMIT, batches={"plans": [{"polls": 2}]})
    options = {"base_url": server.url, "prices": prices(tmp_path), "batch": True, "max_cost": 1500.0}
    assert collect(long_answers, run, **options) == 0
    assert (
        "The rest of --max-cost is reserved for the maximum cost of these requests" in capsys.readouterr().out
    )
    sent = sum(server.counts()["answered"].values())
    assert 20 < sent < 70
    assert collect(long_answers, run, **options) == 0
    assert sum(server.counts()["answered"].values()) == sent
    for _ in range(6):
        collect(long_answers, run, **options)
    assert 0.6 * 1500 < billed(server) / 2 <= 1500.0


def test_without_a_limit_nothing_waits(long_answers, run, tmp_path, server):
    server.configure(latency=0.3)
    collect(long_answers, run, base_url=server.url, prices=prices(tmp_path), pairs=60)
    assert server.counts()["peak"] >= 60
    assert table(run, "responses")["text"].notna().all()


def test_costs_are_tokens_times_prices_and_those_of_all_rounds_count(study, run, tmp_path, server, capsys):
    options = {"prompts": ["plain"], "base_url": server.url, "pairs": 3}
    assert collect(study, run, prices=prices(tmp_path, 3.0, 1000), **options) == 0
    rows = table(run, "responses")
    tokens = (rows["prompt_tokens"] + rows["completion_tokens"]).astype(float)
    assert rows["cost"].tolist() == pytest.approx((tokens * 3 / 1000).tolist())
    parse(str(study), run, "default", prices(tmp_path, 6.0, 1000))
    cost = table(run, "responses")["cost"]
    assert cost.tolist() == pytest.approx((tokens * 6 / 1000).tolist())
    retry(str(study), ["ok"], None, run)
    options["prices"] = prices(tmp_path, 6.0, 1000)
    assert collect(study, run, **options) == 0
    capsys.readouterr()
    assert collect(study, run, batch=True, dry_run=True, **options) == 0
    assert f"spent so far {2 * cost.sum():,.2f}" in capsys.readouterr().out


def test_max_cost_needs_a_price(study, run, server):
    change_study(study, lambda content: content["judges"][1]["ask"].update(model="unheard-of"))
    with pytest.raises(InputError, match="--max-cost needs the price of unheard-of"):
        collect(study, run, base_url=server.url, max_cost=1.0)
    assert not server.counts()["arrivals"]
    assert not run.exists()
    assert collect(study, run, base_url=server.url, pairs=1) == 0
    assert table(run, "responses")["cost"].isna().all()


def test_the_longest_answer_of_the_responses_api_is_at_least_what_it_is_asked_for(study, run, tmp_path):
    change_study(study, lambda content: content["judges"][1]["ask"].update(answer="token", api="responses"))
    running = Running(pairs=2, max_cost=10, prices=prices(tmp_path))
    setup = preview(str(study), "judge", running=running, out=run)
    body = next(iter(setup.job.requests())).body
    assert body["max_tokens"] == 1  # sent as 16
    longer = {**body, "max_tokens": 16}
    assert setup.budget.most(longer) - setup.budget.most(body) == pytest.approx(PER_TOKEN)  # a byte more
