"""The one runner of all analyses: steps in order, timed, with what cannot be computed as a note."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from conjury.inference.errors import InputError

from ..conjoint.engines.solution import ENGINES
from ..conjoint.request import VCOVS, is_independent
from ..numerics.intervals import METHODS, check_alpha
from ..raters.models.fitted import ModelFit
from ..results import Result
from ..steps import Step

PART = "__"  # between the name of a result and that of a further table of it


@dataclass(frozen=True)
class FitOptions:
    """How to fit, for all kinds of studies; what a kind of study has no use for stays at its default.

    ``draws`` of None are those of the study or of its kind, and 0 is no bootstrap. ``id`` and ``vcov``
    replace the clusters and the standard errors of a conjoint study. ``epsilon`` is the advantage that
    people must have over a model that may replace them.
    """

    alpha: float = 0.05
    draws: int | None = None
    seed: int = 1
    engine: str = "native"
    id: tuple[str, ...] = ()
    vcov: str | None = None
    interval: str = "percentile"
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what nothing could be fitted with, before any work is done."""
        check_alpha(self.alpha)
        if self.engine not in ENGINES:
            raise InputError(f"There is no engine {self.engine!r}; the engines are {', '.join(ENGINES)}.")
        if self.engine == "bayes":
            raise InputError(
                "The engine bayes samples for minutes and fits one judge at a time, so it does not run all "
                "analyses of a study; use amce(..., engine='bayes') or choice_model in Python."
            )
        if self.vcov is not None and self.vcov not in VCOVS:
            raise InputError(f"There is no vcov {self.vcov!r}; there are {', '.join(VCOVS)}.")
        if self.interval not in METHODS:
            raise InputError(
                f"There is no interval {self.interval!r}; the intervals are {', '.join(METHODS)}."
            )
        if self.draws is not None and (self.draws < 0 or self.draws == 1):
            raise InputError(f"draws is {self.draws}; give 0 for no bootstrap, or 2 and more.")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; give a whole number of 0 or more.")
        if self.vcov is not None:
            self.check_clusters(self.vcov)

    def check_clusters(self, convention: str) -> None:
        """Refuse clusters (``id``) with standard errors of independent rows, which would not use them."""
        if self.id and is_independent(convention):
            raise InputError(
                f"vcov {convention} takes rows as independent, so the clusters by {', '.join(self.id)} (id) "
                "would not be used; leave id out, or choose survey or one of CR0 to CR2."
            )

    def with_draws(self, usual: int) -> FitOptions:
        """The same options, with the usual number of draws where none is given."""
        return self if self.draws is not None else replace(self, draws=usual)

    @property
    def drawn(self) -> dict[str, Any]:
        """Confidence, draws and seed, as analyses of ratings and labels take them."""
        return {"alpha": self.alpha, "draws": self.draws, "seed": self.seed}


@dataclass(frozen=True)
class Named:
    """A result with its name in the results folder, its title and the time that it took."""

    name: str
    title: str
    result: Result
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """The steps of a study in the order of a report, and what is known before they run."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


@dataclass
class Fitted:
    """Results in the order of a report, and notes that are about no single one of them."""

    results: list[Named] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def by_name(self) -> dict[str, Result]:
        """The results by name."""
        return {named.name: named.result for named in self.results}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, as a results folder names them."""
        return {name: table for one in self.results for name, table in tables_of(one).items()}

    @property
    def all_notes(self) -> list[str]:
        """All notes, each once: those about no single result come first."""
        return list(dict.fromkeys([*self.notes, *(n for one in self.results for n in one.result.notes)]))

    def add(self, name: str, title: str, result: Result) -> None:
        """Add a result that follows from others."""
        self.results.append(Named(name, title, result))


def tables_of(named: Named) -> dict[str, pd.DataFrame]:
    """Tables of a result, as a results folder names them: NAME, and NAME__PART for further ones."""
    further = {f"{named.name}{PART}{part}": table for part, table in further_tables(named.result).items()}
    return {named.name: named.result.frame} | further


def further_tables(result: Result) -> dict[str, pd.DataFrame]:
    """Tables of a result after the first; of a model also its diagnostics and priors."""
    if not isinstance(result, ModelFit):
        return dict(result.extra)
    return {**result.extra, "diagnostics": result.diagnostics, "priors": result.prior_table}


def fit(plan: Plan, progress: Callable[[str], None] | None = None) -> Fitted:
    """Run a plan; its notes come first."""
    fitted = run(plan.steps, progress)
    fitted.notes = [*plan.notes, *fitted.notes]
    return fitted


def run(steps: Iterable[Step], progress: Callable[[str], None] | None = None) -> Fitted:
    """Run steps in order; one that the data do not allow is left out, and a note gives the reason."""
    fitted = Fitted()
    for step in steps:
        if progress is not None:
            progress(step.title)
        start = time.perf_counter()
        try:
            result = step.call()
        except InputError as error:
            if step.required:
                raise
            fitted.notes.append(f"{step.title}: not computed. {error}")
            continue
        fitted.results.append(Named(step.name, step.title, result, time.perf_counter() - start))
    return fitted
