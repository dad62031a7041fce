"""Runs of a small conjoint, through the functions behind the commands."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from cases import cases
from fakes.answers import completion as completion_of
from fakes.server import FakeServer
from fakes.studies import PAIRS, change_study, collect, table, towns, verdicts, write_study
from pandas.testing import assert_frame_equal

from conjury.cli.commands.collecting.collection_end import show_end
from conjury.cli.commands.collecting.runs import parse, retry, status
from conjury.inference.backends.base import completion
from conjury.inference.backends.lookup import SimulatedBackend
from conjury.inference.collecting import Asking, Collected, PeoplePlan, Running, add_people
from conjury.inference.collecting import collect as collect_by
from conjury.inference.collecting.answering.provenance import engine_history
from conjury.inference.collecting.past_runs import run_folder
from conjury.inference.collecting.recorder import Tally
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome
from conjury.inference.simulation import simulate
from conjury.inference.study import load_study
from conjury.inference.tables import validate

REQUESTS = 44 * 2
Change = Callable[[dict[str, Any]], object]


def draw(study: str, run: Path, *options: Any) -> None:
    loaded_study = load_study(study)
    run_folder(loaded_study, run).draw(loaded_study, *options)


def requests_seen(server: FakeServer) -> int:
    return len(server.counts()["arrivals"])


def ask(**changes: Any) -> Change:
    return lambda content: content["judges"][1]["ask"].update(changes)


def set_at(*path: Any, value: Any) -> Change:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


def begun_study(folder: Path, server: FakeServer, faults: dict[str, float], **options: Any) -> Path:
    server.configure(faults=faults)
    assert (
        collect(write_study(folder / "towns", towns()), folder / "run", base_url=server.url, **options) == 0
    )
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory, running_server):
    """Folder of a study and of a run of all its requests."""
    return begun_study(tmp_path_factory.mktemp("whole"), running_server, {})


@pytest.fixture(scope="module")
def two_pairs(tmp_path_factory, running_server):
    return begun_study(tmp_path_factory.mktemp("two"), running_server, {}, pairs=2)


@pytest.fixture
def begun(two_pairs, tmp_path, server):
    """Folder of a study and of its run of two pairs, both of which a test may change."""
    return Path(shutil.copytree(two_pairs, tmp_path / "begun"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, running_server):
    """A run with refusals, cut answers and lasting errors."""
    faults = {"refusal": 0.15, "content_filter": 0.1, "length": 0.1, "rejected": 0.1}
    folder = begun_study(tmp_path_factory.mktemp("recorded"), running_server, faults, samples=2)
    counts = table(folder / "run", "judgments")["status"].value_counts()
    assert min(counts["ok"], counts["refused"], counts["error"]) > 5
    return folder / "run"


@pytest.mark.long
def test_simulated_answers_are_the_choices_of_a_simulation(study, run):
    draw(str(study), run, 30, 0.2, 5)
    draw(str(study), run, 30, 0.2, 5)
    with pytest.raises(InputError, match=r"another design \(pairs 30, swapped_share 0\.2, seed 5\)"):
        draw(str(study), run, 31, 0.2, 5)
    assert collect(study, run, backend="simulated", samples=2) == 0
    found = table(run, "choices")
    options = {"pairs": 30, "swapped_share": 0.2, "samples": 2, "judges": ["judge"], "truth": False}
    truth = simulate(load_study(study), 5, **options).choices
    key = ["prompt_id", "pair_id", "sample", "position"]
    columns = [*key, "profile_id", "chosen", "repeat", "repeat_of", "size", "place", "age", "river", "trains"]
    both = [
        frame[columns].astype("string").sort_values(key).reset_index(drop=True) for frame in (found, truth)
    ]
    assert_frame_equal(*both)
    assert len(found) == 36 * 2 * 2 * 2
    assert found["repeat"].sum() == 6 * 2 * 2 * 2


@pytest.mark.long
def test_a_run_without_a_design_draws_that_of_the_study_file_for_all_judges(study, run, tmp_path):
    for judge in ("judge", "other"):
        assert collect(study, run, judge=judge, backend="simulated") == 0
    responses, choices = table(run, "responses"), table(run, "choices")
    assert Counter(responses["judge_id"]) == {"judge": REQUESTS, "other": REQUESTS}
    assert responses["request_key"].is_unique
    assert choices.groupby("judge_id", observed=True)["pair_id"].nunique().tolist() == [PAIRS + 4] * 2
    assert collect(study, tmp_path / "again", backend="replay", recorded=run / "responses.parquet") == 0
    for made in (choices, table(tmp_path / "again", "choices")):
        assert (made["origin"] == "simulated").all()


@pytest.mark.long
def test_tables_keep_the_contract_and_the_town_that_was_named_is_chosen(whole):
    run = whole / "run"
    for name in ("responses", "judgments", "choices"):
        validate(table(run, name), name)
    choices, judgments = table(run, "choices"), table(run, "judgments")
    assert len(choices) == 2 * len(judgments) == 2 * REQUESTS
    assert choices.groupby(["prompt_id", "pair_id"])["probability"].sum().round(9).eq(1).all()
    assert (choices["chosen"] == (choices["probability"] > 0.5)).all()
    assert choices["size"].cat.categories.tolist() == load_study(whole / "towns").levels("size")
    answers = table(run, "responses").set_index(["prompt_id", "task_id"])
    chosen = choices.query("chosen == 1").set_index(["prompt_id", "pair_id"])["profile_id"]
    for place, row in answers.iterrows():
        assert chosen[place] == json.loads(row["arrangement"])[row["text"]]


@pytest.mark.long
def test_options_of_other_names_stand_for_the_positions(study, run, server):
    change_study(study, set_at("response", value={"form": "choice", "options": ["Left", "Right"]}))
    change_study(study, ask(answer="choice"))
    assert collect(study, run, prompts=["plain"], base_url=server.url) == 0
    answers = table(run, "responses").set_index("task_id")["text"]
    chosen = table(run, "choices").query("chosen == 1").set_index("pair_id")["position"].astype(str)
    assert set(answers) == {"Left", "Right"}
    assert (chosen == answers.map({"Left": "A", "Right": "B"})[chosen.index]).all()


@pytest.mark.long
def test_a_replay_gives_the_tables_of_the_recorded_run(recorded, study, run, server):
    options = {"backend": "replay", "recorded": recorded / "responses.parquet", "samples": 2}
    assert collect(study, run, **options) == 0
    assert requests_seen(server) == 0
    kept = ["task_id", "prompt_id", "sample", "text", "model_returned", "refusal", "request_key"]
    for name, columns in (("choices", None), ("responses", kept)):
        again, first = verdicts(run, name), verdicts(recorded, name)
        assert_frame_equal(again[columns or list(again)], first[columns or list(first)])
    again, first = (verdicts(folder, "judgments").drop(columns="note") for folder in (run, recorded))
    assert_frame_equal(again, first)


@pytest.mark.long
def test_a_replay_of_more_samples_misses_them_and_of_changed_requests_is_refused(begun, run):
    study, options = begun / "towns", {"backend": "replay", "recorded": begun / "run" / "responses.parquet"}
    assert collect(study, run, samples=2, pairs=4, **options) == 0
    responses = table(run, "responses")
    assert responses.loc[responses["sample"] == 2, "error"].eq("not on record").all()
    assert responses.loc[responses["sample"] == 1, "text"].notna().sum() == 2 * 2
    told = r"was given to another request .*restore them or ask the model anew"
    change_study(study, ask(settings={"temperature": 1, "seed": 1}))
    with pytest.raises(InputError, match=told):
        collect(study, begun / "settings", pairs=2, **options)
    change_study(study, ask(settings={"temperature": 0, "seed": 1}))
    (study / "plain.j2").write_text("Other words.", encoding="utf-8")
    with pytest.raises(InputError, match=told):
        collect(study, begun / "prompt", pairs=2, **options)


@pytest.mark.long
@pytest.mark.parametrize(("change", "value", "told"), cases(__file__, "changes"))
def test_a_study_that_changed_since_is_refused_with_what_changed(begun, server, change, value, told):
    study, run = begun / "towns", begun / "run"
    before = table(run, "choices")
    if change == "posts.parquet":
        path = run / "design" / change
        pd.read_parquet(path).assign(media="town.png").to_parquet(path)
    elif isinstance(change, str):
        (study / change).write_text(value, encoding="utf-8")
    else:
        change_study(study, set_at(*change, value=value))
    for dry_run in (False, True):
        with pytest.raises(InputError, match=f"have changed since it began .*{told}"):
            collect(study, run, base_url=server.url, pairs=2, dry_run=dry_run)
    if "response" in told:
        for again in (
            lambda: parse(str(study), run, "default", None),
            lambda: retry(str(study), ["ok"], None, run),
        ):
            with pytest.raises(InputError, match="response"):
                again()
    assert requests_seen(server) == 0
    assert table(run, "choices").equals(before)


@pytest.mark.long
def test_a_design_that_shows_other_labels_than_the_study_is_refused_by_design_and_collect(study, run, server):
    draw(str(study), run, 5, 0.2, 5)
    change_study(study, set_at("attributes", 0, "levels", 0, "label", value="Tiny"))
    posts = table(run, "design/posts")
    for again in (
        lambda: draw(str(study), run, 5, 0.2, 5),
        lambda: collect(study, run, base_url=server.url),
        lambda: collect(study, run, base_url=server.url, dry_run=True),
        lambda: add_people(study, PeoplePlan(2), out=run),
    ):
        with pytest.raises(
            InputError, match=r"differ from those of the current study files \(in Size\); .* --out, or delete"
        ):
            again()
    assert requests_seen(server) == 0
    assert table(run, "design/posts").equals(posts)
    draw(str(study), run.with_name("other"), 5, 0.2, 5)
    shutil.rmtree(run / "design")
    draw(str(study), run, 5, 0.2, 5)
    now = table(run, "design/posts")
    assert now["Size"].eq("Tiny").any()
    assert now.equals(table(run.with_name("other"), "design/posts"))
    now.assign(media="town.png").to_parquet(run / "design" / "posts.parquet")
    draw(str(study), run, 5, 0.2, 5)


@pytest.mark.long
def test_judges_prompts_samples_and_addresses_may_be_added_and_answers_are_kept(study, run, server):
    assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=5) == 0
    first = verdicts(run)
    change_study(study, set_at("collect", "media_hosts", value=["images.org"]))
    with FakeServer() as elsewhere:
        assert collect(study, run, base_url=elsewhere.url, pairs=5) == 0
        assert len(elsewhere.counts()["answered"]) == len(first) // 2
        with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
            known = engine_history(ledger, "judge")
        assert [engine["settings"]["base_url"] for engine in known] == [server.url, elsewhere.url]
        assert known[0]["since"] <= known[1]["since"]
    assert collect(study, run, judge="other", base_url=server.url, pairs=5) == 0
    assert collect(study, run, judge="other", base_url=server.url, pairs=5, samples=2) == 0
    found = verdicts(run)
    sizes = found.groupby(["judge_id", "prompt_id"]).size() // len(first)
    expected = {"judge": 1, "other": 2}
    assert sizes.to_dict() == {
        (judge, prompt): n for judge, n in expected.items() for prompt in ("plain", "strict")
    }
    same = found[(found["judge_id"] == "judge") & (found["prompt_id"] == "plain")]
    assert_frame_equal(same.reset_index(drop=True), first)
    assert max(server.counts()["answered"].values()) == 2  # the two samples of a request without a seed


@pytest.mark.long
def test_a_judge_that_was_never_asked_may_be_asked_otherwise(study, server, run):
    with pytest.raises(MissingDependency):
        collect(study, run, prompts=["plain"], backend="ray", answer="choice", pairs=3)
    change_study(study, ask(settings={"temperature": 0.5}))
    assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=3) == 0
    change_study(study, ask(settings={"temperature": 0.7}))
    with pytest.raises(InputError, match="temperature"):
        collect(study, run, prompts=["plain"], base_url=server.url, pairs=3)


@pytest.mark.long
def test_a_dry_run_sends_and_writes_nothing(begun, run, server, capsys):
    study = begun / "towns"
    assert collect(study, run, base_url=server.url, dry_run=True) == 0
    told = capsys.readouterr().out
    assert f"{REQUESTS}: 0 answered" in told
    assert "Nothing was sent (--dry-run)." in told
    assert not run.exists()
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    assert collect(study, begun / "run", base_url=server.url, dry_run=True) == 0
    assert {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()} == before
    assert requests_seen(server) == 0


@pytest.mark.long
def test_lines_are_exported_and_the_results_of_another_runner_are_read_once(study, run, tmp_path):
    lines, results = tmp_path / "requests.jsonl", tmp_path / "results.jsonl"
    options = {"prompts": ["plain"], "pairs": 3}
    assert collect(study, run, export=lines, **options) == 0
    asked = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert len({line["custom_id"] for line in asked}) == 3
    answers = [{"status_code": 200, "body": completion_of(line["body"])} for line in asked[:2]]
    answered = [
        {"custom_id": line["custom_id"], "response": response, "error": None}
        for line, response in zip(asked, answers, strict=False)
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in answered), encoding="utf-8")
    assert collect(study, run, batch_results=results, **options) == 0
    assert table(run, "judgments")["status"].tolist() == ["ok", "ok"]
    with pytest.raises(InputError, match="contains no new answer to a request of this run"):
        collect(study, run, batch_results=results, **options)
    running = Running(export=lines, pairs=3)
    done = collect_by(study, "judge", prompts=["plain"], out=run, running=running)
    assert (done.exported, done.waiting) == (1, 0)
    assert [json.loads(lines.read_text(encoding="utf-8"))] == asked[2:]


@pytest.mark.long
def test_only_what_failed_or_was_refused_is_asked_again(study, run, server, capsys):
    server.configure(faults={"refusal": 0.2, "rejected": 0.2})
    assert collect(study, run, base_url=server.url) == 0
    before = table(run, "judgments")
    n = before["status"].value_counts()
    assert min(n["refused"], n["error"]) > 5
    seen = requests_seen(server)
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == seen
    server.configure()
    retry(str(study), ["error"], None, run)
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == n["error"]
    server.configure()
    retry(str(study), ["refused", "error"], "judge", run)
    printed = capsys.readouterr().out
    assert f"{n['refused']} requests with status refused, error" in printed
    assert f"run `conjury collect {study} --judge ... --out {run}`." in printed
    assert table(run, "judgments")["status"].value_counts()["refused"] == n["refused"]
    assert collect(study, run, base_url=server.url) == 0
    assert requests_seen(server) == n["refused"]
    assert table(run, "judgments")["status"].eq("ok").all()
    key = before.loc[before["status"] == "refused", "request_key"].iloc[0]
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        refusals = [b"I cannot judge this." in body for body in ledger.answer_bodies(key)]
    assert refusals == [True, False]


@pytest.mark.parametrize(("statuses", "judge", "told"), cases(__file__, "unknown_retries"))
def test_a_retry_of_nothing_known_is_refused(two_pairs, statuses, judge, told):
    with pytest.raises(InputError, match=told):
        retry(str(two_pairs / "towns"), statuses, judge, two_pairs / "run")


@pytest.mark.long
def test_another_rule_changes_tables_without_any_request(study, run, server, capsys):
    change_study(study, ask(answer="json"))
    with pytest.raises(InputError, match="no rule 'guess'"):
        collect(study, run, base_url=server.url, rule="guess")
    assert requests_seen(server) == 0
    assert collect(study, run, base_url=server.url, pairs=10) == 0
    assert table(run, "judgments")["status"].eq("ok").all()
    before = (run / "judgments.parquet").read_bytes()
    with pytest.raises(InputError, match="no rule 'guess'"):
        parse(str(study), run, "guess", None)
    assert (run / "judgments.parquet").read_bytes() == before
    seen = requests_seen(server)
    parse(str(study), run, "token", None)
    assert table(run, "judgments")["status"].eq("unparsed").all()
    assert table(run, "judgments")["rule"].eq("choice/token@2").all()
    assert table(run, "choices")["chosen"].isna().all()
    assert "first token" in capsys.readouterr().out
    parse(str(study), run, "default", None)
    assert table(run, "judgments")["status"].eq("ok").all()
    assert requests_seen(server) == seen


@pytest.mark.long
def test_status_shows_requests_by_state_and_judgments(recorded, capsys):
    judgments = table(recorded, "judgments")
    statuses = judgments[judgments["prompt_id"] == "plain"]["status"].value_counts()
    status(str(recorded.parent / "towns"), recorded)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    words = [[word for word in row if word not in "│┃"] for row in rows]
    answered = statuses.sum() - statuses["error"]
    assert ["judge", "plain", "rejected", str(statuses["error"]), "0", "0"] in words
    assert any(row[:4] == ["judge", "plain", "answered", str(answered)] for row in words)
    assert any(row[:4] == ["judge", "plain", "ok:", f"{statuses['ok']}"] for row in words)


def test_texts_of_a_provider_cannot_change_the_terminal(begun, tmp_path, capsys):
    with sqlite3.connect(begun / "run" / "ledger.sqlite") as db:
        db.execute(
            "INSERT INTO batches (shard, judge_id, state, n, sha256, detail, created, updated) "
            "VALUES ('s', 'judge', 'failed', 1, '', ?, 1, 1)",
            ("failed: \x1b[2Jgone\r",),
        )
    db.close()
    status(str(begun / "towns"), begun / "run")
    prepared: Any = SimpleNamespace(
        plan=SimpleNamespace(spent=0.0, remaining=0),
        folder=SimpleNamespace(path=tmp_path),
        running=SimpleNamespace(max_cost=None),
    )
    tally = Tally(failed=Counter(server=1), errors=Counter({"HTTP 500: \x1b[2Jgone": 1}))
    show_end(Collected(prepared, tally), "towns")
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("\\x1b[2Jgone") == 2


def test_a_backend_that_breaks_leaves_what_was_answered(study, run, monkeypatch):
    entire = SimulatedBackend.run

    def breaks(self: SimulatedBackend, requests: Any, recorder: Any) -> None:
        entire(self, (request for request, _ in zip(requests, range(10), strict=False)), recorder)
        raise InputError("The engine broke.")

    monkeypatch.setattr(SimulatedBackend, "run", breaks)
    with pytest.raises(InputError, match="engine broke"):
        collect(study, run, backend="simulated")
    with Ledger.open(run / "ledger.sqlite", write=False) as ledger:
        assert sum(count.n for count in ledger.counts() if count.state == "answered") == 10
    monkeypatch.undo()
    assert collect(study, run, backend="simulated") == 0
    assert len(table(run, "judgments")) == REQUESTS


@pytest.mark.long
def test_a_run_that_received_nothing_has_nothing_to_parse_or_retry(study, run, monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for _ in range(2):
        with pytest.raises(InputError, match="environment variable OPENAI_API_KEY contains no key"):
            collect(study, run)
    told = capsys.readouterr().out
    assert "0 answered" in told
    assert "Answers so far" not in told
    with pytest.raises(InputError, match=r"run: this run contains no answers yet, .*conjury collect"):
        parse(str(study), run, "default", None)
    assert not list(run.glob("*.parquet"))
    retry(str(study), ["error", "refused"], None, run)
    assert capsys.readouterr().out.endswith("Nothing to retry: no request has the status error or refused.\n")


@pytest.mark.long
def test_failures_are_named_with_the_answers_that_came_before(begun, run, server, capsys):
    study = begun / "towns"
    server.configure(status=401, error={"message": "No."})
    with pytest.raises(InputError):
        collect(study, begun / "run", base_url=server.url, pairs=3)
    assert f"Answers so far are in {begun / 'run' / 'ledger.sqlite'}" in capsys.readouterr().out
    told = r"http://127\.0\.0\.1:9/v1 cannot be reached \(.*refused.*\); check the address and the server"
    with pytest.raises(InputError, match=told):
        collect(study, run, judge="new", base_url="http://127.0.0.1:9/v1")
    server.configure(faults={"wrong_schema": 1.0}, repeats=99)
    assert collect(study, run, prompts=["plain"], base_url=server.url, pairs=3) == 1
    assert set(table(run, "judgments")["status"]) == {"error"}


class AlwaysA:
    """A judge in Python that always answers A."""

    def settings(self) -> dict[str, Any]:
        return {"backend": "always A"}

    def run(self, requests: Any, recorder: Any) -> None:
        for request in requests:
            recorder.record(Outcome(request.key, completion(request.key, "A", model="a-1")))


@pytest.mark.long
def test_a_backend_of_ones_own_answers_every_request_once_and_is_named_in_the_run(study, run):
    asking, call = Asking(model="gpt-4o", answer="free"), {"out": run, "backend": AlwaysA()}
    done = collect_by(study, "mine", asking=asking, running=Running(pairs=3), **call)
    assert (done.tally.answered, done.prepared.plan.cost) == (done.prepared.plan.total, None)
    choices = table(run, "choices")
    assert (choices["chosen"] == (choices["position"] == "A")).all()
    assert collect_by(study, "mine", asking=asking, running=Running(pairs=3), **call).tally.answered == 0
    with Ledger.open(run / "ledger.sqlite") as ledger:
        assert engine_history(ledger, "mine")[0]["settings"] == {"backend": "always A"}
    with pytest.raises(InputError, match="backend answers the requests itself"):
        collect_by(study, "mine", asking=asking, running=Running(max_cost=1.0), **call)
