"""What a run says of its answers: missing, cut, refused, unread, without log-probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.server import FakeServer
from fakes.studies import RATINGS, change_study, items, towns, write_study

pytestmark = pytest.mark.long

READ = "Next: conjury fit"
AGAIN = "Next: the same command again, which sends only what has no answer."


def answer(content: Any, reason: str = "stop", **message: Any) -> list[Any]:
    choice = {"index": 0, "message": {"content": content, **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 50, "completion_tokens": 5}
    return [200, {}, {"id": "x", "model": "m", "choices": [choice], "usage": usage}]


@pytest.fixture
def collect(
    server: FakeServer, here: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Collect ten pairs from a server that sends replies in turn; what is printed, and the document."""
    monkeypatch.setattr("conjury.inference.collecting.recorder.PASSES", 1)
    study = write_study(tmp_path / "towns", towns())
    place = next(place for place, judge in enumerate(towns()["judges"]) if "ask" in judge)

    def run(*replies: Any, form: str = "free", further: str = "") -> tuple[str, dict[str, Any]]:
        change_study(study, lambda content: content["judges"][place]["ask"].update(answer=form))
        server.configure(replies=list(replies))
        judge = towns()["judges"][place]["id"]
        command = f"collect {study}/study.yaml --judge {judge} --base-url {server.url} --pairs 10 --out run"
        ended = here(f"{command} --prompt plain --json {further}")
        assert ended.code in (0, 1), ended.err
        return ended.err, json.loads(ended.out)

    return run


def test_a_run_with_missing_answers_says_why_and_that_the_same_command_sends_them(collect, here):
    broken = [200, {}, {"object": "chat.completion", "choices": []}]
    printed, document = collect(*[answer("B")] * 6, broken, broken, broken, broken)
    account = document["account"]
    missing = account["without_answer"]
    assert account["answered"] < account["requests"]
    assert [each["kind"] for each in missing] == ["invalid_response"]
    n = account["requests"] - account["answered"]
    assert (
        f"{n} of {account['requests']} requests have no answer (invalid_response: the answer has" in printed
    )
    assert "has no choices); `conjury collect` with the same options sends them again." in printed
    assert AGAIN in printed
    assert READ not in printed
    status = here("run status towns/study.yaml --out run")
    assert "have no answer (invalid_response" in status.out
    [again] = json.loads(here("run status towns/study.yaml --out run --json").out)["accounts"]
    assert again == account


def test_what_the_server_rejects_for_good_is_named_and_the_rest_can_be_analysed(collect):
    long = [400, {}, {"error": {"message": "This model's maximum context length is 8 tokens."}}]
    busy = [429, {"Retry-After": "0"}, {}]
    printed, document = collect(answer("A"), answer("B"), busy, answer("A"), long, further="--concurrency 1")
    assert "failed attempts: 2 x too_large; 2 x HTTP 429 (sent again)." in printed
    assert [each["kind"] for each in document["account"]["without_answer"]] == ["too_large"]
    assert "shorten what is shown, or choose another model." in printed
    assert READ in printed
    assert "conjury run retry" not in printed


def test_answers_without_log_probabilities_are_counted_where_they_were_asked_for(collect):
    printed, document = collect(answer("A"), form="token")
    account = document["account"]
    assert (account["with_logprobs"], account["logprobs_asked"]) == (0, True)
    assert f"0 of {account['answered']} answers have log-probabilities, although all" in printed
    assert "log-probabilities" not in collect(answer("A"), further="--judge other --answer free")[0]


def test_text_in_the_field_for_reasoning_only_is_counted_and_no_analysis_is_proposed(collect):
    printed, document = collect(answer("", reasoning_content="Final answer: B"))
    account = document["account"]
    assert account["reasoning_only"] == account["empty"] == account["answered"]
    assert "have their text in the field for reasoning only" in printed
    assert "Next: conjury view run; no answer could be read." in printed


def test_unread_answers_have_reasons_with_three_examples_and_cut_and_refused_ones_their_numbers(collect):
    texts = [answer(f"Hard to say, number {n}.") for n in range(5)]
    printed, document = collect(*texts, answer("A"), answer("", "MAX_TOKENS"), answer("", "SAFETY"))
    account = document["account"]
    assert account["truncated"] >= 1
    assert account["refused"] >= 1
    assert sum(entry["n"] for entry in account["unread"]) == account["unparsed"] > 0
    assert len(account["unread"][0]["examples"]) == 3
    assert "1 answer ended at the limit of tokens; raise `max_tokens`" in printed
    assert "collect into another folder with --out, since a run keeps the settings it began with." in printed
    assert "Examples: “Hard to say, number" in printed
    steps = printed.replace(f"{Path.cwd()}/", "")
    assert "conjury view run --study towns/study.yaml --filter refused; conjury view run" in steps
    assert "conjury run retry towns/study.yaml --status refused --status unparsed" in steps


def test_the_account_is_in_the_section_on_data_of_a_report(collect, here):
    collect(answer("A"), answer("B"), answer("B"), form="token")
    fitted = here("fit towns/study.yaml --data run/choices.parquet --draws 0 --out results")
    assert fitted.code == 0, fitted.err
    manifest = json.loads(Path("results/manifest.json").read_text(encoding="utf-8"))
    [account] = manifest["answers"]
    assert account["answered"] == account["requests"]
    assert "unread" not in account


def test_requests_of_another_selection_do_not_make_a_run_name_itself_again(
    server: FakeServer, here: Callable[..., Any], tmp_path: Path
) -> None:
    study = write_study(tmp_path / "towns", towns())
    server.configure(replies=[[200, {}, {"choices": []}]])
    base = f"collect {study}/study.yaml --judge judge --base-url {server.url} --out run --answer free"
    assert AGAIN in here(f"{base} --prompt plain --pairs 4").out
    server.configure(replies=[answer("A")])
    for selection in ("--prompt plain --pairs 2", "--prompt strict --pairs 4"):
        printed = here(f"{base} {selection}").out
        assert "have no answer (invalid_response" in printed
        assert READ in printed


def test_answers_with_some_ratings_alone_are_read_in_part(server, here, tmp_path):
    study = write_study(tmp_path / "posts", items(RATINGS))
    server.configure(replies=[answer('{"hate": 3}')])
    printed = here(f"collect {study}/study.yaml --judge judge --base-url {server.url} --out run").out
    assert "4 read (4 of them in part, so that these count twice), 4 not read." in printed
