"""Draws from the posterior of a PyMC model: nutpie where it is installed, else PyMC's own sampler."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from conjury.inference.errors import InputError, MissingDependency, unknown_name

from ...numerics.workers import available_processors

SAMPLERS: tuple[str, ...] = ("nutpie", "pymc")
TARGET_ACCEPT = 0.8  # the default of Stan and PyMC
_LOOK = 0.1  # seconds between looks at a running sampler
Report = Callable[[int, int, int], None]
Progress = bool | Report


def sample(
    model: Any,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 2,
    seed: int = 0,
    sampler: str = "nutpie",
    progress: Progress = False,
    what: str = "Sampling",
    keep: list[str] | None = None,
    compiled: Callable[[], Any] | None = None,
    target_accept: float = TARGET_ACCEPT,
    **options: Any,
) -> Any:
    """Sample the posterior of a model by the No-U-Turn sampler."""
    check_sampling(draws, tune, chains, sampler)
    if not 0.5 <= target_accept < 1:
        raise InputError(f"target_accept must be from 0.5 to below 1, such as 0.95, not {target_accept:g}.")
    options["target_accept"] = target_accept
    chosen = "nutpie" if sampler == "nutpie" and has("nutpie") else "pymc"
    run = _sample_by_nutpie if chosen == "nutpie" else _sample_by_pymc
    started = time.perf_counter()
    with reporting(progress, what) as report, _silence_warnings():
        if compiled is not None and chosen == "nutpie":
            data = _run_nutpie(compiled(), draws, tune, chains, seed, report, options)
        else:
            library("pymc")
            built = model() if callable(model) else model
            data = run(built, draws, tune, chains, seed, report, keep, options)
    data["posterior"].attrs.update(
        conjury_sampler=chosen,
        conjury_seed=seed,
        conjury_tune=tune,
        conjury_target_accept=target_accept,
        conjury_seconds=round(time.perf_counter() - started, 3),
    )
    return data


def check_sampling(draws: int, tune: int, chains: int, sampler: str) -> None:
    """Refuse numbers of draws and samplers that cannot be."""
    for name, number, least in (("draws", draws, 4), ("tune", tune, 1), ("chains", chains, 1)):
        if number < least:
            raise InputError(f"{name} must be {least} or more, not {number}.")
    if sampler not in SAMPLERS:
        raise unknown_name("sampler", sampler, SAMPLERS)


def save(data: Any, path: str | Path) -> Path:
    """Write draws as NetCDF, whole or not at all; ``arviz.from_netcdf`` reads them back."""
    library("h5netcdf")
    library("h5py")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        _without_object_columns(data).to_netcdf(partial, engine="h5netcdf")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def load(path: str | Path) -> Any:
    """Read draws that ``save`` wrote."""
    if not Path(path).exists():
        raise InputError(f"{path}: there is no such file.")
    return library("arviz").from_netcdf(str(path))


def _sample_by_nutpie(
    model: Any,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    report: Report,
    keep: list[str] | None,
    options: dict[str, Any],
) -> Any:
    compiled = library("nutpie").compile_pymc_model(model, var_names=keep)
    return _run_nutpie(compiled, draws, tune, chains, seed, report, options)


def _run_nutpie(
    compiled: Any,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    report: Report,
    options: dict[str, Any],
) -> Any:
    nutpie = library("nutpie")
    state = [0, chains * (draws + tune), 0]

    def look(running: list[Any]) -> None:
        state[0] = sum(chain.finished_draws for chain in running)
        state[2] = sum(chain.divergences for chain in running)

    started = nutpie.sample(
        compiled,
        draws=draws,
        tune=tune,
        chains=chains,
        cores=min(chains, available_processors()),
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=look,
        blocking=False,
        **options,
    )
    while True:
        try:
            data = started.wait(timeout=_LOOK)
            report(state[1], state[1], int(data["sample_stats"]["diverging"].sum()))
            return data
        except TimeoutError:
            report(state[0], state[1], state[2])
        except KeyboardInterrupt:
            started.cancel()
            raise _interrupted(state[0], state[1]) from None


def _sample_by_pymc(
    model: Any,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    report: Report,
    keep: list[str] | None,
    options: dict[str, Any],
) -> Any:
    state = [0, chains * (draws + tune), 0]

    def look(trace: Any, draw: Any) -> None:
        state[0] += 1
        state[2] += int(any(stat.get("diverging", False) and not draw.tuning for stat in draw.stats or ()))
        report(state[0], state[1], state[2])

    try:
        data = library("pymc").sample(
            draws,
            tune=tune,
            chains=chains,
            cores=min(chains, available_processors()),
            random_seed=seed,
            model=model,
            nuts_sampler="pymc",
            var_names=keep,
            callback=look,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            **options,
        )
    except KeyboardInterrupt:
        raise _interrupted(state[0], state[1]) from None
    except ValueError as error:
        if "Not enough samples" not in str(error):
            raise
        raise _interrupted(state[0], state[1]) from None
    if state[0] < state[1]:  # PyMC returns what there is when it is interrupted
        raise _interrupted(state[0], state[1])
    return data


def _interrupted(done: int, total: int) -> KeyboardInterrupt:
    return KeyboardInterrupt(f"Sampling was stopped after {done:,} of {total:,} draws; no draws were saved.")


@contextmanager
def _silence_warnings() -> Iterator[None]:
    """Keep notes of compilers off the terminal; what matters is said by the checks."""
    with warnings.catch_warnings():
        for category in (FutureWarning, DeprecationWarning, RuntimeWarning, UserWarning):
            warnings.simplefilter("ignore", category)
        yield


def _without_object_columns(data: Any) -> Any:
    """The same draws without statistics that NetCDF cannot hold (texts of divergences)."""
    groups = {}
    for name, node in data.children.items():
        table = node.to_dataset()
        object_columns = [key for key, column in table.data_vars.items() if column.dtype == object]
        groups[name] = table.drop_vars(object_columns)
    return library("xarray").DataTree.from_dict(groups)


def library(name: str) -> ModuleType:
    """Import ``pymc``, ``pytensor``, ``nutpie``, ``arviz``, ``numba`` or a module of theirs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            f"Bayesian models need {error.name or name} (Python 3.12 or later); install it with: "
            "pip install 'conjury[bayes]'."
        ) from error


def has(name: str) -> bool:
    """Whether a library can be imported."""
    try:
        library(name)
    except MissingDependency:
        return False
    return True


@contextmanager
def reporting(progress: Progress, what: str) -> Iterator[Report]:
    """Yield a function of draws done, draws in all, and divergent draws so far."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, total, divergent: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    counts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    columns = (*counts, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{what}: compiling", total=None)

        def report(done: int, total: int, divergent: int) -> None:
            description = f"{what}, {divergent:,} divergent" if divergent else what
            bar.update(task, description=description, completed=done, total=total)

        yield report
