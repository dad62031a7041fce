"""Batches of Anthropic and Google on fakes that follow their documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiohttp")

from fakes.batch_run import (
    LIMITED,
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

from conjury.inference.backends.batches.batch_backend import BatchBackend
from conjury.inference.backends.batches.service import ProviderUnreachable, UncertainBatch
from conjury.inference.errors import InputError
from conjury.inference.ledger import Ledger

PROVIDERS = ("anthropic", "google")
COUNTS = {"anthropic": "/message_counts", "google": "/gemini_counts"}


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return request.param


@pytest.fixture
def backend(server, tmp_path, provider):
    """A backend of the fake server, with plans for its batches; ``of`` has settings of the backend."""

    def make(*plans: dict[str, Any], of: dict[str, Any] | None = None, **options: Any) -> BatchBackend:
        configure(server, *plans, **options)
        return make_backend(server.root, tmp_path, **{"provider": provider, **(of or {})})

    return make


def configure(server: FakeServer, *plans: dict[str, Any], **options: Any) -> None:
    named = {name: options.pop(name) for name in ("lost", "refused", "most") if name in options}
    server.configure(batches={"plans": list(plans) or [{}], **named}, **options)


FAULTS = {
    "anthropic": {
        **{"400": "rejected", "413": "too_large", "429": "rate_limit", "500": "server", "529": "server"},
        **{"unknown": "server", "bare": "server", "empty": "invalid_response", "missing": "server"},
        **{"garbled": "invalid_response", "twice": "", "filtered": ""},
    },
    "google": {
        **{"400": "rejected", "429": "rate_limit", "500": "server", "cancelled": "cancelled"},
        **{"bare": "server", "empty": "invalid_response", "missing": "server", "twice": "", "filtered": ""},
    },
}


def test_every_faulty_line_has_its_kind_and_only_passing_ones_are_asked_again(backend, ledger, provider):
    faults = FAULTS[provider]
    lines = {str(place): fault for place, fault in enumerate(faults)}
    n = len(faults) + 2
    batches = backend({"lines": lines, "strange": 2}, {}, of={"requests": n})
    kinds = dict(enumerate([*faults.values(), "", ""]))
    if "garbled" in faults:  # a line that cannot be read may be that of the missing one
        kinds[list(faults).index("missing")] = "invalid_response"
    assert one_round(batches, ledger, n) == kinds
    (detail,) = details(ledger)
    assert "2 lines of unknown requests" in detail
    assert "1 repeated lines" in detail
    again = {place for place, kind in kinds.items() if kind not in ("", "rejected", "too_large")}
    assert one_round(batches, ledger, n) == dict.fromkeys(sorted(again), "")
    assert submit(batches, ledger, n) == 0


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_requests_that_a_batch_did_not_reach_are_asked_again_unbilled(backend, ledger, provider, end):
    share = 0.5 if provider == "anthropic" else 0.0
    batches = backend({"end": end, "share": share}, {})
    kinds = ["", "", end, end] if share else [end] * 4
    recorder = LedgerRecorder(ledger)
    batches.submit(ledger.pending(make_requests(4)), recorder, ledger)
    batches.wait(recorder, ledger, interval=0.002)
    assert list(recorder.kinds().values()) == kinds
    assert not any(attempt.billed for outcome in recorder.outcomes for attempt in outcome.attempts)
    one_round(batches, ledger, 4)
    assert_all_answered(ledger, 4, provider)


def test_a_batch_of_anthropic_that_may_be_ours_is_awaited_and_then_recognised(server, tmp_path, ledger):
    configure(server, {"polls": 8}, lost={"batches": 1})
    batches = make_backend(server.root, tmp_path, provider="anthropic")
    with pytest.raises(
        UncertainBatch, match=r"batch msgbatch_1 with as many requests may be .*wait until it has"
    ):
        submit(batches, ledger, 4)
    with pytest.raises(UncertainBatch):
        submit(batches, ledger, 4)
    assert states(ledger) == ["uploaded"]
    for _ in range(8):  # it is asked about by each look at the list
        batches.service.upload(Path(), "")
    one_round(batches, ledger, 4)
    assert_all_answered(ledger, 4, "anthropic")
    assert server._call("/message_counts")["batches"] == 1
    assert set(server.counts()["answered"].values()) == {1}


@pytest.mark.long
def test_a_batch_of_others_with_as_many_requests_is_not_taken_for_ours(server, tmp_path, ledger):
    configure(server, {}, refused={"batches": 99})
    batches = make_backend(server.root, tmp_path, provider="anthropic")
    with pytest.raises(ProviderUnreachable):
        submit(batches, ledger, 4)
    (shard,) = ledger.batches()
    assert (shard.state, shard.file_id) == ("uploaded", "after none")
    configure(server, {})
    with Ledger.open(tmp_path / "other" / "ledger.sqlite") as other:
        one_round(make_backend(server.root, tmp_path / "other", provider="anthropic"), other, 4)
    one_round(batches, ledger, 4)
    assert_all_answered(ledger, 4, "anthropic")
    assert server._call("/message_counts")["batches"] == 2


def test_what_was_uploaded_to_google_is_not_uploaded_again(server, tmp_path, ledger):
    configure(server, {}, lost={"files": 1})
    batches = make_backend(server.root, tmp_path, provider="google", max_retries=0)
    with pytest.raises(ProviderUnreachable, match="did not answer about the file"):
        submit(batches, ledger, 4)
    assert states(ledger) == ["planned"]
    one_round(batches, ledger, 4)
    assert_all_answered(ledger, 4, "google")
    assert server._call("/gemini_counts")["files"] == 1


def test_shards_that_there_is_no_room_for_are_sent_when_others_have_ended(backend, server, ledger, provider):
    batches = backend({"polls": 3}, most=1, of={"max_retries": 0})
    submit(batches, ledger, 10)
    assert states(ledger) == ["submitted", "uploaded", "uploaded"]
    assert details(ledger)[1].startswith("waiting for room: ")
    batches.wait(LedgerRecorder(ledger), ledger, interval=0.002)
    assert_all_answered(ledger, 10, provider)
    assert server._call(COUNTS[provider])["batches"] == 3


def test_results_that_are_gone_are_not_paid_twice_unasked(backend, ledger, provider):
    batches = backend({"lose": ["output"]}, {})
    submit(batches, ledger, 3)
    for _ in range(2):
        batches.poll(ledger)
        with pytest.raises(InputError, match=r"has no file .* with the results of batch .*conjury run retry"):
            batches.fetch(LedgerRecorder(ledger), ledger)
        assert submit(batches, ledger, 3) == 0
    assert ledger.ask_again(request.key for request in make_requests(3)) == 3
    batches.fetch(LedgerRecorder(ledger), ledger)
    one_round(batches, ledger, 3)
    assert_all_answered(ledger, 3, provider)


def test_a_batch_that_google_refuses_as_a_whole_is_told_and_its_requests_can_be_sent_again(
    server, tmp_path, ledger
):
    configure(server, {"end": "failed", "errors": [{"code": 3, "message": "No batches\nfor m."}]}, {})
    batches = make_backend(server.root, tmp_path, provider="google")
    submit(batches, ledger, 3)
    with pytest.raises(InputError, match=r"refused the batch of 3 requests in shard .*No batches for m"):
        batches.wait(LedgerRecorder(ledger), ledger, interval=0.002)
    assert states(ledger) == ["failed"]
    one_round(batches, ledger, 3)
    assert_all_answered(ledger, 3, "google")


KEY = "sk-ant-sentinel-0123456789abcdef"


@pytest.mark.long
def test_a_key_is_in_no_answer_even_in_parts_and_in_no_error(server, tmp_path, ledger, monkeypatch, provider):
    monkeypatch.setenv("MY_KEY", KEY)
    configure(server, {}, echo=["any"], key=KEY)
    of = {"provider": provider, "key_variable": "MY_KEY"}
    one_round(make_backend(server.root, tmp_path, **of), ledger, 2)
    assert KEY in server.counts()["keys"]
    for request in make_requests(2):
        (answer,) = ledger.answer_bodies(request.key)
        assert KEY[:16].encode() not in answer
        assert KEY[16:].encode() not in answer
        assert "[key]" in json.loads(answer)["choices"][0]["message"]["content"]
    server.configure(key="right")
    batches = make_backend(server.root, tmp_path / "wrong", **of)
    with Ledger.open(tmp_path / "wrong" / "ledger.sqlite") as other, pytest.raises(InputError) as error:
        submit(batches, other, 2)
    assert "MY_KEY" in str(error.value)
    assert KEY not in f"{error.value}{error.value.__cause__}{batches.settings()}"


@pytest.mark.parametrize("account", [("ANTHROPIC", "anthropic"), ("GEMINI", "google")])
def test_the_key_of_an_account_goes_to_no_other_server(server, tmp_path, ledger, monkeypatch, account):
    monkeypatch.setenv(f"{account[0]}_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    from conjury.inference.backends.batches.choosing import batch_backend
    from conjury.inference.study.asking import Sampling

    configure(server, {})
    ask = Sampling(model="m", backend=account[1], base_url=server.root)
    backend = batch_backend("judge", ask, tmp_path / "batches")
    assert backend.settings()["key_variable"] == f"{account[0]}_API_KEY"
    submit(backend, ledger, 1)
    assert server.counts()["keys"] == [""]
    default = batch_backend("judge", ask.model_copy(update={"base_url": None}), tmp_path / "batches")
    assert default.endpoint.key == KEY
    monkeypatch.delenv(f"{account[0]}_API_KEY")
    with pytest.raises(InputError, match=f"environment variable {account[0]}_API_KEY contains no key"):
        batch_backend("judge", ask.model_copy(update={"base_url": None}), tmp_path / "batches")


STEPS = (
    *("plan_batch+1", "upload+1", "update_batch+1", "create-1", "create+1", "update_batch-2", "retrieve+1"),
    *("download+1", "record+2", "flush+1", "update_batch+3", "unlink+1"),
)


def crashed(server: FakeServer, folder: Path, provider: str, runs: list[list[str]], n: int = 3) -> None:
    """Make runs that die at steps; every request has its answer, and was answered once."""
    codes = crash(server.root, folder, n, runs, provider)
    assert [each[-1] for each in codes] == [0] * len(runs)
    assert all(each[0] == 9 for each in codes)
    for steps, each in zip(runs, codes, strict=True):
        assert all(code == 1 for step, code in zip(steps, each, strict=False) if step == LIMITED)
    assert_nothing_lost_or_paid_twice(server, folder, n, runs, provider)


@pytest.mark.slow
def test_death_at_each_step_loses_nothing_and_pays_once(server, tmp_path, provider):
    configure(server, {})
    crashed(server, tmp_path, provider, [[step] for step in STEPS])


@pytest.mark.slow
def test_death_before_the_list_of_batches_is_refused_pays_once(server, tmp_path):
    configure(server, {})
    runs = [["create+1", LIMITED], ["update_batch-2", LIMITED, "create+1"], ["create-1", LIMITED, "create+1"]]
    crashed(server, tmp_path, "anthropic", runs)
