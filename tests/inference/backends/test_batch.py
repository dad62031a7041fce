from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiohttp")

from fakes.answers import completion, content_hash
from fakes.batch_run import STEPS, LedgerDesk, make_backend, make_requests
from fakes.server import TESTS, FakeServer

from conjury.inference.backends.base import export, read_results
from conjury.inference.backends.openai import batch as openai_batch
from conjury.inference.backends.openai import batch_service
from conjury.inference.backends.openai.batch import BatchBackend
from conjury.inference.backends.openai.batch_service import Unreachable
from conjury.inference.backends.openai.shards import Limits, open_lines
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome

ENQUEUED = "Enqueued token limit reached"


Configure = Callable[..., FakeServer]


@pytest.fixture
def serve(server):
    """The fake server, which lets batches go as told."""

    def configure(*plans: dict[str, Any], **told: Any) -> FakeServer:
        server.configure(batches={"plans": list(plans) or [{}], **told})
        return server

    return configure


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


class KeptDesk(LedgerDesk):
    """Keeps outcomes beside the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.outcomes: list[Outcome] = []

    def record(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        super().record(outcome)

    def kinds(self) -> dict[int, str]:
        """Kind by place of the request; no request has two outcomes."""
        places = {request.key: place for place, request in enumerate(make_requests(100))}
        told = {places[outcome.key]: outcome.kind for outcome in self.outcomes}
        assert len(told) == len(self.outcomes)
        return dict(sorted(told.items()))


def batch_counts(server: FakeServer) -> dict[str, Any]:
    return dict(server._call("/batch_counts"))


def submit(backend: BatchBackend, ledger: Ledger, n: int) -> int:
    return backend.submit(ledger.pending(make_requests(n)), LedgerDesk(ledger), ledger)


def one_round(backend: BatchBackend, ledger: Ledger, n: int) -> KeptDesk:
    """Send n requests once and return the recorder that took their outcomes."""
    recorder = KeptDesk(ledger)
    backend.submit(ledger.pending(make_requests(n)), recorder, ledger)
    backend.wait(recorder, ledger, interval=0.002)
    return recorder


def assert_all_answered(ledger: Ledger, n: int) -> None:
    """Every request has the answer that belongs to it, and one."""
    for request in make_requests(n):
        answers = [json.loads(answer) for answer in ledger.answer_bodies(request.key)]
        assert answers == [completion(request.body)]


def test_requests_are_answered_in_shards_and_files_kept_until_then(serve, tmp_path, ledger):
    server = serve({"polls": 2})
    backend = make_backend(server.url, tmp_path)
    assert submit(backend, ledger, 10) == 10
    assert [batch.state for batch in ledger.batches()] == ["submitted"] * 3
    files = sorted(path.name for path in (tmp_path / "batches").iterdir())
    assert files == sorted(f"{batch.shard}.jsonl" for batch in ledger.batches())
    seen: list[set[str]] = []
    backend.wait(
        LedgerDesk(ledger),
        ledger,
        interval=0.002,
        progress=lambda live: seen.append({str(batch.detail) for batch in live}),
    )
    assert_all_answered(ledger, 10)
    assert seen == [
        {"in_progress, 0 of 4", "in_progress, 0 of 2"},
        {"finalizing, 0 of 4", "finalizing, 0 of 2"},
        set(),
    ]
    assert [(batch.state, batch.detail) for batch in ledger.batches()] == [
        ("collected", "completed: 4 answered"),
        ("collected", "completed: 4 answered"),
        ("collected", "completed: 2 answered"),
    ]
    assert set(server.counts()["answered"].values()) == {1}
    assert list((tmp_path / "batches").iterdir()) == []


def test_what_is_sent_is_in_the_ledger_before(serve, tmp_path, ledger, monkeypatch):
    backend = make_backend(serve().url, tmp_path)
    known: list[tuple[str, str, str, int]] = []

    def note(name: str) -> None:
        exchange = getattr(backend.service, name)

        def noted(*arguments: Any) -> Any:
            batch = ledger.batches()[-1]
            known.append((name, batch.state, batch.batch_id, len(ledger.batch_keys(batch.shard))))
            return exchange(*arguments)

        monkeypatch.setattr(backend.service, name, noted)

    for name in ("upload", "create", "retrieve"):
        note(name)
    submit(backend, ledger, 3)
    backend.poll(ledger)
    assert known == [
        ("upload", "planned", "", 3),
        ("create", "uploaded", "", 3),
        ("retrieve", "submitted", "batch_1", 3),
    ]


def test_another_process_goes_on_where_one_left(serve, tmp_path):
    server = serve({"polls": 1})
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        submit(make_backend(server.url, tmp_path), ledger, 6)
    with Ledger.open(path) as ledger:
        backend = make_backend(server.url, tmp_path)
        assert submit(backend, ledger, 6) == 0
        states = {batch.state for batch in backend.poll(ledger)}
        assert states == {"submitted"}
        assert backend.fetch(LedgerDesk(ledger), ledger) == []
    with Ledger.open(path) as ledger:
        backend = make_backend(server.url, tmp_path)
        assert [batch.state for batch in backend.poll(ledger)] == ["ended", "ended"]
        fetched = backend.fetch(LedgerDesk(ledger), ledger)
        assert [batch.detail for batch in fetched] == ["completed: 4 answered", "completed: 2 answered"]
        assert_all_answered(ledger, 6)
    assert set(server.counts()["answered"].values()) == {1}


def test_every_faulty_line_has_its_kind_and_only_these_are_asked_again(serve, tmp_path, ledger):
    faults = {
        "1": "500",
        "2": "429",
        "3": "400",
        "4": "empty",
        "5": "missing",
        "6": "twice",
        "7": "timeout",
        "8": "filtered",
    }
    server = serve({"lines": faults, "reverse": True, "strange": 2}, {})
    backend = make_backend(server.url, tmp_path, requests=12)
    recorder = one_round(backend, ledger, 12)
    answered = dict.fromkeys((0, 6, 8, 9, 10, 11), "")
    failed = {1: "server", 2: "rate_limit", 3: "rejected", 4: "invalid_response", 5: "server", 7: "timeout"}
    assert recorder.kinds() == dict(sorted({**answered, **failed}.items()))
    (batch,) = ledger.batches()
    assert batch.detail == (
        "completed: 6 answered, 5 failed, 1 repeated lines, "
        "2 lines of unknown requests (first: 'strange-1'), 1 missing"
    )
    assert one_round(backend, ledger, 12).kinds() == dict.fromkeys((1, 2, 4, 5, 7), "")
    assert submit(backend, ledger, 12) == 0


def test_garbled_lines_make_their_requests_be_asked_again(serve, tmp_path, ledger):
    backend = make_backend(serve({"lines": {"0": "garbled", "2": "garbled"}}, {}).url, tmp_path)
    kinds = one_round(backend, ledger, 4).kinds()
    assert kinds == {0: "invalid_response", 1: "", 2: "invalid_response", 3: ""}
    assert one_round(backend, ledger, 4).kinds() == {0: "", 2: ""}
    assert_all_answered(ledger, 4)


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_what_a_batch_did_not_get_to_is_asked_again(serve, tmp_path, ledger, end):
    server = serve({"end": end, "share": 0.5, "polls": 1}, {})
    backend = make_backend(server.url, tmp_path)
    assert one_round(backend, ledger, 4).kinds() == {0: "", 1: "", 2: end, 3: end}
    assert one_round(backend, ledger, 4).kinds() == {2: "", 3: ""}
    assert_all_answered(ledger, 4)
    assert set(server.counts()["answered"].values()) == {1}


@pytest.mark.parametrize(
    ("plan", "kinds"),
    [
        ({"lines": {"1": "500"}, "lose": ["output"]}, ["server"] * 3),
        ({"lines": {"1": "400"}, "lose": ["error"]}, ["", "server", ""]),
        ({"lines": {"1": "400"}, "lose": ["output", "error"]}, ["server"] * 3),
        ({"end": "expired", "share": 0.34, "lose": ["error"]}, ["", "expired", "expired"]),
        ({"end": "expired", "share": 0.0, "lose": ["error"]}, ["expired"] * 3),
        ({"lines": {"0": "500", "1": "500", "2": "500"}}, ["server"] * 3),
    ],
)
def test_result_files_may_be_missing(serve, tmp_path, ledger, plan, kinds):
    backend = make_backend(serve(plan, {}).url, tmp_path)
    assert list(one_round(backend, ledger, 3).kinds().values()) == kinds
    again = {place: "" for place, kind in enumerate(kinds) if kind}
    assert one_round(backend, ledger, 3).kinds() == again


def test_a_download_that_breaks_off_is_done_again(serve, tmp_path, ledger):
    server = serve({"cut": 2})
    one_round(make_backend(server.url, tmp_path), ledger, 4)
    assert_all_answered(ledger, 4)
    assert set(batch_counts(server)["downloads"].values()) == {3}


def test_a_download_that_always_breaks_off_leaves_the_batch_to_a_later_process(serve, tmp_path, ledger):
    server = serve({"cut": 6})
    backend = make_backend(server.url, tmp_path)
    submit(backend, ledger, 4)
    backend.poll(ledger)
    with pytest.raises(Unreachable, match="gave no answer about the file"):
        backend.fetch(LedgerDesk(ledger), ledger)
    assert [batch.state for batch in ledger.batches()] == ["ended"]
    assert [path.suffix for path in (tmp_path / "batches").iterdir()] == [".jsonl"]
    backend.fetch(LedgerDesk(ledger), ledger)
    assert_all_answered(ledger, 4)


def _without_files(
    backend: BatchBackend, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, n: int
) -> LedgerDesk:
    submit(backend, ledger, n)
    backend.poll(ledger)
    monkeypatch.setattr(batch_service, "_size", lambda *_: None)
    recorder = LedgerDesk(ledger)
    for _ in range(2):
        with pytest.raises(InputError, match=r"no file \S+ with the results of batch batch_\d+; .*retry"):
            backend.fetch(recorder, ledger)
    assert [batch.state for batch in ledger.batches()] == ["ended"]
    assert {(count.state, count.n) for count in ledger.counts()} == {("rejected", n)}
    assert submit(backend, ledger, n) == 0
    return recorder


def test_results_that_are_not_there_are_read_when_they_are(serve, tmp_path, ledger, monkeypatch):
    backend = make_backend(serve().url, tmp_path)
    with monkeypatch.context() as gone:
        recorder = _without_files(backend, ledger, gone, 3)
    backend.fetch(recorder, ledger)
    assert_all_answered(ledger, 3)
    assert [batch.state for batch in ledger.batches()] == ["collected"]


def test_results_that_are_not_there_are_asked_for_again_when_told(serve, tmp_path, ledger, monkeypatch):
    backend = make_backend(serve({}, {}).url, tmp_path)
    with monkeypatch.context() as gone:
        recorder = _without_files(backend, ledger, gone, 3)
        assert ledger.ask_again(request.key for request in make_requests(3)) == 3
        backend.fetch(recorder, ledger)
    one_round(backend, ledger, 3)
    assert_all_answered(ledger, 3)
    assert [batch.state for batch in ledger.batches()] == ["failed", "collected"]
    assert ledger.problems() == []


@pytest.mark.parametrize("kind", ["files", "batches"])
@pytest.mark.parametrize("fault", ["lost", "refused"])
def test_a_creation_without_an_answer_makes_no_second_batch(serve, tmp_path, ledger, kind, fault):
    server = serve({}, **{fault: {kind: 1}})
    one_round(make_backend(server.url, tmp_path), ledger, 6)
    assert_all_answered(ledger, 6)
    assert list(batch_counts(server)["batches"].values()) == [1, 1]
    assert set(server.counts()["answered"].values()) == {1}


def test_a_provider_that_never_answers_leaves_the_shard_to_a_later_process(serve, tmp_path, ledger):
    server = serve({}, refused={"batches": 4})
    backend = make_backend(server.url, tmp_path)
    with pytest.raises(Unreachable, match=r"cannot tell about the batch of shard .*HTTP 500"):
        submit(backend, ledger, 4)
    assert [batch.state for batch in ledger.batches()] == ["uploaded"]
    assert submit(backend, ledger, 4) == 0
    backend.wait(LedgerDesk(ledger), ledger, interval=0.002)
    assert_all_answered(ledger, 4)
    assert list(batch_counts(server)["files"].values()) == [1]


def test_a_batch_is_found_again_among_many(serve, tmp_path, ledger):
    server = serve({"polls": 1})
    backend = make_backend(server.url, tmp_path, requests=1)
    submit(backend, ledger, 25)
    first = ledger.batches()[0]
    assert backend.service.find_batch(first.shard) == first.batch_id == "batch_1"
    assert backend.service.find_file(f"conjury-{first.shard}.jsonl") == first.file_id == "file-1"
    assert backend.service.find_batch("other") is None


def test_a_line_that_makes_a_batch_fail_is_rejected_and_the_others_are_asked_again(serve, tmp_path, ledger):
    complaint = {"code": "invalid_json_line", "line": 2, "message": "This line is not\nvalid."}
    backend = make_backend(serve({"end": "failed", "errors": [complaint]}, {}).url, tmp_path)
    assert one_round(backend, ledger, 4).kinds() == {1: "rejected"}
    (batch,) = ledger.batches()
    assert (batch.state, batch.detail) == ("failed", "failed: This line is not valid.")
    assert one_round(backend, ledger, 4).kinds() == {0: "", 2: "", 3: ""}


def test_a_batch_refused_as_a_whole_is_an_error_after_the_others_were_collected(serve, tmp_path, ledger):
    complaint = {"code": "model_not_found", "line": None, "message": "The model m has no batch interface."}
    backend = make_backend(serve({"end": "failed", "errors": [complaint]}, {}).url, tmp_path)
    submit(backend, ledger, 6)
    recorder = KeptDesk(ledger)
    with pytest.raises(InputError, match=r"4 requests in shard .*The model m has no batch interface"):
        backend.wait(recorder, ledger, interval=0.002)
    assert recorder.kinds() == {4: "", 5: ""}
    assert [batch.state for batch in ledger.batches()] == ["failed", "collected"]
    assert list((tmp_path / "batches").iterdir()) == []
    one_round(backend, ledger, 6)
    assert_all_answered(ledger, 6)


def test_a_shard_that_the_queue_has_no_room_for_is_sent_again_when_others_have_ended(serve, tmp_path, ledger):
    server = serve({"polls": 3}, room=5)
    backend = make_backend(server.url, tmp_path)
    submit(backend, ledger, 8)
    backend.poll(ledger)
    second = ledger.batches()[1]
    assert (second.state, second.batch_id) == ("uploaded", "")
    assert str(second.detail).startswith(f"waiting for room: failed: {ENQUEUED}")
    assert submit(backend, ledger, 8) == 0
    backend.wait(LedgerDesk(ledger), ledger, interval=0.002)
    assert_all_answered(ledger, 8)
    assert len(ledger.batches()) == 2
    assert len(batch_counts(server)["files"]) == 2


def test_a_shard_larger_than_the_queue_is_split(serve, tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(openai_batch, "SMALLEST", 1)
    server = serve({"polls": 1}, room=3)
    backend = make_backend(server.url, tmp_path, requests=10)
    submit(backend, ledger, 10)
    backend.wait(LedgerDesk(ledger), ledger, interval=0.002)
    assert_all_answered(ledger, 10)
    done = [batch for batch in ledger.batches() if batch.state == "collected"]
    assert (
        sorted(batch.detail for batch in done)
        == ["completed: 2 answered"] * 2 + ["completed: 3 answered"] * 2
    )
    assert set(server.counts()["answered"].values()) == {1}
    assert list((tmp_path / "batches").iterdir()) == []


def test_a_shard_whose_file_is_gone_is_made_anew(serve, tmp_path, ledger):
    backend = make_backend(serve({}, refused={"files": 9}).url, tmp_path, max_retries=0)
    with pytest.raises(Unreachable):
        submit(backend, ledger, 4)
    (planned,) = ledger.batches()
    assert planned.state == "planned"
    (tmp_path / "batches" / f"{planned.shard}.jsonl").unlink()
    backend = make_backend(serve().url, tmp_path)
    assert submit(backend, ledger, 4) == 4
    assert [batch.state for batch in ledger.batches()] == ["failed", "submitted"]


def test_files_of_shards_that_were_never_planned_are_removed(serve, tmp_path, ledger):
    folder = tmp_path / "batches"
    folder.mkdir()
    for name in ("judge-0.jsonl", "judge-1.jsonl.part", "other-2.jsonl"):
        (folder / name).write_bytes(b"")
    submit(make_backend(serve().url, tmp_path), ledger, 0)
    assert [path.name for path in folder.iterdir()] == ["other-2.jsonl"]


def test_batches_of_other_judges_are_left(serve, tmp_path, ledger):
    server = serve({"polls": 1})
    one, other = make_backend(server.url, tmp_path), make_backend(server.url, tmp_path)
    other.judge_id = "other"
    submit(one, ledger, 2)
    requests = ledger.pending(make_requests(3, "other", "other"))
    assert other.submit(requests, LedgerDesk(ledger), ledger) == 3
    other.wait(LedgerDesk(ledger), ledger, interval=0.002)
    assert [(batch.judge_id, batch.state) for batch in ledger.batches()] == [
        ("judge", "submitted"),
        ("other", "collected"),
    ]


def test_a_request_too_large_for_a_batch_is_recorded_so(serve, tmp_path, ledger):
    backend = make_backend(serve().url, tmp_path, limits=Limits(bytes=50))
    recorder = one_round(backend, ledger, 1)
    assert recorder.kinds() == {0: "too_large"}
    assert submit(backend, ledger, 1) == 0


def test_nothing_is_sent_after_a_stop(serve, tmp_path, ledger):
    server = serve()
    recorder = LedgerDesk(ledger)

    def requests() -> Iterator[Any]:
        for place, request in enumerate(ledger.pending(make_requests(10))):
            recorder.stop = place == 6
            yield request

    assert make_backend(server.url, tmp_path).submit(requests(), recorder, ledger) == 4
    assert len(ledger.batches()) == len(list((tmp_path / "batches").iterdir())) == 1
    assert sum(batch_counts(server)["batches"].values()) == 1


def test_waiting_ends_when_asked_to(serve, tmp_path, ledger):
    backend = make_backend(serve({"polls": 10**6}).url, tmp_path)
    submit(backend, ledger, 4)
    recorder = LedgerDesk(ledger)

    def stop(_: list[Any]) -> None:
        recorder.stop = True

    backend.wait(recorder, ledger, interval=600.0, progress=stop)
    assert [batch.state for batch in ledger.batches()] == ["submitted"]


def test_waiting_survives_a_provider_that_is_away_for_a_while(serve, tmp_path, ledger):
    server = serve()
    backend = make_backend(server.url, tmp_path, max_retries=0)
    submit(backend, ledger, 4)
    ask, silent = backend.service.retrieve, Counter[str]()

    def away(batch_id: str) -> Any:
        silent[batch_id] += 1
        if silent[batch_id] < 5:
            raise Unreachable("away")
        return ask(batch_id)

    backend.service.retrieve = away
    backend.wait(LedgerDesk(ledger), ledger, interval=0.001)
    assert_all_answered(ledger, 4)


def test_a_server_that_is_not_there_is_told_in_one_sentence(tmp_path, ledger):
    backend = make_backend("http://127.0.0.1:9/v1", tmp_path, max_retries=0)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9/v1 gave no answer about the file .*run the same"):
        submit(backend, ledger, 4)


def test_a_wrong_key_is_told_and_never_shown(server, tmp_path, ledger, monkeypatch):
    server.configure(key="right")
    monkeypatch.setenv("MY_KEY", "sentinel-key-0123456789")
    backend = make_backend(server.url, tmp_path, key_variable="MY_KEY")
    with pytest.raises(InputError, match="does not accept the key in the environment variable MY_KEY") as e:
        submit(backend, ledger, 4)
    assert "sentinel" not in f"{e.value}{e.value.__cause__}{backend.settings()}"
    assert [batch.state for batch in ledger.batches()] == ["planned"]


def test_a_batch_that_the_provider_does_not_know_is_told(serve, tmp_path, ledger):
    backend = make_backend(serve({"polls": 1}).url, tmp_path)
    submit(backend, ledger, 4)
    serve()
    with pytest.raises(InputError, match=r"refused the state of batch batch_1 .*No such batch.*project"):
        backend.poll(ledger)


def test_an_exported_file_is_what_a_batch_would_send(serve, tmp_path, ledger):
    recorder = LedgerDesk(ledger)
    path = tmp_path / "requests.jsonl"
    assert export(ledger.pending(make_requests(4)), path, recorder) == 4
    submit(make_backend(serve({"polls": 1}).url, tmp_path), ledger, 4)
    (batch,) = ledger.batches()
    assert path.read_bytes() == (tmp_path / "batches" / f"{batch.shard}.jsonl").read_bytes()


def test_results_made_elsewhere_are_read_once(tmp_path, ledger):
    recorder = KeptDesk(ledger)
    export(ledger.pending(make_requests(3)), tmp_path / "requests.jsonl", recorder)
    lines = []
    for line in open_lines(tmp_path / "requests.jsonl"):
        asked = json.loads(line)
        response = {"status_code": 200, "request_id": "v", "body": completion(asked["body"])}
        lines.append({"id": "vllm-1", "custom_id": asked["custom_id"], "response": response, "error": None})
    strange = {**lines[0], "custom_id": "strange"}
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in [*lines[:2], strange]))
    assert str(read_results(results, ledger, recorder)) == (
        "2 answered, 1 lines of unknown requests (first: 'strange')"
    )
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read_results(results, ledger, recorder)
    assert len(recorder.outcomes) == 3
    assert_all_answered(ledger, 3)


def test_results_that_are_read_twice_add_nothing(tmp_path, ledger, monkeypatch):
    requests = list(ledger.pending(make_requests(3)))
    ledger.record(Outcome(requests[0].key, body=json.dumps(completion(requests[0].body)).encode()))
    ledger.flush()
    other = {**completion(requests[0].body), "id": "another"}
    responses = [
        {"status_code": 200, "body": other},
        {"status_code": 500, "body": {"error": {"message": "Broken."}}},
        {"status_code": 200, "body": completion(requests[2].body)},
    ]
    lines = [
        json.dumps({"custom_id": request.key, "response": response, "error": None}) + "\n"
        for request, response in zip(requests, responses, strict=True)
    ]
    (tmp_path / "results.jsonl").write_text("".join(lines))
    monkeypatch.setattr(Ledger, "request_body", lambda *_: pytest.fail("a body was read to look up a key"))
    first, second = KeptDesk(ledger), KeptDesk(ledger)
    read_results(tmp_path / "results.jsonl", ledger, first)
    read_results(tmp_path / "results.jsonl", ledger, second)
    assert first.kinds() == {1: "server", 2: ""}
    assert second.kinds() == {}
    assert len(ledger.answer_bodies(requests[0].key)) == 1
    assert ledger.ask_again([requests[2].key]) == 1
    read_results(tmp_path / "results.jsonl", ledger, second)
    assert second.kinds() == {}


def test_results_that_cannot_be_read_are_told(tmp_path, ledger):
    with pytest.raises(InputError, match=r"none\.jsonl cannot be read"):
        read_results(tmp_path / "none.jsonl", ledger, LedgerDesk(ledger))
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz cannot be read"):
        read_results(tmp_path / "cut.jsonl.gz", ledger, LedgerDesk(ledger))


HARD = {"polls": 1, "lines": {"0": "twice", "1": "500"}, "reverse": True, "strange": 1}


def crash(server: FakeServer, folder: Path, n: int, runs: list[list[str]]) -> list[list[int]]:
    """Make runs that die at the steps given; return the exit codes of their processes."""
    told = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-m",
            "fakes.batch_run",
            server.url,
            str(folder),
            str(n),
            json.dumps(runs),
        ],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return [json.loads(line)[1] for line in told.stdout.splitlines()]


def assert_nothing_lost_or_paid_twice(
    server: FakeServer, folder: Path, n: int, runs: list[list[str]]
) -> None:
    answered = server.counts()["answered"]
    for steps in runs:
        name = " ".join(steps)
        with Ledger.open(folder / name / "ledger.sqlite", write=False) as ledger:
            for request in make_requests(n, name):
                answers = [json.loads(answer) for answer in ledger.answer_bodies(request.key)]
                assert answers
                assert all(answer == completion(request.body) for answer in answers)
                assert answered[content_hash(request.body)] == 1, name
        assert list((folder / name / "batches").iterdir()) == []
    assert sum(answered.values()) == n * len(runs)


def test_death_at_any_step_loses_nothing_and_pays_nothing_twice(serve, tmp_path):
    told = (
        "replace-1 plan_batch-1 plan_batch+1 upload+1 update_batch+1 create-1 create+1 update_batch+2 "
        "upload+2 create+2 retrieve+3 download+1 record+1 flush-1 update_batch+8"
    )
    runs = [[step] for step in told.split()]
    server = serve(HARD)
    assert crash(server, tmp_path, 3, runs) == [[9, 0]] * 15
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
    codes = crash(server, tmp_path, 3, runs)
    assert [each[-1] for each in codes] == [0] * len(runs)
    assert sum(each[0] == 9 for each in codes) > 30
    assert_nothing_lost_or_paid_twice(server, tmp_path, 3, runs)
