"""Processes that Ctrl-C reaches, however the suite was started."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def interruptible_process(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a command with the default handling of SIGINT.

    A suite that runs in the background of a script ignores SIGINT, and its children would inherit that. A
    handler is not inherited: the child gets the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(list(command), text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
