"""Checks of the combinations that a study file restricts or calls implausible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .design_rules import count_cells, named_levels, shown_shares
from .marked_yaml import Location
from .study_checks import Problem, suggestion

if TYPE_CHECKING:
    from .study import Study
    from .study_parts import Combination

FIELDS = ("restrictions", "implausible")


def design_problems(study: Study, sound: bool) -> Iterator[Problem]:
    """Report what is wrong with combinations, and with what restrictions leave of the design.

    ``sound`` says whether attributes and levels are free of problems; what combinations leave can be told
    only then.
    """
    listed = [
        (("design", field, position, "levels"), combination)
        for field in FIELDS
        for position, combination in enumerate(getattr(study.design, field))
    ]
    unknown = [problem for at, combination in listed for problem in _unknown(study, combination, at)]
    yield from unknown
    if unknown or not sound:
        return
    alone = [problem for at, combination in listed for problem in _of_one_attribute(study, combination, at)]
    yield from alone
    if not alone:
        yield from _levels_left(study)


def _unknown(study: Study, combination: Combination, at: Location) -> Iterator[Problem]:
    for name, levels in combination.levels.items():
        if name not in study.features:
            yield Problem((*at, name), f"{at[1]}: {suggestion(name, study.features)}")
            continue
        known = study.levels(name)
        for position, level in enumerate(levels):
            if level not in known:
                yield Problem((*at, name, position), f"{at[1]}, {name}: {suggestion(level, known)}")


def _of_one_attribute(study: Study, combination: Combination, at: Location) -> Iterator[Problem]:
    named = named_levels(study, combination)
    if len(named) < 2:
        yield Problem(
            at,
            f"{at[1]}: {' and '.join(combination.levels)} are one attribute and what follows from it; name "
            "another attribute in place of one of them.",
        )
    elif not all(named.values()):
        yield Problem(
            at,
            f"{at[1]}: no profile can show this combination, because what it names of "
            f"{next(name for name, codes in named.items() if not codes)} excludes itself; correct it.",
        )


def _levels_left(study: Study) -> Iterator[Problem]:
    """Report the first restriction that leaves no profile with some level."""
    for position in range(len(study.design.restrictions)):
        until = {"restrictions": study.design.restrictions[: position + 1]}
        shorter = study.model_copy(update={"design": study.design.model_copy(update=until)})
        at: Location = ("design", "restrictions", position)
        if not count_cells(shorter)[0]:
            yield Problem(
                at, "restrictions: with this one no combination of levels is left; name fewer levels in it."
            )
            return
        for name, shares in shown_shares(shorter).items():
            lost = [level for level, share in zip(study.levels(name), shares, strict=True) if not share > 0]
            if lost:
                yield Problem(
                    at,
                    f"restrictions: with this one {name} = {lost[0]} never occurs; name fewer levels in it, "
                    f"or take the level out of {name}.",
                )
                return
