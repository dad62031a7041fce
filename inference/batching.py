"""Collecting by OpenAI's batch interface: send what is missing, leave, come back, fetch what has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .collect import PASSES, Budget, Desk, Order, Plan, Tally, interruptible
from .ledger import Ledger


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
    from .backends.openai_batch import BatchBackend

    ask = order.ask
    backend = BatchBackend(
        order.judge_id, ask.model, folder, base_url=ask.base_url, key_variable=ask.key_variable
    )
    ledger.set(f"engine:{order.judge_id}", backend.settings())
    with interruptible() as stop:
        desk = Desk(ledger, budget, planned.tokens, stop, watch, in_flight=planned.waiting)
        try:
            for _ in range(PASSES):
                backend.poll(ledger)
                backend.fetch(desk, ledger)
                ledger.flush()
                backend.submit(desk.taken(ledger.pending(order.requests())), desk, ledger)
                if not wait or desk.tally.stopped or not ledger.batches(order.judge_id, live=True):
                    break
                backend.wait(desk, ledger, interval=interval)
                ledger.flush()
        finally:
            ledger.flush()
            desk.close()
    return desk.tally
