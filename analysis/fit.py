"""A study's analyses on its choices: every judge, prompt and variant, as tables for a results folder."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.prepare import judge_of

from . import conjoint
from .conjoint.engines.solution import ENGINES
from .conjoint.intervals import METHODS
from .results import Estimates, check_alpha, stack

if TYPE_CHECKING:
    from conjury.inference.study import Study
    from conjury.inference.study_parts import Analysis

BOOTSTRAPPED = ("amce", "mm", "amce_diffs", "mm_diffs")


@dataclass(frozen=True)
class Options:
    """How to fit: engine, confidence, bootstrap; ``draws`` of 0 leaves the bootstrap out."""

    engine: str = "native"
    alpha: float = 0.05
    draws: int = 1000
    seed: int = 1
    interval: str = "percentile"

    def __post_init__(self) -> None:
        """Refuse what no group could be fitted with, before any work is done."""
        check_alpha(self.alpha)
        if self.engine not in ENGINES:
            raise InputError(f"There is no engine {self.engine!r}; the engines are {', '.join(ENGINES)}.")
        if self.interval not in METHODS:
            raise InputError(
                f"There is no interval {self.interval!r}; the intervals are {', '.join(METHODS)}."
            )
        if self.draws < 0 or self.draws == 1:
            raise InputError(f"draws is {self.draws}; give 0 for no bootstrap, or 2 and more.")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; give a whole number of 0 or more.")


@dataclass(frozen=True)
class Group:
    """The choices of one judge under one prompt in one variant of the data."""

    variant: str
    judge: str
    prompt: str
    kind: str
    choices: pd.DataFrame

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
        asked = choices[~choices["repeat"].to_numpy(dtype=bool)]
        keys = [judge_of(asked), asked["prompt_id"].astype("string").fillna("").rename("prompt")]
        for (judge, prompt), rows in asked.groupby(keys, sort=False, observed=True):
            yield Group(variant, str(judge), str(prompt), str(rows["judge_kind"].iloc[0]), rows)


def fit_study(
    study: Study,
    variants: Mapping[str, pd.DataFrame],
    options: Options,
    progress: Callable[[str], None] | None = None,
) -> Fitted:
    """Run every analysis of a study in every group.

    Parameters
    ----------
    study : Study
    variants : mapping of str to DataFrame
        Choices by variant; the main data under "".
    options : Options
    progress : callable, optional
        Told what starts next.

    Returns
    -------
    Fitted
        One stacked table an analysis, plus ``answers``. A group that cannot carry an analysis
        (no answer in it, a single pair) is left out of it, and a note says why.

    Raises
    ------
    InputError
        When no group can carry an analysis; the first group's reason is given.
    """
    found = Fitted()
    split = []
    for group in groups(variants):
        if group.choices[study.outcome].notna().any():
            split.append(group)
        else:
            found.notes.append(f"{group.name}: left out, there is no answer with a choice.")
    if not split:
        raise InputError(
            f"No judge has an answer in column {study.outcome!r} outside of repeated tasks; "
            "check that column and the statuses, or choose another refusal policy."
        )
    for analysis in study.analyses:
        start = time.perf_counter()
        fitted, refused = [], []
        for group in split:
            where = f"{analysis.name}, {group.name}"
            if progress is not None:
                progress(f"{analysis.title}: {group.name}")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    fitted.append((group, *fit_group(study, analysis, group, options)))
                except InputError as error:
                    refused.append(f"{where}: {error}")
            found.notes += [f"{where}: {w.message}" for w in caught if issubclass(w.category, UserWarning)]
        if not fitted:
            raise InputError(refused[0])
        found.notes += [f"{why} It was left out." for why in refused]
        found.tables[analysis.name] = stack([frame for _, frame, _ in fitted])
        made = [(group, estimates) for group, _, estimates in fitted]
        found.analyses.append(_record(study, analysis, made, options, time.perf_counter() - start))
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
    arguments = _arguments(study, analysis, group.kind)
    inferential = {} if analysis.verb in ("cj_freqs", "cj_props") else {"alpha": options.alpha}
    engine = {} if analysis.verb in ("cj_freqs", "cj_props") else {"engine": options.engine}
    estimates: Estimates = verb(rows, analysis.formula, **arguments, **inferential, **engine)
    frame = estimates.frame.copy()
    if analysis.verb in BOOTSTRAPPED:
        boot = _bootstrap(verb, rows, study, analysis, group, options) if options.draws else None
        frame["boot_lower"] = float("nan") if boot is None else boot.frame["lower"].to_numpy()
        frame["boot_upper"] = float("nan") if boot is None else boot.frame["upper"].to_numpy()
    for position, name in enumerate(("judge", "prompt", "variant")):
        frame.insert(position, name, getattr(group, name))
    return frame, estimates


def answers(variants: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Count answers (pairs, not rows) by judge, prompt and status in the main data."""
    choices = next(iter(variants.values()))
    first = choices[choices["position"].astype("string") == "A"]
    keys = [judge_of(first), first["prompt_id"].astype("string").fillna("").rename("prompt"), first["status"]]
    counted = first.groupby(keys, sort=False, observed=True).size()
    return counted.rename("n").reset_index()


def _arguments(study: Study, analysis: Analysis, kind: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if analysis.verb != "cj_props":
        arguments["id"] = study.clusters.human if kind == "human" else study.clusters.model
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
    arguments = _arguments(study, analysis, group.kind)
    arguments.pop("id")
    return conjoint.bootstrap(
        verb,
        rows,
        analysis.formula,
        unit=_unit(study, group.kind),
        draws=options.draws,
        seed=options.seed,
        method=options.interval,  # type: ignore[arg-type]
        alpha=options.alpha,
        **arguments,
    )


def _unit(study: Study, kind: str) -> str:
    return study.clusters.human if kind == "human" else study.bootstrap.unit


def _record(
    study: Study,
    analysis: Analysis,
    made: list[tuple[Group, Estimates]],
    options: Options,
    seconds: float,
) -> dict[str, Any]:
    bootstrapped = analysis.verb in BOOTSTRAPPED and options.draws > 0
    runs = [estimates.provenance for _, estimates in made]
    clusters = dict.fromkeys(run.id for run in runs)
    units = dict.fromkeys(_unit(study, group.kind) for group, _ in made)
    counts = {run.n_clusters for run in runs}
    return {
        "name": analysis.name,
        "verb": analysis.verb,
        "title": analysis.title,
        "formula": analysis.formula,
        "id": " or ".join(name for name in clusters if name) or None,
        "by": analysis.by,
        "engine": runs[0].engine,
        "alpha": options.alpha,
        "interval": options.interval if bootstrapped else "normal",
        "draws": options.draws if bootstrapped else None,
        "seed": options.seed if bootstrapped else None,
        "unit": " or ".join(units) if bootstrapped else None,
        "n_rows": sum(run.n_rows for run in runs),
        "n_used": sum(run.n_used for run in runs),
        "n_dropped": sum(run.n_rows - run.n_used for run in runs),
        "n_clusters": counts.pop() if len(counts) == 1 else None,
        "groups": [
            {
                "judge": group.judge,
                "prompt": group.prompt,
                "variant": group.variant,
                "n_rows": estimates.provenance.n_rows,
                "n_used": estimates.provenance.n_used,
                "n_clusters": estimates.provenance.n_clusters,
                "id": estimates.provenance.id,
            }
            for group, estimates in made
        ],
        "seconds": round(seconds, 3),
        "table": f"tables/{analysis.name}.parquet",
    }
