"""The trial file: processes, estimands, methods and measures that are crossed, and the number of draws."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, ValidationError

from conjury.inference.errors import InputError, did_you_mean, listed
from conjury.inference.study.load import error_of_fields
from conjury.inference.study.study_yaml import (
    Amount,
    Identifier,
    MarkedYaml,
    Part,
    Probability,
    Text,
    read_marked_yaml,
)
from conjury.inference.tables.files import TRIALS, shipped_names

from ..numerics.performance import MEASURES
from .trial_registry import find

MOST_CELLS = 10_000
GIVEN = ("rng", "alpha")  # parameters that the trial fills in


class ParameterGrid(Part):
    """What processes and methods share: a name, a label in print, and a grid."""

    name: Identifier
    label: Text | None = None
    expand: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)


class Process(ParameterGrid):
    """A data-generating process and the grid of its parameters."""

    process: Text
    parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def called(self) -> tuple[str, dict[str, Any]]:
        """Name of the function and what it is given in every cell."""
        return self.process, self.parameters


class Method(ParameterGrid):
    """An estimator with its options, and the grid of further options."""

    method: Text
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def called(self) -> tuple[str, dict[str, Any]]:
        """Name of the function and what it is given always."""
        return self.method, self.options


class Trial(Part):
    """A simulation study of estimators, laid out by aims, processes, estimands, methods and performance.

    Parameters
    ----------
    name : str
        Identifier, the name of its tables.
    title : str
        What it is called.
    aims : str
        What it asks.
    draws : int
        Draws in each cell, 2 to 1,000,000.
    until : dict of str to float
        By performance measure, the Monte Carlo standard error below which a cell ends before ``draws``.
    seed : int
        Same seed, same draws.
    alpha : float
        Significance level; intervals have one minus it.
    processes : list of Process
        Data-generating processes, with their parameters; one or more.
    estimands : dict of str to str
        Descriptions of the estimands, by name.
    quantities : dict of str to str
        Labels of the quantities, by name.
    labels : dict of str to str
        Labels of the parameters, by name.
    methods : list of Method
        Methods, with their options; one or more.
    performance : list of str
        Performance measures; by default all that are registered.

    Examples
    --------
    >>> trial = load_trial("small")
    >>> trial.draws, len(trial.cells)
    (250, 2)
    """

    name: Identifier
    title: Text
    aims: Text = ""
    draws: Annotated[int, Field(ge=2, le=1_000_000)] = 1000
    until: dict[str, Amount] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0)] = 1
    alpha: Probability = 0.05
    processes: list[Process] = Field(min_length=1)
    estimands: dict[str, Text] = Field(default_factory=dict)
    quantities: dict[str, Text] = Field(default_factory=dict)
    labels: dict[str, Text] = Field(default_factory=dict)  # of parameters
    methods: list[Method] = Field(min_length=1)
    performance: list[Text] = Field(default_factory=lambda: list(MEASURES), min_length=1)

    _folder: Path | None = PrivateAttr(default=None)

    @property
    def folder(self) -> Path | None:
        """The folder of the trial file, in which modules of its own are looked for."""
        return self._folder

    @cached_property
    def cells(self) -> list[ProcessCell]:
        """Every combination of a process and its parameters, in order of the file."""
        return [
            ProcessCell(
                process.name, process.label or process.name, process.process, {**process.parameters, **chosen}
            )
            for process in self.processes
            for chosen in grid(process.expand)
        ]

    @cached_property
    def tried(self) -> list[MethodVariant]:
        """Every combination of a method and its options, in order of the file."""
        candidates = []
        for method in self.methods:
            for chosen in grid(method.expand):
                added = [f"{name}={value}" for name, value in chosen.items()]
                label = ", ".join([method.label or method.name, *added])
                candidates.append(
                    MethodVariant(method.name, label, method.method, {**method.options, **chosen})
                )
        return candidates


@dataclass(frozen=True)
class ProcessCell:
    """A process with its parameters; ``key`` identifies what is drawn, whatever else the file contains."""

    name: str
    label: str
    process: str
    parameters: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """Hash of process and parameters."""
        return digest([self.process, dict(self.parameters)])


@dataclass(frozen=True)
class MethodVariant:
    """A method with its options; ``name`` is shared by a grid, ``label`` is not."""

    name: str
    label: str
    method: str
    options: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """Hash of method and options."""
        return digest([self.method, dict(self.options)])


def grid(axes: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """All combinations of the values of each name; the last name varies fastest."""
    for chosen in product(*axes.values()):
        yield dict(zip(axes, chosen, strict=True))


def digest(content: object) -> str:
    """A hash of JSON in 16 hexadecimal digits."""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def list_trials() -> list[str]:
    """List the trials that ship with the project.

    Returns
    -------
    list of str
        Names of the trials, in alphabetical order.

    Examples
    --------
    >>> "small" in list_trials()
    True
    """
    return shipped_names(TRIALS)


def load_trial(name_or_path: str | Path, before: Callable[[Sequence[str]], None] | None = None) -> Trial:
    """Read and check a trial file, which imports the modules that it names.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a trial that ships with the project, or the path of a trial file.
    before : callable, optional
        Called with the functions of modules that the file names, as module:function, before any is imported.

    Returns
    -------
    Trial
        Its ``cells`` are combinations of processes and parameters, ``tried`` those of methods and options.

    Raises
    ------
    InputError
        With file, line and remedy, for the first problem in the file.

    Examples
    --------
    >>> trial = load_trial("small")
    >>> len(trial.cells), len(trial.tried)
    (2, 4)
    """
    path = TRIALS / f"{name_or_path}.yaml" if str(name_or_path) in list_trials() else Path(name_or_path)
    if not path.is_file():
        raise InputError(
            f"There is no trial '{name_or_path}'{did_you_mean(str(name_or_path), list_trials())}; name one "
            f"that ships ({listed(list_trials(), 40)}) or give the path of a trial file."
        )
    marked = read_marked_yaml(path)
    try:
        trial = Trial.model_validate(marked.content)
    except ValidationError as problems:
        raise error_of_fields(marked, problems.errors()) from None
    trial._folder = path.resolve().parent
    code = _code_of(trial)
    if code and before is not None:
        before(code)
    _check(trial, marked)
    return trial


def _code_of(trial: Trial) -> list[str]:
    """The functions of modules that a trial names."""
    names = [part.process for part in trial.processes] + [part.method for part in trial.methods]
    names += [*trial.performance, *trial.until]
    return [name for name in dict.fromkeys(names) if ":" in name]


def _check(trial: Trial, marked: MarkedYaml) -> None:
    """Refuse names given twice, grids too large, and functions or parameters that do not exist."""
    _check_measures(trial, marked)
    kinds: dict[str, tuple[str, Sequence[Process | Method]]] = {
        "process": ("processes", trial.processes),
        "method": ("methods", trial.methods),
    }
    for kind, (section, parts) in kinds.items():
        for number, part in enumerate(parts):
            at = (section, number)
            if part.name in [earlier.name for earlier in parts[:number]]:
                raise marked.error((*at, "name"), f"'{part.name}' is given twice; rename one of them.")
            named, options = part.called
            try:
                function = find(kind, named, trial.folder)
            except InputError as error:
                raise marked.error((*at, kind), str(error)) from None
            problem = _unknown_option(function, [*options, *part.expand])
            if problem is not None:
                raise marked.error(at, f"{named} {problem}")
    combinations = len(trial.cells) * len(trial.tried)
    if combinations > MOST_CELLS:
        raise marked.error((), f"the grid has {combinations:,} combinations; the limit is {MOST_CELLS:,}.")
    labels = [candidate.label for candidate in trial.tried]
    twice = next((label for number, label in enumerate(labels) if label in labels[:number]), None)
    if twice is not None:
        raise marked.error(("methods",), f"two methods have the label '{twice}'; give each its own.")


def _check_measures(trial: Trial, marked: MarkedYaml) -> None:
    for section, names in (("performance", trial.performance), ("until", trial.until)):
        for place, name in enumerate(names):
            at = (section, place if section == "performance" else name)
            if name in MEASURES:
                continue
            try:
                find("measure", name, trial.folder)
            except InputError:
                measures = ", ".join(MEASURES)
                raise marked.error(
                    at, f"'{name}' is not a measure{did_you_mean(name, MEASURES)}; use one of {measures}."
                ) from None
    for name, bound in trial.until.items():
        if bound <= 0:
            raise marked.error(("until", name), "a Monte Carlo standard error above 0 belongs here.")


def _unknown_option(function: Any, names: Sequence[str]) -> str | None:
    """What is wrong with the names of options given to a function; None where they fit."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    options = [name for name in list(parameters)[1:] if name not in GIVEN]
    for name in names:
        if name not in options:
            return f"has no option '{name}'{did_you_mean(name, options)}; it has {listed(options) or 'none'}."
    required = [name for name in options if parameters[name].default is inspect.Parameter.empty]
    absent = [name for name in required if name not in names]
    return f"needs {listed(absent)}; add it." if absent else None
