"""Blocks of draws: data are drawn once for all methods; their estimates are kept beside the true values."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError, MissingDependency, did_you_mean, listed

from .trial_file import MethodVariant, ProcessCell, Trial
from .trial_registry import Drawn, find

BLOCK = 100  # draws in one task, and in one file
NUMBERS = ("estimate", "std_error", "lower", "upper", "p")
TRUTH = ("estimand", "quantity", "truth")
COLUMNS = ("draw", *TRUTH, *NUMBERS, "failure")
NOTHING = (np.nan,) * len(NUMBERS)


@dataclass(frozen=True)
class Task:
    """Draws ``first`` to ``last`` (excluded) of a cell by some methods, all by their numbers."""

    cell: int
    methods: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True)
class MethodDraws:
    """What one method gave in a block: a row for each draw, estimand and quantity, and its seconds."""

    method: int
    frame: pd.DataFrame
    seconds: float
    quantities: frozenset[str] = frozenset()  # that the method returned


def seeded(seed: int, key: str, draw: int, *more: str) -> np.random.Generator:
    """The generator of a draw of a cell; it depends on neither the rest of the file nor other draws."""
    words = [int(part[at : at + 8], 16) for part in (key, *more) for at in (0, 8)]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*words, draw)))


def draw_block(trial: Trial, task: Task) -> list[MethodDraws]:
    """Draw and analyse the data of one block."""
    cell = trial.cells[task.cell]
    tried = [trial.tried[number] for number in task.methods]
    calls = [_bind_options(candidate, trial) for candidate in tried]
    rows: list[list[tuple[object, ...]]] = [[] for _ in tried]
    seconds = np.zeros(len(tried))
    quantities: list[set[str]] = [set() for _ in tried]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in range(task.first, task.last):
            dataset = draw_data(trial, cell, draw)
            truth = list(dataset.truth[list(TRUTH)].itertuples(index=False, name=None))
            for place, (candidate, call) in enumerate(zip(tried, calls, strict=True)):
                begun = time.perf_counter()
                numbers, failure = _estimates_or_failure(
                    call, candidate, dataset, seeded(trial.seed, cell.key, draw, candidate.key)
                )
                seconds[place] += time.perf_counter() - begun
                rows[place] += _rows(truth, numbers, failure, draw)
                quantities[place] |= set(map(str, numbers))
    return [
        MethodDraws(number, pd.DataFrame(method_rows, columns=list(COLUMNS)), float(spent), frozenset(names))
        for number, method_rows, spent, names in zip(task.methods, rows, seconds, quantities, strict=True)
    ]


def draw_data(trial: Trial, cell: ProcessCell, draw: int) -> Drawn:
    """The data of one draw of a cell, with the true values that the trial file names."""
    dataset = _draw(trial, cell, draw)
    truth = dataset.truth
    for column, names in (("estimand", trial.estimands), ("quantity", trial.quantities)):
        truth = truth[truth[column].isin(list(names))] if names else truth
    if truth.empty:
        texts = [listed(list(dict.fromkeys(dataset.truth[name]))) for name in ("estimand", "quantity")]
        raise InputError(
            f"Process {cell.process} has no true value of the estimands and quantities that the trial file "
            f"names; it has the estimands {texts[0]} and the quantities {texts[1]}."
        )
    return Drawn(dataset.data, truth.reset_index(drop=True))


def _draw(trial: Trial, cell: ProcessCell, draw: int) -> Drawn:
    """The data of one draw of a cell, the same for every method and every call."""
    process = find("process", cell.process, trial.folder)
    try:
        dataset = process(seeded(trial.seed, cell.key, draw), **cell.parameters)
    except (InputError, MissingDependency):
        raise
    except Exception as error:
        raise InputError(
            f"Process {cell.process} with the parameters {cell.parameters} raised {type(error).__name__}: "
            f"{error}; correct the parameters or the process."
        ) from error
    if not isinstance(dataset, Drawn) or any(name not in dataset.truth for name in TRUTH):
        raise InputError(
            f"Process {cell.process} does not return a Drawn whose truth has the columns {', '.join(TRUTH)}; "
            "correct it."
        )
    return dataset


Call = Callable[[Any, np.random.Generator], pd.DataFrame]


def _bind_options(candidate: MethodVariant, trial: Trial) -> Call:
    """A method with its options, as a function of the data and a generator."""
    function = find("method", candidate.method, trial.folder)
    parameters = inspect.signature(function).parameters
    options = dict(candidate.options)
    if "alpha" in parameters and "alpha" not in options:
        options["alpha"] = trial.alpha
    if "rng" in parameters:
        return lambda data, rng: function(data, rng=rng, **options)
    return lambda data, rng: function(data, **options)


def _estimates_or_failure(
    call: Call, m: MethodVariant, dataset: Drawn, rng: np.random.Generator
) -> tuple[dict[str, tuple[float, ...]], str]:
    """Numbers of each quantity by a method, or why there are none."""
    try:
        table = call(dataset.data, rng)
    except (MissingDependency, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a method raises is a failure of this draw
        return {}, f"{type(error).__name__}: {error}"
    if not isinstance(table, pd.DataFrame) or "quantity" not in table or "estimate" not in table:
        raise InputError(
            f"Method {m.method} does not return a table with the columns quantity and estimate; correct it."
        )
    absent = np.full(len(table), np.nan)
    columns = [table[name].to_numpy(float) if name in table else absent for name in NUMBERS]
    return dict(zip(table["quantity"].tolist(), zip(*columns, strict=True), strict=True)), ""


def _rows(
    truth: Sequence[tuple[str, str, float]], numbers: dict[str, tuple[float, ...]], failure: str, draw: int
) -> Iterator[tuple[object, ...]]:
    """True values of a draw with the method's numbers; NaN where it gave none."""
    for estimand, quantity, value in truth:
        yield draw, estimand, quantity, value, *numbers.get(quantity, NOTHING), failure


def available_methods(trial: Trial, methods: Sequence[int]) -> tuple[list[int], list[str], list[float]]:
    """Methods whose libraries are installed, notes on the others, and seconds of a draw of each cell."""
    installed_methods, notes, seconds = list(methods), list[str](), list[float]()
    failing: dict[int, list[str]] = {i: [] for i in methods}
    foreign: dict[int, list[MethodDraws]] = {i: [] for i in methods}
    _check_names(trial)
    for number in range(len(trial.cells)):
        while True:
            try:
                for i in installed_methods:
                    draw_block(trial, Task(number, (i,), 0, 1))
                break
            except MissingDependency as error:
                installed_methods.remove(i)
                notes.append(f"{trial.tried[i].label}: excluded. {error}")
        begun = time.perf_counter()
        for block in draw_block(
            trial, Task(number, tuple(installed_methods), 0, 1)
        ):  # libraries are imported by now
            failing[block.method] += filter(None, block.frame["failure"].unique().tolist())
            if not block.quantities & set(block.frame["quantity"]) and not block.frame["failure"].any():
                foreign[block.method].append(block)
        seconds.append(time.perf_counter() - begun)
    if not installed_methods:
        raise InputError(f"No method of the trial can run here. {notes[0]}")
    for i in installed_methods:
        if len(failing[i]) == len(trial.cells):
            raise InputError(
                f"Method {trial.tried[i].label} fails in the first draw of every cell. {failing[i][0]} "
                "Correct its options, or choose other methods with --only."
            )
        if len(foreign[i]) == len(trial.cells):
            _refuse_foreign(trial.tried[i].label, foreign[i][0])
    return installed_methods, notes, seconds


def _check_names(trial: Trial) -> None:
    """Refuse estimands and quantities of the trial file that no process has a true value of."""
    if not (trial.estimands or trial.quantities):
        return
    truths = [_draw(trial, cell, 0).truth for cell in trial.cells]
    for column, names in (("estimand", trial.estimands), ("quantity", trial.quantities)):
        true_names = list(dict.fromkeys(str(name) for truth in truths for name in truth[column]))
        for name in names:
            if name not in true_names:
                raise InputError(
                    f"The trial file names the {column} '{name}'{did_you_mean(name, true_names)}, of which "
                    f"no process has a true value; they have {listed(true_names)}."
                )


def _refuse_foreign(label: str, block: MethodDraws) -> NoReturn:
    """Refuse a method that returns nothing that its processes have true values of."""
    true_names = list(dict.fromkeys(block.frame["quantity"]))
    names = sorted(block.quantities)
    likely = next((hint for hint in (did_you_mean(name, true_names) for name in names) if hint), "")
    raise InputError(
        f"Method {label} returns {listed(names, 6) or 'no quantity'}{likely}, and none of the quantities of "
        f"which a process has a true value, {listed(true_names)}; name them alike."
    )
