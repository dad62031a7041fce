"""A study's analyses on its choices: every judge, prompt and variant, as tables for a results folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.readers.prepare import judge_of
from conjury.inference.tables.columns import listed
from conjury.inference.tables.schema import PROBABILITY

from .. import conjoint
from ..conjoint.engines.solution import ENGINES
from ..conjoint.estimates import Estimates
from ..conjoint.request import VCOVS, is_independent
from ..frames.repeats import is_repeat
from ..numerics.intervals import METHODS, check_alpha
from ..results import stack
from .manifest import BOOTSTRAPPED, COUNTS, record_analysis, resampled_unit, warnings_noted
from .people import compare_with_people

if TYPE_CHECKING:
    from conjury.inference.study.models import Study
    from conjury.inference.study.parts import Analysis

BOOT_COLUMNS = ("std_error", "p", "lower", "upper")


@dataclass(frozen=True)
class Options:
    """How to fit: engine, errors, confidence, bootstrap; ``draws`` of 0 leaves the bootstrap out.

    ``id`` and ``vcov`` take the place of the study's clusters and of its convention of errors.
    """

    engine: str = "native"
    id: tuple[str, ...] = ()
    vcov: str | None = None
    alpha: float = 0.05
    draws: int = 1000
    seed: int = 1
    interval: str = "percentile"

    def __post_init__(self) -> None:
        """Refuse what no group could be fitted with, before any work is done."""
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
        if self.draws < 0 or self.draws == 1:
            raise InputError(f"draws is {self.draws}; give 0 for no bootstrap, or 2 and more.")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; give a whole number of 0 or more.")
        if self.vcov is not None:
            self.check_clusters(self.vcov)

    def check_clusters(self, convention: str) -> None:
        """Refuse clusters (``id``) beside errors of independent rows, which would leave them out."""
        if self.id and is_independent(convention):
            raise InputError(
                f"vcov {convention} takes rows as independent, so the clusters by {', '.join(self.id)} (id) "
                "would not be used; leave id out, or choose survey or one of CR0 to CR2."
            )


@dataclass(frozen=True)
class Group:
    """The choices of one judge under one prompt in one variant of the data.

    ``repeats`` counts the rows of swapped repeats that are not among them.
    """

    variant: str
    judge: str
    prompt: str
    kind: str
    choices: pd.DataFrame
    repeats: int = 0

    @property
    def name(self) -> str:
        """Judge, prompt and variant, as far as they have names."""
        return " ".join(part for part in (self.judge, self.prompt, self.variant) if part)


@dataclass
class Fitted:
    """Tables by name, what was run for each, and what should be known about it."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    analyses: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def groups(variants: Mapping[str, pd.DataFrame]) -> Iterator[Group]:
    """Split choices by variant, judge and prompt, in order of appearance; swapped repeats are left out."""
    for variant, choices in variants.items():
        repeat = is_repeat(choices)
        left_out = choices[repeat].groupby(_judge_and_prompt(choices[repeat]), observed=True).size().to_dict()
        asked = choices[~repeat]
        for key, rows in asked.groupby(_judge_and_prompt(asked), sort=False, observed=True):
            judge, prompt = map(str, key)
            kind = str(rows["judge_kind"].iloc[0])
            yield Group(variant, judge, prompt, kind, rows, int(left_out.get((judge, prompt), 0)))


def _judge_and_prompt(choices: pd.DataFrame) -> list[pd.Series[str]]:
    return [judge_of(choices), choices["prompt_id"].astype("string").fillna("").rename("prompt")]


def fit_study(
    study: Study,
    variants: Mapping[str, pd.DataFrame],
    options: Options,
    progress: Callable[[str], None] | None = None,
) -> Fitted:
    """Run every analysis of a study in every group."""
    options.check_clusters(options.vcov or study.clusters.vcov)
    found = Fitted()
    everyone = list(groups(variants))
    split = [group for group in everyone if group.choices[study.outcome].notna().any()]
    if silent := [group.name for group in everyone if group.choices[study.outcome].isna().all()]:
        held = "probability" if study.outcome == PROBABILITY else "choice"
        found.notes.append(f"{listed(silent)}: left out, there is no answer with a {held}.")
    if not split:
        raise InputError(
            f"No judge has an answer in column {study.outcome!r} outside of repeated tasks; "
            "check that column and the statuses, or choose another refusal policy."
        )
    for analysis in study.analyses:
        if analysis.compares_people:
            continue
        start = time.perf_counter()
        fitted, refused = [], []
        for group in split:
            where = f"{analysis.name}, {group.name}"
            if progress is not None:
                progress(f"{analysis.title}: {group.name}")
            with warnings_noted(found.notes, where):
                try:
                    fitted.append((group, *fit_group(study, analysis, group, options)))
                except InputError as error:
                    refused.append(f"{where}: {error}")
        if not fitted:
            raise InputError(refused[0])
        found.notes += [f"{why} It was left out." for why in refused]
        found.tables[analysis.name] = stack([frame for _, frame, _ in fitted])
        made = [(group, estimates) for group, _, estimates in fitted]
        seconds = time.perf_counter() - start
        found.analyses.append(record_analysis(study, analysis, made, options, seconds))
    compare_with_people(study, split, options, found, progress)
    found.tables["answers"] = answers(variants)
    return found


def fit_group(
    study: Study, analysis: Analysis, group: Group, options: Options
) -> tuple[pd.DataFrame, Estimates]:
    """Run one analysis on one group; the table carries judge, prompt and variant."""
    rows = analysis.select(group.choices)
    if rows.empty:
        raise InputError(
            f"Analysis {analysis.name!r} leaves no rows of judge {group.judge!r}; check its exclude rule."
        )
    if rows[study.outcome].isna().all():
        raise InputError(
            f"Judge {group.judge!r} has no answer in column {study.outcome!r}; leave it out or "
            "choose another refusal policy."
        )
    verb = getattr(conjoint, analysis.verb)
    arguments = _arguments(study, analysis, group.kind, options)
    if analysis.verb not in COUNTS:
        arguments["engine"] = options.engine
        if analysis.verb != "cj_anova":
            arguments["alpha"] = options.alpha
    estimates: Estimates = verb(rows, analysis.formula, **arguments)
    frame = estimates.frame.copy()
    if analysis.verb in BOOTSTRAPPED:
        boot = _bootstrap(verb, rows, study, analysis, group, options) if options.draws else None
        for column in BOOT_COLUMNS:
            frame[f"boot_{column}"] = float("nan") if boot is None else boot.frame[column].to_numpy()
    for position, name in enumerate(("judge", "prompt", "variant")):
        frame.insert(position, name, getattr(group, name))
    return frame, estimates


def answers(variants: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Count answers (pairs, not rows) by judge, prompt and status in the main data."""
    choices = next(iter(variants.values()))
    first = choices[choices["position"].astype("string") == "A"]
    counted = first.groupby([*_judge_and_prompt(first), first["status"]], sort=False, observed=True).size()
    return counted.rename("n").reset_index()


def _arguments(study: Study, analysis: Analysis, kind: str, options: Options) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    vcov = options.vcov or study.clusters.vcov
    if analysis.verb not in COUNTS:
        arguments["id"] = None if is_independent(vcov) else list(options.id or study.clusters.of(kind))
        if analysis.verb != "cj_anova":
            arguments["vcov"] = vcov
    if analysis.by:
        arguments["by"] = analysis.by[0] if len(analysis.by) == 1 else analysis.by
    if analysis.verb == "mm":
        arguments["h0"] = analysis.h0
    return arguments


def _bootstrap(
    verb: Callable[..., Estimates],
    rows: pd.DataFrame,
    study: Study,
    analysis: Analysis,
    group: Group,
    options: Options,
) -> conjoint.Bootstrap:
    arguments = _arguments(study, analysis, group.kind, options)
    for errors in ("id", "vcov"):
        arguments.pop(errors)
    return conjoint.bootstrap(
        verb,
        rows,
        analysis.formula,
        unit=resampled_unit(study, group.kind),
        draws=options.draws,
        seed=options.seed,
        method=options.interval,  # type: ignore[arg-type]
        alpha=options.alpha,
        **arguments,
    )
