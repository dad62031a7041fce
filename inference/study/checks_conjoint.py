"""Checks of the combinations that a study file restricts or calls implausible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..tables.columns import did_you_mean, listed
from ..tables.files import LAYOUTS
from .asking import Content
from .checks import Problem, missing_file, suggestion
from .restrictions import count_cells, named_levels, shown_shares
from .yaml import Location

if TYPE_CHECKING:
    from .models import Study
    from .parts import Combination

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


def content_problems(study: Study) -> Iterator[Problem]:
    """Report what is wrong with the sections ``content`` and ``vignette``, and with cues of prompts."""
    if study.content is None:
        yield from _fields(study)
    else:
        yield from _files(study, study.content)
        yield from _roles(study, study.content)
        yield from _cues(study, study.content)
    yield from _layout(study)


def _fields(study: Study) -> Iterator[Problem]:
    shown = [attribute.id for attribute in study.attributes]
    for position, name in enumerate(study.collect.fields or ()):
        if name not in shown:
            yield Problem(("collect", "fields", position), f"fields: {suggestion(name, shown)}")


def _files(study: Study, content: Content) -> Iterator[Problem]:
    for field in ("texts", "people", "insults"):
        yield from missing_file(study, ("content", field), "content", getattr(content, field))
    yield from missing_file(study, ("content", "faces"), "content", content.faces, or_folder=True)


def _roles(study: Study, content: Content) -> Iterator[Problem]:
    at: Location = ("content", "roles")
    stimuli = [stimulus.id for stimulus in study.stimuli]
    known = [attribute.id for attribute in study.attributes]
    for role in ("text", "author"):
        if getattr(content.roles, role) not in stimuli:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), stimuli)}")
    for role in ("insult", "intensifier", "reply", "likes"):
        if getattr(content.roles, role) not in known:
            yield Problem((*at, role), f"content: {suggestion(getattr(content.roles, role), known)}")


def _cues(study: Study, content: Content) -> Iterator[Problem]:
    roles = content.roles
    attribute = next((part.attribute for part in study.stimuli if part.id == roles.author), None)
    levels = study.levels(attribute) if attribute in study.features else []
    if not levels or roles.anonymous in levels:
        return
    for position, prompt in enumerate(study.prompts):
        if prompt.cues != "both":
            yield Problem(
                ("prompts", position, "cues"),
                f"{prompt.id}: cues '{prompt.cues}' need anonymous authors, and {attribute} has no level "
                f"'{roles.anonymous}'{did_you_mean(roles.anonymous, levels)}; name one of {listed(levels)} "
                "as content.roles.anonymous, or remove cues.",
            )


def _layout(study: Study) -> Iterator[Problem]:
    if study.vignette is None:
        return
    name, shipped = study.vignette.layout, sorted(path.stem for path in LAYOUTS.glob("*.yaml"))
    if name not in shipped and not (study.folder / name).is_file():
        yield Problem(
            ("vignette", "layout"),
            f"vignette: there is no layout '{name}'{did_you_mean(name, shipped)}; use {listed(shipped)}, "
            "or a layout file beside the study file.",
        )
