"""Requests and answers of a cluster as files: whole or not there, and read into the ledger once."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cases import cases
from fakes.recorder import LedgerRecorder, made_up_requests

from conjury.inference.backends.cluster import exchange as files
from conjury.inference.backends.cluster import ray_engines
from conjury.inference.backends.cluster.exchange import ENDING, Exchange, RequestBlock
from conjury.inference.backends.cluster.ray_backend import READ, RayBackend, stop_error
from conjury.inference.backends.cluster.ray_engines import ENGINES, Engine, Rehearsal, answer_row
from conjury.inference.errors import InputError, MissingDependency
from conjury.inference.ledger import Ledger

ENGINE = Engine.of("tiny", None, {"name": "rehearsal", "batch_size": 4})


class OnOneMachine(RayBackend):
    """The backend with blocks answered here; ``ends_after`` blocks the driver ends without reading them."""

    ends_after: int | None = None
    asked: list[str]

    def _answer(self, wave, blocks, images, recorder):
        engine, read, keys = Rehearsal(0.0), set(), set()
        for number, block in enumerate(blocks):
            if number == self.ends_after:
                raise KeyboardInterrupt
            table = self._exchange.read_requests(wave, block)
            rows = [engine.answer(row["key"], row["body"]) for row in table.to_pylist()]
            self.asked += [row["key"] for row in rows]
            name = self._exchange.write_answers(wave, rows)
            if self.ends_after is None:
                keys |= self._record(wave, name, recorder)
                read.add(name)
        return keys | self._take(wave, read, recorder)


def backend(ledger: Ledger, address: Path | str, ends_after: int | None = None) -> OnOneMachine:
    made = OnOneMachine(ledger, Exchange.of_run(str(address), ledger, "tiny"), ENGINE)
    made.asked, made.ends_after = [], ends_after
    return made


def run(made: OnOneMachine, ledger: Ledger, n: int = 22) -> LedgerRecorder:
    recorder = LedgerRecorder(ledger)
    made.run(ledger.pending(made_up_requests(n)), recorder)
    ledger.flush()
    return recorder


def responses(ledger: Ledger) -> list[int]:
    """Number of answers to each request, of all rounds."""
    return [len(ledger.answer_bodies(one.key)) for part in ledger.answers() for one in part]


@pytest.mark.parametrize("address", ["folder", "memory://bucket/folder"])
def test_requests_and_answers_come_back_as_they_were_written(tmp_path, ledger, address, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "PARTITION", 10)
    place = Exchange.of_run(address, ledger, "a/judge")
    rows = [(f"key_{number}", f"body é {number}") for number in range(22)]
    written = list(place.write_requests("wave", rows, 4))
    assert [len(blocks) for blocks, _ in written] == [3, 3, 1]
    blocks = [block for part, _ in written for block in part]
    back = [row for block in blocks for row in place.read_requests("wave", block).to_pylist()]
    assert [(row["key"], row["body"]) for row in back] == rows
    name = place.write_answers(
        "wave",
        [answer_row("k1", '{"é": 1}', 0.5), {**answer_row("k2", None), "kind": "rejected", "error": "no"}],
    )
    assert place.answered("wave") == [name]
    assert place.waves() == ["wave"]
    first, second = place.read_answers("wave", name)
    assert (first.key, first.body, first.seconds, first.kind) == ("k1", '{"é": 1}'.encode(), 0.5, "")
    assert (second.key, second.body, second.kind, second.error) == ("k2", None, "rejected", "no")
    assert first.batch == f"wave/{name.removesuffix(ENDING)}"
    monkeypatch.setattr(files, "PARTITION_BYTES", 100)  # which large requests fill sooner
    large = [(f"k{number}", "x" * 60) for number in range(5)]
    assert [len(keys) for _, keys in place.write_requests("large", large, 32)] == [2, 2, 1]


def test_a_block_that_is_asked_again_keeps_its_first_answers_unless_their_file_was_never_finished(
    tmp_path, ledger
):
    place = Exchange.of_run(str(tmp_path), ledger, "judge")
    name = place.write_answers("wave", [answer_row("k1", "first"), answer_row("k2", "first")])
    assert place.write_answers("wave", [answer_row("k2", "second"), answer_row("k1", "second")]) == name
    assert [one.body for one in place.read_answers("wave", name)] == [b"first", b"first"]
    path = next(tmp_path.rglob(name))
    path.write_bytes(path.read_bytes()[:50])
    assert place.read_answers("wave", name) is None
    place.write_answers("wave", [answer_row("k1", "third"), answer_row("k2", "third")])
    assert [one.body for one in place.read_answers("wave", name)] == [b"third", b"third"]


def test_a_run_is_answered_and_its_partitions_are_plain_parquet(tmp_path, ledger):
    made = backend(ledger, tmp_path / "cluster")
    recorder = run(made, ledger)
    assert [outcome.kind for outcome in recorder.outcomes] == [""] * 22
    assert sorted(made.asked) == sorted(request.key for request in made_up_requests(22))
    (partition,) = (tmp_path / "cluster").rglob("requests/*.parquet")
    rows = pq.read_table(partition).to_pylist()
    assert json.loads(rows[0]["body"]) == made_up_requests(22)[0].body
    assert len(list((tmp_path / "cluster").rglob("answers/*.parquet"))) == 6  # blocks of four


def test_what_a_driver_had_not_read_is_read_before_anything_is_asked(tmp_path, ledger):
    ended = backend(ledger, tmp_path, ends_after=3)
    with pytest.raises(KeyboardInterrupt):
        run(ended, ledger)
    assert responses(ledger) == [0] * 22
    again = backend(ledger, tmp_path)
    run(again, ledger)
    assert len(ended.asked) == 12
    assert len(again.asked) == 10
    assert not set(ended.asked) & set(again.asked)
    assert responses(ledger) == [1] * 22
    assert ledger.problems() == []


def test_answers_of_an_earlier_round_are_not_taken_for_those_of_a_later_one(tmp_path, ledger):
    run(backend(ledger, tmp_path), ledger, 4)
    (wave,) = Exchange.of_run(str(tmp_path), ledger, "tiny").waves()
    ledger.set(READ.format(wave), [])  # as if the driver had ended before it noted what it had read
    ledger.ask_again([request.key for request in made_up_requests(4)])
    again = backend(ledger, tmp_path)
    run(again, ledger, 4)
    assert len(again.asked) == 4
    assert [one.round for part in ledger.answers() for one in part] == [2] * 4


def test_runs_that_share_an_address_do_not_read_each_others_answers(tmp_path, ledger):
    run(backend(ledger, tmp_path / "shared"), ledger)
    with Ledger.open(tmp_path / "other.sqlite") as other:
        made = backend(other, tmp_path / "shared")
        run(made, other)
        assert len(made.asked) == 22


@pytest.mark.parametrize(("stop", "kinds"), [(True, []), (False, ["server"] * 4)])
def test_requests_without_an_answer_fail_for_a_passing_reason_or_stay_to_be_asked_after_a_stop(
    tmp_path, ledger, stop, kinds
):
    made, recorder = backend(ledger, tmp_path), LedgerRecorder(ledger)
    made._answer = lambda *_: setattr(recorder, "stop", stop) or set()
    made.run(ledger.pending(made_up_requests(4)), recorder)
    assert [outcome.kind for outcome in recorder.outcomes] == kinds


def test_an_address_that_nodes_do_not_share_is_named(tmp_path, ledger):
    place = Exchange.of_run(str(tmp_path), ledger, "judge")
    with pytest.raises(InputError, match="--cluster-dir: a node of the cluster cannot access"):
        place.read_requests("wave", RequestBlock("000000.parquet", 0))
    with pytest.raises(InputError, match=r"--cluster-dir: nowhere://x/.* cannot be reached"):
        Exchange.of_run("nowhere://x", ledger, "judge").waves()


TRACEBACK = """ray::MapWorker(MapBatches(A)).submit() (pid=1, ip=192.0.2.2)
  File "a.py", line 7, in __call__
    raise error
{}

The above exception was the direct cause of the following exception:

ray.exceptions.UserCodeException: UDF failed to process a data block.
"""


@pytest.mark.parametrize(("raised", "sentence"), cases(__file__, "errors_of_workers"))
def test_an_error_of_a_worker_is_named_in_the_words_of_the_worker(raised, sentence):
    with pytest.raises(InputError, match=sentence):
        raise stop_error(RuntimeError(TRACEBACK.format(raised)), "m")
    assert "(no text here)" in str(stop_error(ValueError("no text here"), "m"))


@pytest.mark.parametrize(("limit", "reason"), [(0, "stop"), (2, "length"), (3, "stop")])
def test_what_the_engine_generates_becomes_an_answer(limit, reason):
    first = {
        "7": {"decoded_token": "A", "logprob": -0.1},
        "8": {"decoded_token": "B", "logprob": -math.inf},
        "3": None,
    }
    row = {
        "key": "k",
        "generated_tokens": [7, 9],
        "logprobs": [first],
        "generated_text": "A.",
        "limit": limit,
    }
    made = ray_engines._from_vllm({**row, "num_input_tokens": 5, "time_taken_llm": 0.5}, "m")
    answer = json.loads(made["body"])
    (choice,) = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("A.", reason)
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (5, 2)
    (token,) = choice["logprobs"]["content"]
    assert {one["token"]: one["logprob"] for one in token["top_logprobs"]} == {"A": -0.1, "B": -9999.0}
    assert ray_engines._result_row(made) == {**answer_row("k", made["body"]), "seconds": 0.5}
    broken = ray_engines._result_row({"key": "k", ray_engines.FAILED: " too long\nby far"})
    assert (broken["body"], broken["kind"], broken["error"]) == (None, "rejected", "too long")


@pytest.mark.parametrize(
    ("settings", "limit"),
    [({}, 16), ({"max_tokens": 9}, 9), ({"structured_outputs": {"choice": ["A", "B"]}}, 0)],
)
def test_requests_for_the_engine_have_the_limit_that_cuts_their_answers(monkeypatch, settings, limit):
    monkeypatch.setattr(ray_engines, "_single_tokens", lambda weights, options: [7, 8])
    row = ray_engines._to_vllm({"body": json.dumps({"model": "m", "messages": ["Hi"], **settings})}, "w")
    assert (row["messages"], row["limit"]) == (["Hi"], limit)
    assert row["sampling_params"].get("allowed_token_ids") == (None if limit else [7, 8])


def test_a_rehearsal_answers_in_the_form_that_is_asked_for():
    integer = {"type": "integer", "minimum": 2, "maximum": 6}
    parts = {
        "n": integer,
        "few": {"type": "array", "items": {"enum": ["x", "y", "z"]}},
        "why": {"type": "string"},
    }
    form = {"json_schema": {"schema": {"type": "object", "properties": parts}}}
    body = json.dumps({"response_format": form})
    number = int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big")
    row = Rehearsal(0.0).answer("k", body)
    text = json.loads(row["body"])["choices"][0]["message"]["content"]
    assert json.loads(text) == {"n": 2 + number % 5, "few": ["xyz"[number % 3]], "why": "Rehearsed."}
    assert row == {"key": "k", "body": row["body"], "kind": "", "error": "", "seconds": 0.0}


def test_an_engine_is_found_by_name_and_its_settings_are_recorded(monkeypatch):
    with pytest.raises(InputError, match="there is no engine 'vlm'; use vllm or rehearsal"):
        Engine.of("m", None, {"name": "vlm"})
    given = {"tensor_parallel_size": 4, "max_num_seqs": 64, "concurrency": 2, "hf_token": "secret"}
    engine = Engine.of("m", "/weights", given)
    monkeypatch.setattr(ray_engines, "versions", lambda: {"vllm": None})
    with pytest.raises(MissingDependency, match="vLLM is not installed"):
        engine.settings()
    installed = {"vllm": "0.11.0", "torch": "2.8.0", "transformers": None}
    monkeypatch.setattr(ray_engines, "versions", lambda: installed)
    told = engine.settings()
    expected = {
        **{"tensor_parallel_size": 4, "pipeline_parallel_size": 1, "replicas": 2, "max_num_seqs": 64},
        **{"max_num_batched_tokens": None, "vllm": "0.11.0", "batch_invariant": False},
    }
    assert {name: told[name] for name in expected} == expected
    assert "secret" not in json.dumps(told)
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    assert engine.settings()["batch_invariant"] is True
    assert engine.environment == {"env_vars": {"VLLM_BATCH_INVARIANT": "1"}}
    assert set(ENGINES) == {"vllm", "rehearsal"}
    with pytest.raises(InputError, match="best_of"):
        engine.check({"model": "m", "messages": [], "best_of": 2})
