"""A second reader states verdicts that no rule reads, apart from the run, and is compared with the rules."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fakes.studies import LABELS, items, table, towns, write_study
from statsmodels.stats.proportion import proportion_confint

from conjury.analysis.benchmark.data.scoring import by_rule
from conjury.analysis.pipeline.loading import read_judgments_of
from conjury.cli.commands.collecting.collect import collect_and_show
from conjury.inference.backends.base import Recorder, completion
from conjury.inference.collecting import Asking, Running, collect, parse, reread, status
from conjury.inference.errors import InputError
from conjury.inference.ledger.exchanges import Outcome, Request

OPEN_ENDED = "Both have much to be said for them, and I would go along with the first of them in the end."


class Scripted:
    """Answers each request by a function of it and of its number."""

    def __init__(self, text: Callable[[Request, int], str | None]) -> None:
        self.text, self.requests = text, []

    def settings(self) -> dict[str, Any]:
        return {"backend": "scripted"}

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        for request in requests:
            text = self.text(request, len(self.requests))
            self.requests.append(request)
            outcome = Outcome(request.key, kind="rejected", error="no") if text is None else None
            recorder.record(outcome or Outcome(request.key, completion(request.key, text, model="m")))


def state(folder: Path) -> dict[str, str]:
    """Contents of the ledger and the tables of a run."""
    files = [*folder.glob("*.parquet"), folder / "ledger.sqlite"]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def verdict(value: str) -> str:
    return json.dumps({"verdict": value})


OTHER_TYPE = {
    **dict.fromkeys(("judge", "model", "parser"), "reader"),
    **dict.fromkeys(("unread", "read", "unclear", "not_stated", "unanswered"), "2"),
    **dict.fromkeys(("sampled", "both_read", "sampled_not_stated", "agreed"), 2),
}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(OTHER_TYPE),
        *(pytest.param(content, marks=pytest.mark.long) for content in ("", "[]", '{"read": 2}')),
    ],
)
def test_a_damaged_second_reading_is_asked_about(content, tmp_path, pairs):
    call: dict[str, Any] = {"asking": Asking(backend="simulated"), "out": tmp_path / "run"}
    study = tmp_path / "towns" / "study.yaml"
    reread(study, "judge", "reader", **call)
    record = tmp_path / "run" / "reread" / "judge" / "reader" / "reread.json"
    whole = record.read_text()
    record.write_text(content)
    for door in (lambda: status(study, tmp_path / "run"), lambda: collect(study, "judge", **call)):
        with pytest.raises(InputError, match=r"reread\.json.*run the same `conjury collect --reread` again"):
            door()
    reread(study, "judge", "reader", **call)
    assert record.read_text() == whole


@pytest.fixture(scope="module")
def run_of_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight pairs, of which every fourth has an answer that no rule reads."""
    folder = tmp_path_factory.mktemp("pairs")
    study = write_study(folder / "towns", towns())
    texts = Scripted(lambda _, n: OPEN_ENDED if n % 4 == 0 else "AB"[n % 2])
    collect(study, "judge", prompts=["plain"], out=folder / "run", backend=texts, running=Running(pairs=8))
    return folder


@pytest.fixture
def pairs(run_of_pairs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_of_pairs, tmp_path, dirs_exist_ok=True))


def read_again(folder: Path, reader: Any, **options: Any) -> Any:
    asking = options.pop("asking", Asking())
    return reread(
        folder / "towns", "judge", "m-2", out=folder / "run", backend=reader, asking=asking, **options
    )


def test_verdicts_that_no_rule_reads_are_stated_beside_an_unchanged_run(pairs):
    before, judged = state(pairs / "run"), table(pairs / "run", "judgments")
    unread = (judged["status"] == "unparsed").to_numpy(bool)
    assert 0 < unread.sum() < len(judged)
    reader = Scripted(lambda request, _: verdict("A" if "Both" in str(request.body["messages"]) else "B"))
    done = read_again(pairs, reader)
    assert state(pairs / "run") == before
    second = table(pairs / "run" / "reread" / "judge" / "m-2", "judgments")
    assert second["value"][unread].eq("A").all()
    assert second["rule"].eq("choice/reread_m_2@1").all()
    same = [name for name in judged if name != "rule"]
    pd.testing.assert_frame_equal(second.loc[~unread, same], judged.loc[~unread, same], check_dtype=False)
    n_read, n_b = int((~unread).sum()), int((judged["value"] == "B").sum())
    account = done.account
    assert (account["unread"], account["read"], account["unclear"]) == (unread.sum(), unread.sum(), 0)
    assert (account["sampled"], account["both_read"], account["agreed"]) == (n_read, n_read, n_b)
    choices = table(pairs / "run" / "reread" / "judge" / "m-2", "choices")
    assert choices["chosen"].notna().all()
    assert table(pairs / "run", "choices")["chosen"].isna().sum() == 2 * unread.sum()


def test_a_reader_is_shown_the_options_and_the_answer_alone(pairs):
    reader = Scripted(lambda *_: verdict("unclear"))
    done = read_again(pairs, reader, sample=0)
    assert len(reader.requests) == done.account["unread"] == done.account["unclear"]
    for request in reader.requests:
        system, user = (message["content"] for message in request.body["messages"])
        assert json.loads(user) == {"answer": OPEN_ENDED}
        assert "- A (Town A)\n- B (Town B)" in system
        assert "visit" not in system
        schema = request.body["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["verdict"]["enum"] == ["A", "B", "unclear"]
    second = table(pairs / "run" / "reread" / "judge" / "m-2", "judgments")
    assert (second["status"] == "unparsed").sum() == done.account["unread"]


def test_the_same_call_sends_only_what_failed(pairs):
    first = Scripted(lambda _, n: None if n == 0 else verdict("A") if n > 1 else "Who knows?")
    done = read_again(pairs, first, sample=0)
    n = done.account["unread"]
    assert (done.account["unanswered"], done.account["not_stated"], done.account["read"]) == (1, 1, n - 2)
    second = Scripted(lambda *_: verdict("B"))
    assert read_again(pairs, second, sample=0).account["unanswered"] == 0
    assert len(second.requests) == 1
    assert read_again(pairs, third := Scripted(lambda *_: None), sample=0).account["read"] == n - 1
    assert not third.requests


@pytest.mark.long
def test_account_and_provenance_of_the_run_have_the_agreement(pairs):
    account = read_again(pairs, Scripted(lambda *_: verdict("A"))).account
    [of_judge] = status(pairs / "towns", pairs / "run").accounts
    assert of_judge["rereads"] == [account]
    for again in (False, True):
        if again:
            parse(pairs / "towns", out=pairs / "run")
        recorded = json.loads((pairs / "run" / "provenance.json").read_text(encoding="utf-8"))
        assert recorded["rereads"] == [account]


def test_costs_come_before_and_a_dry_run_sends_and_writes_nothing(pairs, server, capsys):
    options = {"out": pairs / "run", "asking": Asking(base_url=server.url), "running": Running()}
    call = {"reread": "gpt-4o-mini", "reread_sample": 3, **options}
    assert collect_and_show(str(pairs / "towns"), "judge", dry_run=True, **call) == 0
    text = capsys.readouterr().out
    assert "5 to send" in text
    assert "Price     about USD" in text
    assert not (pairs / "run" / "reread").exists()
    assert not server.counts()["answered"]


@pytest.mark.long
def test_the_command_asks_a_server_and_prints_the_agreement(pairs, server, capsys, monkeypatch):
    message = {"role": "assistant", "content": verdict("B")}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 200, "completion_tokens": 8}
    server.configure(replies=[[200, {}, {"id": "x", "model": "m", "choices": [choice], "usage": usage}]])
    options = {"out": pairs / "run", "asking": Asking(base_url=server.url), "running": Running(max_cost=1)}
    assert collect_and_show(str(pairs / "towns"), "judge", reread="gpt-4o-mini", **options) == 0
    text = " ".join(capsys.readouterr().out.split())
    judged = table(pairs / "run", "judgments")
    n_unread, n_b = int((judged["status"] == "unparsed").sum()), int((judged["value"] == "B").sum())
    n_read = len(judged) - n_unread
    assert f"of {n_unread} verdicts that no rule reads, {n_unread} read." in text
    assert f"agrees with the rules on {n_b} of {n_read} verdicts that both read." in text
    lower, upper = proportion_confint(n_b, n_read, method="wilson")
    assert f"Agreement: {n_b / n_read:.1%} (95% interval {lower:.1%} to {upper:.1%})" in text


@pytest.mark.long
def test_fit_compares_the_second_reading_with_that_of_the_rules(tmp_path):
    content = items({"form": "label", "labels": LABELS}) | {"gold": {"file": "labels.csv"}}
    study = write_study(tmp_path / "posts", content)
    gold = {"item_id": [f"post_{n}" for n in range(4)], "label_set": "label", "label": "fine"}
    pd.DataFrame(gold).to_csv(study / "labels.csv", index=False)
    texts = Scripted(lambda _, n: "That one is hard." if n == 0 else "hateful")
    collect(study, "judge", out=tmp_path / "run", backend=texts)
    reader = Scripted(lambda *_: verdict("fine"))
    files = reread(study, "judge", "org/m-2", out=tmp_path / "run", backend=reader).files
    main, second = read_judgments_of(None, [tmp_path / "run" / "judgments.parquet"]), files[1]
    tables = by_rule(main.judgments, [read_judgments_of(None, [second]).judgments])
    values = {rule: part["value"].value_counts().to_dict() for rule, part in tables.items()}
    assert list(values.values()) == [{"hateful": 3}, {"hateful": 3, "fine": 1}]


def test_what_cannot_be_read_again_is_refused_in_a_sentence(pairs):
    reader = Scripted(lambda *_: verdict("A"))
    for options, words in (
        ({"running": Running(pairs=2)}, "omit --pairs"),
        ({"asking": Asking(samples=2)}, "omit --samples"),
        ({"sample": -1}, "--reread-sample -1"),
    ):
        with pytest.raises(InputError, match=words):
            read_again(pairs, reader, **options)
    with pytest.raises(InputError, match="--judge other: this run contains no answers of it"):
        reread(pairs / "towns", "other", "m-2", out=pairs / "run", backend=reader)
    with pytest.raises(InputError, match="contains no run"):
        reread(pairs / "towns", "judge", "m-2", out=pairs / "nowhere", backend=reader)
    assert not reader.requests
