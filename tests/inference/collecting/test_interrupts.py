"""What Ctrl-C does to a run in the foreground, and in the background of a script, where it is ignored."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conjury.inference.collecting.recorder import interruptible


@contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_first_interrupt_asks_to_stop_and_the_second_interrupts():
    with handled_by(signal.default_int_handler), interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_run_in_the_background_of_a_script_goes_on_ignoring_interrupts():
    with handled_by(signal.SIG_IGN), interruptible() as stop:
        signal.raise_signal(signal.SIGINT)
        assert not stop.is_set()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
