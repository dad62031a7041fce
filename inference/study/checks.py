"""Checks of a study file that look at several of its fields together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from .yaml import Location

if TYPE_CHECKING:
    from .models import ItemStudy, Study
    from .parts import Analysis

CHOICE_COLUMNS = (
    *("judge_id", "judge_kind", "prompt_id", "pair_id", "task", "position", "profile_id"),
    *("chosen", "status", "repeat", "repeat_of", "sample", "probability"),
)


RESERVED_TABLES = (
    "answers",
    "engines",
    "engines_summary",
    "published",
    "published_difference",
    "recovery",
    "truth",
)


@dataclass(frozen=True)
class Problem:
    """Where a study file contradicts itself, and the sentence that says how to mend it."""

    location: Location
    sentence: str


def suggestion(name: str, known: Iterable[str]) -> str:
    """Say that ``name`` is unknown, with the nearest known name or the list of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    remedy = f"did you mean '{near[0]}'?" if near else f"use one of {', '.join(names)}."
    return f"'{name}' is unknown here; {remedy}"


def first_problem(study: Study, line: Callable[[Location], int]) -> Problem | None:
    """Return the problem that stands first in the file, or None."""
    checks = (_names, _probabilities, _derived, _stimuli, _design, _units, _costs, _content, _analyses)
    found = [problem for check in checks for problem in check(study)]
    return min(found, key=lambda problem: line(problem.location), default=None)


def duplicates(names: Sequence[str], location: Location, what: str, field: str = "id") -> Iterator[Problem]:
    """Report names that are given twice in a list of parts."""
    for position, name in enumerate(names):
        if name in names[:position]:
            yield Problem(
                (*location, position, field), f"{what} '{name}' is given twice; rename or remove one of them."
            )


def missing_file(
    study: Study | ItemStudy, at: Location, what: str, name: str | None, or_folder: bool = False
) -> Iterator[Problem]:
    """Report a file, ``or_folder``, that the study names and that is not in its folder."""
    if name is None:
        return
    path = (study.folder / name).resolve()
    if not path.is_relative_to(study.folder.resolve()):
        yield Problem(at, f"{what}: {name} lies outside the folder of the study; move it there.")
    elif not (path.is_file() or (or_folder and path.is_dir())):
        sort = "file or folder" if or_folder else "file"
        yield Problem(
            at,
            f"{what}: there is no {sort} {name} beside the study file; write it or correct the path.",
        )


def _names(study: Study) -> Iterator[Problem]:
    taken: list[str] = []
    for group in ("attributes", "derived", "stimuli"):
        for position, part in enumerate(getattr(study, group)):
            location = (group, position, "id")
            if part.id in taken:
                yield Problem(location, f"'{part.id}' is given twice; rename or remove one of them.")
            if part.id in CHOICE_COLUMNS or part.id == study.outcome:
                yield Problem(
                    location, f"'{part.id}' is the name of another column of choices; choose another id."
                )
            taken.append(part.id)
            if group != "stimuli":
                levels = [level.id for level in part.levels]
                yield from duplicates(levels, (group, position, "levels"), f"{part.id}: level")
    yield from duplicates([item.name for item in study.analyses], ("analyses",), "analysis", "name")


def _probabilities(study: Study) -> Iterator[Problem]:
    for position, attribute in enumerate(study.attributes):
        location = ("attributes", position, "levels")
        given = [level.probability for level in attribute.levels if level.probability is not None]
        if given and len(given) < len(attribute.levels):
            yield Problem(
                location,
                f"{attribute.id}: only {len(given)} of {len(attribute.levels)} levels have a probability; "
                "give all of them one, or none for equal shares.",
            )
        elif given and abs(sum(given) - 1) > 1e-6:
            yield Problem(
                location,
                f"{attribute.id}: the level probabilities sum to {sum(given):.6g}; they must sum to 1.",
            )


def _derived(study: Study) -> Iterator[Problem]:
    known = {attribute.id: [level.id for level in attribute.levels] for attribute in study.attributes}
    for position, derived in enumerate(study.derived):
        if derived.source not in known:
            yield Problem(
                ("derived", position, "source"), f"{derived.id}: {suggestion(derived.source, known)}"
            )
            continue
        unknown = False
        for index, level in enumerate(derived.levels):
            for name in set(level.covers) - set(known[derived.source]):
                unknown = True
                yield Problem(
                    ("derived", position, "levels", index, "covers"),
                    f"{derived.id}: {suggestion(name, known[derived.source])}",
                )
        covered = [name for level in derived.levels for name in level.covers]
        for name in () if unknown else known[derived.source]:
            if covered.count(name) != 1:
                yield Problem(
                    ("derived", position, "levels"),
                    f"{derived.id}: '{name}' of {derived.source} is covered {covered.count(name)} times; "
                    "cover each level exactly once.",
                )


def _stimuli(study: Study) -> Iterator[Problem]:
    known = [attribute.id for attribute in study.attributes]
    for position, stimulus in enumerate(study.stimuli):
        if stimulus.attribute not in known:
            yield Problem(
                ("stimuli", position, "attribute"),
                f"{stimulus.id}: {suggestion(stimulus.attribute, known)}",
            )


def _design(study: Study) -> Iterator[Problem]:
    from .checks_conjoint import design_problems

    unsound = [problem for check in (_names, _probabilities, _derived) for problem in check(study)]
    yield from design_problems(study, sound=not unsound)


def _content(study: Study) -> Iterator[Problem]:
    from .checks_conjoint import content_problems

    yield from content_problems(study)


def _units(study: Study) -> Iterator[Problem]:
    columns = [*CHOICE_COLUMNS, *study.features, *(stimulus.id for stimulus in study.stimuli)]
    named: list[tuple[Location, str]] = [
        (("clusters", kind), column) for kind in ("human", "model") for column in study.clusters.of(kind)
    ]
    for location, column in [*named, (("bootstrap", "unit"), study.bootstrap.unit)]:
        if column not in columns and not (location[0] == "bootstrap" and column == "row"):
            yield Problem(location, suggestion(column, columns))


def _costs(study: Study) -> Iterator[Problem]:
    if study.costs is None:
        return
    models = [judge.id for judge in study.judges if judge.kind == "model"]
    named = [known.judge for known in study.costs.judges]
    yield from duplicates(named, ("costs", "judges"), "the cost of judge", "judge")
    for position, name in enumerate(named):
        location: Location = ("costs", "judges", position, "judge")
        if name not in study.judge_labels:
            yield Problem(location, f"costs: {suggestion(name, models)}")
        elif name not in models:
            yield Problem(
                location, f"costs: '{name}' is a panel of people; give their cost as per_respondent."
            )


def _analyses(study: Study) -> Iterator[Problem]:
    for position, analysis in enumerate(study.analyses):
        if analysis.name in RESERVED_TABLES:
            yield Problem(
                ("analyses", position, "name"),
                f"{analysis.name} is the name of a table that every fit may write; choose another.",
            )
        yield from _formula(study, analysis, ("analyses", position))
        for name in () if analysis.compares_people else analysis.by:
            if name not in study.features:
                yield Problem(
                    ("analyses", position, "by"), f"{analysis.name}: {suggestion(name, study.features)}"
                )
        for feature, levels in analysis.exclude.items():
            location = ("analyses", position, "exclude", feature)
            if feature not in study.features:
                yield Problem(location, f"{analysis.name}: {suggestion(feature, study.features)}")
                continue
            known = study.levels(feature)
            for level in levels:
                if level not in known:
                    yield Problem(location, f"{analysis.name}: {suggestion(level, known)}")
            if len(set(known) - set(levels)) < 2:
                yield Problem(
                    location,
                    f"{analysis.name}: fewer than two levels of {feature} are left; exclude fewer of them.",
                )


def _formula(study: Study, analysis: Analysis, at: Location) -> Iterator[Problem]:
    location = (*at, "formula")
    left, tilde, right = analysis.formula.partition("~")
    if not tilde or not re.fullmatch(r"\s*\w+(\s*[+*:]\s*\w+)*\s*", right):
        yield Problem(
            location,
            f"{analysis.name}: '{analysis.formula}' is not a formula; write '{study.outcome} ~ a + b'.",
        )
        return
    if left.strip() != study.outcome:
        yield Problem(
            location,
            f"{analysis.name}: the left side is '{left.strip()}', but the outcome is '{study.outcome}'; "
            "make them equal.",
        )
    for name in analysis.features:
        if name not in study.features:
            yield Problem(location, f"{analysis.name}: {suggestion(name, study.features)}")
        if name in analysis.by:
            yield Problem(
                (*at, "by"), f"{analysis.name}: '{name}' stands in the formula and in by; remove one of them."
            )
    for derived in study.derived:
        if derived.id in analysis.features and derived.source in analysis.features:
            yield Problem(
                location,
                f"{analysis.name}: {derived.id} follows from {derived.source}; keep only one in the formula.",
            )
