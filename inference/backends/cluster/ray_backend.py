"""A judge on a cluster: Ray Data hands out waves of requests, engines answer, workers write the answers.

The ledger is the record of what has an answer. Files of answers are read into it once: by the driver when
they appear, and what it had not read when it ended by the next call, before anything is asked. conjury must
be installed on the nodes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import chain, islice
from typing import Any

from ...errors import InputError, first_line, require_installed
from ...ledger import Ledger
from ...ledger.exchanges import Request, resolve
from ..base import Recorder
from ..vllm import failed_outcome
from .exchange import Exchange, RequestBlock
from .ray_engines import ENGINES, Engine

WAVE = 1_000_000  # requests of one data set: engines are loaded anew for the next
STAGES = 4  # of a processor, each with a CPU per replica of the model
# CPUs for tasks that read, write and translate; without, they wait for the stages and these for them
OTHER = 2
STORAGE = 0.25  # CPUs of a task that reads or writes; Ray merges no engine with tasks of other sizes
MISSING = (
    "Judging on a cluster needs {missing}, which is not installed; install it and vLLM with "
    "`pip install 'conjury[cluster,vllm]'`."
)
RAISED = re.compile(r"^([A-Za-z_][\w.]*): (.*)$", re.MULTILINE)  # an exception in a traceback
READ = "cluster wave {}"  # fact of a run: files of answers of a wave that are in the ledger


def backend_of_run(
    address: str,
    ledger: Ledger,
    judge_id: str,
    model: str,
    weights: str | None,
    settings: Mapping[str, Any] | None,
) -> RayBackend:
    """The backend of a judge of a run, whose files are below an address; settings as the study has them."""
    return RayBackend(ledger, Exchange.of_run(address, ledger, judge_id), Engine.of(model, weights, settings))


class RayBackend:
    """A judge in engines that Ray Data feeds, with requests and answers as Parquet below an address."""

    def __init__(self, ledger: Ledger, exchange: Exchange, engine: Engine) -> None:
        self._ledger, self._exchange, self._engine = ledger, exchange, engine

    def settings(self) -> dict[str, Any]:
        """Return the engine's versions, sizes and arguments, and those of the processor."""
        require_installed(["ray"], MISSING)
        engine = self._engine
        return {
            "backend": "ray",
            "engine": engine.name,
            "model": engine.model,
            "ray": version("ray"),
            **engine.settings(),
        }

    def run(self, requests: Iterator[Request], recorder: Recorder) -> None:
        """Read the answers that lie there, then ask what has none, wave by wave."""
        # Where the user stops the run, requests without an answer stay to be asked.
        self._fetch(recorder)
        while not recorder.stopping():
            wave = self._exchange.new_wave()
            blocks, keys, images = self._write(wave, islice(requests, WAVE), recorder)
            if not blocks or recorder.stopping():
                return
            answered = self._answer(wave, blocks, images, recorder)
            for key in () if recorder.stopping() else keys - answered:
                recorder.record(failed_outcome(key, "server", "Ray Data returned no answer to this request"))

    def _fetch(self, recorder: Recorder) -> None:
        """Read answers of earlier calls that are not in the ledger."""
        for wave in self._exchange.waves():
            self._take(wave, set(), recorder)

    def _take(self, wave: str, read: set[str], recorder: Recorder) -> set[str]:
        """Read what is left of a wave's answers, and note what was read; return the keys."""
        before = set(self._ledger.get(READ.format(wave)) or ())
        new = [name for name in self._exchange.answered(wave) if name not in before | read]
        keys = set()
        for name in new:
            file_keys = self._record(wave, name, recorder)
            if file_keys is not None:
                keys |= file_keys
                read.add(name)
        if read - before:
            self._ledger.flush()
            self._ledger.set(READ.format(wave), sorted(before | read))
        return keys

    def _record(self, wave: str, name: str, recorder: Recorder) -> set[str] | None:
        """Record the answers of a file that the ledger does not have; None where it is not for this run."""
        outcomes = self._exchange.read_answers(wave, name)
        if outcomes is None or not all(self._ledger.knows(outcome.key) for outcome in outcomes):
            return None
        for outcome in outcomes:
            if not self._ledger.is_recorded(outcome):
                recorder.record(outcome)
        return {outcome.key for outcome in outcomes}

    def _write(
        self, wave: str, requests: Iterator[Request], recorder: Recorder
    ) -> tuple[list[RequestBlock], set[str], bool]:
        """Write the requests of a wave; return blocks, keys, and whether there are pictures."""
        first = next(requests, None)
        if first is None:
            return [], set(), False
        self._engine.check(first.body)
        images = False

        def rows() -> Iterator[tuple[str, str]]:
            nonlocal images
            for request in chain([first], requests):
                images = images or any(
                    isinstance(message["content"], list) for message in request.body["messages"]
                )
                yield request.key, json.dumps(resolve(request.body, recorder.media), ensure_ascii=False)

        blocks: list[RequestBlock] = []
        keys: set[str] = set()
        for some, of_these in self._exchange.write_requests(wave, rows(), self._engine.batch_size):
            blocks += some
            keys.update(of_these)
        return blocks, keys, images

    def _answer(self, wave: str, blocks: list[RequestBlock], images: bool, recorder: Recorder) -> set[str]:
        """Ask the blocks of a wave, and read each file of answers once a worker has written it."""
        ray = _ray(STAGES * self._engine.replicas + OTHER)
        exchange, engine = self._exchange, self._engine
        handed_out = ray.data.from_items(
            [{"partition": block.partition, "group": block.group} for block in blocks],
            override_num_blocks=len(blocks),
        )
        requests = handed_out.map_batches(
            lambda batch: exchange.read_requests(
                wave, RequestBlock(str(batch["partition"][0]), int(batch["group"][0]))
            ),
            batch_size=1,
            num_cpus=STORAGE,
        )
        files = ENGINES[engine.name](requests, engine, images).map_batches(
            lambda table: {"file": [exchange.write_answers(wave, table.to_pylist())]},
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=STORAGE,
        )
        read: set[str] = set()
        keys: set[str] = set()
        failure: Exception | None = None
        try:
            for row in files.iter_rows():
                if row["file"] not in read and (file_keys := self._record(wave, row["file"], recorder)):
                    read.add(row["file"])
                    keys |= file_keys
                if recorder.stopping():
                    break
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
            failure = error
        keys |= self._take(wave, read, recorder)
        if failure is not None:
            raise stop_error(failure, engine.model) from None
        return keys


def stop_error(error: Exception, model: str) -> InputError:
    """Return the sentence about an error of a data set; Ray has the worker's own error in its traceback."""
    match = RAISED.search(str(error))
    name, text = match.groups() if match else ("", first_line(error))
    if name.endswith(f".{InputError.__name__}"):
        return InputError(text)
    return InputError(
        f"Ray stopped during answers of {model} ({text[:300]}); answers so far are kept. Correct "
        "'engine' in the study file or the cluster, and run this again."
    )


def _ray(cpus: int) -> Any:
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # otherwise Ray keeps messages back and prints them at exit
    require_installed(["ray"], MISSING)
    import ray
    import ray.data

    if not ray.is_initialized():
        start: dict[str, Any] = {}
        if not os.environ.get("RAY_ADDRESS"):
            start = {"num_cpus": max(cpus, os.cpu_count() or 1), "include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level="warning", **start)
        except (RuntimeError, ConnectionError, ValueError) as error:
            raise InputError(f"Ray cannot start ({error}); check RAY_ADDRESS and the cluster.") from None
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray
