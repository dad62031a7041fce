"""The run of a trial: blocks of draws by several processes or a cluster, kept as files and resumed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError, MissingDependency, counted, did_you_mean, listed
from conjury.inference.tables.files import read_table, write_table
from conjury.inference.tables.frames import answer_wrong_calls
from conjury.inference.tables.writing import atomic_write

from ..numerics.workers import Run, workers_of
from ..results import Result
from .draw_blocks import BLOCK, MethodDraws, Task, available_methods, draw_block
from .trial_file import Trial, digest, load_trial
from .trial_registry import find
from .trial_summary import CellDraws, is_precise_enough, result_of

ROUND = 2 * BLOCK  # draws between two checks of the stopping rule
BACKENDS = ("local", "ray")
Progress = Callable[[int, int], None]  # of draws done and draws in all
Started = Callable[["ExpectedWork"], None]


@dataclass(frozen=True)
class Execution:
    """How a trial is run, as the parameters of `run_trial` say."""

    draws: int | None = None
    methods: Sequence[str] = ()
    workers: int = 1
    backend: str = "local"
    started: Started | None = None
    progress: Progress | None = None


@dataclass(frozen=True)
class ExpectedWork:
    """What a run will do, stated before it starts."""

    cells: int
    methods: int
    draws: int  # that are still to be made, over all cells
    seconds: float  # by the first draw of each cell and the number of workers
    notes: tuple[str, ...]


@answer_wrong_calls
def run_trial(
    trial: Trial | str | Path,
    out: str | Path | None = None,
    *,
    draws: int | None = None,
    methods: Sequence[str] = (),
    workers: int = 1,
    backend: str = "local",
    started: Started | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a simulation study of estimators.

    Every method of a cell (a process with its parameters) analyses the same data. Data depend on the seed,
    the cell and the number of the draw alone, so that the table is the same for any number of workers, and
    after an interrupted run was resumed.

    Parameters
    ----------
    trial : Trial, str or Path
        A trial file, the name of a trial that ships, or what `load_trial` returns.
    out : str or Path, optional
        Folder in which finished blocks of draws are kept (``draws/``); what is there already is not
        computed again.
    draws : int, optional
        Draws of each cell, in place of those of the trial file.
    methods : sequence of str
        Only the methods with these names or labels.
    workers : int
        Processes on this machine.
    backend : {"local", "ray"}
        Where draws are made: by processes of this machine, or on a Ray cluster.
    started, progress : callable, optional
        Called with what is expected before the run, and with the numbers of draws made and of all.

    Returns
    -------
    Result
        Kind "trial": one row per cell, estimand, quantity, method and measure, with the columns ``process``,
        the expanded parameters, ``estimand, quantity, method, measure, estimate, mc_error`` (Monte Carlo
        standard error), ``draws`` and ``failures`` (draws without an estimate). ``extra["zip"]`` has
        intervals at percentiles of the absolute error in standard errors, and ``extra["seconds"]`` the mean
        seconds per draw.

    Raises
    ------
    InputError
        For methods that the trial does not have, and parts that break the contract of `process` and `method`.

    References
    ----------
    Morris, T. P., White, I. R., Crowther, M. J. (2019). Using simulation studies to evaluate statistical
    methods. Statistics in Medicine 38(11), 2074-2102. doi:10.1002/sim.8086

    Examples
    --------
    >>> from conjury.analysis.trial import run_trial
    >>> result = run_trial("small", draws=4, methods=["cr1"])
    >>> result.frame["draws"].unique().tolist()
    [4]
    """
    trial = trial if isinstance(trial, Trial) else load_trial(trial)
    execution = Execution(draws, methods, workers, backend, started, progress)
    blocks, notes = draws_of_trial(trial, out, execution)
    return result_of(trial, blocks, notes)


def draws_of_trial(
    trial: Trial, out: str | Path | None, execution: Execution
) -> tuple[list[CellDraws], tuple[str, ...]]:
    """Draws of every method in every cell, with notes on methods that were excluded."""
    n_draws = trial.draws if execution.draws is None else execution.draws
    workers, backend = execution.workers, execution.backend
    started, progress = execution.started, execution.progress
    for name, number in (("draws", n_draws), ("workers", workers)):
        if number < 1:
            raise InputError(f"{name} is {number}; give a whole number of at least 1.")
    if backend not in BACKENDS:
        raise InputError(f"backend is {backend!r}; use one of {', '.join(BACKENDS)}.")
    numbers, notes, seconds = available_methods(trial, _numbers_of_methods(trial, execution.methods))
    store = Store(trial, None if out is None else Path(out))
    total = sum(last - first for cell in range(len(trial.cells)) for first, last in _blocks(0, n_draws))
    absent = [
        (cell, last - first)
        for cell in range(len(trial.cells))
        for first, last in _blocks(0, n_draws)
        if store.missing(cell, numbers, first, last)
    ]
    if started is not None:
        time = sum(size * seconds[cell] for cell, size in absent) / workers
        sizes = sum(size for _, size in absent)
        started(ExpectedWork(len(trial.cells), len(numbers), sizes, time, tuple(notes)))
    pool = _ray_workers(draw_block, trial) if backend == "ray" else workers_of(draw_block, trial, workers)
    reached = _run(trial, store, numbers, n_draws, pool, lambda done: progress and progress(done, total))
    blocks = [
        CellDraws(cell, method, *store.read(cell, method, reached[cell]))
        for cell in range(len(trial.cells))
        for method in numbers
    ]
    return blocks, tuple(notes)


def _numbers_of_methods(trial: Trial, names: Sequence[str]) -> list[int]:
    """Numbers of the methods with these names or labels; of all where none is named."""
    for name in names:
        if not any(name in (candidate.name, candidate.label) for candidate in trial.tried):
            choices = [method.name for method in trial.methods]
            raise InputError(
                f"The trial has no method '{name}'{did_you_mean(name, choices)}; it has {listed(choices)}."
            )
    candidates = list(enumerate(trial.tried))
    return [
        number
        for number, candidate in candidates
        if not names or {candidate.name, candidate.label} & set(names)
    ]


def _blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """First and last draws (excluded) of blocks."""
    for start in range(first, last, BLOCK):
        yield start, min(start + BLOCK, last)


def _run(
    trial: Trial,
    store: Store,
    methods: list[int],
    draws: int,
    pool: AbstractContextManager[Run],
    progress: Callable[[int], object],
) -> list[int]:
    """Make all draws, in rounds where a stopping rule is checked; return the draws made of each cell."""
    step = ROUND if trial.until else draws
    reached = [0] * len(trial.cells)
    running, done = list(range(len(trial.cells))), 0
    with pool as run:
        while running:
            tasks = []
            for cell in running:
                last = min(reached[cell] + step, draws)
                for first, end in _blocks(reached[cell], last):
                    missing = store.missing(cell, methods, first, end)
                    if missing:
                        tasks.append(Task(cell, tuple(missing), first, end))
                    else:
                        done += end - first
                reached[cell] = last
            progress(done)
            for number, blocks in run(tasks):
                store.add(tasks[number], blocks)
                done += tasks[number].last - tasks[number].first
                progress(done)
            running = [
                cell
                for cell in running
                if reached[cell] < draws and not _is_precise(trial, store, methods, cell, reached[cell])
            ]
    return reached


def _is_precise(trial: Trial, store: Store, methods: list[int], cell: int, draws: int) -> bool:
    """Whether the stopping rule is met by every method of a cell; never without one."""
    return bool(trial.until) and all(
        is_precise_enough(trial, store.read(cell, method, draws)[0]) for method in methods
    )


class Store:
    """Finished blocks of draws, as files of a folder or in memory."""

    # Files are named by what determines their content: version, seed, level, cell and method, with the source
    # of functions that do not ship with the project.

    def __init__(self, trial: Trial, out: Path | None) -> None:
        self._out = out
        self._memory: dict[tuple[int, int, int], MethodDraws] = {}
        base = [
            version("conjury"),
            trial.seed,
            trial.alpha,
            sorted(trial.estimands),
            sorted(trial.quantities),
        ]
        self._cells = [
            digest([*base, cell.key, _source("process", cell.process, trial)]) for cell in trial.cells
        ]
        self._methods = [
            digest([candidate.key, _source("method", candidate.method, trial)]) for candidate in trial.tried
        ]

    def _file(self, cell: int, method: int, first: int) -> Path:
        assert self._out is not None
        folder = self._out / "draws" / self._cells[cell] / self._methods[method]
        return folder / f"{first:07d}.parquet"

    def missing(self, cell: int, methods: Sequence[int], first: int, last: int) -> list[int]:
        """Methods whose block that begins with a draw is absent, or ends before the last (excluded)."""
        return [method for method in methods if self._end(cell, method, first) < last]

    def _end(self, cell: int, method: int, first: int) -> int:
        """The last draw (excluded) of the block that begins with a draw; ``first`` where it is absent."""
        if self._out is None:
            block = self._memory.get((cell, method, first))
            return first if block is None else int(block.frame["draw"].max()) + 1
        file = self._file(cell, method, first)
        return int(pd.read_parquet(file, columns=["draw"])["draw"].max()) + 1 if file.is_file() else first

    def add(self, task: Task, blocks: Sequence[MethodDraws]) -> None:
        """Keep the blocks of a finished task."""
        for block in blocks:
            if self._out is None:
                self._memory[task.cell, block.method, task.first] = block
                continue
            file = self._file(task.cell, block.method, task.first)
            with atomic_write(file.with_suffix(".seconds"), durable=False) as seconds:
                seconds.write(f"{block.seconds!r}\n".encode())
            write_table(block.frame, file)

    def read(self, cell: int, method: int, draws: int) -> tuple[pd.DataFrame, float]:
        """The first draws of a method in a cell, and the seconds per draw."""
        frames, seconds = [], 0.0
        for first, _ in _blocks(0, draws):
            if self._out is None:
                block = self._memory[cell, method, first]
            else:
                file = self._file(cell, method, first)
                spent = file.with_suffix(".seconds")
                took = float(spent.read_text()) if spent.is_file() else 0.0
                block = MethodDraws(method, read_table(file), took)
            frames.append(block.frame)
            seconds += block.seconds
        table = pd.concat(frames, ignore_index=True)
        n_draws = max(1, table["draw"].nunique())
        return table[table["draw"] < draws].reset_index(drop=True), seconds / n_draws


def _source(kind: str, name: str, trial: Trial) -> str:
    """Hash of the module of a function that does not ship with the project; empty for others."""
    if ":" not in name:
        return ""
    file = inspect.getsourcefile(find(kind, name, trial.folder))
    return digest(Path(file).read_text(encoding="utf-8")) if file else ""


@contextmanager
def _ray_workers(function: Callable[[Any, Any], Any], shared: Any) -> Iterator[Run]:
    """As `workers_of`, on the Ray cluster that the environment names, or on this machine."""
    try:
        import ray
    except ImportError:
        raise MissingDependency(
            "--backend ray needs Ray; install it with pip install 'conjury[cluster]'."
        ) from None
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    handle, remote = ray.put(shared), ray.remote(function)

    def run(tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        waiting = {remote.remote(handle, task): number for number, task in enumerate(tasks)}
        while waiting:
            for ready in ray.wait(list(waiting), num_returns=1)[0]:
                yield waiting.pop(ready), ray.get(ready)

    try:
        yield run
    finally:
        ray.shutdown()


def expected_in_words(expected: ExpectedWork, workers: int) -> str:
    """What a run will do, without its time."""
    return (
        f"{counted(expected.cells, 'cell')}, {counted(expected.methods, 'method')}, "
        f"{counted(expected.draws, 'draw')} to be made by {counted(workers, 'process', 'processes')}"
    )
