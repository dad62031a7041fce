"""Asks a model through a provider's batch interface, over any number of processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...ledger.exchanges import Attempt, Outcome, Request
from ...tables.safe_text import mask_bytes
from ..base import Recorder
from .service import (
    BatchProgress,
    BatchService,
    FileGone,
    IncompleteResults,
    NotAtProvider,
    ProviderUnreachable,
    QueueFull,
    SentShard,
)
from .shards import (
    LineTally,
    Shard,
    ShardLimits,
    file_label,
    open_lines,
    outcomes_of,
    split_shard,
    writable,
    write_shards,
)

if TYPE_CHECKING:
    from ...ledger import Batch, Ledger

WAITING = "waiting for room: "  # begins the detail of a shard that the provider's queue had no room for
GONE = "results not there: "  # begins the detail of a shard of which results are missing
KEPT = "kept"  # folder of results with lines that are not all in the ledger
SMALLEST = 100  # requests of a shard that is not split further
PATIENCE = 20  # rounds in a row without an answer before waiting ends
LOOK = 0.2  # seconds between looks at whether to stop
MISSING = {"expired": "expired", "cancelled": "cancelled"}


class BatchBackend:
    """Requests in batches, each a file of requests, called shard."""

    # The ledger knows a shard before the provider does, and its batch before it is first asked about, so that
    # any later process can go on; what was sent without a noted id is recognised by the shard's name.

    def __init__(
        self,
        judge_id: str,
        model: str,
        folder: Path,
        service: BatchService,
        *,
        limits: ShardLimits | None = None,
    ) -> None:
        self.judge_id = judge_id
        self.model = model
        self.folder = folder
        self.service = service
        self.endpoint = service.endpoint
        self.limits = limits or service.limits
        self.done: dict[str, int] = {}  # requests of each shard that the provider has done

    def settings(self) -> dict[str, Any]:
        """Return model, address and limits, without secrets."""
        return {
            "model": self.model,
            "base_url": self.endpoint.base_url,
            "key_variable": self.endpoint.key_variable,
            "requests_per_shard": self.limits.requests,
            "bytes_per_shard": self.limits.bytes,
            **self.service.settings(),
        }

    def submit(self, requests: Iterator[Request], recorder: Recorder, ledger: Ledger) -> int:
        """Send what an earlier process left behind, then the requests; return how many of these were sent."""
        # Requests that were read when it was time to stop and that fill no shard are not sent.
        self._tidy(ledger)
        self._go_on(ledger, room=True)
        sent = 0
        self._tell_waits(recorder)
        going = _requests_until_stop(requests, recorder.stopping)
        for shard in write_shards(
            *(going, self.folder, self.judge_id, recorder.media, self.limits, recorder.record),
            self.service.lines,
        ):
            if recorder.stopping():
                shard.path.unlink()
                break
            ledger.plan_batch(shard.name, self.judge_id, shard.keys, shard.sha256)
            self._send(shard.name, "", ledger, exists=False)
            sent += len(shard.keys)
        return sent

    def poll(self, ledger: Ledger) -> list[Batch]:
        """Write the progress of the submitted batches to the ledger, and return all that are not done."""
        refused: list[tuple[Batch, BatchProgress]] = []
        running = False
        for batch in self._live(ledger, "submitted"):
            progress = self._progress(batch.batch_id)
            self.done[batch.shard] = progress.done
            if progress.queue_full:
                refused.append((batch, progress))
                continue
            running |= progress.running
            if not progress.running:
                ledger.update_batch(
                    batch.shard,
                    state="ended",
                    output_file_id=progress.output_file_id,
                    error_file_id=progress.error_file_id,
                    detail=str(progress),
                )
            elif batch.detail != str(progress):
                ledger.update_batch(batch.shard, detail=str(progress))
        for batch, progress in refused:
            if running or not self._split(batch.shard, str(progress), ledger):
                ledger.update_batch(batch.shard, state="uploaded", batch_id="", detail=f"{WAITING}{progress}")
        return self._live(ledger)

    def fetch(self, recorder: Recorder, ledger: Ledger) -> list[Batch]:
        """Collect the results of ended batches; return their state, with what came in ``detail``."""
        # Requests that have no line in the results are recorded as failed for a passing reason, so that they
        # and no others are asked again.
        ended = {batch.shard for batch in self._live(ledger, "ended")}
        refused = ""
        incomplete: IncompleteResults | None = None
        for batch in self._live(ledger, "ended"):
            progress = self._progress(batch.batch_id)
            if progress.running:  # it was not visible before
                ledger.update_batch(batch.shard, state="submitted", detail=str(progress))
            elif progress.failed:
                refused = self._refuse(batch.shard, progress, recorder, ledger) or refused
            else:
                try:
                    refused = self._collect(batch, progress, recorder, ledger) or refused
                except IncompleteResults as error:
                    incomplete = error
        if incomplete is not None:
            raise incomplete
        if refused:
            raise InputError(refused)
        return [batch for batch in ledger.batches(self.judge_id) if batch.shard in ended]

    def wait(
        self,
        recorder: Recorder,
        ledger: Ledger,
        *,
        interval: float = 60.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Poll and fetch every ``interval`` seconds until all batches are done or it is time to stop."""
        # ``progress`` gets the number of requests in batches, and of those that the provider has done.
        # Batches that did not fit the provider's queue are sent again when others have ended, in halves if
        # none of ours is in the way.
        silent = 0
        self._tell_waits(recorder)
        while True:
            try:
                ended = [batch.shard for batch in self.poll(ledger) if batch.state == "ended"]
                self.fetch(recorder, ledger)
                self._go_on(ledger, room=bool(ended))
                silent = 0
            except ProviderUnreachable:
                silent += 1
                if silent >= PATIENCE:
                    raise
            live = self._live(ledger)
            if progress is not None:
                progress(*self.waiting(ledger))
            if not live or not _sleep(interval, recorder.stopping):
                return

    def waiting(self, ledger: Ledger) -> tuple[int, int]:
        """Count the requests in batches that have not ended, and those of them that the provider has done."""
        live = self._live(ledger)
        return sum(batch.n for batch in live), sum(self.done.get(batch.shard, 0) for batch in live)

    def _tell_waits(self, recorder: Recorder) -> None:
        """Let the exchanges with a provider tell how long it holds them back."""
        exchanges = getattr(self.service, "exchanges", None)
        if exchanges is not None:
            exchanges.note = recorder.note_wait

    def _progress(self, batch_id: str) -> BatchProgress:
        try:
            return self.service.retrieve(batch_id)
        except NotAtProvider as error:
            return BatchProgress("gone", 0, 0, "", gone=str(error))

    def _live(self, ledger: Ledger, state: str = "") -> list[Batch]:
        live = ledger.batches(self.judge_id, live=True)
        return [batch for batch in live if state in ("", batch.state)]

    def _path(self, shard: str) -> Path:
        return self.folder / f"{shard}.jsonl"

    def _tidy(self, ledger: Ledger) -> None:
        """Remove files that a process left which died before it planned, or after it collected, a shard."""
        live = {f"{batch.shard}.jsonl" for batch in self._live(ledger)}
        for path in self.folder.glob(f"{file_label(self.judge_id)}-*.jsonl*"):
            if path.name not in live:
                path.unlink()

    def _send(
        self, shard: str, file_id: str, ledger: Ledger, *, exists: bool = True, anew: bool = False
    ) -> bool:
        """Upload and submit a shard, which the provider may have if ``exists``; False if it takes no more."""
        # `anew` states that the file was uploaded before, and is no longer there.
        path, service = self._path(shard), self.service
        name = f"conjury-{shard}.jsonl"
        if not file_id:
            file_id = (service.find_file(name) or "") if exists and not anew else ""
            if not file_id and not path.exists():
                return self._lose(shard, ledger)
            file_id = file_id or service.upload(path, name)
            ledger.update_batch(shard, state="uploaded", file_id=file_id)
        other_ids = frozenset(batch.batch_id for batch in ledger.batches() if batch.shard != shard)
        sending = SentShard(shard, path, file_id, len(ledger.batch_keys(shard)), other_ids)
        try:
            batch_id = service.find_batch(sending) if exists else None
            if batch_id is None and not (service.keeps_files or path.exists()):
                return self._lose(shard, ledger)
            batch_id = batch_id or service.create(sending)
        except FileGone:
            if anew:
                raise
            ledger.update_batch(shard, file_id="")
            return self._send(shard, "", ledger, anew=True)
        except QueueFull as error:
            split = service.full_at_creation and self._is_too_large(sending, ledger)
            if not (split and self._split(shard, str(error), ledger)):
                ledger.update_batch(shard, detail=f"{WAITING}{error}")
            return False
        ledger.update_batch(shard, state="submitted", batch_id=batch_id, detail="")
        return True

    def _is_too_large(self, sending: SentShard, ledger: Ledger) -> bool:
        """Whether no batch of ours is running and no smaller one is waiting, so that it must be too large."""
        other_batches = [batch for batch in ledger.batches(live=True) if batch.shard != sending.shard]
        return all(batch.state != "submitted" and batch.n >= sending.n for batch in other_batches)

    def _lose(self, shard: str, ledger: Ledger) -> bool:
        """Give up a shard whose file is gone, so that its requests are sent anew."""
        ledger.update_batch(shard, state="failed", detail=f"{self._path(shard)} was gone before it was sent")
        return True

    def _go_on(self, ledger: Ledger, *, room: bool) -> None:
        """Send shards that are not yet submitted; of those that wait for room the smallest, if any."""
        live = self._live(ledger)
        room = room or not any(batch.state == "submitted" for batch in live)
        for batch in sorted(live, key=lambda batch: (batch.detail.startswith(WAITING), batch.n)):
            if batch.state not in ("planned", "uploaded"):
                continue
            waiting = batch.detail.startswith(WAITING)
            if room or not waiting:
                sent = self._send(batch.shard, batch.file_id, ledger)
                room = room and sent and not waiting

    def _split(self, shard: str, reason: str, ledger: Ledger) -> bool:
        """Plan the two halves of a shard in its place; False if it is too small or its file is gone."""
        path = self._path(shard)
        if not path.exists() or len(ledger.batch_keys(shard)) <= SMALLEST:
            return False
        halves = list(split_shard(path, shard, self.service.lines.id_field))
        ledger.update_batch(shard, state="failed", detail=f"split in two: {reason}")
        for half in halves:
            self._plan_half(half, reason, ledger)
        path.unlink()
        return True

    def _plan_half(self, half: Shard, reason: str, ledger: Ledger) -> None:
        ledger.plan_batch(half.name, self.judge_id, half.keys, half.sha256)
        ledger.update_batch(half.name, detail=f"{WAITING}{reason}")

    def _collect(self, batch: Batch, progress: BatchProgress, recorder: Recorder, ledger: Ledger) -> str:
        """Record the results of a batch; return a sentence if a file of them is not there."""
        shard, was_gone = batch.shard, batch.detail.startswith(GONE)
        keys = ledger.batch_keys(shard)
        tally = LineTally()
        files = {
            self.folder / f"{shard}.output.jsonl.gz": progress.output_file_id,
            self.folder / f"{shard}.error.jsonl.gz": progress.error_file_id,
        }
        paths, gone = self._download(files, batch.batch_id)
        gone = progress.gone or gone
        secrets = self.endpoint.secrets
        lines = (mask_bytes(line, secrets) for line in chain.from_iterable(map(open_lines, paths)))
        for outcome in outcomes_of(lines, set(keys), tally, self.service.lines, shard):
            if not ledger.is_recorded(outcome):
                recorder.record(outcome)
        missing = [key for key in keys if key not in tally.answered and key not in tally.failed]
        kind = MISSING.get(progress.status, "invalid_response" if tally.unassigned else "server")
        error = "the results have no line for it"
        if gone:
            kind, error = "rejected", f"the results of batch {batch.batch_id} are not there"
        executed = progress.status not in MISSING or tally.unassigned > 0
        attempts = (Attempt(0, error, 0.0, billed=executed),)
        unanswered = [Outcome(key, kind=kind, error=error, attempts=attempts, batch=shard) for key in missing]
        if gone and was_gone and not all(map(ledger.is_settled, unanswered)):
            ledger.update_batch(shard, state="failed", detail="its requests were marked by conjury run retry")
            return ""
        for outcome in unanswered:
            if not ledger.is_recorded(outcome):
                recorder.record(outcome)
        ledger.flush()
        if gone:
            ledger.update_batch(shard, detail=f"{GONE}{gone}")
            return gone
        detail = f"{progress.status}: {tally}" + f", {len(missing):,} missing" * bool(missing)
        if tally.odd:
            self._keep(paths)
            detail += f"; all lines are kept in {self.folder / KEPT}"
        ledger.update_batch(shard, state="collected", detail=detail)
        for path in (*files, self._path(shard)):
            path.unlink(missing_ok=True)
        return ""

    def _keep(self, results: list[Path]) -> None:
        """Move files of results to a folder where they stay."""
        folder = self.folder / KEPT
        with writable(folder):
            folder.mkdir(exist_ok=True)
            for path in results:
                path.replace(folder / path.name)

    def _download(self, files: dict[Path, str], batch_id: str) -> tuple[list[Path], str]:
        """Store files of results by their ids; return those that came, and a sentence if one is not there."""
        paths, gone = [], ""
        for path, file_id in files.items():
            try:
                if file_id:
                    self.service.download(file_id, path, batch_id)
                    paths.append(path)
            except NotAtProvider as error:
                gone = str(error)
        return paths, gone

    def _refuse(self, shard: str, progress: BatchProgress, recorder: Recorder, ledger: Ledger) -> str:
        """Record requests of a batch without results; return a sentence unless some line is the reason."""
        # Requests that may have been executed all the same are recorded as possibly billed.
        keys = ledger.batch_keys(shard)
        faults = {
            keys[complaint.line - 1]: f"{complaint.code}: {complaint.message}"
            for complaint in progress.complaints
            if 0 < complaint.line <= len(keys)
        }
        is_batch_refused = not faults or len(faults) == len(keys) > 1
        if not is_batch_refused:
            for key, error in faults.items():
                recorder.record(Outcome(key, kind="rejected", error=error, batch=shard))
            ledger.flush()
        if progress.executed:
            error = f"the batch failed without results ({progress})"
            billed = (Attempt(0, error, 0.0, billed=True),)
            for key in keys:
                outcome = Outcome(key, kind="server", error=error, attempts=billed, batch=shard)
                if not ledger.is_recorded(outcome):
                    recorder.record(outcome)
            ledger.flush()
        ledger.update_batch(shard, state="failed", detail=str(progress))
        self._path(shard).unlink(missing_ok=True)
        if not is_batch_refused:
            return ""
        reason = progress.complaints[0].message if progress.complaints else "no reason given"
        return (
            f"{self.endpoint.base_url} refused the batch of {len(keys):,} requests in shard {shard} "
            f"({reason}); correct that, then run the same command again."
        )


def _requests_until_stop(requests: Iterator[Request], stopping: Callable[[], bool]) -> Iterator[Request]:
    for request in requests:
        if stopping():
            return
        yield request


def _sleep(seconds: float, stopping: Callable[[], bool]) -> bool:
    """Wait; False if it is time to stop."""
    end = time.monotonic() + seconds
    while not stopping():
        remainder = end - time.monotonic()
        if remainder <= 0:
            return True
        time.sleep(min(remainder, LOOK))
    return False
