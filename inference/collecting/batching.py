"""Collecting in batches: by OpenAI's batch interface, or by files that a batch runner answers elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from ..ledger import Ledger
from .jobs import Job, Plan
from .options import remember_engine
from .recorder import PASSES, Recorder, Tally, interruptible
from .spending import Budget


def collect_by_batch(
    job: Job,
    ledger: Ledger,
    folder: Path,
    budget: Budget,
    planned: Plan,
    watch: Callable[[Tally], None],
    *,
    wait: bool = False,
    interval: float = 60.0,
) -> Tally:
    """Fetch the batches that have ended, submit what is missing, and where asked to wait for the rest.

    Each call moves a run on as far as it goes; batches are remembered in the ledger, so the next call, by
    this process or another, goes on from there.
    """
    from ..backends.openai.batch import BatchBackend

    ask = job.ask
    backend = BatchBackend(
        job.judge_id, ask.model, folder, base_url=ask.base_url, key_variable=ask.key_variable
    )
    remember_engine(ledger, job.judge_id, backend.settings())
    with interruptible() as stop:
        recorder = Recorder(ledger, job.judge_id, budget, planned, stop, watch)
        try:
            passes = PASSES
            while passes:
                backend.poll(ledger)
                backend.fetch(recorder, ledger)
                ledger.flush()
                recorder.tally.stopped = ""
                backend.submit(recorder.taken(ledger.pending(job.requests())), recorder, ledger)
                if not wait or not ledger.batches(job.judge_id, live=True):
                    break
                if recorder.tally.stopped not in ("", "reserved"):
                    break
                passes -= not recorder.tally.stopped
                backend.wait(recorder, ledger, interval=interval)
                ledger.flush()
        finally:
            ledger.flush()
            recorder.close()
    return recorder.tally


def release_unsent(ledger: Ledger, judge_id: str) -> None:
    """Give back the requests of batches that were planned and never uploaded, so that others may ask them."""
    for batch in ledger.batches(judge_id, live=True):
        if batch.state == "planned":
            ledger.update_batch(batch.shard, state="failed", detail="given back, nothing was sent")


def export_requests(job: Job, ledger: Ledger, path: Path, planned: Plan) -> int:
    """Write what has no answer yet as lines that a batch runner takes; return how many. Nothing is sent."""
    from ..backends.base import export

    with _listening(ledger, job.judge_id, planned) as recorder:
        return export(ledger.pending(job.requests()), path, recorder)


def import_results(job: Job, ledger: Ledger, path: Path, planned: Plan) -> Tally:
    """Take the results of a batch runner; requests that the run does not know yet are registered first."""
    from ..backends.base import read_results

    with _listening(ledger, job.judge_id, planned) as recorder:
        for _ in ledger.pending(job.requests()):
            pass
        lines = read_results(path, ledger, recorder)
        ledger.flush()
    if not recorder.tally.answered and not recorder.tally.failed:
        raise InputError(f"{path} contains no new answer to a request of this run ({lines}); check the file.")
    return recorder.tally


@contextmanager
def _listening(ledger: Ledger, judge_id: str, planned: Plan) -> Iterator[Recorder]:
    recorder = Recorder(ledger, judge_id, Budget(), planned, threading.Event(), lambda tally: None)
    try:
        yield recorder
    finally:
        ledger.flush()
        recorder.close()
