"""Costs: a design card expects what a dry run shows, and `--max-cost` is kept to within one request."""

from __future__ import annotations

import json
import math
import sqlite3
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.ledgers import as_first_version
from fakes.server import FakeServer
from fakes.studies import MODEL, RATINGS, change_study, collect, table, towns, write_study

from conjury.cli.commands.runs import parse, retry
from conjury.inference.collecting import Asking
from conjury.inference.collecting.jobs import BUILT, Job, expected_costs, plan
from conjury.inference.collecting.options import find_judge, find_prompts
from conjury.inference.collecting.prices import (
    TOKENS_PER_PART,
    Budget,
    Price,
    Spending,
    guess_tokens,
    most_tokens,
    read_prices,
    stated_tokens,
)
from conjury.inference.collecting.runs import RunFolder
from conjury.inference.design.drawn import draw_design
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.usage import counted_sound, counted_tokens
from conjury.inference.study import Study, load_study
from conjury.inference.study.asking import MAX_TOKENS

PER_TOKEN = 0.05  # of what the price table below asks
LIMIT = 1000  # tokens of an answer
REQUESTS = 44 * 2


def prices(folder: Path, each: float = PER_TOKEN, per: int = 1) -> Path:
    path = folder / "prices.yaml"
    row = {"model": MODEL, "input": each, "output": each, "batch": 0.5, "as_of": "2025-01-01"}
    path.write_text(json.dumps({"currency": "EUR", "per": per, "models": [row]}), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def long_answers(study):
    """A study of 150 pairs whose answers are guessed at 30 tokens, and may have 1,000."""

    def change(content: dict[str, Any]) -> None:
        content["design"]["pairs"] = 150
        content["judges"][1]["ask"].update(answer="json", settings={"max_tokens": LIMIT})

    change_study(study, change)
    return study


def billed(server: FakeServer) -> float:
    return PER_TOKEN * sum(server.counts()["billed"])


REASONED = {"completion_tokens_details": {"reasoning_tokens": 500}}
CREATED = {"cache_creation_input_tokens": 3}
SERVERS: dict[str, dict[str, Any]] = {
    "dear": {},
    "truncated": {"faults": {"truncated_json": 1.0}, "repeats": 99},
    "silent": {"silent": 1.0},
    "mixed": {"faults": {"truncated_json": 0.3, "empty_choices": 0.1}, "silent": 0.3},
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "in_flight"),
    [
        ("mixed", 64),
        *(pytest.param(*some, marks=pytest.mark.long) for some in (("mixed", 512), ("truncated", 8))),
        *(pytest.param(*some, marks=pytest.mark.long) for some in (("dear", 64), ("silent", 64))),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in product(("dear", "silent"), (8, 512))),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in (("mixed", 8), ("truncated", 64))),
        pytest.param("truncated", 512, marks=pytest.mark.slow),
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


@pytest.mark.long
@pytest.mark.parametrize("in_flight", [pytest.param(8, marks=pytest.mark.long), 512])
def test_a_server_that_bills_more_than_a_request_can_have_is_found_out_by_its_first_answer(
    long_answers, run, tmp_path, server, in_flight
):
    server.configure(prompt_tokens=100_000, faults={"truncated_json": 0.2}, seed=2)
    each = PER_TOKEN * 100_001
    for least in (2.5 * each, 0):
        options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": in_flight}
        collect(long_answers, run, max_cost=20_000.0, **options)
        assert least < billed(server) <= 20_000.0 + each


@pytest.mark.parametrize(
    ("growth", "in_flight", "processes"),
    [
        (2, 32, 1),
        *(pytest.param(*some, marks=pytest.mark.long) for some in ((2, 512, 1), (1.3, 64, 1), (2, 32, 2))),
    ],
)
def test_a_limit_is_kept_to_within_one_request_where_each_answer_is_dearer_than_the_one_before(
    long_answers, run, tmp_path, server, growth, in_flight, processes
):
    server.configure(latency=0.02, growth=growth)
    options = {"base_url": server.url, "prices": prices(tmp_path, 1e-4), "concurrency": in_flight}
    for max_cost in (20.0, 50.0):
        collect(long_answers, run, max_cost=max_cost, processes=processes, **options)
        seen = server.counts()
        assert max_cost / 3 < 1e-4 * sum(seen["billed"]) <= max_cost + 1e-4 * seen["dearest"]


THOUGHTS = {
    "total": {"total_tokens": 400_101},
    "total and named": {
        "total_tokens": 400_101,
        "completion_tokens_details": {"reasoning_tokens": 400_000},
    },
    "named": {"total_tokens": None, "completion_tokens_details": {"reasoning_tokens": 400_000}},
    "named outside": {"total_tokens": 101, "reasoning_tokens": 400_000},
}


@pytest.mark.parametrize(
    "kind", ["total", *(pytest.param(kind, marks=pytest.mark.long) for kind in THOUGHTS if kind != "total")]
)
def test_thoughts_that_are_not_in_the_completion_count(long_answers, run, tmp_path, server, kind):
    server.configure(usage={"prompt_tokens": 100, "completion_tokens": 1, **THOUGHTS[kind]})
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


@pytest.mark.long
def test_exchanges_that_broke_off_count_and_are_not_repeated_unasked(long_answers, run, tmp_path, server):
    server.configure(tokens=LIMIT, faults={"cut": 1.0}, repeats=99)
    options = {"base_url": server.url, "prices": prices(tmp_path), "concurrency": 16}
    collect(long_answers, run, max_cost=600.0, **options)
    n = len(server.counts()["arrivals"])
    assert n > 2
    assert billed(server) <= 600.0 + billed(server) / n


@pytest.mark.long
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


@pytest.mark.long
def test_without_a_limit_nothing_waits(long_answers, run, tmp_path, server):
    server.configure(latency=0.3)
    collect(long_answers, run, base_url=server.url, prices=prices(tmp_path), pairs=60)
    assert server.counts()["peak"] >= 60
    assert table(run, "responses")["text"].notna().all()


@pytest.mark.long
def test_a_run_stops_before_it_costs_more_and_goes_on_later(study, run, tmp_path, server, capsys):
    options = {"base_url": server.url, "prices": prices(tmp_path, 10.0, 1000), "concurrency": 4}
    assert collect(study, run, max_cost=20.0, **options) == 0
    spent = table(run, "responses")["cost"]
    n = len(spent)
    assert 5 < n < REQUESTS / 2
    assert 20 - 8 * spent.max() < spent.sum() <= 20
    told = capsys.readouterr().out
    assert all(words in told for words in ("stops before 20.00", "EUR", "--max-cost was reached"))
    assert collect(study, run, max_cost=20.0, **options) == 0
    assert [len(table(run, name)) for name in ("responses", "judgments", "choices")] == [n, n, 2 * n]
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert sum(count.n for count in ledger.counts() if count.state == "pending") == REQUESTS - n
    assert collect(study, run, max_cost=40.0, **options) == 0
    assert n < len(table(run, "responses")) < REQUESTS
    assert collect(study, run, **options) == 0
    assert len(table(run, "responses")) == REQUESTS
    assert set(server.counts()["answered"].values()) == {1}


@pytest.mark.long
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


def test_a_ledger_of_an_earlier_version_is_read_and_goes_on(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path):
        pass
    as_first_version(path)
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE attempts DROP COLUMN billed")
    db.close()
    with Ledger.open(path, write=False) as ledger:
        assert list(ledger.unstated("judge")) == []
    with Ledger.open(path) as ledger:
        assert list(ledger.unstated("judge")) == []
        assert ledger.problems() == []


PRICE = Price(model="m", input=1.0, output=2.0, picture=100, longest=500, as_of="2025-01-01")


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 620}, (100, 520)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 90}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": -5}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 10**30}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": "620"}, (100, 20)),
        ({"prompt_tokens": 100, "total_tokens": 620}, (100, 520)),
        ({"prompt_tokens": 100, "completion_tokens": -1, "total_tokens": 620}, (100, None)),
        ({"prompt_tokens": 100, "completion_tokens": 520} | REASONED, (100, 520)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 620} | REASONED, (100, 520)),
        ({"prompt_tokens": 100, "completion_tokens": 20} | REASONED, (100, 520)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "completion_tokens_details": None}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": 20, "cost": 3.5}, (100, 20)),
        ({"input_tokens": 100, "output_tokens": 20}, (100, 20)),
        ({"input_tokens": 100, "output_tokens": 20, "total_tokens": 620}, (100, 520)),
        ({"input_tokens": 90, "cache_read_input_tokens": 7, "output_tokens": 20} | CREATED, (100, 20)),
        (
            {"input_tokens": 100, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 9}},
            (100, 20),
        ),
    ],
)
def test_tokens_are_counted_in_whatever_form_a_provider_states_them(answer, tokens):
    assert counted_tokens({"usage": answer}) == tokens


@pytest.mark.parametrize(
    ("counts", "tokens"),
    [
        ({"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}, (100, 20)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 7}, (100, 27)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 620}, (100, 520)),
        ({"promptTokenCount": 90, "toolUsePromptTokenCount": 10, "totalTokenCount": 107}, (100, 7)),
        ({"promptTokenCount": 100}, (100, 0)),
        ({"promptTokenCount": -1, "candidatesTokenCount": 20}, (None, 20)),
    ],
)
def test_tokens_of_gemini_are_counted_with_thoughts(counts, tokens):
    assert counted_tokens({"usageMetadata": counts}) == tokens


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
    assert stated_tokens({"choices": [{"message": {"content": "A"}}], "usage": usage}) == stated


def test_the_most_that_a_request_can_cost_covers_any_script_pictures_and_several_answers():
    message = {"role": "user", "content": "日本" * 50}
    assert most_tokens({"messages": [message]}, PRICE).prompt >= 300
    assert most_tokens({"messages": [message]}, PRICE).completion == 500
    assert most_tokens({"messages": [message], "max_tokens": 3, "n": 4}, PRICE).completion == 12
    pictured = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "media:x"}}]}
    assert most_tokens({"messages": [pictured]}, PRICE).prompt >= 200
    budget, body = Budget(PRICE, per=1), {"messages": [], "max_tokens": 10}
    assert budget.most(body) >= 20
    assert budget.most(body, {"usage": {"prompt_tokens": 5, "completion_tokens": 5}}) == 0


def test_the_limit_that_a_backend_sends_is_reserved_where_the_judge_states_none():
    body = {"messages": [], "response_format": {}}
    price = read_prices().of("claude-haiku-4-5")
    assert price is not None
    assert price.longest == 64_000
    assert most_tokens(body, price, MAX_TOKENS["anthropic"]).completion == 4096
    assert most_tokens(body | {"max_tokens": 9}, price, MAX_TOKENS["anthropic"]).completion == 9
    most = Budget(price, 1e6, batch=True, max_tokens=4096).most(body)
    assert most == pytest.approx(4096 * 5 / 1e6 / 2, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({}, 1030),
        ({"thinkingConfig": {"thinkingBudget": 0}}, 30),
        ({"thinkingConfig": {"thinkingBudget": 512}}, 542),
        ({"thinkingConfig": {"thinkingBudget": -1}}, 1030),
        ({"thinking": {"type": "enabled", "budget_tokens": 200}}, 230),
        ({"max_tokens": 50}, 50),
    ],
)
def test_thoughts_are_part_of_what_an_answer_is_expected_to_cost(settings, tokens):
    assert guess_tokens({"messages": [], **settings}, "json", thinking=1000).completion == tokens


def test_sound_is_priced_as_sound():
    price = read_prices().of("gemini-2.5-flash")
    assert price is not None
    assert price.cost(1000, 0, 1e6, sound=400) == pytest.approx((600 * 0.30 + 400 * 1.00) / 1e6)
    clip = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "media:x"}}]}
    guess = guess_tokens({"messages": [clip]}, "json")
    assert guess.sound == 480
    silent = price.model_copy(update={"audio": None})
    body = {"messages": [clip], "max_tokens": 1}
    assert Budget(price).most(body) - Budget(silent).most(body) == pytest.approx(2 * 480 * 0.70 / 1e6)
    assert counted_sound({"usage": {"prompt_tokens_details": {"audio_tokens": 400}}}) == 400
    assert [counted_sound(one) for one in (None, {}, {"usage": {"prompt_tokens_details": [1]}})] == [0, 0, 0]


def spending(
    limit: float = 100.0, spent: tuple[float, float] = (0.0, 0.0), batch: bool = False, **how: float
) -> Spending:
    return Spending(Budget(PRICE, 1, batch=batch, max_cost=limit), *spent, **{"expected": 1.0} | how)


def test_few_requests_are_in_flight_before_anything_is_measured_unless_they_cost_nothing():
    dear = spending(1e9)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "wait", "wait"]
    dear.settle("0", 4.0, 0.0, 0, answered=True)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "wait", "wait"]
    dear.settle("0", 4.0, 0.0, 0, answered=True)
    assert [dear.admit(str(n), 5.0) for n in range(3)] == ["send", "send", "wait"]
    free = spending(1.0, expected=0.0)
    for n in range(40):
        assert free.admit(f"a{n}", 0.0) == "send"
        free.settle(f"a{n}", 0.0, 0.0, 0, answered=True)
    assert {free.admit(f"b{n}", 0.0) for n in range(20)} == {"send"}


def test_a_cost_beyond_the_bound_scales_all_that_is_counted_at_the_most_in_later_runs_too():
    first = spending()
    assert first.admit("a", 5.0) == "send"
    first.settle("a", 0.0, 5.0, 1, answered=False)
    assert first.admit("b", 5.0) == "send"
    first.settle("b", 50.0, 0.0, 0, answered=True)
    assert first.spent == 100.0
    assert first.admit("c", 5.0) == "stop"
    later = spending(spent=(60.0, 50.0), excess=10.0)
    assert (later.spent, later.unstated) == (60.0, 50.0)
    assert [later.admit(key, 4.0) for key in "ab"] == ["send", "wait"]
    later.settle("a", 0.0, 4.0, 1, answered=False)
    assert later.spent == 100.0
    assert later.admit("b", 4.0) == "stop"


def test_batches_are_filled_up_to_the_limit_and_none_is_sent_beyond():
    batches = spending(10.0, batch=True)
    assert [batches.admit(str(n), 4.0) for n in range(3)] == ["send", "send", "wait"]
    for key in "01":
        batches.settle(key, 4.0, 0.0, 0, answered=True)
    assert batches.admit("2", 4.0) == "stop"


@cache
def moderation_costs() -> pd.DataFrame:
    study = load_study("moderation")
    return expected_costs(study, draw_design(study, 20, 0.1, seed=1), read_prices())


def costs_of(study: Study, pairs: int = 5, swapped: float = 0.0) -> pd.DataFrame:
    return expected_costs(study, draw_design(study, pairs, swapped, seed=1), read_prices())


def of(costs: pd.DataFrame, judge: str = "judge", shown: str = "text") -> dict[str, Any]:
    (row,) = costs[(costs["judge"] == judge) & (costs["shown"] == shown)].to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.long
@pytest.mark.parametrize(("name", "judge"), [("moderation", "gpt4o"), ("towns", "judge")])
def test_text_costs_what_a_dry_run_shows(name, judge, study, run):
    known = load_study("moderation" if name == "moderation" else study)
    if name == "moderation":
        known = known.model_copy(update={"design": known.design.model_copy(update={"pairs": 3 * BUILT})})
    folder, prices = RunFolder(run), read_prices()
    row = of(expected_costs(known, folder.draw(known, None, None, None, keep=False), prices), judge)
    content = folder.content(known, keep=False)
    ask = find_judge(known, judge, Asking())
    prompts = find_prompts(known, None, False, judge)
    job = Job(known, judge, ask, prompts, content.subjects, content.count, folder.media(known, None))
    planned = plan(job, None, Budget(prices.of(ask.model), prices.per))
    assert row["requests"] == planned.total
    assert row["prompt_tokens"] == pytest.approx(planned.tokens.prompt * planned.total)
    assert row["cost"] == pytest.approx(planned.cost)
    assert row["batch_cost"] == pytest.approx(planned.cost / 2)


@pytest.mark.long
def test_pictures_cost_their_own_tokens_and_people_and_own_models_nothing():
    costs = moderation_costs()
    text, images = of(costs, "gpt4o"), of(costs, "gpt4o", "images")
    assert (text["prompts"], images["prompts"]) == (3, 5)
    assert (text["requests"], images["requests"]) == (22 * 3, 22 * 5)
    assert images["prompt_tokens"] / images["requests"] > 2 * TOKENS_PER_PART["image_url"]
    mini = of(costs, "gpt4o_mini", "images")
    more = (mini["prompt_tokens"] - images["prompt_tokens"]) / images["requests"]
    assert more == pytest.approx(2 * (25_501 - 765))
    assert of(costs, "gpt4o_mini")["prompt_tokens"] == text["prompt_tokens"]
    own = of(costs, "qwen2_2b")
    assert pd.isna(own["cost"])
    assert own["requests"] == 22 * 3
    assert "human" not in set(costs["judge"])


def test_unknown_prices_stay_unknown_and_single_profiles_are_counted_once(tmp_path):
    content = towns()
    content["judges"][1]["ask"]["model"] = "no-such-model"
    costs = costs_of(load_study(write_study(tmp_path / "towns", content)))
    assert pd.isna(of(costs)["cost"])
    assert of(costs)["as_of"] == ""
    assert "silent" not in set(costs["judge"])
    content["collect"]["form"], content["response"] = "single", RATINGS
    study = load_study(write_study(tmp_path / "single", content))
    assert of(costs_of(study, 30, 0.5))["requests"] == 60 * 2


def test_prompts_that_write_out_what_is_shown_are_for_text_alone(tmp_path):
    content = towns() | {"vignette": {"layout": "table"}}
    content["prompts"][0]["user"] = "user.j2"
    folder = write_study(tmp_path / "towns", content)
    (folder / "user.j2").write_text("{{ question }} {{ A }} or {{ B }}?", encoding="utf-8")
    costs = costs_of(load_study(folder))
    assert (of(costs)["prompts"], of(costs, shown="images")["prompts"]) == (2, 1)
