from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiohttp")

from fakes.batch_run import (
    STEPS,
    assert_all_answered,
    assert_nothing_lost_or_paid_twice,
    crash,
    details,
    make_backend,
    make_requests,
    one_round,
    states,
    submit,
)
from fakes.recorder import LedgerRecorder
from fakes.server import FakeServer

from conjury.inference.backends.base import export
from conjury.inference.backends.batches import batch_backend as batch_backend
from conjury.inference.backends.batches.batch_backend import BatchBackend
from conjury.inference.backends.batches.service import ProviderUnreachable, SentShard
from conjury.inference.backends.batches.shards import ShardLimits, open_lines
from conjury.inference.backends.openai import openai_batches
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger

ENDED = {"openai": "completed", "anthropic": "ended", "google": "succeeded"}
COUNTS = {"openai": "/batch_counts", "anthropic": "/message_counts", "google": "/gemini_counts"}
PROVIDERS = pytest.mark.parametrize("provider", ENDED)


@pytest.fixture
def provider():
    return "openai"


@pytest.fixture
def serve(server):
    """The fake server, with plans for its batches."""

    def configure(*plans: dict[str, Any], **options: Any) -> FakeServer:
        server.configure(batches={"plans": list(plans) or [{}], **options})
        return server

    return configure


def address(server: FakeServer, provider: str) -> str:
    return server.url if provider == "openai" else server.root


@pytest.fixture
def backend(serve, tmp_path, provider):
    """A backend of the fake server, with plans for its batches; ``of`` has settings of the backend."""

    def make(*plans: dict[str, Any], of: dict[str, Any] | None = None, **options: Any) -> BatchBackend:
        server = serve(*plans, **options)
        return make_backend(address(server, provider), tmp_path, **{"provider": provider, **(of or {})})

    return make


def batch_counts(server: FakeServer, provider: str = "openai") -> dict[str, Any]:
    return dict(server._call(COUNTS[provider]))


def n_batches(server: FakeServer, provider: str) -> int:
    """Number of batches that a provider has created."""
    created = batch_counts(server, provider)["batches"]
    return created if isinstance(created, int) else sum(created.values())


def wait(backend: BatchBackend, ledger: Ledger, **options: Any) -> None:
    backend.wait(LedgerRecorder(ledger), ledger, interval=0.002, **options)


def sending(shard: str) -> SentShard:
    return SentShard(shard, Path(), "", 1)


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "batches").iterdir())


@PROVIDERS
def test_requests_are_answered_in_shards_and_files_kept_until_then(
    backend, server, tmp_path, ledger, provider
):
    batches = backend({"polls": 2 if provider == "openai" else 9, "reverse": True})
    assert submit(batches, ledger, 10) == 10
    assert states(ledger) == ["submitted"] * 3
    assert files_of(tmp_path) == sorted(f"{batch.shard}.jsonl" for batch in ledger.batches())
    counts: list[tuple[int, int]] = []
    wait(batches, ledger, progress=lambda *of_batches: counts.append(of_batches))
    assert_all_answered(ledger, 10, provider)
    assert counts[-1] == (0, 0)
    if provider == "openai":
        assert counts == [(10, 0), (10, 5), (0, 0)]
    assert states(ledger) == ["collected"] * 3
    assert details(ledger) == [f"{ENDED[provider]}: {n} answered" for n in (4, 4, 2)]
    assert set(server.counts()["answered"].values()) == {1}
    assert files_of(tmp_path) == []
    assert submit(batches, ledger, 10) == 0


ODD = {
    **{"1": "500", "2": "429", "3": "400", "4": "empty", "5": "missing"},
    **{"6": "twice", "7": "timeout", "8": "filtered"},
}


def test_every_faulty_line_has_its_kind_and_only_these_are_asked_again(backend, tmp_path, ledger):
    batches = backend({"lines": ODD, "reverse": True, "strange": 2}, {}, of={"requests": 12})
    answered = dict.fromkeys((0, 6, 8, 9, 10, 11), "")
    failed = {1: "server", 2: "rate_limit", 3: "rejected", 4: "invalid_response", 5: "server", 7: "timeout"}
    assert one_round(batches, ledger, 12) == answered | failed
    assert details(ledger) == [
        "completed: 6 answered, 5 failed, 1 repeated lines, "
        "2 lines of unknown requests (first: 'strange-1'), 1 missing; "
        f"all lines are kept in {tmp_path / 'batches' / 'kept'}"
    ]
    (kept, _) = sorted((tmp_path / "batches" / "kept").iterdir(), key=lambda path: "error" in path.name)
    assert sum(b"strange-" in line for line in open_lines(kept)) == 2
    assert one_round(batches, ledger, 12) == dict.fromkeys((1, 2, 4, 5, 7), "")
    assert submit(batches, ledger, 12) == 0


GARBLED = {"0": "garbled", "2": "garbled"}


@pytest.mark.parametrize(
    ("plan", "kinds"),
    [
        ({"lines": GARBLED}, ["invalid_response", "", "invalid_response", ""]),
        ({"end": "expired", "share": 0.5, "polls": 1}, ["", "", "expired", "expired"]),
        ({"end": "cancelled", "share": 0.5, "polls": 1}, ["", "", "cancelled", "cancelled"]),
        ({"lines": {"1": "400"}, "lose": ["error"]}, ["", "server", ""]),
        ({"end": "expired", "share": 0.34, "lose": ["error"]}, ["", "expired", "expired"]),
        ({"end": "expired", "share": 0.0, "lose": ["error"]}, ["expired"] * 3),
        ({"lines": {"0": "500", "1": "500", "2": "500"}}, ["server"] * 3),
    ],
)
def test_what_a_batch_did_not_answer_is_asked_again(backend, server, ledger, plan, kinds):
    batches, n = backend(plan, {}), len(kinds)
    assert one_round(batches, ledger, n) == dict(enumerate(kinds))
    assert one_round(batches, ledger, n) == {place: "" for place, kind in enumerate(kinds) if kind}
    assert_all_answered(ledger, n)
    if "share" in plan:
        assert "lose" in plan or set(server.counts()["answered"].values()) == {1}


@pytest.mark.parametrize("provider", ["openai", "google", pytest.param("anthropic", marks=pytest.mark.long)])
def test_a_download_that_breaks_off_is_done_again(backend, server, ledger, provider):
    one_round(backend({"cut": 2}), ledger, 4)
    assert_all_answered(ledger, 4, provider)
    assert set(batch_counts(server, provider)["downloads"].values()) == {3}


def test_a_download_that_always_breaks_off_leaves_the_batch_to_a_later_process(backend, tmp_path, ledger):
    batches = backend({"cut": 6})
    submit(batches, ledger, 4)
    batches.poll(ledger)
    with pytest.raises(ProviderUnreachable, match="did not answer about the file"):
        batches.fetch(LedgerRecorder(ledger), ledger)
    assert states(ledger) == ["ended"]
    assert [Path(name).suffix for name in files_of(tmp_path)] == [".jsonl"]
    batches.fetch(LedgerRecorder(ledger), ledger)
    assert_all_answered(ledger, 4)


@pytest.mark.parametrize("lose", [["output"], ["output", "error"]])
def test_answers_that_are_counted_and_in_no_file_are_not_asked_for_again_unasked(
    backend, server, ledger, lose
):
    batches, recorder = backend({"lines": {"1": "500"}, "lose": lose}, {}), LedgerRecorder(ledger)
    submit(batches, ledger, 3)
    batches.poll(ledger)
    with pytest.raises(InputError, match="let `conjury run retry --status error` ask these requests again"):
        batches.fetch(recorder, ledger)
    assert submit(batches, ledger, 3) == (0 if "error" in lose else 1)
    assert max(server.counts()["answered"].values()) == 1


@pytest.mark.parametrize("retry", [False, True])
def test_results_that_are_not_there_are_read_when_they_are_or_asked_for_again(
    backend, ledger, monkeypatch, retry
):
    batches, recorder = backend({}, {}), LedgerRecorder(ledger)
    submit(batches, ledger, 3)
    batches.poll(ledger)
    with monkeypatch.context() as gone:
        gone.setattr(openai_batches, "_size", lambda *_: None)
        for _ in range(2):
            with pytest.raises(InputError, match=r"no file \S+ with the results of batch batch_\d+; .*retry"):
                batches.fetch(recorder, ledger)
        assert states(ledger) == ["ended"]
        assert {(count.state, count.n) for count in ledger.counts()} == {("rejected", 3)}
        assert submit(batches, ledger, 3) == 0
        if retry:
            assert ledger.ask_again(request.key for request in make_requests(3)) == 3
            batches.fetch(recorder, ledger)
    if retry:
        one_round(batches, ledger, 3)
    else:
        batches.fetch(recorder, ledger)
    assert_all_answered(ledger, 3)
    assert states(ledger) == (["failed", "collected"] if retry else ["collected"])
    assert ledger.problems() == []


@pytest.mark.parametrize(
    ("provider", "kind"), [("openai", "files"), *((provider, "batches") for provider in ENDED)]
)
@pytest.mark.parametrize("fault", ["lost", "refused"])
def test_a_creation_without_an_answer_makes_no_second_batch(backend, server, ledger, provider, kind, fault):
    one_round(backend({}, **{fault: {kind: 1}}), ledger, 4)
    assert_all_answered(ledger, 4, provider)
    assert n_batches(server, provider) == 1
    assert set(server.counts()["answered"].values()) == {1}


@pytest.mark.long
def test_a_provider_that_never_answers_leaves_the_shard_to_a_later_process(backend, server, ledger):
    batches = backend({}, refused={"batches": 4})
    with pytest.raises(ProviderUnreachable, match=r"cannot serve the batch of shard .*HTTP 500"):
        submit(batches, ledger, 4)
    assert states(ledger) == ["uploaded"]
    assert submit(batches, ledger, 4) == 0
    wait(batches, ledger)
    assert_all_answered(ledger, 4)
    assert list(batch_counts(server)["files"].values()) == [1]


@pytest.mark.long
def test_a_batch_is_found_again_among_many(backend, ledger):
    batches = backend({"polls": 1}, of={"requests": 1})
    submit(batches, ledger, 25)
    first = ledger.batches()[0]
    assert batches.service.find_batch(sending(first.shard)) == first.batch_id == "batch_1"
    assert batches.service.find_file(f"conjury-{first.shard}.jsonl") == first.file_id == "file-1"
    assert batches.service.find_batch(sending("other")) is None


def failing(code: str, line: int | None, message: str) -> dict[str, Any]:
    return {"end": "failed", "errors": [{"code": code, "line": line, "message": message}]}


@pytest.mark.parametrize(("n", "line"), [(1, 1), (4, 2)])
def test_a_line_that_makes_a_batch_fail_is_rejected_and_the_others_are_asked_again(backend, ledger, n, line):
    batches = backend(failing("invalid_json_line", line, "This line is not\nvalid."), {})
    assert one_round(batches, ledger, n) == {line - 1: "rejected"}
    assert (states(ledger), details(ledger)) == (["failed"], ["failed: This line is not valid."])
    assert one_round(batches, ledger, n) == {key: "" for key in range(n) if key != line - 1}


@pytest.mark.parametrize("lines", [[None, None], [1, 2, 3, 4]])
def test_a_batch_refused_as_a_whole_is_an_error_after_the_others_were_collected(
    backend, tmp_path, ledger, lines
):
    plans = [failing("model_not_found", line, f"Complaint {n}.") for n, line in enumerate(lines)]
    batches = backend({"end": "failed", "errors": [error for plan in plans for error in plan["errors"]]}, {})
    submit(batches, ledger, 6)
    recorder = LedgerRecorder(ledger)
    with pytest.raises(InputError, match=r"4 requests in shard .*\(Complaint 0\.\); correct"):
        batches.wait(recorder, ledger, interval=0.002)
    assert recorder.kinds() == {4: "", 5: ""}
    assert states(ledger) == ["failed", "collected"]
    assert files_of(tmp_path) == []
    one_round(batches, ledger, 6)
    assert_all_answered(ledger, 6)


def test_a_shard_that_the_queue_has_no_room_for_is_sent_again_when_others_have_ended(backend, server, ledger):
    batches = backend({"polls": 3}, room=5)
    submit(batches, ledger, 8)
    batches.poll(ledger)
    second = ledger.batches()[1]
    assert (second.state, second.batch_id) == ("uploaded", "")
    assert str(second.detail).startswith("waiting for room: failed: Enqueued token limit reached")
    assert submit(batches, ledger, 8) == 0
    wait(batches, ledger)
    assert_all_answered(ledger, 8)
    assert len(ledger.batches()) == len(batch_counts(server)["files"]) == 2


def test_a_shard_larger_than_the_queue_is_split(backend, server, tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(batch_backend, "SMALLEST", 1)
    batches = backend({"polls": 1}, of={"requests": 10}, room=3)
    submit(batches, ledger, 10)
    wait(batches, ledger)
    assert_all_answered(ledger, 10)
    done = sorted(str(batch.detail) for batch in ledger.batches() if batch.state == "collected")
    assert done == [f"completed: {n} answered" for n in (2, 2, 3, 3)]
    assert set(server.counts()["answered"].values()) == {1}
    assert files_of(tmp_path) == []


def test_a_shard_whose_file_is_gone_is_made_anew(backend, tmp_path, ledger):
    with pytest.raises(ProviderUnreachable):
        submit(backend({}, of={"max_retries": 0}, refused={"files": 9}), ledger, 4)
    (planned,) = ledger.batches()
    assert planned.state == "planned"
    (tmp_path / "batches" / f"{planned.shard}.jsonl").unlink()
    assert submit(backend(), ledger, 4) == 4
    assert states(ledger) == ["failed", "submitted"]


def test_files_of_shards_that_were_never_planned_are_removed(backend, tmp_path, ledger):
    folder = tmp_path / "batches"
    folder.mkdir()
    for name in ("judge-0.jsonl", "judge-1.jsonl.part", "other-2.jsonl"):
        (folder / name).write_bytes(b"")
    submit(backend(), ledger, 0)
    assert files_of(tmp_path) == ["other-2.jsonl"]


def test_batches_of_other_judges_are_left(serve, tmp_path, ledger):
    server = serve({"polls": 1})
    one, other = make_backend(server.url, tmp_path), make_backend(server.url, tmp_path)
    other.judge_id = "other"
    submit(one, ledger, 2)
    requests = ledger.pending(make_requests(3, "other", "other"))
    assert other.submit(requests, LedgerRecorder(ledger), ledger) == 3
    other.wait(LedgerRecorder(ledger), ledger, interval=0.002)
    known = [(batch.judge_id, batch.state) for batch in ledger.batches()]
    assert known == [("judge", "submitted"), ("other", "collected")]


@PROVIDERS
def test_a_request_too_large_for_a_batch_is_recorded_so(backend, ledger, provider):
    batches = backend(of={"limits": ShardLimits(bytes=50)})
    assert one_round(batches, ledger, 1) == {0: "too_large"}
    assert submit(batches, ledger, 1) == 0


def test_nothing_is_sent_after_a_stop_and_waiting_ends(backend, server, tmp_path, ledger):
    recorder, batches = LedgerRecorder(ledger), backend({"polls": 10**6})

    def stop(*_: int) -> None:
        recorder.stop = True

    def requests() -> Iterator[Any]:
        for place, request in enumerate(ledger.pending(make_requests(10))):
            recorder.stop = place == 6
            yield request

    assert batches.submit(requests(), recorder, ledger) == 4
    assert len(ledger.batches()) == len(files_of(tmp_path)) == 1
    assert n_batches(server, "openai") == 1
    recorder.stop = False
    batches.wait(recorder, ledger, interval=600.0, progress=stop)
    assert states(ledger) == ["submitted"]


def test_waiting_looks_often_at_whether_to_stop_and_not_beyond_its_interval(backend, ledger, monkeypatch):
    batches, slept = backend({"polls": 3}), []
    submit(batches, ledger, 1)
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(batch_backend, "time", clock)
    batches.wait(LedgerRecorder(ledger), ledger, interval=0.5)
    assert slept[:3] == pytest.approx([0.2, 0.2, 0.1])
    assert sum(slept) == pytest.approx(3 * 0.5)


def test_waiting_survives_a_provider_that_is_away_for_a_while(backend, ledger):
    batches = backend(of={"max_retries": 0})
    submit(batches, ledger, 4)
    ask, silent = batches.service.retrieve, Counter[str]()

    def away(batch_id: str) -> Any:
        silent[batch_id] += 1
        if silent[batch_id] < 5:
            raise ProviderUnreachable("away")
        return ask(batch_id)

    batches.service.retrieve = away
    wait(batches, ledger)
    assert_all_answered(ledger, 4)


def test_a_server_that_is_not_there_and_an_unknown_batch_are_told_in_one_sentence(backend, tmp_path, ledger):
    absent = make_backend("http://127.0.0.1:9/v1", tmp_path / "absent", max_retries=0)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9/v1 did not answer about the file .*run the same"):
        submit(absent, ledger, 4)
    batches = backend({"polls": 1})
    ledger.update_batch(ledger.batches()[0].shard, state="failed")
    submit(batches, ledger, 4)
    backend()
    batches.poll(ledger)
    with pytest.raises(InputError, match=r"has no batch batch_1; .*key of the project.*conjury run retry"):
        batches.fetch(LedgerRecorder(ledger), ledger)


def test_a_wrong_key_is_told_and_never_shown(server, tmp_path, ledger, monkeypatch):
    server.configure(key="right")
    monkeypatch.setenv("MY_KEY", "sentinel-key-0123456789")
    batches = make_backend(server.url, tmp_path, key_variable="MY_KEY")
    with pytest.raises(InputError, match="does not accept the key in the environment variable MY_KEY") as e:
        submit(batches, ledger, 4)
    assert "sentinel" not in f"{e.value}{e.value.__cause__}{batches.settings()}"
    assert states(ledger) == ["planned"]


def test_an_exported_file_is_what_a_batch_would_send(backend, tmp_path, ledger):
    path = tmp_path / "requests.jsonl"
    assert export(ledger.pending(make_requests(4)), path, LedgerRecorder(ledger)) == 4
    submit(backend({"polls": 1}), ledger, 4)
    (name,) = files_of(tmp_path)
    assert path.read_bytes() == (tmp_path / "batches" / name).read_bytes()


HARD = {"polls": 1, "lines": {"0": "twice", "1": "500"}, "reverse": True, "strange": 1}


@pytest.mark.long
def test_death_at_any_step_loses_nothing_and_pays_nothing_twice(serve, tmp_path):
    steps = (
        "replace-1 plan_batch-1 plan_batch+1 upload+1 update_batch+1 create-1 create+1 update_batch+2 "
        "upload+2 create+2 retrieve+3 download+1 record+1 flush-1 update_batch+8"
    )
    runs = [[step] for step in steps.split()]
    server = serve(HARD)
    assert crash(server.url, tmp_path, 3, runs) == [[9, 0]] * 15
    assert_nothing_lost_or_paid_twice(server, tmp_path, 3, runs)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_death_at_each_step_and_again_soon_after_loses_nothing(serve, tmp_path):
    steps = [
        f"{name}{when}{n}" for names in STEPS.values() for name in names for when in "-+" for n in (1, 3)
    ]
    seconds = cycle(
        ["create+1", "update_batch-1", "upload+1", "record+1", "flush+1", "retrieve+1", "create-1"]
    )
    runs = [[step, second] for step, second in zip(steps, seconds, strict=False)]
    server = serve({**HARD, "end": "expired", "share": 0.6})
    codes = crash(server.url, tmp_path, 3, runs)
    assert [each[-1] for each in codes] == [0] * len(runs)
    assert sum(each[0] == 9 for each in codes) > 30
    assert_nothing_lost_or_paid_twice(server, tmp_path, 3, runs)
