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
from .results import Estimates, stack

if TYPE_CHECKING:
    from conjury.inference.study import Analysis, Study

BOOTSTRAPPED = ("amce", "mm", "amce_diffs", "mm_diffs")


@dataclass(frozen=True)
class Options:
    """How to fit: engine, confidence, bootstrap; ``draws`` of 0 leaves the bootstrap out."""

    engine: str = "native"
    alpha: float = 0.05
    draws: int = 1000
    seed: int = 1
    interval: str = "percentile"


@dataclass(frozen=True)
class Group:
    """The choices of one judge under one prompt in one variant of the data."""

    variant: str
    judge: str
    prompt: str
    kind: str
    choices: pd.DataFrame


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
        One stacked table an analysis, plus ``answers``.
    """
    found = Fitted()
    split = list(groups(variants))
    for analysis in study.analyses:
        start = time.perf_counter()
        frames, made = [], []
        for group in split:
            if progress is not None:
                progress(f"{analysis.title}: {group.judge} {group.prompt} {group.variant}".strip())
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                frame, estimates = fit_group(study, analysis, group, options)
            where = f"{analysis.name}, {group.judge} {group.prompt}".strip()
            found.notes += [f"{where}: {w.message}" for w in caught if issubclass(w.category, UserWarning)]
            frames.append(frame)
            made.append(estimates)
        found.tables[analysis.name] = stack(frames)
        seconds = time.perf_counter() - start
        found.analyses.append(_record(study, analysis, made, split, options, seconds))
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
    if analysis.verb not in ("cj_props",):
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
    made: list[Estimates],
    split: list[Group],
    options: Options,
    seconds: float,
) -> dict[str, Any]:
    bootstrapped = analysis.verb in BOOTSTRAPPED and options.draws > 0
    clusters = dict.fromkeys(estimates.provenance.id for estimates in made)
    units = dict.fromkeys(_unit(study, group.kind) for group in split)
    counts = {estimates.provenance.n_clusters for estimates in made}
    return {
        "name": analysis.name,
        "verb": analysis.verb,
        "title": analysis.title,
        "formula": analysis.formula,
        "id": " or ".join(name for name in clusters if name) or None,
        "by": analysis.by,
        "engine": made[0].provenance.engine,
        "alpha": options.alpha,
        "interval": options.interval if bootstrapped else "normal",
        "draws": options.draws if bootstrapped else None,
        "seed": options.seed if bootstrapped else None,
        "unit": " or ".join(units) if bootstrapped else None,
        "n_rows": sum(estimates.provenance.n_rows for estimates in made),
        "n_used": sum(estimates.provenance.n_used for estimates in made),
        "n_dropped": sum(e.provenance.n_rows - e.provenance.n_used for e in made),
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
            for group, estimates in zip(split, made, strict=True)
        ],
        "seconds": round(seconds, 3),
        "table": f"tables/{analysis.name}.parquet",
    }
