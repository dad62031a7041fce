"""Checks of a study of items that look at several of its fields together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .marked_yaml import Location
from .study_checks import Problem, duplicates, suggestion

if TYPE_CHECKING:
    from .study import ItemStudy


def first_item_problem(study: ItemStudy, line: Callable[[Location], int]) -> Problem | None:
    """Return the problem that stands first in the file, or None."""
    checks = (_strata, _main, _tiers, _unrelated, _set_aside, _assignment)
    found = [problem for check in checks for problem in check(study)]
    return min(found, key=lambda problem: line(problem.location), default=None)


def _strata(study: ItemStudy) -> Iterator[Problem]:
    yield from duplicates([stratum.id for stratum in study.strata], ("strata",), "stratum")
    for position, stratum in enumerate(study.strata):
        at: Location = ("strata", position, "levels")
        yield from duplicates([level.id for level in stratum.levels], at, f"{stratum.id}: level")


def _main(study: ItemStudy) -> Iterator[Problem]:
    if study.main is None:
        return
    if not study.scales:
        yield Problem(("main",), f"main: answers of form '{study.response.form}' have no scales; remove it.")
    elif study.main not in study.scale_labels:
        yield Problem(("main",), f"main: {suggestion(study.main, study.scale_labels)}")


def _tiers(study: ItemStudy) -> Iterator[Problem]:
    if study.tiers is None:
        return
    yield from _known(study, study.tiers.column, ("tiers", "column"), "tiers")
    for position, level in enumerate(study.tiers.levels):
        at: Location = ("tiers", "levels", position)
        yield from _known_level(study, study.tiers.column, level, at, "tiers")
        if level in study.tiers.levels[:position]:
            yield Problem(at, f"tiers: '{level}' is given twice; remove one of them.")


def _unrelated(study: ItemStudy) -> Iterator[Problem]:
    named = study.unrelated
    if named is not None:
        yield from _known(study, named.column, ("unrelated", "column"), "unrelated")
        yield from _known_level(study, named.column, named.level, ("unrelated", "level"), "unrelated")


def _set_aside(study: ItemStudy) -> Iterator[Problem]:
    for position, named in enumerate(study.set_aside):
        at: Location = ("set_aside", position)
        yield from _known(study, named.column, (*at, "column"), "set_aside")
        yield from _known_level(study, named.column, named.level, (*at, "level"), "set_aside")


def _assignment(study: ItemStudy) -> Iterator[Problem]:
    plan = study.assignment
    if plan is None:
        return
    yield from _known(study, plan.across, ("assignment", "across"), "assignment")
    if plan.within == plan.across:
        yield Problem(
            ("assignment", "within"),
            f"assignment: 'within' and 'across' are both '{plan.within}'; name the column of what items "
            "belong to, and the one that tells these items apart.",
        )


def _known(study: ItemStudy, column: str, at: Location, what: str) -> Iterator[Problem]:
    if not study.strata:
        yield Problem(at, f"{what}: the file has no strata; add '{column}' with its levels under 'strata'.")
    elif column not in study.level_labels:
        yield Problem(at, f"{what}: {suggestion(column, study.level_labels)}")


def _known_level(study: ItemStudy, column: str, level: str, at: Location, what: str) -> Iterator[Problem]:
    known = study.level_labels.get(column)
    if known is not None and level not in known:
        yield Problem(at, f"{what}: {suggestion(level, known)}")
