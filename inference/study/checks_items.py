"""Checks of a study of items that look at several of its fields together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..tables.schema import STATUSES
from .asking import Label, LineLabels
from .problems import Problem, duplicates, missing_file, suggestion
from .yaml import Location

if TYPE_CHECKING:
    from .models import ItemStudy


def first_item_problem(study: ItemStudy, line: Callable[[Location], int]) -> Problem | None:
    """Return the first problem in the file, or None."""
    of_items = (_strata, _main, _tiers, _unrelated, _set_aside, _assignment)
    checks = (*of_items, _only, _label_sets, _gold, _missing)
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


def _only(study: ItemStudy) -> Iterator[Problem]:
    for position, prompt in enumerate(study.prompts):
        for column, values in prompt.only.items():
            at: Location = ("prompts", position, "only", column)
            if not values:
                yield Problem(at, f"{prompt.id}: 'only' lists no value of '{column}'; add one or remove it.")
            for value in values:
                yield from _known_level(study, column, value, at, prompt.id)


def _label_sets(study: ItemStudy) -> Iterator[Problem]:
    """Report prompts that name other labels for a dimension than the rest of the study."""
    named = [(("response",), study.response)] + [
        (("prompts", position, "response"), prompt.response)
        for position, prompt in enumerate(study.prompts)
        if prompt.response is not None
    ]
    first: dict[str, list[str]] = {}
    for at, response in named:
        if isinstance(response, Label | LineLabels):
            task = response.id if isinstance(response, Label) else "line"
            ids = [label.id for label in response.labels]
            if set(first.setdefault(task, ids)) != set(ids):
                yield Problem(
                    (*at, "labels"),
                    f"'{task}' has other labels elsewhere in the file ({', '.join(first[task])}); use the "
                    "same, or give this response another id.",
                )


def _gold(study: ItemStudy) -> Iterator[Problem]:
    gold = study.gold
    if gold is None:
        return
    if not study.label_sets:
        yield Problem(("gold",), "gold: no prompt asks for labels; remove it.")
        return
    yield from missing_file(study.folder, ("gold", "file"), "gold", gold.file)
    yield from duplicates([level.id for level in gold.levels], ("gold", "levels"), "gold: level")
    answers = [label.id for response in study.label_sets.values() for label in response.labels]
    levels = [level.id for level in gold.levels] or answers
    for name, covered in gold.covers.items():
        at: Location = ("gold", "covers", name)
        if name not in answers:
            yield Problem(at, f"gold: {suggestion(name, answers)}")
        for level in covered:
            if level not in levels:
                yield Problem(at, f"gold: {suggestion(level, levels)}")


def _missing(study: ItemStudy) -> Iterator[Problem]:
    if study.missing and not study.label_sets:
        yield Problem(("missing",), "missing: no prompt asks for labels; remove it.")
        return
    statuses = [status for status in STATUSES if status != "ok"]
    labels = dict.fromkeys(label.id for found in study.label_sets.values() for label in found.labels)
    meanings = ["wrong", "missing", *labels]
    for status, meaning in study.missing.items():
        at: Location = ("missing", status)
        if status not in statuses:
            yield Problem(at, f"missing: {suggestion(status, statuses)}")
        if meaning not in meanings:
            yield Problem(at, f"missing, {status}: {suggestion(meaning, meanings)}")


def _known(study: ItemStudy, column: str, at: Location, what: str) -> Iterator[Problem]:
    if not study.strata:
        yield Problem(at, f"{what}: the file has no strata; add '{column}' with its levels under 'strata'.")
    elif column not in study.level_labels:
        yield Problem(at, f"{what}: {suggestion(column, study.level_labels)}")


def _known_level(study: ItemStudy, column: str, level: str, at: Location, what: str) -> Iterator[Problem]:
    known = study.level_labels.get(column)
    if known is not None and level not in known:
        yield Problem(at, f"{what}: {suggestion(level, known)}")
