from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from fakes.answers import completion
from fakes.recorder import LedgerRecorder

from conjury.inference.backends.base import read_results
from conjury.inference.backends.batches.shards import (
    LineTally,
    Shard,
    ShardLimits,
    file_label,
    open_lines,
    outcomes_of,
    split_shard,
    write_shards,
)
from conjury.inference.backends.openai.openai_lines import LINES
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome, Request, request_key

ANSWER = {"choices": [{"message": {"content": "A"}}]}


def make_requests(n: int, text: str = "Hi") -> Iterator[Request]:
    for place in range(n):
        body = {"model": "m", "messages": [{"role": "user", "content": f"{text} {place}"}]}
        yield Request(request_key("j", "p", str(place), 1, body), "j", "p", str(place), 1, body)


def no_media(sha256: str) -> tuple[str, bytes]:
    raise KeyError(sha256)


def write(
    requests: Iterator[Request], folder: Path, limits: ShardLimits, refused: list[Outcome] | None = None
) -> list[Shard]:
    taken = [] if refused is None else refused
    return list(write_shards(requests, folder, "j", no_media, limits, taken.append, LINES))


def result(key: str, answer: Any = ANSWER, status: int = 200, error: Any = None) -> bytes:
    response = None if answer is None else {"status_code": status, "body": answer}
    return json.dumps({"custom_id": key, "response": response, "error": error}).encode() + b"\n"


def outcomes(*lines: bytes, known: str = "abc") -> tuple[dict[str, Outcome], LineTally]:
    tally = LineTally()
    told = list(outcomes_of(lines, set(known), tally, LINES, "shard"))
    assert len({outcome.key for outcome in told}) == len(told)
    return {outcome.key: outcome for outcome in told}, tally


def test_every_request_is_one_line_of_one_shard_in_order(tmp_path):
    assert write(make_requests(0), tmp_path, ShardLimits()) == list(tmp_path.iterdir()) == []
    requests = list(make_requests(10, "Grüße\u2028\n"))
    shards = write(iter(requests), tmp_path, ShardLimits(requests=4))
    assert [len(shard.keys) for shard in shards] == [4, 4, 2]
    assert len({shard.name for shard in shards}) == 3
    lines = [json.loads(line) for shard in shards for line in open_lines(shard.path)]
    assert [line["custom_id"] for line in lines] == [request.key for request in requests]
    assert [line["custom_id"] for line in lines] == [key for shard in shards for key in shard.keys]
    assert [line["body"] for line in lines] == [request.body for request in requests]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    for shard in shards:
        content = shard.path.read_bytes()
        assert (shard.size, shard.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert content.count(b"\n") == len(shard.keys)


def test_no_shard_is_larger_than_the_limit_of_bytes(tmp_path):
    length = len(LINES.write(next(make_requests(1)), no_media))
    shards = write(make_requests(9), tmp_path, ShardLimits(bytes=3 * length))
    assert [len(shard.keys) for shard in shards] == [3, 3, 3]
    assert max(shard.path.stat().st_size for shard in shards) == 3 * length
    shards = write(make_requests(9), tmp_path, ShardLimits(bytes=3 * length - 1))
    assert [len(shard.keys) for shard in shards] == [2, 2, 2, 2, 1]


def test_a_line_over_the_limit_is_refused_and_the_others_are_written(tmp_path):
    small, large = list(make_requests(3)), next(make_requests(1, "x" * 500))
    refused: list[Outcome] = []
    (shard,) = write(iter([small[0], large, *small[1:]]), tmp_path, ShardLimits(bytes=600), refused)
    assert shard.keys == [request.key for request in small]
    assert [(outcome.key, outcome.kind) for outcome in refused] == [(large.key, "too_large")]


def test_requests_are_taken_one_by_one(tmp_path):
    taken = 0

    def count() -> Iterator[Request]:
        nonlocal taken
        for request in make_requests(10):
            taken += 1
            yield request

    next(write_shards(count(), tmp_path, "j", no_media, ShardLimits(requests=4), print, LINES))
    assert taken == 5


def test_a_file_gets_its_name_only_when_it_is_whole(tmp_path):
    def requests() -> Iterator[Request]:
        yield from make_requests(3)
        raise KeyError

    with pytest.raises(KeyError):
        write(requests(), tmp_path, ShardLimits())
    assert list(tmp_path.iterdir()) == []


def test_names_of_shards_hold_no_character_that_files_cannot_have():
    assert file_label("org/model: äé") == "org_model_"


def test_a_shard_is_split_into_halves_with_the_same_lines(tmp_path):
    (shard,) = write(make_requests(7), tmp_path, ShardLimits())
    halves = list(split_shard(shard.path, shard.name, "custom_id"))
    assert [len(half.keys) for half in halves] == [4, 3]
    assert b"".join(half.path.read_bytes() for half in halves) == shard.path.read_bytes()
    assert [key for half in halves for key in half.keys] == shard.keys
    for half in halves:
        content = half.path.read_bytes()
        assert (half.size, half.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_reordered_lines_are_told_by_their_keys():
    answers = {key: {"choices": [{"message": {"content": key}}]} for key in "abc"}
    told, tally = outcomes(*(result(key, answers[key]) for key in "cab"))
    assert {key: json.loads(outcome.body or b"") for key, outcome in told.items()} == answers
    assert {outcome.batch for outcome in told.values()} == {"shard"}
    assert str(tally) == "3 answered"


@pytest.mark.parametrize(("line", "kind", "error"), cases(__file__, "failed_lines"))
def test_a_line_without_an_answer_names_its_kind(line, kind, error):
    told, tally = outcomes(json.dumps({"custom_id": "a", **line}).encode())
    assert told["a"].kind == kind
    assert told["a"].error.startswith(error)
    assert told["a"].body is None
    assert len(told["a"].attempts) == 1
    assert tally.answered == set()


def test_compressed_and_plain_files_are_read_alike(tmp_path):
    lines = [result("a"), result("b", {"choices": [{"message": {"content": "\u2028\x85"}}]})]
    (tmp_path / "plain.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(b"".join(lines)))
    assert list(open_lines(tmp_path / "plain.jsonl")) == lines
    assert list(open_lines(tmp_path / "packed.jsonl.gz")) == lines


def test_the_first_answer_counts_and_more_than_any_error():
    other = {"choices": [{"message": {"content": "B"}}]}
    tally = LineTally()
    lines = [result("a"), result("a", other), result("a")]
    bodies = [json.loads(one.body or b"") for one in outcomes_of(lines, {"a"}, tally, LINES)]
    assert (bodies, tally.repeated, str(tally)) == ([ANSWER, other], 2, "1 answered, 2 repeated lines")
    for order in (1, -1):
        lines = [result("a"), result("a", {"error": {"message": "No."}}, 500)]
        told, tally = outcomes(*lines[::order])
        assert (told["a"].kind, tally.failed) == ("", {})


def test_lines_that_are_no_json_or_of_unknown_requests_are_counted_and_left():
    told, tally = outcomes(result("x"), result("a"), b'{"response": null}\n', b'{"custom_id": ["a"]}\n')
    assert (list(told), tally.unknown) == (["a"], ["x", "None", "['a']"])
    assert "3 lines of unknown requests (first: 'x')" in str(tally)
    told, tally = outcomes(result("z")[:30], b"\n", b"\xff\xfe\n", b"[1]\n", result("b"))
    assert (list(told), tally.unreadable, tally.unassigned) == (["b"], 3, 3)


def test_a_broken_line_is_kept_as_a_billed_failure_of_its_request():
    broken = result("a")[:-9]
    told, tally = outcomes(broken, result("b"))
    assert (told["a"].refused_body, told["a"].kind) == (broken, "invalid_response")
    assert [attempt.billed for attempt in told["a"].attempts] == [True]
    assert (tally.unreadable, tally.unassigned, list(tally.failed)) == (1, 0, ["a"])
    for lines in ([broken, result("a")], [result("a"), broken]):
        both = list(outcomes_of(lines, {"a"}, LineTally(), LINES))
        assert [outcome.kind for outcome in both] == ["", "invalid_response"]
        assert both[1].refused_body == broken


def test_odd_answers_are_kept():
    told, _ = outcomes(result("a", {"choices": [], "id": "7"}))
    assert json.loads(told["a"].refused_body or b"") == {"choices": [], "id": "7"}
    told, _ = outcomes(result("a", {"error": {"message": "No.", "code": "content_filter"}}, 400))
    assert json.loads(told["a"].body or b"")["choices"][0]["finish_reason"] == "content_filter"
    told, _ = outcomes(result("a", {"choices": [{"message": {"content": "\ud83d"}}]}))  # half a character
    assert json.loads(told["a"].body or b"")["choices"][0]["message"]["content"] == "\ud83d"


def test_a_place_without_room_is_told_in_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"file/batches cannot be written \(Not a directory\)"):
        write(make_requests(1), tmp_path / "file" / "batches", ShardLimits())

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\); free some space and run again"):
        write(make_requests(3), tmp_path, ShardLimits())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def answer_to(request: Request, **changed: Any) -> bytes:
    return result(request.key, {**completion(request.body), **changed})


def test_results_made_elsewhere_are_read_once_and_add_nothing_when_read_again(tmp_path, ledger, monkeypatch):
    requests = list(ledger.pending(make_requests(3)))
    path = tmp_path / "results.jsonl"
    path.write_bytes(answer_to(requests[0]) + result("strange"))
    recorder = LedgerRecorder(ledger)
    read = str(read_results(path, ledger, recorder))
    assert read == "1 answered, 1 lines of unknown requests (first: 'strange')"
    monkeypatch.setattr(Ledger, "request_body", lambda *_: pytest.fail("a body was read to look up a key"))
    failed = result(requests[1].key, {"error": {"message": "Broken."}}, 500)
    path.write_bytes(answer_to(requests[0], id="another") + failed + answer_to(requests[2]))
    for expected in ({1: "server", 2: ""}, {}):
        again = LedgerRecorder(ledger)
        read_results(path, ledger, again)
        assert again.kinds() == expected
    assert len(ledger.answer_bodies(requests[0].key)) == 1
    assert ledger.ask_again([requests[2].key]) == 1
    read_results(path, ledger, again)
    assert again.kinds() == {}
    path.write_bytes(b"".join(map(answer_to, requests)))
    read_results(path, ledger, recorder)
    assert recorder.kinds() == {0: "", 1: ""}


def test_results_that_cannot_be_read_are_told(tmp_path, ledger):
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    for name in ("none.jsonl", "cut.jsonl.gz"):
        with pytest.raises(InputError, match=rf"{name} cannot be read"):
            read_results(tmp_path / name, ledger, LedgerRecorder(ledger))
