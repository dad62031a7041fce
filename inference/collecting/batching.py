"""Collecting in batches: by OpenAI's batch interface, or by files that a batch runner answers elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from ..ledger import Ledger
from .collect import PASSES, Desk, Order, Plan, Tally, interruptible
from .served import remember_engine
from .spending import Budget


def collect_by_batch(
    order: Order,
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
    from ..backends.openai_batch import BatchBackend

    ask = order.ask
    backend = BatchBackend(
        order.judge_id, ask.model, folder, base_url=ask.base_url, key_variable=ask.key_variable
    )
    remember_engine(ledger, order.judge_id, backend.settings())
    with interruptible() as stop:
        desk = Desk(ledger, order.judge_id, budget, planned, stop, watch)
        try:
            passes = PASSES
            while passes:
                backend.poll(ledger)
                backend.fetch(desk, ledger)
                ledger.flush()
                desk.tally.stopped = ""
                backend.submit(desk.taken(ledger.pending(order.requests())), desk, ledger)
                if not wait or not ledger.batches(order.judge_id, live=True):
                    break
                if desk.tally.stopped not in ("", "reserved"):
                    break
                passes -= not desk.tally.stopped
                backend.wait(desk, ledger, interval=interval)
                ledger.flush()
        finally:
            ledger.flush()
            desk.close()
    return desk.tally


def release_unsent(ledger: Ledger, judge_id: str) -> None:
    """Give back the requests of batches that were planned and never uploaded, so that others may ask them."""
    for batch in ledger.batches(judge_id, live=True):
        if batch.state == "planned":
            ledger.update_batch(batch.shard, state="failed", detail="given back, nothing was sent")


def export_requests(order: Order, ledger: Ledger, path: Path, planned: Plan) -> int:
    """Write what has no answer yet as lines that a batch runner takes; return how many. Nothing is sent."""
    from ..backends.run_batch import export

    with _listening(ledger, order.judge_id, planned) as desk:
        return export(ledger.pending(order.requests()), path, desk)


def import_results(order: Order, ledger: Ledger, path: Path, planned: Plan) -> Tally:
    """Take the results of a batch runner; requests that the run does not know yet are registered first."""
    from ..backends.run_batch import read_results

    with _listening(ledger, order.judge_id, planned) as desk:
        for _ in ledger.pending(order.requests()):
            pass
        lines = read_results(path, ledger, desk)
        ledger.flush()
    if not desk.tally.answered and not desk.tally.failed:
        raise InputError(f"{path} holds no new answer to a request of this run ({lines}); check the file.")
    return desk.tally


@contextmanager
def _listening(ledger: Ledger, judge_id: str, planned: Plan) -> Iterator[Desk]:
    desk = Desk(ledger, judge_id, Budget(), planned, threading.Event(), lambda tally: None)
    try:
        yield desk
    finally:
        ledger.flush()
        desk.close()
