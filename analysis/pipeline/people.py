"""A study's models compared with its people: which analyses, on which groups, and what is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.study.checks import RESERVED_TABLES
from conjury.inference.study.parts import Analysis
from conjury.inference.tables.columns import listed

from ..conjoint.estimates import Estimates
from ..conjoint.request import is_independent
from ..conjoint.verbs.people import PairCounts, people_diffs
from ..results import stack
from .manifest import record_analysis, warnings_noted

if TYPE_CHECKING:
    from conjury.inference.study.models import Study

    from .conjoint import Fitted, Group, Options

_DEFAULTS = {"amce": "amce_diffs", "mm": "mm_diffs"}


def people_analyses(study: Study) -> list[Analysis]:
    """Comparisons of models with people: those of the study, and those that are made without asking.

    These are one of effects and one of means, unless the study has its own: about the formula of its first
    analysis of either that excludes no level.
    """
    found = [analysis for analysis in study.analyses if analysis.compares_people]
    taken = {analysis.name for analysis in study.analyses} | set(RESERVED_TABLES)
    for verb, compared in _DEFAULTS.items():
        candidates = sorted(
            (part for part in study.analyses if part.verb == verb), key=lambda part: bool(part.exclude)
        )
        if not candidates or any(part.verb == compared for part in found if part.compares_people):
            continue
        first, name = candidates[0], f"{verb}_people"
        while name in taken:
            name += "_2"
        told = {"name": name, "verb": compared, "title": f"{first.title}: models minus people"}
        found.append(first.model_copy(update={**told, "by": ["judge_id"], "h0": None}))
    return found


def compare_with_people(
    study: Study,
    everyone: Sequence[Group],
    options: Options,
    found: Fitted,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Add what each model minus people comes to, under each prompt in each variant, to the tables of a fit.

    A comparison that the study asks for and that cannot be made is told in a note.
    """
    humans = [group for group in everyone if group.kind == "human"]
    people = {
        variant: pd.concat([group.choices for group in humans if group.variant == variant])
        for variant in {group.variant for group in humans}
    }
    compared = [group for group in everyone if group.kind != "human" and group.variant in people]
    panels = list(dict.fromkeys(group.judge for group in humans))
    if len(panels) > 1 and compared:
        found.notes.append(
            f"The panels {listed(panels)} count as one group of people with which models are compared."
        )
    for analysis in people_analyses(study):
        if not compared:
            if analysis in study.analyses:
                found.notes.append(f"{analysis.name}: excluded, the choices are not by people and by models.")
            continue
        start = time.perf_counter()
        made: list[tuple[Group, Estimates]] = []
        for group in compared:
            where = f"{analysis.name}, {group.name}"
            if progress is not None:
                progress(f"{analysis.title}: {group.name}")
            with warnings_noted(found.notes, where):
                try:
                    made.append((group, _compare(study, analysis, people[group.variant], group, options)))
                except InputError as error:
                    found.notes.append(f"{where}: {error} It was excluded.")
        if made:
            found.tables[analysis.name] = stack([_named(estimates, group) for group, estimates in made])
            found.analyses.append(_record(study, analysis, made, options, time.perf_counter() - start))


def _compare(
    study: Study, analysis: Analysis, people: pd.DataFrame, group: Group, options: Options
) -> Estimates:
    rows = analysis.select(pd.concat([people, group.choices]))
    return people_diffs(
        rows,
        analysis.formula,
        estimate="amce" if analysis.verb == "amce_diffs" else "mm",
        human=options.id or study.clusters.of("human"),
        model=options.id or study.clusters.of("model"),
        profile=[attribute.id for attribute in study.attributes],
        engine=options.engine,
        vcov=options.vcov or study.clusters.vcov,  # type: ignore[arg-type]
        alpha=options.alpha,
    )


def _named(estimates: Estimates, group: Group) -> pd.DataFrame:
    frame = estimates.frame.copy()
    for position, name in enumerate(("judge", "prompt", "variant")):
        frame.insert(position, name, getattr(group, name))
    return frame


def _record(
    study: Study,
    analysis: Analysis,
    made: Sequence[tuple[Group, Estimates]],
    options: Options,
    seconds: float,
) -> dict[str, Any]:
    """The manifest's entry; rows of people count in every comparison."""
    record = record_analysis(study, analysis, made, replace(options, draws=0), seconds)
    vcov = options.vcov or study.clusters.vcov
    clusters = (
        {} if is_independent(vcov) else {k: options.id or study.clusters.of(k) for k in ("human", "model")}
    )
    for entry, (_, estimates) in zip(record["groups"], made, strict=True):
        counts: PairCounts = estimates.provenance.extra["pairs"]
        entry["pairs"] = asdict(counts)
    return record | {
        "figure": "people",
        "against": "people",
        "adjusted": "holm",
        "clusters": {kind: list(names) for kind, names in clusters.items()},
    }
