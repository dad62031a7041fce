"""Runs of a small conjoint, through the functions behind the commands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from fakes.server import FakeServer
from fakes.studies import MODEL, PAIRS, change_study, collect, table, verdicts
from pandas.testing import assert_frame_equal

from conjury.cli.commands import card as design_card
from conjury.cli.commands.runs import parse, retry, status, verify
from conjury.inference.backends.simulated import SimulatedBackend
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import validate

REQUESTS = 44 * 2


def requests_seen(server: FakeServer) -> int:
    return len(server.counts()["arrivals"])


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


def test_simulated_answers_are_the_choices_of_a_simulation(study, run):
    design_card.draw_card(str(study), run, 30, 0.2, 5)
    assert collect(study, run, backend="simulated", samples=2) == 0
    found = table(run, "choices")
    truth = simulate(
        load_study(study), 5, pairs=30, swapped_share=0.2, samples=2, judges=["judge"], truth=False
    ).choices
    key = ["prompt_id", "pair_id", "sample", "position"]
    columns = [*key, "profile_id", "chosen", "repeat", "repeat_of", "size", "place", "age", "river", "trains"]
    both = [
        frame[columns].astype("string").sort_values(key).reset_index(drop=True) for frame in (found, truth)
    ]
    assert_frame_equal(*both)
    assert len(found) == 36 * 2 * 2 * 2
    assert found["repeat"].sum() == 6 * 2 * 2 * 2


def test_a_run_without_a_design_draws_that_of_the_study_file(study, run):
    assert collect(study, run, backend="simulated") == 0
    found = table(run, "choices")
    assert found["pair_id"].nunique() == PAIRS + 4
    truth = simulate(load_study(study), 3, swapped_share=0.1, judges=["judge"], truth=False).choices
    assert found["chosen"].sum() == truth["chosen"].sum() == REQUESTS
    key = ["prompt_id", "pair_id", "profile_id"]
    picked = [set(frame.loc[frame["chosen"] == 1, key].itertuples(index=False)) for frame in (found, truth)]
    assert picked[0] == picked[1]


def test_tables_of_a_run_keep_the_contract(study, run, server):
    assert collect(study, run, base_url=server.url) == 0
    for name in ("responses", "judgments", "choices"):
        validate(table(run, name), name)
    choices, judgments = table(run, "choices"), table(run, "judgments")
    assert len(choices) == 2 * len(judgments) == 2 * REQUESTS
    assert choices.groupby(["prompt_id", "pair_id"])["probability"].sum().round(9).eq(1).all()
    assert (choices["chosen"] == (choices["probability"] > 0.5)).all()
    levels = load_study(study).levels("size")
    assert choices["size"].cat.categories.tolist() == levels


def test_sides_are_undone_so_that_the_town_that_was_named_is_chosen(study, run, server):
    assert collect(study, run, base_url=server.url) == 0
    said = table(run, "responses").set_index(["prompt_id", "task_id"])
    chosen = table(run, "choices").query("chosen == 1").set_index(["prompt_id", "pair_id"])
    for place, row in said.iterrows():
        assert chosen.loc[place, "profile_id"] == json.loads(row["arrangement"])[row["text"]]


def test_options_of_other_names_stand_for_the_sides(study, run, server):
    def change(content: dict[str, Any]) -> None:
        content["response"] = {"form": "choice", "options": ["Left", "Right"]}
        content["judges"][1]["ask"]["answer"] = "choice"

    change_study(study, change)
    assert collect(study, run, prompts=["plain"], base_url=server.url) == 0
    said = table(run, "responses").set_index("task_id")["text"]
    chosen = table(run, "choices").query("chosen == 1").set_index("pair_id")["position"].astype(str)
    assert set(said) == {"Left", "Right"}
    assert (chosen == said.map({"Left": "A", "Right": "B"})[chosen.index]).all()


@pytest.fixture
def recorded(tmp_path, study, server):
    """A run with refusals, cut answers and lasting errors."""
    folder = tmp_path / "recorded"
    faults = {"refusal": 0.15, "content_filter": 0.1, "length": 0.1, "rejected": 0.1}
    server.configure(faults=faults)
    assert collect(study, folder, base_url=server.url, samples=2) == 0
    counts = table(folder, "judgments")["status"].value_counts()
    assert min(counts["ok"], counts["refused"], counts["error"]) > 5
    return folder


def test_a_replay_gives_the_tables_of_the_recorded_run(recorded, study, run, server):
    server.configure()
    options = {"backend": "replay", "recorded": recorded / "responses.parquet", "samples": 2}
    assert collect(study, run, **options) == 0
    assert requests_seen(server) == 0
    assert_frame_equal(verdicts(run), verdicts(recorded))
    drop = ["note"]
    assert_frame_equal(
        verdicts(run, "judgments").drop(columns=drop), verdicts(recorded, "judgments").drop(columns=drop)
    )
    kept = ["task_id", "prompt_id", "sample", "text", "model_returned", "refusal", "request_key"]
    assert_frame_equal(verdicts(run, "responses")[kept], verdicts(recorded, "responses")[kept])


def test_a_replay_of_fewer_samples_says_of_the_others_that_they_are_not_on_record(
    study, run, tmp_path, server
):
    assert collect(study, tmp_path / "recorded", base_url=server.url, pairs=3) == 0
    options = {"backend": "replay", "recorded": tmp_path / "recorded" / "responses.parquet"}
    assert collect(study, run, samples=2, pairs=4, **options) == 0
    responses = table(run, "responses")
    assert responses.loc[responses["sample"] == 2, "error"].eq("not on record").all()
    assert responses.loc[responses["sample"] == 1, "text"].notna().sum() == 2 * 3


@pytest.mark.parametrize("change", ["prompt", "settings"])
def test_a_replay_of_changed_requests_is_refused(study, run, tmp_path, server, change):
    assert collect(study, tmp_path / "recorded", base_url=server.url, pairs=2) == 0
    if change == "prompt":
        (study / "plain.j2").write_text("Other words.", encoding="utf-8")
    else:
        change_study(study, lambda content: content["judges"][1]["ask"]["settings"].update(temperature=1))
    with pytest.raises(
        InputError, match=r"was given to another request .*restore them or ask the model anew"
    ):
        collect(study, run, backend="replay", recorded=tmp_path / "recorded" / "responses.parquet", pairs=2)


def _ask(content: dict[str, Any]) -> dict[str, Any]:
    return dict(content["judges"][1]["ask"])


def _set(path: list[Any], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            _set(["judges", 1, "ask", "settings", "temperature"], 1),
            r"judges\.judge\.settings\.temperature \(from 0 to 1\)",
        ),
        (_set(["judges", 1, "ask", "settings", "top_p"], 1), r"judges\.judge\.settings\.top_p\."),
        (
            _set(["judges", 1, "ask", "model"], "gpt-4o"),
            r"judges\.judge\.model \(from 'gpt-4o-mini' to 'gpt-4o'\)",
        ),
        (_set(["judges", 1, "ask", "answer"], "json"), r"judges\.judge\.answer"),
        (_set(["question"], "Why?"), "question"),
        (_set(["name"], "cities"), r"study \(from 'towns' to 'cities'\)"),
        (_set(["collect", "show"], "delimited"), r"collect\.show \(from 'json' to 'delimited'\)"),
        (_set(["collect", "fields"], ["size"]), r"collect\.fields"),
        (_set(["response"], {"form": "choice", "options": ["1", "2"]}), r"response\.options"),
    ],
)
def test_a_study_that_changed_since_is_refused_with_what_changed(study, run, server, change, told):
    assert collect(study, run, base_url=server.url, pairs=2) == 0
    before = requests_seen(server)
    change_study(study, change)
    for dry_run in (False, True):
        with pytest.raises(InputError, match=f"since then there changed .*{told}"):
            collect(study, run, base_url=server.url, pairs=2, dry_run=dry_run)
    assert requests_seen(server) == before


@pytest.mark.parametrize("file", ["plain.j2", "rules.j2"])
def test_a_prompt_that_changed_since_is_refused_by_its_name(study, run, server, file):
    assert collect(study, run, base_url=server.url, pairs=2) == 0
    (study / file).write_text("Other words.", encoding="utf-8")
    with pytest.raises(InputError, match=r"there changed prompts\.plain\.template\. Restore"):
        collect(study, run, base_url=server.url, pairs=2)


def test_posts_that_changed_since_are_refused(study, run, server):
    assert collect(study, run, base_url=server.url, pairs=2) == 0
    path = run / "design" / "posts.parquet"
    pd.read_parquet(path).replace("Coast", "Sea").to_parquet(path)
    with pytest.raises(InputError, match=r"there changed subjects\.sha256\."):
        collect(study, run, base_url=server.url)


def test_another_design_in_the_same_folder_is_refused(study, run):
    design_card.draw_card(str(study), run, 10, 0.1, 1)
    design_card.draw_card(str(study), run, 10, 0.1, 1)
    with pytest.raises(InputError, match=r"another design already \(pairs 10, swapped_share 0\.1, seed 1\)"):
        design_card.draw_card(str(study), run, 11, 0.1, 1)


def test_judges_prompts_samples_and_addresses_may_be_added_and_answers_are_kept(study, run, server):
    assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=5) == 0
    first = verdicts(run)
    change_study(study, lambda content: content["collect"].update(media_hosts=["images.org"]))
    with FakeServer() as elsewhere:
        assert collect(study, run, base_url=elsewhere.url, pairs=5) == 0
        assert len(elsewhere.counts()["answered"]) == len(first) // 2
    assert collect(study, run, judge="other", base_url=server.url, pairs=5) == 0
    assert collect(study, run, judge="other", base_url=server.url, pairs=5, samples=2) == 0
    found = verdicts(run)
    sizes = found.groupby(["judge_id", "prompt_id"]).size() // len(first)
    assert sizes.to_dict() == {
        ("judge", "plain"): 1,
        ("judge", "strict"): 1,
        ("other", "plain"): 2,
        ("other", "strict"): 2,
    }
    same = found[(found["judge_id"] == "judge") & (found["prompt_id"] == "plain")]
    assert_frame_equal(same.reset_index(drop=True), first)
    assert max(server.counts()["answered"].values()) == 2  # the two samples of a request without a seed


def test_a_dry_run_sends_and_writes_nothing(study, run, server, capsys):
    assert collect(study, run, base_url=server.url, dry_run=True) == 0
    told = capsys.readouterr().out
    assert (
        f"Requests  {REQUESTS}: 0 answered" in " ".join(told.split("\n")) or f"{REQUESTS}: 0 answered" in told
    )
    assert "Nothing was sent (--dry-run)." in told
    assert not run.exists()
    assert collect(study, run, base_url=server.url, pairs=5) == 0
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    seen = requests_seen(server)
    assert collect(study, run, base_url=server.url, dry_run=True) == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert requests_seen(server) == seen > 0


def prices(folder: Path, dear: float) -> Path:
    path = folder / "prices.yaml"
    row = {"model": MODEL, "input": dear, "output": dear, "as_of": "2025-01-01"}
    path.write_text(json.dumps({"currency": "EUR", "per": 1000, "models": [row]}), encoding="utf-8")
    return path


def test_a_run_stops_before_it_costs_more_and_goes_on_later(study, run, tmp_path, server, capsys):
    own = prices(tmp_path, 10.0)
    options = {"base_url": server.url, "prices": own, "concurrency": 4}
    assert collect(study, run, max_cost=20.0, **options) == 0
    spent = table(run, "responses")["cost"]
    n = len(spent)
    assert 5 < n < REQUESTS / 2
    assert 20 - 8 * spent.max() < spent.sum() <= 20
    told = capsys.readouterr().out
    assert "stops before 20.00" in told
    assert "EUR" in told
    assert "--max-cost was reached" in told
    assert collect(study, run, max_cost=20.0, **options) == 0
    assert [len(table(run, name)) for name in ("responses", "judgments", "choices")] == [n, n, 2 * n]
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert sum(count.n for count in ledger.counts() if count.state == "pending") == REQUESTS - n
    assert collect(study, run, max_cost=40.0, **options) == 0
    assert n < len(table(run, "responses")) < REQUESTS
    assert collect(study, run, **options) == 0
    assert len(table(run, "responses")) == REQUESTS
    assert set(server.counts()["answered"].values()) == {1}


def test_costs_are_tokens_times_prices(study, run, tmp_path, server):
    assert collect(study, run, base_url=server.url, prices=prices(tmp_path, 3.0), pairs=3) == 0
    rows = table(run, "responses")
    tokens = rows["prompt_tokens"] + rows["completion_tokens"]
    assert rows["cost"].round(9).tolist() == (tokens * 3 / 1000).astype(float).round(9).tolist()
    parse(str(study), run, "default", prices(tmp_path, 6.0))
    assert (
        table(run, "responses")["cost"].round(9).tolist()
        == (tokens * 6 / 1000).astype(float).round(9).tolist()
    )


def test_max_cost_needs_a_price(study, run, server):
    change_study(study, _set(["judges", 1, "ask", "model"], "unheard-of"))
    with pytest.raises(InputError, match="--max-cost needs the price of unheard-of"):
        collect(study, run, base_url=server.url, max_cost=1.0)
    assert requests_seen(server) == 0
    assert not run.exists()
    assert collect(study, run, base_url=server.url, pairs=1) == 0
    assert table(run, "responses")["cost"].isna().all()


def test_only_what_failed_or_was_refused_is_asked_again(study, run, server, capsys):
    faults = {"refusal": 0.2, "rejected": 0.2}
    server.configure(faults=faults)
    assert collect(study, run, base_url=server.url) == 0
    before = table(run, "judgments")
    n = before["status"].value_counts()
    assert n["refused"] > 5
    assert n["error"] > 5
    seen = requests_seen(server)
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == seen
    server.configure()
    retry(str(study), ["error"], None, run)
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == n["error"]
    server.configure(faults={"refusal": 1.0})
    retry(str(study), ["refused", "error"], "judge", run)
    assert f"{n['refused']} requests with status refused, error" in capsys.readouterr().out
    assert table(run, "judgments")["status"].value_counts()["refused"] == n["refused"]
    server.configure()
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == n["refused"]
    assert table(run, "judgments")["status"].eq("ok").all()
    key = before.loc[before["status"] == "refused", "request_key"].iloc[0]
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        first, second = ledger.answer_bodies(key)
    assert b"I cannot judge this." in first
    assert b"I cannot judge this." not in second


@pytest.mark.parametrize(
    ("statuses", "judge", "told"),
    [
        (["eror"], None, "no such status.*did you mean 'error'"),
        (["missing"], None, "no such status"),
        (["error"], "jugde", "jugde.*judge"),
    ],
)
def test_a_retry_of_nothing_known_is_refused(study, run, server, statuses, judge, told):
    assert collect(study, run, base_url=server.url, pairs=1) == 0
    with pytest.raises(InputError, match=told):
        retry(str(study), statuses, judge, run)


def test_another_rule_changes_tables_without_any_request(study, run, server, capsys):
    change_study(study, _set(["judges", 1, "ask", "answer"], "json"))
    assert collect(study, run, base_url=server.url) == 0
    assert table(run, "judgments")["status"].eq("ok").all()
    seen = requests_seen(server)
    parse(str(study), run, "token", None)
    assert table(run, "judgments")["status"].eq("unparsed").all()
    assert table(run, "judgments")["rule"].eq("choice/token@1").all()
    assert table(run, "choices")["chosen"].isna().all()
    assert "first token" in capsys.readouterr().out
    parse(str(study), run, "default", None)
    assert table(run, "judgments")["status"].eq("ok").all()
    assert requests_seen(server) == seen


def test_an_unknown_rule_is_refused_before_anything_is_sent(study, run, server):
    with pytest.raises(InputError, match="no rule 'guess'"):
        collect(study, run, base_url=server.url, rule="guess")
    assert requests_seen(server) == 0
    assert collect(study, run, base_url=server.url, pairs=1) == 0
    before = (run / "judgments.parquet").read_bytes()
    with pytest.raises(InputError, match="no rule 'guess'"):
        parse(str(study), run, "guess", None)
    assert (run / "judgments.parquet").read_bytes() == before


def test_status_tells_requests_by_state_and_judgments(study, run, server, capsys):
    server.configure(faults={"rejected": 0.3})
    assert collect(study, run, prompts=["plain"], base_url=server.url) == 0
    statuses = table(run, "judgments")["status"].value_counts()
    capsys.readouterr()
    status(str(study), run)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    words = [[word for word in row if word not in "│┃"] for row in rows]
    assert ["judge", "plain", "rejected", str(statuses["error"]), "0", "0"] in words
    assert any(row[:4] == ["judge", "plain", "answered", str(statuses["ok"])] for row in words)
    assert ["judge", "plain", "ok:", str(statuses["ok"])] in words


def exit_code(study: Path, run: Path) -> int:
    with pytest.raises(typer.Exit) as ended:
        verify(str(study), run)
    return ended.value.exit_code


def test_verify_finds_no_damage_in_a_good_run_and_names_it_in_a_bad_one(study, run, server, capsys):
    assert collect(study, run, base_url=server.url, pairs=2) == 0
    assert exit_code(study, run) == 0
    assert "4 requests, no damage" in capsys.readouterr().out
    import sqlite3

    with sqlite3.connect(run / "ledger.sqlite") as db:
        db.execute("UPDATE responses SET body = x'00' WHERE id = 1")
    db.close()
    assert exit_code(study, run) == 1
    assert "1 problem" in capsys.readouterr().out


def test_a_backend_that_breaks_leaves_what_was_answered(study, run, monkeypatch):
    whole = SimulatedBackend.run

    def breaks(self: SimulatedBackend, requests: Any, recorder: Any) -> None:
        whole(self, (request for request, _ in zip(requests, range(10), strict=False)), recorder)
        raise InputError("The engine broke.")

    monkeypatch.setattr(SimulatedBackend, "run", breaks)
    with pytest.raises(InputError, match="engine broke"):
        collect(study, run, backend="simulated")
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert sum(count.n for count in ledger.counts() if count.state == "answered") == 10
    monkeypatch.undo()
    assert collect(study, run, backend="simulated") == 0
    assert len(table(run, "judgments")) == REQUESTS


def test_simulated_choices_say_so_and_recorded_ones_of_them_too(study, run, tmp_path):
    assert collect(study, run, backend="simulated") == 0
    assert (table(run, "choices")["origin"] == "simulated").all()
    again = tmp_path / "again"
    assert collect(study, again, backend="replay", recorded=run / "responses.parquet") == 0
    assert (table(again, "choices")["origin"] == "simulated").all()


@pytest.fixture
def empty_run(study, run, monkeypatch):
    """A run that was begun without a key, so that nothing was sent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="no key in the environment variable OPENAI_API_KEY"):
        collect(study, run)
    return run


def test_a_run_that_received_nothing_does_not_speak_of_answers(study, empty_run, capsys):
    with pytest.raises(InputError, match="no key"):
        collect(study, empty_run)
    told = capsys.readouterr().out
    assert "0 answered" in told
    assert "Answers so far" not in told
    assert not list(empty_run.glob("*.parquet"))


def test_there_is_nothing_to_parse_or_retry_in_an_empty_run(study, empty_run, capsys):
    with pytest.raises(
        InputError, match=r"run: nothing has been received in this run yet, .*conjury collect"
    ):
        parse(str(study), empty_run, "default", None)
    assert not list(empty_run.glob("*.parquet"))
    retry(str(study), ["error", "refused"], None, empty_run)
    assert capsys.readouterr().out.endswith("Nothing to retry: no request has the status error or refused.\n")


def test_answers_that_came_before_a_failure_are_named(study, run, server, capsys):
    assert collect(study, run, base_url=server.url, pairs=1) == 0
    server.configure(status=401, error={"message": "No."})
    with pytest.raises(InputError):
        collect(study, run, base_url=server.url, pairs=2)
    assert f"Answers so far are in {run / 'ledger.sqlite'}" in capsys.readouterr().out


def test_a_server_that_is_not_there_is_said_to_be_unreachable(study, run):
    told = r"http://127\.0\.0\.1:9/v1 cannot be reached \(.*refused.*\); check the address, and that a server"
    with pytest.raises(InputError, match=told):
        collect(study, run, judge="new", base_url="http://127.0.0.1:9/v1")


def test_transient_failures_are_asked_again_within_a_run(study, run, server):
    server.configure(faults={"truncated_json": 0.3})
    assert collect(study, run, base_url=server.url) == 0
    assert table(run, "judgments")["status"].eq("ok").all()
    counts = server.counts()
    assert counts["faults"]["truncated_json"] > 10
    assert set(counts["answered"].values()) == {1}


def test_two_judges_share_no_requests_and_one_ledger(study, run):
    for judge in ("judge", "other"):
        assert collect(study, run, judge=judge, backend="simulated") == 0
    responses = table(run, "responses")
    assert Counter(responses["judge_id"]) == {"judge": REQUESTS, "other": REQUESTS}
    assert responses["request_key"].is_unique
