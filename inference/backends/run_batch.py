"""The requests of a batch as a file that is answered elsewhere, as by vLLM's ``run_batch``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..ledger.exchanges import Outcome, Request
from .base import Desk
from .shards import Tally, completed, open_lines, outcomes_of, request_line, writable

if TYPE_CHECKING:
    from ..ledger import Ledger


def export(requests: Iterable[Request], path: Path, desk: Desk) -> int:
    """Write requests to a JSONL file, one after the other, without sending any; return how many.

    ``python -m vllm.entrypoints.openai.run_batch -i PATH -o RESULTS --model MODEL`` answers them.
    """
    written = 0
    with completed(path) as file:
        for request in requests:
            line = request_line(request, desk.media)
            with writable(path):
                file.write(line)
            written += 1
    return written


def read_results(path: Path, ledger: Ledger, desk: Desk) -> Tally:
    """Record the answers of a file of results, plain or gzip; return what its lines were.

    Lines of requests that the run does not have are counted and left. Not recorded are lines of requests
    whose newest round has an answer, and answers and failures that the ledger has, so a file may be read
    twice, or again when it has grown.
    """
    tally = Tally()
    try:
        for outcome in outcomes_of(open_lines(path), _Registered(ledger), tally):
            if not ledger.is_settled(outcome) and not _is_known_answer(outcome, ledger):
                desk.record(outcome)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}); check the path and that it is whole.") from None
    ledger.flush()
    return tally


class _Registered:
    """The keys of all requests of a run."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __contains__(self, key: object) -> bool:
        return self._ledger.knows(str(key))


def _is_known_answer(outcome: Outcome, ledger: Ledger) -> bool:
    return outcome.body is not None and outcome.body in ledger.answer_bodies(outcome.key)
